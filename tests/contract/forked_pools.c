/* A pool in a child of its creator: every call answers that the process has forked, and none
 * hangs. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

#define HOUR_NS INT64_C(3600000000000)

enum { ANSWERS_MAX = 40 };

/* The answers that the child got, in memory that it shares with the parent. */
struct answers {
    unsigned count;
    lanepool_status statuses[ANSWERS_MAX];
    bool is_shut_down;
    bool has_ended; /* it has made all of its calls */
    lanepool_result result;
};

/* A pool, and all the objects on which calls can be made. */
struct things {
    lanepool_pool *pool;
    struct gate gate;
    struct step held, done, waiting;
    lanepool_lane *lane;
    lanepool_pump *pump;
    lanepool_timer *timer;
    lanepool_group *group;
    lanepool_future *done_future, *waiting_future;
    struct answers *answers;
    pid_t creator;
    lanepool_allocator allocator;
};

/* In a child a thread of the program may hold the lock of its allocator for ever, so the library
 * must answer FORKED without it. */
static void *allocate_in_creator(void *user, size_t size, size_t alignment)
{
    const struct things *things = user;

    if (getpid() != things->creator) {
        return NULL;
    }
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void give_back(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

static void open_things(struct things *things)
{
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task done = step_task(&things->done, NULL, 0);
    lanepool_task waiting = step_task(&things->waiting, &claim, 1);
    lanepool_task far = step_task(&things->waiting, NULL, 0);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_group_options keeping = LANEPOOL_GROUP_OPTIONS_INIT;

    keeping.keeps_completions = true;
    memset(things, 0, sizeof *things);
    things->answers = process_shared_memory(sizeof *things->answers);
    gate_init(&things->gate);
    options.workers = 2;
    options.trace_events = 16;
    options.lane_pending_max = LANEPOOL_UNLIMITED;
    things->creator = getpid();
    things->allocator =
        (lanepool_allocator){ sizeof things->allocator, allocate_in_creator, give_back, things };
    options.allocator = &things->allocator;
    things->pool = pool_make_with(&options);
    things->held.gate = &things->gate;
    things->done.value = things;
    expect_ok(lanepool_group_create(&keeping, &things->group));
    done.future = &things->done_future;
    waiting.future = &things->waiting_future;
    waiting.group = things->group;
    expect_ok(lanepool_pool_submit(things->pool, &done));
    expect_ok(lanepool_future_wait(things->done_future, LANEPOOL_FOREVER, NULL));
    expect_ok(step_submit_on(things->pool, &things->held, 1));
    expect(gate_await(&things->gate, 1));
    expect_ok(lanepool_pool_submit(things->pool, &waiting));
    expect_ok(lanepool_lane_acquire(things->pool, claim.key, &things->lane));
    expect_ok(lanepool_pump_create(things->pool, &things->pump));
    expect_ok(lanepool_pool_submit_every(things->pool, &far, HOUR_NS, (uint64_t)HOUR_NS,
                                         LANEPOOL_FIXED_RATE, &things->timer));
}

/* Ends everything in the parent, for which nothing has changed. */
static void close_things(struct things *things)
{
    gate_open(&things->gate, 1);
    expect_ok(lanepool_future_wait(things->waiting_future, LANEPOOL_FOREVER, NULL));
    expect_ok(lanepool_timer_cancel(things->timer));
    lanepool_timer_release(things->timer);
    expect_ok(lanepool_pump_destroy(things->pump));
    lanepool_lane_release(things->lane);
    lanepool_group_destroy(things->group);
    pool_end(things->pool);
    lanepool_future_release(things->waiting_future);
    lanepool_future_release(things->done_future);
    expect_eq(things->held.runs, 1);
    expect_eq(things->waiting.runs, 1);
    gate_fini(&things->gate);
    process_shared_memory_free(things->answers, sizeof *things->answers);
}

static void note(struct answers *answers, lanepool_status status)
{
    if (answers->count < ANSWERS_MAX) {
        answers->statuses[answers->count++] = status;
    }
}

static void note_then(void *context, const lanepool_result *result)
{
    (void)context, (void)result;
}

static void try_submits(struct things *things)
{
    struct answers *answers = things->answers;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&things->done, &claim, 1);
    lanepool_timer *timer;

    note(answers, lanepool_pool_submit(things->pool, &task));
    note(answers, lanepool_pool_submit_within(things->pool, &task, 0));
    note(answers, lanepool_pool_submit_or_run(things->pool, &task));
    note(answers, lanepool_pool_submit_batch(things->pool, &task, 1, LANEPOOL_FOREVER, NULL));
    note(answers, lanepool_pool_submit_after(things->pool, &task, 1));
    note(answers,
         lanepool_pool_submit_every(things->pool, &task, 1, 1, LANEPOOL_FIXED_DELAY, &timer));
    note(answers, lanepool_pool_wait_claims(things->pool, &claim, 1, LANEPOOL_FOREVER));
    task.group = things->group;
    task.pump = things->pump;
    note(answers, lanepool_pool_submit(things->pool, &task));
}

static void try_calls_on_the_pool(struct things *things)
{
    struct answers *answers = things->answers;
    lanepool_pool *pool = things->pool;
    lanepool_key key = lanepool_key_id(2);
    lanepool_lane *lane;
    lanepool_pump *pump;
    lanepool_snapshot *snapshot;
    lanepool_stats stats;
    lanepool_trace_reader *reader;

    note(answers, lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    note(answers, lanepool_pool_cancel(pool, NULL));
    note(answers, lanepool_pool_pause(pool));
    note(answers, lanepool_pool_resume(pool));
    note(answers, lanepool_pool_stats(pool, &stats, NULL, 0));
    note(answers, lanepool_snapshot_take(pool, &snapshot));
    note(answers, lanepool_trace_open(pool, &reader));
    note(answers, lanepool_trace_choose(pool, 0, 1));
    note(answers, lanepool_lane_acquire(pool, key, &lane));
    note(answers, lanepool_pump_create(pool, &pump));
    note(answers, lanepool_pool_shutdown(pool));
    note(answers, lanepool_pool_shutdown_now(pool, NULL, NULL));
    note(answers, lanepool_pool_await(pool, LANEPOOL_FOREVER));
    answers->is_shut_down = lanepool_pool_is_shut_down(pool);
}

static void try_calls_on_things(struct things *things)
{
    struct answers *answers = things->answers;
    lanepool_completion completion;
    lanepool_future *both[2] = { things->waiting_future, things->waiting_future };
    size_t index;
    int fd;

    note(answers, lanepool_lane_pause(things->lane));
    note(answers, lanepool_lane_resume(things->lane));
    note(answers, lanepool_lane_set_pending_max(things->lane, 1));
    note(answers, lanepool_lane_cancel(things->lane, NULL));
    note(answers, lanepool_pump_run(things->pump, 1, LANEPOOL_FOREVER, NULL));
    note(answers, lanepool_pump_fd(things->pump, &fd));
    note(answers, lanepool_pump_destroy(things->pump));
    note(answers, lanepool_timer_cancel(things->timer));
    note(answers, lanepool_future_wait(things->waiting_future, LANEPOOL_FOREVER, NULL));
    note(answers, lanepool_future_wait(things->waiting_future, 0, NULL));
    note(answers, lanepool_future_wait_any(both, 2, LANEPOOL_FOREVER, &index));
    note(answers, lanepool_future_wait_all(both, 2, LANEPOOL_FOREVER));
    note(answers, lanepool_future_then(things->waiting_future, note_then, NULL));
    note(answers, lanepool_future_cancel(things->waiting_future));
    note(answers, lanepool_future_cancel_wait(things->waiting_future, LANEPOOL_FOREVER));
    note(answers, lanepool_group_wait(things->group, LANEPOOL_FOREVER));
    note(answers, lanepool_group_cancel(things->group, NULL));
    note(answers, lanepool_group_next(things->group, LANEPOOL_FOREVER, &completion));
}

/* Results from before the fork can be read. Releasing a handle frees it. */
static void let_go(struct things *things)
{
    struct answers *answers = things->answers;

    if (lanepool_future_wait(things->done_future, 0, &answers->result) != LANEPOOL_OK) {
        answers->result.status = LANEPOOL_FAILED;
    }
    lanepool_future_release(things->done_future);
    lanepool_future_release(things->waiting_future);
    lanepool_group_destroy(things->group);
    lanepool_lane_release(things->lane);
    lanepool_timer_release(things->timer);
}

static void use_everything(void *context)
{
    struct things *things = context;

    try_submits(things);
    try_calls_on_the_pool(things);
    try_calls_on_things(things);
    let_go(things);
    things->answers->has_ended = lanepool_pool_destroy(things->pool) == LANEPOOL_OK;
}

static void *fork_and_use_everything(void *context)
{
    expect_eq(process_run_apart(use_everything, context), 0);
    return NULL;
}

static void expect_answers(const struct things *things, unsigned count)
{
    const struct answers *answers = things->answers;

    expect(answers->has_ended);
    expect_eq(answers->count, count);
    for (unsigned i = 0; i < answers->count; i++) {
        expect_status(answers->statuses[i], LANEPOOL_FORKED);
    }
}

static void expect_all_answers(const struct things *things)
{
    expect_answers(things, 8 + 13 + 18);
    expect(things->answers->is_shut_down);
    expect_ok(things->answers->result.status);
    expect(things->answers->result.value == things);
}

Test(forked_pools, every_call_in_the_child_answers_forked)
{
    struct things things;

    open_things(&things);
    fork_and_use_everything(&things);
    expect_all_answers(&things);
    close_things(&things);
}

Test(forked_pools, every_call_in_the_child_of_a_thread_that_had_not_used_the_pool_does)
{
    struct things things;
    pthread_t thread;

    open_things(&things);
    expect_eq(pthread_create(&thread, NULL, fork_and_use_everything, &things), 0);
    expect_eq(pthread_join(thread, NULL), 0);
    expect_all_answers(&things);
    close_things(&things);
}

/* --- inside a task --- */

struct inner {
    lanepool_run *run;
    lanepool_pool *pool;
    struct answers *answers;
    lanepool_status destroyed;
    int end;
};

static void use_own_run(void *context)
{
    struct inner *inner = context;
    struct answers *answers = inner->answers;
    lanepool_key key = lanepool_key_id(1);
    lanepool_detached *detached;
    lanepool_task heir = LANEPOOL_TASK_INIT;
    struct step step = { .id = 0 };

    heir.function = step_body;
    heir.context = &step;
    note(answers, lanepool_run_release(inner->run, key));
    note(answers, lanepool_run_hand_over(inner->run, &heir));
    note(answers, lanepool_run_detach(inner->run, &detached));
    note(answers, step_submit_on(inner->pool, &step, 1));
    answers->has_ended = lanepool_pool_destroy(inner->pool) == LANEPOOL_DEADLOCK;
}

static int fork_body(lanepool_run *run, void *context)
{
    struct inner *inner = context;

    inner->run = run;
    inner->pool = lanepool_run_pool(run);
    inner->end = process_run_apart(use_own_run, inner);
    return 0;
}

Test(forked_pools, task_that_forks_is_told_in_the_child)
{
    struct things things = { .answers = process_shared_memory(sizeof *things.answers) };
    struct inner inner = { .answers = things.answers };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    task.function = fork_body;
    task.context = &inner;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(inner.end, 0);
    expect_answers(&things, 4);
    process_shared_memory_free(things.answers, sizeof *things.answers);
}

/* --- forks while other threads use the pool --- */

/* Not under ThreadSanitizer: its memory allocator has spin locks that fork() does not take. So a
 * child of a process with a busy thread may wait for one for ever, in free() or in an atomic
 * operation. */
#if !defined(__SANITIZE_THREAD__)

/* A thread that is inside a call of the pool whenever the process forks. */
struct busy {
    lanepool_pool *pool;
    _Atomic bool stop;
    unsigned failures;
    struct step step;
};

static void *keep_busy(void *context)
{
    struct busy *busy = context;
    lanepool_stats stats;

    while (!atomic_load(&busy->stop)) {
        for (uint64_t key = 0; key < 50; key++) {
            busy->failures += step_submit_rollup(busy->pool, &busy->step, 0, 1 + key) != 0;
        }
        busy->failures += lanepool_pool_stats(busy->pool, &stats, NULL, 0) != LANEPOOL_OK;
        busy->failures += lanepool_pool_quiesce(busy->pool, LANEPOOL_FOREVER) != LANEPOOL_OK;
    }
    return NULL;
}

struct visit {
    lanepool_pool *pool;
    struct answers *answers;
};

static void visit_and_leave(void *context)
{
    struct visit *visit = context;
    struct step step = { .id = 0 };
    lanepool_stats stats;

    note(visit->answers, step_submit_on(visit->pool, &step, 7));
    note(visit->answers, lanepool_pool_stats(visit->pool, &stats, NULL, 0));
    note(visit->answers, lanepool_pool_quiesce(visit->pool, LANEPOOL_FOREVER));
    visit->answers->has_ended = lanepool_pool_destroy(visit->pool) == LANEPOOL_OK;
}

Test(forked_pools, child_hangs_at_no_lock_that_a_thread_held)
{
    enum { ROUNDS = 40 };
    struct busy busy = { .pool = pool_make(2, LANEPOOL_PER_KEY) };
    struct things things = { .answers = process_shared_memory(sizeof *things.answers) };
    struct visit visit = { busy.pool, things.answers };
    pthread_t thread;

    expect_eq(pthread_create(&thread, NULL, keep_busy, &busy), 0);
    for (int i = 0; i < ROUNDS; i++) {
        memset(things.answers, 0, sizeof *things.answers);
        expect_eq(process_run_apart(visit_and_leave, &visit), 0);
        expect_answers(&things, 3);
    }
    atomic_store(&busy.stop, true);
    expect_eq(pthread_join(thread, NULL), 0);
    expect_eq(busy.failures, 0);
    pool_end(busy.pool);
    process_shared_memory_free(things.answers, sizeof *things.answers);
}

#endif
