/* The limit on pending tasks: a submit blocks, blocks for a limited time, is refused, or runs its
 * task in the caller. */
#include <pthread.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_pool *limited_pool(unsigned workers, size_t pending_max)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.pending_max = pending_max;
    return pool_make_with(&options);
}

/* A thread that submits one step on key 1, and records when the call has returned. */
struct submitter {
    lanepool_pool *pool;
    struct step step;
    bool or_run;
    struct gate started;
    long thread;
    pthread_t handle;
    lanepool_status status;
    _Atomic bool returned;
};

static void *submit_one(void *argument)
{
    struct submitter *self = argument;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&self->step, &claim, 1);

    self->thread = process_thread_self();
    gate_arrive(&self->started);
    self->status = self->or_run ? lanepool_pool_submit_or_run(self->pool, &task)
                                : lanepool_pool_submit(self->pool, &task);
    atomic_store(&self->returned, true);
    return NULL;
}

/* Starts the submitter, and returns when its call has blocked. */
static void start_and_see_it_block(struct submitter *self)
{
    gate_init(&self->started);
    expect_eq(pthread_create(&self->handle, NULL, submit_one, self), 0);
    expect(gate_await(&self->started, 1));
    expect(process_thread_sleeps(self->thread));
    expect(!atomic_load(&self->returned));
}

static void join_submitter(struct submitter *self)
{
    pthread_join(self->handle, NULL);
    gate_fini(&self->started);
}

/* Returns a pool whose limit is reached by a task of key 1, which waits at the gate. */
static lanepool_pool *full_pool(struct step *holder, struct gate *gate)
{
    lanepool_pool *pool = limited_pool(1, 1);

    gate_init(gate);
    holder->gate = gate;
    expect_ok(step_submit_on(pool, holder, 1));
    expect(gate_await(gate, 1));
    return pool;
}

Test(admission, submit_blocks_while_the_pool_is_full)
{
    struct gate gate;
    struct step holder = { 0 };
    lanepool_pool *pool = full_pool(&holder, &gate);
    struct submitter blocked = { .pool = pool };

    start_and_see_it_block(&blocked);
    gate_open(&gate, 1);
    join_submitter(&blocked);
    expect_ok(blocked.status);
    pool_end(pool);
    expect_eq(blocked.step.runs, 1);
    gate_fini(&gate);
}

/* Makes the workers idle for short times only, so that one of them searches for long from now on.
 */
static void make_idle_for_short_times(lanepool_pool *pool, struct step *step)
{
    for (int i = 0; i < 50; i++) {
        expect_ok(step_submit(pool, step));
        expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    }
}

/* One place becomes free, which is less than threads are served with while tasks run. The only
 * worker that is not in a task searches without end. */
Test(admission, a_searching_worker_serves_a_submitter_with_the_last_place)
{
    enum { PENDING_MAX = 4096 };
    struct gate gates[2];
    struct step idle = { 0 };
    struct step holders[2] = { { .gate = &gates[0] }, { .gate = &gates[1] } };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct submitter blocked = { 0 };

    gate_init(&gates[0]);
    gate_init(&gates[1]);
    options.workers = 2;
    options.pending_max = PENDING_MAX;
    options.search_ns = LANEPOOL_FOREVER;
    blocked.pool = pool_make_with(&options);
    make_idle_for_short_times(blocked.pool, &idle);
    expect_ok(step_submit_on(blocked.pool, &holders[0], 1));
    expect_ok(step_submit_on(blocked.pool, &holders[1], 2));
    expect(gate_await(&gates[0], 1));
    expect(gate_await(&gates[1], 1));
    for (int i = 2; i < PENDING_MAX; i++) {
        expect_ok(step_submit_on(blocked.pool, &idle, 1));
    }
    start_and_see_it_block(&blocked);
    gate_open(&gates[1], 1);
    join_submitter(&blocked);
    expect_ok(blocked.status);
    gate_open(&gates[0], 1);
    pool_end(blocked.pool);
    gate_fini(&gates[0]);
    gate_fini(&gates[1]);
}

Test(admission, blocked_submitters_are_served_in_turn)
{
    enum { COUNT = 5 };
    static struct journal journal;
    struct gate gate;
    struct step holder = { 0 };
    struct submitter blocked[COUNT];
    lanepool_pool *pool = full_pool(&holder, &gate);

    for (uint32_t i = 0; i < COUNT; i++) {
        blocked[i] = (struct submitter){ .pool = pool };
        blocked[i].step.id = i;
        blocked[i].step.journal = &journal;
        start_and_see_it_block(&blocked[i]);
    }
    gate_open(&gate, 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        join_submitter(&blocked[i]);
        expect_ok(blocked[i].status);
    }
    pool_end(pool);
    for (uint32_t i = 0; i < COUNT; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
    gate_fini(&gate);
}

static void shutdown_refuses_blocked_submitters(bool now)
{
    struct gate gate;
    struct step holder = { 0 };
    lanepool_pool *pool = full_pool(&holder, &gate);
    struct submitter blocked[3];

    for (int i = 0; i < 3; i++) {
        blocked[i] = (struct submitter){ .pool = pool };
        start_and_see_it_block(&blocked[i]);
    }
    if (now) {
        expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    } else {
        expect_ok(lanepool_pool_shutdown(pool));
    }
    for (int i = 0; i < 3; i++) {
        join_submitter(&blocked[i]); /* although the pool is as full as before */
        expect_status(blocked[i].status, LANEPOOL_SHUT_DOWN);
        expect(!step_was_called(&blocked[i].step));
    }
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(admission, shutdown_refuses_blocked_submitters)
{
    shutdown_refuses_blocked_submitters(false);
}

Test(admission, shutdown_now_refuses_blocked_submitters)
{
    shutdown_refuses_blocked_submitters(true);
}

Test(admission, refused_task_leaves_nothing_behind)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step refused = { 0 };
    lanepool_pool *pool = full_pool(&holder, &gate);
    lanepool_future *future = (lanepool_future *)&refused;
    lanepool_task task = step_task(&refused, NULL, 0);
    lanepool_stats stats;

    task.future = &future;
    task.release = step_release;
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    expect(future == NULL);
    future = (lanepool_future *)&refused;
    expect_status(lanepool_pool_submit_within(pool, &task, 2000000), LANEPOOL_TIMED_OUT);
    expect(future == NULL);
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.accepted, 1);
    expect_eq(stats.pending, 1);
    gate_open(&gate, 1);
    pool_end(pool);
    expect(!step_was_called(&refused));
    expect_eq(refused.releases, 0);
    gate_fini(&gate);
}

Test(admission, limit_frees_up_as_tasks_finish)
{
    struct step steps[200] = { { 0 } };
    lanepool_pool *pool = limited_pool(2, 1);

    for (int i = 0; i < 200; i++) {
        expect_ok(step_submit_on(pool, &steps[i], (uint64_t)i % 3));
    }
    pool_settle(pool);
    for (int i = 0; i < 200; i++) {
        lanepool_task task = step_task(&steps[i], NULL, 0);

        /* Idle again: there is room for one task. */
        expect_ok(lanepool_pool_submit_within(pool, &task, 0));
        pool_settle(pool);
    }
    pool_end(pool);
    for (int i = 0; i < 200; i++) {
        expect_eq(steps[i].runs, 2);
    }
}

/* Several submitters share one limit; the bodies check how many tasks are pending. */
struct flood {
    lanepool_pool *pool;
    _Atomic int64_t admitted; /* counted after the submit: never more than the accepted tasks */
    _Atomic int64_t finished; /* counted before the end: never less than the finished tasks */
    _Atomic int64_t most;
    _Atomic int failures;
};

enum { FLOOD_LIMIT = 7, FLOOD_THREADS = 3, FLOOD_TASKS = 2000 };

static int flood_body(lanepool_run *run, void *context)
{
    struct flood *flood = context;
    int64_t admitted = atomic_load(&flood->admitted);
    int64_t in_flight = admitted - atomic_load(&flood->finished);
    int64_t most = atomic_load(&flood->most);

    (void)run;
    while (in_flight > most && !atomic_compare_exchange_weak(&flood->most, &most, in_flight)) {
    }
    atomic_fetch_add(&flood->finished, 1);
    return 0;
}

static void *flood_submit(void *argument)
{
    struct flood *flood = argument;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = flood_body;
    task.context = flood;
    for (int i = 0; i < FLOOD_TASKS; i++) {
        if (lanepool_pool_submit(flood->pool, &task)) {
            atomic_fetch_add(&flood->failures, 1);
        }
        atomic_fetch_add(&flood->admitted, 1);
    }
    return NULL;
}

Test(admission, limit_holds_for_several_submitters)
{
    pthread_t threads[FLOOD_THREADS];
    struct flood flood = { .pool = limited_pool(2, FLOOD_LIMIT) };

    for (int i = 0; i < FLOOD_THREADS; i++) {
        expect_eq(pthread_create(&threads[i], NULL, flood_submit, &flood), 0);
    }
    for (int i = 0; i < FLOOD_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pool_end(flood.pool);
    expect_eq(flood.failures, 0);
    expect_eq(flood.finished, FLOOD_THREADS * FLOOD_TASKS);
    expect(flood.most <= FLOOD_LIMIT);
}

Test(admission, or_run_waits_for_its_turn_and_runs_in_the_caller)
{
    static struct journal journal;
    struct gate gate;
    struct step holder = { .id = 0, .journal = &journal };
    struct step behind = { .id = 2, .journal = &journal };
    lanepool_pool *pool = full_pool(&holder, &gate);
    struct submitter own = { .pool = pool, .or_run = true };

    own.step.id = 1;
    own.step.journal = &journal;
    start_and_see_it_block(&own); /* key 1 is in use: it is not this task's turn */
    expect(!step_was_called(&own.step));
    gate_open(&gate, 1);
    join_submitter(&own);
    expect_ok(own.status);
    expect_ok(step_submit_on(pool, &behind, 1));
    pool_end(pool);
    expect_eq(own.step.runs, 1);
    expect(own.step.worker == SIZE_MAX);
    for (uint32_t i = 0; i < 3; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
    gate_fini(&gate);
}

Test(admission, or_run_leaves_the_task_to_a_worker_while_there_is_room)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_pool *pool = limited_pool(1, 1);

    expect_ok(lanepool_pool_submit_or_run(pool, &task));
    pool_end(pool);
    expect_eq(step.runs, 1);
    expect_eq(step.worker, 0);
}

Test(admission, or_run_gives_a_future_and_calls_release)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step own = { .value = &own, .code = 3 };
    lanepool_task task = step_task(&own, NULL, 0);
    lanepool_future *future;
    lanepool_result result;
    lanepool_pool *pool = full_pool(&holder, &gate);

    task.future = &future;
    task.release = step_release;
    expect_ok(lanepool_pool_submit_or_run(pool, &task));
    expect_ok(lanepool_future_wait(future, 0, &result));
    expect_status(result.status, LANEPOOL_FAILED);
    expect_eq(result.code, 3);
    expect(result.value == &own);
    lanepool_future_release(future);
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(own.releases, 1);
    gate_fini(&gate);
}

/* Every form of submit inside a task, while the pool is full. */
struct inside {
    struct step steps[4];
    lanepool_status plain;
    lanepool_status refused;
    lanepool_status timed;
    lanepool_status or_run;
};

static int submit_inside(lanepool_run *run, void *context)
{
    struct inside *inside = context;
    lanepool_pool *pool = lanepool_run_pool(run);
    lanepool_task tasks[4];

    for (int i = 0; i < 4; i++) {
        tasks[i] = step_task(&inside->steps[i], NULL, 0);
    }
    inside->plain = lanepool_pool_submit(pool, &tasks[0]);
    inside->refused = lanepool_pool_submit_within(pool, &tasks[1], 0);
    inside->timed = lanepool_pool_submit_within(pool, &tasks[2], 1);
    inside->or_run = lanepool_pool_submit_or_run(pool, &tasks[3]);
    return 0;
}

Test(admission, submits_from_inside_a_task_never_block)
{
    struct inside inside = { 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = limited_pool(1, 1);

    task.function = submit_inside;
    task.context = &inside;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_ok(inside.plain);
    expect_status(inside.refused, LANEPOOL_FULL);
    expect_ok(inside.timed);
    expect_ok(inside.or_run);
    expect_eq(inside.steps[0].runs, 1);
    expect_eq(inside.steps[1].runs, 0);
    expect_eq(inside.steps[2].runs, 1);
    expect_eq(inside.steps[3].runs, 1);
    expect_eq(inside.steps[3].worker, 0); /* it does not run inside the caller */
}

Test(admission, batch_stops_at_the_limit)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[6] = { { 0 } };
    lanepool_task tasks[6];
    lanepool_future *futures[6];
    size_t accepted = 99;
    lanepool_pool *pool = limited_pool(1, 4);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < 6; i++) {
        tasks[i] = step_task(&steps[i], NULL, 0);
        futures[i] = NULL;
        tasks[i].future = &futures[i];
    }
    expect_status(lanepool_pool_submit_batch(pool, tasks, 6, 0, &accepted), LANEPOOL_FULL);
    expect_eq(accepted, 3);
    expect(futures[2] != NULL);
    expect(futures[3] == NULL);
    expect_status(lanepool_pool_submit_batch(pool, tasks + 3, 3, 1000000, &accepted),
                  LANEPOOL_TIMED_OUT);
    expect_eq(accepted, 0);
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_submit_batch(pool, tasks + 3, 3, LANEPOOL_FOREVER, &accepted));
    expect_eq(accepted, 3);
    pool_end(pool);
    for (int i = 0; i < 6; i++) {
        expect_eq(steps[i].runs, 1);
        lanepool_future_release(futures[i]);
    }
    gate_fini(&gate);
}

Test(admission, batch_stops_at_the_first_bad_task)
{
    static struct journal journal;
    struct step steps[3] = { { .id = 0 }, { .id = 1 }, { .id = 2 } };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task tasks[4] = { LANEPOOL_TASK_INIT, LANEPOOL_TASK_INIT, LANEPOOL_TASK_INIT,
                               LANEPOOL_TASK_INIT };
    size_t accepted = 99;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (int i = 0; i < 2; i++) {
        steps[i].journal = &journal;
        tasks[i] = step_task(&steps[i], &claim, 1);
    }
    tasks[3] = step_task(&steps[2], &claim, 1);
    expect_status(lanepool_pool_submit_batch(pool, tasks, 4, LANEPOOL_FOREVER, &accepted),
                  LANEPOOL_INVALID);
    expect_eq(accepted, 2);
    expect_ok(lanepool_pool_submit_batch(pool, tasks, 0, 0, &accepted));
    expect_eq(accepted, 0);
    expect_ok(lanepool_pool_submit_batch(pool, NULL, 0, 0, NULL));
    pool_end(pool);
    expect_eq(journal_place(&journal, 0), 0);
    expect_eq(journal_place(&journal, 1), 1);
    expect(!step_was_called(&steps[2]));
}

Test(admission, batch_keeps_its_order)
{
    enum { COUNT = 1000 };
    static struct journal journal;
    static struct step steps[COUNT];
    static lanepool_task tasks[COUNT];
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_pool *pool = limited_pool(2, 10);

    for (uint32_t i = 0; i < COUNT; i++) {
        steps[i].id = i;
        steps[i].journal = &journal;
        tasks[i] = step_task(&steps[i], &claim, 1);
    }
    expect_ok(lanepool_pool_submit_batch(pool, tasks, COUNT, LANEPOOL_FOREVER, NULL));
    pool_end(pool);
    for (uint32_t i = 0; i < COUNT; i++) {
        expect_eq(journal_place(&journal, i), i);
        expect(i == 0 || steps[i].ticket > steps[i - 1].ticket);
    }
}

Test(admission, refused_part_of_a_batch_has_no_futures)
{
    struct step steps[4] = { { 0 } };
    lanepool_future *futures[4];
    lanepool_task tasks[4];
    size_t accepted = 0;
    lanepool_pool *pool = limited_pool(1, 8);

    for (int i = 0; i < 4; i++) {
        tasks[i] = step_task(&steps[i], NULL, 0);
        tasks[i].future = &futures[i];
    }
    tasks[1].function = NULL;
    expect_status(lanepool_pool_submit_batch(pool, tasks, 4, LANEPOOL_FOREVER, &accepted),
                  LANEPOOL_INVALID);
    expect_eq(accepted, 1);
    expect(futures[0] != NULL);
    for (int i = 1; i < 4; i++) {
        expect(futures[i] == NULL);
    }
    lanepool_future_release(futures[0]);
    pool_end(pool);
    expect_eq(steps[0].runs, 1);
}
