/*
 * Owns the pool of a batch. One thread submits the tasks in the planned order, in batches, and
 * waits while too many are pending.
 */
#include "run/submit.h"

#include <stdlib.h>

#include "base/stop.h"
#include "batch/batch_task.h"
#include "batch/cut.h"
#include "memory.h"
#include "run/task_claims.h"

/* How many tasks are submitted in one call. */
#define SUBMIT_COUNT 256
/* How many tasks may be pending, at least: enough for all workers. */
#define PENDING_MIN ((size_t)1 << 14)
/*
 * How long the journal collects tasks before it begins to commit. The store is idle during that
 * time, also if there are many tasks. So the time is short.
 */
#define COMMIT_WAIT_NS 1000000u
/*
 * How many times --commit-size a commit may have if tasks run faster than they are committed. A
 * commit writes each balance that has changed once, so fewer commits write less.
 */
#define COMMIT_SIZES_MAX 4
/* The code that the journal's `write` returns after a failed commit. */
#define COMMIT_FAILED 1
/* How often the submitter updates the progress bar. */
#define CHECK_NS 50000000u

/* Tasks that are submitted in one call, with all their claims. */
struct submission {
    lanepool_task tasks[SUBMIT_COUNT];
    size_t first_claims[SUBMIT_COUNT]; /* the index of each task's first claim */
    size_t task_count;
    struct task_claims claims;
    struct lane_list lanes;
};

static bool pool_problem(struct problem *problem, const char *what, lanepool_status status)
{
    return problem_set(problem, EXIT_CODE_IO, "the pool cannot %s: %s", what,
                       lanepool_status_text(status));
}

/* A position in the tasks of the plan, in the parts and in the late rollups of the leftovers. */
struct position {
    size_t task, part, late;
};

enum doneness { DONE_NOWHERE, DONE_EVERYWHERE, DONE_IN_PART };

static enum doneness find_doneness(const struct submitter *submitter, const struct task *task,
                                   struct lane_list *lanes)
{
    size_t done = 0;
    plan_lanes(submitter->batch->plan, task, lanes);
    for (size_t i = 0; i < lanes->count; i++) {
        done += submitter->last_seqs[lanes->items[i]] >= task->seq;
    }
    return done == 0 ? DONE_NOWHERE : done == lanes->count ? DONE_EVERYWHERE : DONE_IN_PART;
}

bool submit_is_done(const struct submitter *submitter, const struct task *task,
                    struct lane_list *lanes)
{
    return find_doneness(submitter, task, lanes) == DONE_EVERYWHERE;
}

static bool has_part(const struct submitter *submitter, const struct task *task, size_t part)
{
    const struct leftovers *leftovers = submitter->leftovers;
    return part < leftovers->part_count && leftovers->parts[part].seq == task->seq;
}

/*
 * Returns true if a task is done in all lanes except those of its parts. *next_part is the index of
 * its first part, and is moved past its parts. A later statement may be done for a client before an
 * earlier one.
 */
static bool is_left_in_parts(const struct submitter *submitter, const struct task *task,
                             const struct lane_list *lanes, size_t *next_part)
{
    const struct leftovers *leftovers = submitter->leftovers;
    bool fits = true;
    for (size_t i = 0; i < lanes->count; i++) {
        uint32_t lane = lanes->items[i];
        const struct task *part = &leftovers->parts[*next_part];
        bool is_part =
            *next_part < leftovers->part_count && part->seq == task->seq && part->member == lane;
        *next_part += is_part;
        bool is_passed = submitter->last_seqs[lane] >= task->seq;
        fits = fits && (is_passed != is_part || (is_part && task->kind == TASK_STATEMENT));
    }
    *next_part += has_part(submitter, task, *next_part); /* that calls `group`, and has no lane */
    return fits;
}

/* Returns true if a task of the plan is run late. */
static bool has_failed(const struct submitter *submitter, const struct task *task, size_t late)
{
    const struct leftovers *leftovers = submitter->leftovers;
    return late < leftovers->late_count &&
           leftovers->late[late].seq == plan_late_seq(submitter->batch->plan, task->seq);
}

static bool check_task(struct submitter *submitter, const struct task *task,
                       struct lane_list *lanes, struct position *position)
{
    enum doneness doneness = find_doneness(submitter, task, lanes);
    if (has_part(submitter, task, position->part)) {
        submitter->skipped++;
        return is_left_in_parts(submitter, task, lanes, &position->part);
    }
    if (has_failed(submitter, task, position->late)) {
        position->late++;
        return doneness != DONE_NOWHERE;
    }
    submitter->skipped += doneness == DONE_EVERYWHERE;
    submitter->undone += doneness == DONE_NOWHERE;
    return doneness != DONE_IN_PART;
}

static bool check_late(struct submitter *submitter, struct lane_list *lanes)
{
    const struct leftovers *leftovers = submitter->leftovers;
    bool consistent = true;
    for (size_t i = 0; consistent && i < leftovers->late_count; i++) {
        enum doneness doneness = find_doneness(submitter, &leftovers->late[i], lanes);
        submitter->skipped += doneness == DONE_EVERYWHERE;
        consistent = doneness != DONE_IN_PART;
    }
    return consistent;
}

bool submit_check(struct submitter *submitter, struct problem *problem)
{
    const struct plan *plan = submitter->batch->plan;
    struct lane_list lanes = { 0 };
    struct position position = { 0, 0, 0 };
    submitter->skipped = 0;
    submitter->undone = 0;
    while (position.task < plan->task_count &&
           check_task(submitter, &plan->tasks[position.task], &lanes, &position)) {
        position.task++;
    }
    bool consistent = position.task == plan->task_count && check_late(submitter, &lanes);
    free(lanes.items);
    return consistent || problem_set(problem, EXIT_CODE_IO,
                                     "the database is damaged: task %zu is done for some of its "
                                     "clients and not for others",
                                     position.task + 1);
}

static lanepool_task describe_task(const struct submitter *submitter, struct task *task)
{
    const struct batch *batch = submitter->batch;
    lanepool_task described = LANEPOOL_TASK_INIT;
    bool cuts = task_is_cut(batch->plan, batch->quarantine.on_quarantine, task);
    described.context = cuts ? (void *)cut_create(task) : task;
    described.function = cuts ? batch_cut : batch_task;
    if (cuts) {
        described.at_lane = batch_visit;
        described.cancelled = batch_cut_cancelled;
        described.release = batch_cut_release;
    }
    return described;
}

static void add_submission_task(struct submission *submission, const struct submitter *submitter,
                                struct task *task)
{
    size_t first = submission->claims.count;
    lanepool_task *next = &submission->tasks[submission->task_count];
    *next = describe_task(submitter, task);
    task_claims_add(&submission->claims, submitter->batch->plan, task, &submission->lanes,
                    next->at_lane != NULL);
    next->tag = watch_tag(task, submission->lanes.count);
    next->claim_count = submission->claims.count - first;
    submission->first_claims[submission->task_count++] = first;
}

/*
 * Returns the next task that is not done, and puts its lanes into the submission; NULL if all are
 * done. Of a rollup that is done in part, returns the missing parts. Skips a task
 * that is run late: it is done in some of its lanes.
 */
static struct task *next_task(struct submission *submission, const struct submitter *submitter,
                              struct position *position)
{
    const struct plan *plan = submitter->batch->plan;
    while (position->task < plan->task_count) {
        struct task *task = &plan->tasks[position->task];
        if (has_part(submitter, task, position->part)) {
            task = &submitter->leftovers->parts[position->part++];
            plan_lanes(plan, task, &submission->lanes);
            return task;
        }
        position->task++;
        if (find_doneness(submitter, task, &submission->lanes) == DONE_NOWHERE) {
            return task;
        }
    }
    while (position->late < submitter->leftovers->late_count) {
        struct task *task = &submitter->leftovers->late[position->late++];
        if (find_doneness(submitter, task, &submission->lanes) == DONE_NOWHERE) {
            return task;
        }
    }
    return NULL;
}

/* Submits, before all tasks, a task for each held lane that is not resumed. It fails at once. */
static bool submit_lane_holds(lanepool_pool *pool, const struct batch *batch,
                              struct problem *problem)
{
    lanepool_status status = LANEPOOL_OK;
    for (uint32_t i = 0; status == LANEPOOL_OK && i <= plan_house_lane(batch->plan); i++) {
        lanepool_claim claim = lanepool_exclusive(i);
        lanepool_task task = LANEPOOL_TASK_INIT;
        task.function = batch_hold;
        task.claims = &claim;
        task.claim_count = 1;
        task.tag = WATCH_TAG_HOLD;
        if (batch->quarantine.lanes[i].root_seq != 0) {
            status = lanepool_pool_submit(pool, &task);
        }
    }
    return status == LANEPOOL_OK || pool_problem(problem, "take a task", status);
}

/* Fills a submission with the next tasks; it stays empty if none are left. */
static void fill_submission(struct submission *submission, const struct submitter *submitter,
                            struct position *position)
{
    submission->task_count = 0;
    submission->claims.count = 0;
    while (submission->task_count < SUBMIT_COUNT) {
        struct task *task = next_task(submission, submitter, position);
        if (!task) {
            break;
        }
        add_submission_task(submission, submitter, task);
    }
    for (size_t i = 0; i < submission->task_count; i++) {
        submission->tasks[i].claims = submission->claims.items + submission->first_claims[i];
    }
}

static void draw_progress(const struct submitter *submitter)
{
    size_t done = atomic_load_explicit(&submitter->batch->done_count, memory_order_relaxed);
    progress_draw(submitter->progress, "posting", submitter->skipped + done);
}

/* The pool has not taken the tasks from `first` on. */
static void drop_tasks(const struct submission *submission, size_t first)
{
    for (size_t i = first; i < submission->task_count; i++) {
        const lanepool_task *task = &submission->tasks[i];
        if (task->release) {
            task->release(task->context);
        }
    }
}

static bool report_stop(struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_STOPPED,
                       "stopped by SIGTERM: what is done is committed; run the same command again "
                       "to go on");
}

/* Submits all tasks of a submission. The pool takes none any more if a commit has failed. */
static bool submit_tasks(lanepool_pool *pool, const struct submitter *submitter,
                         const struct submission *submission, struct problem *problem)
{
    size_t sent = 0;
    while (sent < submission->task_count) {
        size_t accepted = 0;
        lanepool_status status = lanepool_pool_submit_batch(
            pool, submission->tasks + sent, submission->task_count - sent, CHECK_NS, &accepted);
        sent += accepted;
        draw_progress(submitter);
        if (stop_is_asked()) {
            drop_tasks(submission, sent);
            return report_stop(problem);
        }
        if (status != LANEPOOL_OK && status != LANEPOOL_TIMED_OUT) {
            drop_tasks(submission, sent);
            return pool_problem(problem, "take a task", status);
        }
    }
    return true;
}

static bool submit_all(lanepool_pool *pool, const struct submitter *submitter,
                       struct problem *problem)
{
    struct submission *submission = memory_zeroed(1, sizeof *submission);
    struct position position = { 0, 0, 0 };
    bool good = true;
    fill_submission(submission, submitter, &position);
    while (good && submission->task_count > 0) {
        good = submit_tasks(pool, submitter, submission, problem);
        if (good) {
            fill_submission(submission, submitter, &position);
        }
    }
    free(submission->claims.items);
    free(submission->lanes.items);
    free(submission);
    return good;
}

/*
 * Ends the pool when it has run all tasks; or `at_once`, then tasks that have not started are
 * cancelled. After a failed commit it has ended at once by itself.
 */
static void end_pool(lanepool_pool *pool, bool at_once)
{
    lanepool_status status =
        at_once ? lanepool_pool_shutdown_now(pool, NULL, NULL) : lanepool_pool_shutdown(pool);
    (void)status;
}

/*
 * Waits until all tasks have run and are committed. When only parked tasks are left, no task waits
 * for them, since later tasks run without their lanes; they are cancelled.
 */
static lanepool_status await_end(lanepool_pool *pool, const struct submitter *submitter)
{
    lanepool_status status = LANEPOOL_TIMED_OUT;
    while (status == LANEPOOL_TIMED_OUT || status == LANEPOOL_PARKED) {
        status = lanepool_pool_await(pool, CHECK_NS);
        draw_progress(submitter);
        if (status == LANEPOOL_PARKED || (status == LANEPOOL_TIMED_OUT && stop_is_asked())) {
            end_pool(pool, true);
        }
    }
    return status;
}

static bool finish_pool(lanepool_pool *pool, const struct submitter *submitter, bool good,
                        struct problem *problem)
{
    end_pool(pool, !good);
    lanepool_status status = await_end(pool, submitter);
    if (good && stop_is_asked()) {
        good = report_stop(problem);
    } else if (good && status != LANEPOOL_OK) {
        good = pool_problem(problem, "finish", status);
    }
    watch_end(submitter->watch);
    return lanepool_pool_destroy(pool) == LANEPOOL_OK && good;
}

/* Commits what tasks have done. Those that failed or are held have no record. */
static int write_entries(void *user, const lanepool_journal_entry *entries, size_t count,
                         uint64_t watermark)
{
    struct committer *committer = user;
    (void)watermark;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].record) {
            committer_take(committer, entries[i].record);
        }
    }
    return committer_commit(committer) ? 0 : COMMIT_FAILED;
}

/* Returns how many journal entries a batch has at most. Each visit of a cut is an entry. */
static size_t count_entries(const struct plan *plan)
{
    size_t count = plan->task_count;
    for (size_t i = 0; i < plan->task_count; i++) {
        const struct task *task = &plan->tasks[i];
        if (task->kind != TASK_POST) {
            count += plan->clients.groups[task->subject].member_count + 1;
        }
    }
    return count;
}

/* Returns how many entries a commit may have. */
static size_t commit_max(const struct submitter *submitter)
{
    size_t most = COMMIT_SIZES_MAX * submitter->commit_size;
    size_t all = count_entries(submitter->batch->plan);
    most = most < all ? most : all;
    return most < LANEPOOL_JOURNAL_BATCH_MAX ? most : LANEPOOL_JOURNAL_BATCH_MAX;
}

/* Returns the number of keys. Each parked task has a key of its own, which bounds their number. */
static size_t count_keys(const struct plan *plan)
{
    return (size_t)plan_house_lane(plan) + 1 + plan->clients.group_count;
}

/*
 * Returns how many tasks may be pending. A task is pending until it is committed. So while one
 * commit is made, there is room for the tasks of the next one.
 */
static size_t pending_max(const struct submitter *submitter)
{
    size_t commits = 2 * commit_max(submitter);
    size_t pending = commits > PENDING_MIN ? commits : PENDING_MIN;
    return pending + count_keys(submitter->batch->plan);
}

static lanepool_status create_pool(const struct submitter *submitter, lanepool_pool **pool)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    journal.write = write_entries;
    journal.batch_max = commit_max(submitter);
    journal.wait_ns = COMMIT_WAIT_NS;
    options.workers = submitter->workers;
    options.pending_max = pending_max(submitter);
    options.on_failure = &policy;
    options.journal = &journal;
    options.user = submitter->committer;
    watch_prepare(submitter->watch, &options);
    return lanepool_pool_create(&options, pool);
}

bool submit_run(struct submitter *submitter, struct problem *problem)
{
    lanepool_pool *pool;
    lanepool_status status = create_pool(submitter, &pool);
    if (status != LANEPOOL_OK) {
        return pool_problem(problem, "be created", status);
    }
    stop_begin();
    watch_start(submitter->watch, submitter->batch, submitter->skipped, pool);
    bool good =
        submit_lane_holds(pool, submitter->batch, problem) && submit_all(pool, submitter, problem);
    good = finish_pool(pool, submitter, good, problem);
    stop_end();
    if (submitter->committer->failed) {
        *problem = submitter->committer->problem;
    }
    return good && !submitter->committer->failed;
}
