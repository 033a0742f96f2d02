/* From creation to the end: drain, await, quiesce, destroy. */
#include <pthread.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

Test(lifecycle, idle_pool_can_be_destroyed_at_once)
{
    for (int i = 0; i < 200; i++) {
        pool_end(pool_make(3, i % 2 ? LANEPOOL_PER_KEY : LANEPOOL_PER_WORKER));
    }
    expect_ok(lanepool_pool_destroy(NULL));
}

Test(lifecycle, destroy_runs_everything_accepted)
{
    static struct step steps[2000];
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    for (int i = 0; i < 2000; i++) {
        expect_ok(step_submit_rollup(pool, &steps[i], (uint64_t)i % 5, (uint64_t)i % 7 + 10));
    }
    pool_end(pool);
    for (int i = 0; i < 2000; i++) {
        expect_eq(steps[i].runs, 1);
    }
}

/* Each task submits the next one until none is left. */
struct countdown {
    _Atomic uint32_t left;
    _Atomic uint32_t refused;
};

static int count_down(lanepool_run *run, void *context)
{
    struct countdown *countdown = context;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = count_down;
    task.context = countdown;
    if (atomic_fetch_sub(&countdown->left, 1) > 1 &&
        lanepool_pool_submit(lanepool_run_pool(run), &task) != LANEPOOL_OK) {
        atomic_fetch_add(&countdown->refused, 1);
    }
    return 0;
}

Test(lifecycle, tasks_may_submit_while_the_pool_drains)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct countdown countdown = { .left = 500 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    task.function = count_down;
    task.context = &countdown;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_SHUT_DOWN);
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(countdown.left, 0);
    expect_eq(countdown.refused, 0);
    pool_end(pool);
    gate_fini(&gate);
}

Test(lifecycle, shutdown_can_be_called_again_and_after_the_end)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_ok(lanepool_pool_await(pool, 0));
    expect_ok(lanepool_pool_shutdown(pool));
    expect(lanepool_pool_is_terminated(pool));
    pool_end(pool);
}

Test(lifecycle, every_submit_form_is_refused_after_shutdown)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    size_t accepted = 9;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_within(pool, &task, 1000000), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_or_run(pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_batch(pool, &task, 1, LANEPOOL_FOREVER, &accepted),
                  LANEPOOL_SHUT_DOWN);
    expect_eq(accepted, 0);
    pool_end(pool);
    expect(!step_was_called(&step));
}

Test(lifecycle, await_times_out_on_a_pool_that_was_not_shut_down)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    struct step step = { 0 };

    expect_status(lanepool_pool_await(pool, 0), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_pool_await(pool, 1000000), LANEPOOL_TIMED_OUT);
    expect_ok(step_submit(pool, &step)); /* the pool works as before */
    pool_end(pool);
    expect_eq(step.runs, 1);
}

/* Stops at its own gate, then submits a step that stops at another. */
struct opener {
    struct gate gate;
    struct step inner;
    lanepool_status status;
};

static int submit_inner(lanepool_run *run, void *context)
{
    struct opener *opener = context;

    gate_pass(&opener->gate);
    opener->status = step_submit_on(lanepool_run_pool(run), &opener->inner, 2);
    return 0;
}

Test(lifecycle, await_gives_up_on_a_task_that_does_not_return_and_the_pool_goes_on)
{
    struct gate gate;
    struct gate inner_gate;
    struct step holder = { .gate = &gate };
    struct opener opener = { .inner = { .gate = &inner_gate } };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    gate_init(&inner_gate);
    gate_init(&opener.gate);
    task.function = submit_inner;
    task.context = &opener;
    expect_ok(step_submit_on(pool, &holder, 1));
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    expect(gate_await(&opener.gate, 1));
    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_await(pool, 1000000), LANEPOOL_TIMED_OUT);
    gate_open(&opener.gate, 1);
    expect(gate_await(&inner_gate, 1)); /* submitted after the shutdown, and started */
    gate_open(&inner_gate, 1);
    expect_status(lanepool_pool_await(pool, 1000000), LANEPOOL_TIMED_OUT);
    expect(!lanepool_pool_is_terminated(pool));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    pool_end(pool);
    expect_ok(opener.status);
    gate_fini(&gate);
    gate_fini(&inner_gate);
    gate_fini(&opener.gate);
}

struct caller {
    lanepool_pool *pool;
    pthread_t handle;
    int number;
    lanepool_status shutdown;
    lanepool_status await;
};

static void *shut_down_and_await(void *argument)
{
    struct caller *caller = argument;

    caller->shutdown = caller->number == 1 ? lanepool_pool_shutdown_now(caller->pool, NULL, NULL)
                                           : lanepool_pool_shutdown(caller->pool);
    caller->await = lanepool_pool_await(caller->pool, LANEPOOL_FOREVER);
    return NULL;
}

Test(lifecycle, strongest_of_several_shutdowns_at_once_applies)
{
    struct gate gate;

    gate_init(&gate);
    for (int round = 0; round < 30; round++) {
        struct step holder = { .gate = &gate };
        struct step waiting[5] = { { 0 } };
        struct caller callers[3];
        lanepool_status mine;
        lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

        expect_ok(step_submit_on(pool, &holder, 1));
        expect(gate_await(&gate, 1));
        for (int i = 0; i < 5; i++) {
            expect_ok(step_submit_on(pool, &waiting[i], 1));
        }
        for (int i = 0; i < 3; i++) {
            callers[i] = (struct caller){ .pool = pool, .number = i };
            expect_eq(pthread_create(&callers[i].handle, NULL, shut_down_and_await, &callers[i]),
                      0);
        }
        /* From here on the kind of shutdown is decided, whichever call came first. */
        mine = lanepool_pool_shutdown_now(pool, NULL, NULL);
        gate_open(&gate, 1);
        for (int i = 0; i < 3; i++) {
            pthread_join(callers[i].handle, NULL);
            expect_ok(callers[i].await);
        }
        for (int i = 0; i < 5; i++) {
            expect_eq(waiting[i].runs, 0);
            expect_eq(waiting[i].cancels, 1);
        }
        expect_ok(callers[0].shutdown);
        expect_ok(callers[2].shutdown);
        expect((mine == LANEPOOL_OK) != (callers[1].shutdown == LANEPOOL_OK));
        pool_end(pool);
    }
    gate_fini(&gate);
}

static int shut_down_inside(lanepool_run *run, void *context)
{
    lanepool_status *status = context;

    *status = lanepool_pool_shutdown(lanepool_run_pool(run));
    return 0;
}

Test(lifecycle, task_may_shut_its_pool_down)
{
    lanepool_status status = LANEPOOL_INVALID;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.function = shut_down_inside;
    task.context = &status;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_ok(status);
    pool_end(pool);
}

Test(lifecycle, quiesce_waits_for_what_was_accepted_and_does_not_stop)
{
    struct gate gate;
    struct step first = { .gate = &gate };
    struct step second = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(lanepool_pool_quiesce(pool, 0));
    expect_ok(step_submit_on(pool, &first, 1));
    expect(gate_await(&gate, 1));
    expect_status(lanepool_pool_quiesce(pool, 0), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_pool_quiesce(pool, 1000000), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    expect(!lanepool_pool_is_shut_down(pool));
    expect_ok(step_submit_on(pool, &second, 1));
    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    expect_eq(second.runs, 1);
    pool_end(pool);
    gate_fini(&gate);
}

struct quiescer {
    lanepool_pool *pool;
    struct gate started;
    long thread;
    pthread_t handle;
    lanepool_status status;
};

static void *quiesce(void *argument)
{
    struct quiescer *self = argument;

    self->thread = process_thread_self();
    gate_arrive(&self->started);
    self->status = lanepool_pool_quiesce(self->pool, LANEPOOL_FOREVER);
    return NULL;
}

Test(lifecycle, quiesce_does_not_wait_for_what_was_accepted_later)
{
    struct gate early_gate;
    struct gate late_gate;
    struct step early = { .gate = &early_gate };
    struct step late = { .gate = &late_gate };
    struct quiescer quiescer = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&early_gate);
    gate_init(&late_gate);
    gate_init(&quiescer.started);
    quiescer.pool = pool;
    expect_ok(step_submit(pool, &early));
    expect(gate_await(&early_gate, 1));
    expect_eq(pthread_create(&quiescer.handle, NULL, quiesce, &quiescer), 0);
    expect(gate_await(&quiescer.started, 1));
    expect(process_thread_sleeps(quiescer.thread)); /* the quiesce waits for the early task */
    expect_ok(step_submit(pool, &late));
    expect(gate_await(&late_gate, 1));
    gate_open(&early_gate, 1);
    pthread_join(quiescer.handle, NULL); /* although the late task has not finished */
    expect_ok(quiescer.status);
    gate_open(&late_gate, 1);
    pool_end(pool);
    gate_fini(&early_gate);
    gate_fini(&late_gate);
    gate_fini(&quiescer.started);
}

Test(lifecycle, release_has_been_called_when_quiesce_returns)
{
    struct step steps[100] = { { 0 } };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (int i = 0; i < 100; i++) {
        lanepool_task task = step_task(&steps[i], NULL, 0);

        task.release = step_release;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_settle(pool);
    for (int i = 0; i < 100; i++) {
        expect_eq(steps[i].releases, 1);
    }
    pool_end(pool);
}

/* A message that is on its way to the pool when the drain begins must not prevent its end. */
Test(lifecycle, pool_ends_although_lanes_were_given_back_right_before)
{
    enum { ROUNDS = 20000, LANES = 16 };

    for (int round = 0; round < ROUNDS; round++) {
        lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
        lanepool_lane *lanes[LANES];

        for (uint32_t i = 0; i < LANES; i++) {
            lanepool_key key = lanepool_key_id(i);

            expect_ok(lanepool_lane_acquire(pool, key, &lanes[i]));
        }
        for (uint32_t i = 0; i < LANES; i++) {
            lanepool_lane_release(lanes[i]);
        }
        pool_end(pool);
    }
}

/* A task that submits itself again until `end` is set, so that its worker never runs out of
 * work. */
struct endless {
    _Atomic bool end;
    _Atomic uint32_t failures;
};

static int submit_again(lanepool_run *run, void *context)
{
    struct endless *endless = context;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = submit_again;
    task.context = endless;
    task.claims = &claim;
    task.claim_count = 1;
    if (!endless->end && lanepool_pool_submit(lanepool_run_pool(run), &task)) {
        atomic_fetch_add(&endless->failures, 1);
    }
    return 0;
}

static void quiesce_while_busy(lanepool_layout layout)
{
    struct endless endless = { 0 };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, layout);

    task.function = submit_again;
    task.context = &endless;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_submit(pool, &task));
    for (int i = 0; i < 10; i++) {
        expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    }
    endless.end = true;
    pool_end(pool);
    expect_eq(endless.failures, 0);
}

Test(lifecycle, quiesce_ends_although_workers_never_run_dry)
{
    quiesce_while_busy(LANEPOOL_PER_KEY);
    quiesce_while_busy(LANEPOOL_PER_WORKER);
}
