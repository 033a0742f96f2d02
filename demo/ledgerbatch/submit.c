/*
 * Owns the pool of a batch: one submitting thread, which hands over tasks in
 * their planned order, some at a time, and is held back while many are pending.
 */
#include "submit.h"

#include <stdlib.h>

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

enum doneness { DONE_NOWHERE, DONE_EVERYWHERE, DONE_IN_PART };

static enum doneness task_doneness(const struct submitter *submitter, const struct task *task,
                                   struct lane_list *lanes)
{
    uint32_t seq = plan_seq(submitter->batch->plan, task);
    size_t done = 0;
    plan_lanes(submitter->batch->plan, task, lanes);
    for (size_t i = 0; i < lanes->count; i++) {
        done += submitter->last_seqs[lanes->items[i]] >= seq;
    }
    return done == 0 ? DONE_NOWHERE : done == lanes->count ? DONE_EVERYWHERE : DONE_IN_PART;
}

bool submit_check(struct submitter *submitter, struct problem *problem)
{
    const struct plan *plan = submitter->batch->plan;
    struct lane_list lanes = { 0 };
    bool consistent = true;
    submitter->skipped = 0;
    for (size_t i = 0; consistent && i < plan->task_count; i++) {
        enum doneness doneness = task_doneness(submitter, &plan->tasks[i], &lanes);
        submitter->skipped += doneness == DONE_EVERYWHERE;
        if (doneness == DONE_IN_PART) {
            consistent = problem_set(problem, EXIT_CODE_IO,
                                     "the database is damaged: task %zu is done for some of its "
                                     "clients and not for others",
                                     i + 1);
        }
    }
    free(lanes.items);
    return consistent;
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
 * clients SHARED, still enter the commit queue in their order.
 */
static void add_task(struct submission *submission, const struct plan *plan, struct task *task)
{
    bool is_rollup = task->kind != TASK_POST;
    lanepool_mode mode = task->kind == TASK_STATEMENT ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
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

/* Fills a submission from the plan, from *next on; done tasks are left out. */
static void fill(struct submission *submission, const struct submitter *submitter, size_t *next)
{
    const struct plan *plan = submitter->batch->plan;
    submission->task_count = 0;
    submission->claim_count = 0;
    while (submission->task_count < SUBMIT_COUNT && *next < plan->task_count) {
        struct task *task = &plan->tasks[(*next)++];
        if (task_doneness(submitter, task, &submission->lanes) == DONE_NOWHERE) {
            add_task(submission, plan, task);
        }
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
    size_t next = 0;
    bool stopped = false;
    bool good = true;
    while (good && !stopped && next < submitter->batch->plan->task_count) {
        fill(submission, submitter, &next);
        good = hand_over(pool, submitter, submission, &stopped, problem);
    }
    free(submission->claims);
    free(submission->lanes.items);
    free(submission);
    return good;
}

/* After a problem, tasks that have not started are called off: nothing of theirs is committed. */
static bool finish_pool(lanepool_pool *pool, const struct submitter *submitter, bool good,
                        struct problem *problem)
{
    lanepool_status status = good && !commit_queue_is_stopped(&submitter->batch->queue)
                                 ? lanepool_pool_shutdown(pool)
                                 : lanepool_pool_shutdown_now(pool, NULL, NULL);
    while (status == LANEPOOL_OK || status == LANEPOOL_TIMED_OUT) {
        status = lanepool_pool_await(pool, LOOK_NS);
        draw(submitter);
        if (status == LANEPOOL_OK) {
            break;
        }
    }
    if (status != LANEPOOL_OK && good) {
        good = pool_problem(problem, "finish", status);
    }
    watch_end(submitter->watch);
    return lanepool_pool_destroy(pool) == LANEPOOL_OK && good;
}

bool submit_run(struct submitter *submitter, struct problem *problem)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;
    options.workers = submitter->workers;
    options.pending_max = PENDING_MAX;
    options.on_error = batch_on_error;
    options.user = submitter->batch;
    watch_prepare(submitter->watch, &options);
    lanepool_status status = lanepool_pool_create(&options, &pool);
    if (status != LANEPOOL_OK) {
        return pool_problem(problem, "be created", status);
    }
    watch_start(submitter->watch, submitter->batch, submitter->skipped, pool);
    bool good = submit_all(pool, submitter, problem);
    return finish_pool(pool, submitter, good, problem);
}
