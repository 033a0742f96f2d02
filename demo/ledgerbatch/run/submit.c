/*
 * Owns the pool of a batch: one submitting thread, which hands over tasks in
 * their planned order, some at a time, and is held back while many are pending.
 */
#include "run/submit.h"

#include <stdlib.h>

#include "batch/batch_task.h"
#include "memory.h"

/* So many tasks are handed over in one call. */
#define SUBMIT_COUNT 256
/* So many tasks may be pending: enough to keep workers busy, few enough to stay in caches. */
#define PENDING_MAX ((size_t)1 << 14)
/* The submitter looks at the progress bar and the commit queue this often. */
#define LOOK_NS 50000000u

/* Tasks that wait to be handed over in one call, with all their claims. */
struct submission {
    lanepool_task tasks[SUBMIT_COUNT];
    size_t first_claims[SUBMIT_COUNT]; /* where each task's claims begin */
    size_t task_count;
    lanepool_claim *claims;
    size_t claim_count, claim_capacity;
    struct lane_list lanes;
};

static bool pool_problem(struct problem *problem, const char *what, lanepool_status status)
{
    return problem_set(problem, EXIT_CODE_IO, "the pool cannot %s: %s", what,
                       lanepool_status_text(status));
}

/* How far one has come in the plan, in what is left in parts, and in what is late. */
struct place {
    size_t task, part, late;
};

enum doneness { DONE_NOWHERE, DONE_EVERYWHERE, DONE_IN_PART };

static enum doneness task_doneness(const struct submitter *submitter, const struct task *task,
                                   struct lane_list *lanes)
{
    size_t done = 0;
    plan_lanes(submitter->batch->plan, task, lanes);
    for (size_t i = 0; i < lanes->count; i++) {
        done += submitter->last_seqs[lanes->items[i]] >= task->seq;
    }
    return done == 0 ? DONE_NOWHERE : done == lanes->count ? DONE_EVERYWHERE : DONE_IN_PART;
}

/* Whether a task is done in all its lanes but those of its parts, which begin at *next_part. */
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
        fits = fits && (submitter->last_seqs[lane] >= task->seq) != is_part;
    }
    return fits;
}

static bool has_part(const struct submitter *submitter, const struct task *task, size_t part)
{
    const struct leftovers *leftovers = submitter->leftovers;
    return part < leftovers->part_count && leftovers->parts[part].seq == task->seq;
}

/* Whether a task of the plan has failed, and is done late. */
static bool has_failed(const struct submitter *submitter, const struct task *task, size_t late)
{
    const struct leftovers *leftovers = submitter->leftovers;
    return late < leftovers->late_count &&
           leftovers->late[late].seq == plan_late_seq(submitter->batch->plan, task->seq);
}

static bool check_task(struct submitter *submitter, const struct task *task,
                       struct lane_list *lanes, struct place *place)
{
    enum doneness doneness = task_doneness(submitter, task, lanes);
    if (has_part(submitter, task, place->part)) {
        submitter->skipped++;
        return is_left_in_parts(submitter, task, lanes, &place->part);
    }
    if (has_failed(submitter, task, place->late)) {
        place->late++;
        return doneness != DONE_NOWHERE;
    }
    submitter->skipped += doneness == DONE_EVERYWHERE;
    return doneness != DONE_IN_PART;
}

static bool check_late(struct submitter *submitter, struct lane_list *lanes)
{
    const struct leftovers *leftovers = submitter->leftovers;
    bool consistent = true;
    for (size_t i = 0; consistent && i < leftovers->late_count; i++) {
        enum doneness doneness = task_doneness(submitter, &leftovers->late[i], lanes);
        submitter->skipped += doneness == DONE_EVERYWHERE;
        consistent = doneness != DONE_IN_PART;
    }
    return consistent;
}

bool submit_check(struct submitter *submitter, struct problem *problem)
{
    const struct plan *plan = submitter->batch->plan;
    struct lane_list lanes = { 0 };
    struct place place = { 0, 0, 0 };
    submitter->skipped = 0;
    while (place.task < plan->task_count &&
           check_task(submitter, &plan->tasks[place.task], &lanes, &place)) {
        place.task++;
    }
    bool consistent = place.task == plan->task_count && check_late(submitter, &lanes);
    free(lanes.items);
    return consistent || problem_set(problem, EXIT_CODE_IO,
                                     "the database is damaged: task %zu is done for some of its "
                                     "clients and not for others",
                                     place.task + 1);
}

static void add_claim(struct submission *submission, uint64_t id, lanepool_mode mode)
{
    submission->claims = memory_grow(submission->claims, &submission->claim_capacity,
                                     submission->claim_count + 1, sizeof *submission->claims);
    submission->claims[submission->claim_count++] = lanepool_claim_id(id, mode);
}

/*
 * The keys are the numbers of lanes, and above them one for each group: its
 * rollups claim that EXCLUSIVE. So two statements of a group, which claim their
 * clients SHARED, still enter the commit queue in their order. What makes a
 * rollup up for one client has that client's lane for itself instead.
 */
static void add_task(struct submission *submission, const struct plan *plan, struct task *task)
{
    bool is_rollup = task->kind != TASK_POST && task->member == NO_INDEX;
    bool only_reads = is_rollup && task->kind == TASK_STATEMENT;
    lanepool_mode mode = only_reads ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
    size_t first = submission->claim_count;
    for (size_t i = 0; i < submission->lanes.count; i++) {
        add_claim(submission, submission->lanes.items[i], mode);
    }
    if (is_rollup) {
        add_claim(submission, (uint64_t)plan_house_lane(plan) + 1 + task->subject,
                  LANEPOOL_EXCLUSIVE);
    }
    lanepool_task *next = &submission->tasks[submission->task_count];
    *next = (lanepool_task)LANEPOOL_TASK_INIT;
    next->function = batch_task;
    next->context = task;
    next->tag = watch_tag(task, submission->lanes.count);
    next->claim_count = submission->claim_count - first;
    submission->first_claims[submission->task_count++] = first;
}

/*
 * The next task that is not done, or NULL; its lanes are those of the submission. A rollup that is
 * left in parts is done but for them, and they stand in its place. One that has
 * failed is done somewhere: where its other clients have gone on.
 */
static struct task *next_task(struct submission *submission, const struct submitter *submitter,
                              struct place *place)
{
    const struct plan *plan = submitter->batch->plan;
    while (place->task < plan->task_count) {
        struct task *task = &plan->tasks[place->task];
        if (has_part(submitter, task, place->part)) {
            task = &submitter->leftovers->parts[place->part++];
            plan_lanes(plan, task, &submission->lanes);
            return task;
        }
        place->task++;
        if (task_doneness(submitter, task, &submission->lanes) == DONE_NOWHERE) {
            return task;
        }
    }
    while (place->late < submitter->leftovers->late_count) {
        struct task *task = &submitter->leftovers->late[place->late++];
        if (task_doneness(submitter, task, &submission->lanes) == DONE_NOWHERE) {
            return task;
        }
    }
    return NULL;
}

/* Before all others: whoever is not resumed has its lane held as when its task had failed. */
static bool hold_lanes(lanepool_pool *pool, const struct batch *batch, struct problem *problem)
{
    lanepool_status status = LANEPOOL_OK;
    for (uint32_t i = 0; status == LANEPOOL_OK && i <= plan_house_lane(batch->plan); i++) {
        lanepool_claim claim = lanepool_claim_id(i, LANEPOOL_EXCLUSIVE);
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

/* Fills a submission with what comes next; empty: nothing is left. */
static void fill(struct submission *submission, const struct submitter *submitter,
                 struct place *place)
{
    const struct plan *plan = submitter->batch->plan;
    submission->task_count = 0;
    submission->claim_count = 0;
    while (submission->task_count < SUBMIT_COUNT) {
        struct task *task = next_task(submission, submitter, place);
        if (!task) {
            break;
        }
        add_task(submission, plan, task);
    }
    for (size_t i = 0; i < submission->task_count; i++) {
        submission->tasks[i].claims = submission->claims + submission->first_claims[i];
    }
}

static void draw(const struct submitter *submitter)
{
    size_t done = atomic_load_explicit(&submitter->batch->done_count, memory_order_relaxed);
    progress_draw(submitter->progress, "posting", submitter->skipped + done);
}

/* Hands one submission over; *stopped is set when the committer has given up. */
static bool hand_over(lanepool_pool *pool, const struct submitter *submitter,
                      const struct submission *submission, bool *stopped, struct problem *problem)
{
    size_t sent = 0;
    while (sent < submission->task_count && !*stopped) {
        size_t accepted = 0;
        lanepool_status status = lanepool_pool_submit_batch(
            pool, submission->tasks + sent, submission->task_count - sent, LOOK_NS, &accepted);
        sent += accepted;
        draw(submitter);
        *stopped = commit_queue_is_stopped(&submitter->batch->queue);
        if (status != LANEPOOL_OK && status != LANEPOOL_TIMED_OUT) {
            return pool_problem(problem, "take a task", status);
        }
    }
    return true;
}

static bool submit_all(lanepool_pool *pool, const struct submitter *submitter,
                       struct problem *problem)
{
    struct submission *submission = memory_zeroed(1, sizeof *submission);
    struct place place = { 0, 0, 0 };
    bool stopped = false;
    bool good = true;
    fill(submission, submitter, &place);
    while (good && !stopped && submission->task_count > 0) {
        good = hand_over(pool, submitter, submission, &stopped, problem);
        fill(submission, submitter, &place);
    }
    free(submission->claims);
    free(submission->lanes.items);
    free(submission);
    return good;
}

/*
 * After a problem, tasks that have not started are called off: nothing of theirs is committed. A
 * pool in which only held tasks are left has nobody waiting behind them, for who comes there goes
 * without their lanes; so they are ended.
 */
static bool finish_pool(lanepool_pool *pool, const struct submitter *submitter, bool good,
                        struct problem *problem)
{
    lanepool_status status = good && !commit_queue_is_stopped(&submitter->batch->queue)
                                 ? lanepool_pool_shutdown(pool)
                                 : lanepool_pool_shutdown_now(pool, NULL, NULL);
    bool has_ended = false;
    while (status == LANEPOOL_OK && !has_ended) {
        status = lanepool_pool_await(pool, LOOK_NS);
        has_ended = status == LANEPOOL_OK;
        draw(submitter);
        if (status == LANEPOOL_HELD) {
            status = lanepool_pool_shutdown_now(pool, NULL, NULL);
        } else if (status == LANEPOOL_TIMED_OUT) {
            status = LANEPOOL_OK;
        }
    }
    if (!has_ended && good) {
        good = pool_problem(problem, "finish", status);
    }
    watch_end(submitter->watch);
    return lanepool_pool_destroy(pool) == LANEPOOL_OK && good;
}

/* Each task that is held keeps a lane at least that no other has: they never fill the pool. */
static size_t key_count(const struct plan *plan)
{
    return (size_t)plan_house_lane(plan) + 1 + plan->clients.group_count;
}

bool submit_run(struct submitter *submitter, struct problem *problem)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_pool *pool;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    policy.at_poison = LANEPOOL_AT_POISON_GO_WITHOUT;
    options.workers = submitter->workers;
    options.pending_max = PENDING_MAX + key_count(submitter->batch->plan);
    options.on_failure = &policy;
    watch_prepare(submitter->watch, &options);
    lanepool_status status = lanepool_pool_create(&options, &pool);
    if (status != LANEPOOL_OK) {
        return pool_problem(problem, "be created", status);
    }
    watch_start(submitter->watch, submitter->batch, submitter->skipped, pool);
    bool good = hold_lanes(pool, submitter->batch, problem) && submit_all(pool, submitter, problem);
    return finish_pool(pool, submitter, good, problem);
}
