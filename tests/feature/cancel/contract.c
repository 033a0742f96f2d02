/* Cancelling: the answer is exact, each task has its one call, and a tombstone blocks no other task
 * longer than necessary. */
#include "support/step.h"
#include "support/test.h"

/* Returns a pool whose only worker runs a task of key 0 that waits at the gate. */
static lanepool_pool *held_pool(struct step *holder, struct gate *gate)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(gate);
    holder->gate = gate;
    expect_ok(step_submit_on(pool, holder, 0));
    expect(gate_await(gate, 1));
    return pool;
}

/* Submits the step on some keys. Returns its future. */
static lanepool_future *submit_on_keys(lanepool_pool *pool, struct step *step, const uint64_t *keys,
                                       size_t count)
{
    lanepool_claim claims[4];
    lanepool_future *future;

    for (size_t i = 0; i < count; i++) {
        claims[i] = lanepool_exclusive(keys[i]);
    }
    lanepool_task task = step_task(step, claims, count);
    task.future = &future;
    task.release = step_release;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static lanepool_future *submit_on_key(lanepool_pool *pool, struct step *step, uint64_t key)
{
    return submit_on_keys(pool, step, &key, 1);
}

Test(cancel, task_that_waits_has_its_one_call_and_is_let_go_at_once)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step step = { 0 };
    struct step behind = { 0 };
    lanepool_result result;
    lanepool_pool *pool = held_pool(&holder, &gate);
    lanepool_future *future = submit_on_key(pool, &step, 0);

    expect_ok(step_submit_on(pool, &behind, 0));
    expect_ok(lanepool_future_cancel(future));
    expect_eq(step.cancels, 1);
    expect_eq(step.releases, 1);
    expect_ok(lanepool_future_wait(future, 0, &result));
    expect_status(result.status, LANEPOOL_CANCELLED);
    expect_status(lanepool_future_cancel(future), LANEPOOL_DONE);
    lanepool_future_release(future);
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(step.runs, 0);
    expect_eq(step.cancels, 1);
    expect_eq(step.releases, 1);
    expect_eq(behind.runs, 1);
    gate_fini(&gate);
}

Test(cancel, task_that_runs_is_asked_and_one_that_has_ended_is_done)
{
    struct gate gate;
    struct step step = { .gate = &gate };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *future = submit_on_key(pool, &step, 0);
    expect(gate_await(&gate, 1));
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    expect_status(lanepool_future_cancel_wait(future, 0), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    expect_status(lanepool_future_cancel_wait(future, LANEPOOL_FOREVER), LANEPOOL_DONE);
    expect_eq(step.runs, 1);
    expect_status(lanepool_future_cancel(future), LANEPOOL_DONE);
    lanepool_future_release(future);
    pool_end(pool);
    expect_eq(step.cancels, 0);
    gate_fini(&gate);
}

struct patient {
    struct gate *gate;
    bool saw_it;
};

static int run_until_asked(lanepool_run *run, void *context)
{
    struct patient *patient = context;

    patient->saw_it = lanepool_run_is_cancelled(run);
    gate_pass(patient->gate);
    patient->saw_it = !patient->saw_it && lanepool_run_is_cancelled(run);
    return 0;
}

Test(cancel, running_task_sees_that_it_was_asked)
{
    struct gate gate;
    struct patient patient = { .gate = &gate };
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    task.function = run_until_asked;
    task.context = &patient;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    gate_open(&gate, 1);
    expect_status(lanepool_future_cancel_wait(future, LANEPOOL_FOREVER), LANEPOOL_DONE);
    expect(patient.saw_it);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&gate);
}

/* The rollup has latched key 1 and waits for key 0. */
Test(cancel, rollup_that_is_cancelled_lets_the_lanes_go_that_it_has_latched)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step rollup = { 0 };
    struct step behind = { 0 };
    struct step last = { 0 };
    const uint64_t keys[2] = { 0, 1 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 0));
    expect(gate_await(&gate, 1));
    lanepool_future *future = submit_on_keys(pool, &rollup, keys, 2);
    lanepool_future *freed = submit_on_key(pool, &behind, 1);
    lanepool_future *held = submit_on_key(pool, &last, 0);
    expect_ok(lanepool_future_cancel(future));
    expect_ok(lanepool_future_wait(freed, LANEPOOL_FOREVER, NULL));
    expect_status(lanepool_future_wait(held, 0, NULL), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    expect_ok(lanepool_future_wait(held, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(future);
    lanepool_future_release(freed);
    lanepool_future_release(held);
    pool_end(pool);
    expect_eq(rollup.cancels, 1);
    expect_eq(rollup.runs, 0);
    expect_eq(behind.runs, 1);
    expect_eq(last.runs, 1);
    gate_fini(&gate);
}

/* A row of tombstones needs no stack. */
Test(cancel, long_row_of_cancelled_rollups_is_passed)
{
    enum { ROW = 20000 };
    struct gate gate;
    struct step holder = { 0 };
    static struct step steps[ROW];
    struct step last = { 0 };
    const uint64_t keys[2] = { 0, 1 };
    lanepool_pool *pool = held_pool(&holder, &gate);

    for (uint32_t i = 0; i < ROW; i++) {
        lanepool_future *future = submit_on_keys(pool, &steps[i], keys, 2);
        expect_ok(lanepool_future_cancel(future));
        lanepool_future_release(future);
    }
    expect_ok(step_submit_on(pool, &last, 0));
    gate_open(&gate, 1);
    pool_end(pool);
    for (uint32_t i = 0; i < ROW; i++) {
        expect_eq(steps[i].cancels, 1);
        expect_eq(steps[i].releases, 1);
    }
    expect_eq(last.runs, 1);
    gate_fini(&gate);
}

static void cancel_the_pool(unsigned workers, lanepool_layout layout)
{
    enum { TASKS = 12 };
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[TASKS] = { { 0 } };
    struct step later = { 0 };
    lanepool_future *futures[TASKS];
    lanepool_claim both[2] = { lanepool_exclusive(0), lanepool_exclusive(1) };
    size_t count = 0;
    lanepool_pool *pool = pool_make(workers, layout);

    gate_init(&gate);
    expect_ok(step_submit_rollup(pool, &holder, 0, 1));
    expect(gate_await(&gate, 1));
    for (uint32_t i = 0; i < TASKS; i++) {
        lanepool_task task = step_task(&steps[i], both + i % 2, 1 + i % 3 / 2 * (1 - i % 2));
        task.future = i % 4 == 0 ? &futures[i] : NULL;
        task.release = step_release;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_pool_cancel(pool, &count));
    expect_eq(count, TASKS);
    expect_ok(step_submit_on(pool, &later, 0));
    for (uint32_t i = 0; i < TASKS; i += 4) {
        lanepool_result result;
        expect_ok(lanepool_future_wait(futures[i], 0, &result));
        expect_status(result.status, LANEPOOL_CANCELLED);
        lanepool_future_release(futures[i]);
    }
    gate_open(&gate, 1);
    pool_end(pool);
    for (uint32_t i = 0; i < TASKS; i++) {
        expect_eq(steps[i].cancels, 1);
        expect_eq(steps[i].runs, 0);
        expect_eq(steps[i].releases, 1);
    }
    expect_eq(later.runs, 1);
    gate_fini(&gate);
}

Test(cancel, everything_that_waits_can_be_cancelled)
{
    cancel_the_pool(1, LANEPOOL_PER_KEY);
    cancel_the_pool(3, LANEPOOL_PER_KEY);
}

Test(cancel, everything_that_waits_can_be_cancelled_per_worker)
{
    cancel_the_pool(1, LANEPOOL_PER_WORKER);
    cancel_the_pool(3, LANEPOOL_PER_WORKER);
}

Test(cancel, all_tasks_of_one_key_and_no_others)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step mine[3] = { { 0 } };
    struct step others[3] = { { 0 } };
    const uint64_t keys[2] = { 5, 6 };
    lanepool_key key = lanepool_key_id(5);
    lanepool_lane *lane;
    size_t count = 0;
    lanepool_pool *pool = held_pool(&holder, &gate);

    for (uint32_t i = 0; i < 3; i++) {
        lanepool_future_release(submit_on_keys(pool, &mine[i], keys, 1 + i % 2));
        lanepool_future_release(submit_on_key(pool, &others[i], 6));
    }
    expect_ok(lanepool_lane_acquire(pool, key, &lane));
    expect_ok(lanepool_lane_cancel(lane, &count));
    expect_eq(count, 3);
    lanepool_lane_release(lane);
    gate_open(&gate, 1);
    pool_end(pool);
    for (uint32_t i = 0; i < 3; i++) {
        expect_eq(mine[i].cancels, 1);
        expect_eq(mine[i].runs, 0);
        expect_eq(others[i].runs, 1);
    }
    gate_fini(&gate);
}

static bool never(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    /* Reads the contexts, which must still be valid. */
    return ((const struct step *)a->context)->id + ((const struct step *)b->context)->id > 1000 &&
           user == NULL;
}

static void cancel_with_a_rule(lanepool_layout layout)
{
    struct gate gate;
    struct step steps[5] = { { .gate = &gate } };
    lanepool_future *futures[5];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    size_t count = 0;

    options.workers = 2;
    options.layout = layout;
    options.is_compatible = never;
    lanepool_pool *pool = pool_make_with(&options);
    gate_init(&gate);
    for (uint32_t i = 0; i < 5; i++) {
        futures[i] = submit_on_keys(pool, &steps[i], NULL, 0);
        if (i == 0) {
            expect(gate_await(&gate, 1));
        }
    }
    expect_ok(lanepool_future_cancel(futures[2]));
    expect_eq(steps[2].cancels, 1);
    expect_status(lanepool_future_cancel(futures[0]), LANEPOOL_RUNNING);
    expect_ok(lanepool_pool_cancel(pool, &count));
    expect_eq(count, 3);
    gate_open(&gate, 1);
    pool_end(pool);
    for (uint32_t i = 0; i < 5; i++) {
        expect_eq(steps[i].runs, i == 0);
        expect_eq(steps[i].cancels, i > 0);
        expect_eq(steps[i].releases, 1);
        lanepool_future_release(futures[i]);
    }
    gate_fini(&gate);
}

Test(cancel, pool_with_its_own_rule)
{
    cancel_with_a_rule(LANEPOOL_PER_KEY);
}

Test(cancel, pool_with_its_own_rule_per_worker)
{
    cancel_with_a_rule(LANEPOOL_PER_WORKER);
}

Test(cancel, bad_arguments)
{
    size_t count = 1;

    expect_status(lanepool_future_cancel(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_future_cancel_wait(NULL, 0), LANEPOOL_INVALID);
    expect_status(lanepool_lane_cancel(NULL, &count), LANEPOOL_INVALID);
    expect_eq(count, 0);
    expect_status(lanepool_pool_cancel(NULL, NULL), LANEPOOL_INVALID);
}
