/* Destroying a pool at once: one call ends it, whatever it has. */
#include "support/step.h"
#include "support/test.h"

static lanepool_status destroy_inside_status;

static int destroy_inside(lanepool_run *run, void *context)
{
    (void)context;
    destroy_inside_status = lanepool_pool_destroy_now(lanepool_run_pool(run));
    return 0;
}

Test(destroy_now, parked_tasks_end_and_what_has_not_started_is_cancelled)
{
    struct step parked = { .code = 1 };
    struct step behind = { 0 };
    struct step delayed = { 0 };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&parked, &claim, 1);
    lanepool_task next = step_task(&behind, &claim, 1);
    lanepool_task later = step_task(&delayed, &claim, 1);
    lanepool_future *futures[3];
    static const lanepool_status ends[3] = { LANEPOOL_FAILED, LANEPOOL_CANCELLED,
                                             LANEPOOL_CANCELLED };

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.on_failure = &policy;
    task.future = &futures[0];
    next.future = &futures[1];
    later.future = &futures[2];
    task.release = next.release = later.release = step_release;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_submit(pool, &next));
    expect_ok(lanepool_pool_submit_after(pool, &later, 3600000000000));
    expect_status(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect_status(lanepool_pool_destroy(pool), LANEPOOL_PARKED);
    expect_ok(lanepool_pool_destroy_now(pool));
    for (int i = 0; i < 3; i++) {
        lanepool_result result;

        expect_ok(lanepool_future_wait(futures[i], 0, &result));
        expect_status(result.status, ends[i]);
        lanepool_future_release(futures[i]);
    }
    expect_eq(parked.runs, 1);
    expect_eq(behind.runs + delayed.runs, 0);
    expect_eq(parked.releases, 1);
    expect_eq(behind.releases, 1);
    expect_eq(delayed.releases, 1);
}

Test(destroy_now, running_task_is_waited_for)
{
    struct gate gate;
    struct step running = { .gate = &gate };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit(pool, &running));
    expect(gate_await(&gate, 1));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_destroy_now(pool));
    expect_eq(running.runs, 1);
    gate_fini(&gate);
}

Test(destroy_now, pool_that_has_ended_and_none_at_all)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_WORKER);

    expect_ok(lanepool_pool_destroy_now(NULL));
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_ok(lanepool_pool_destroy_now(pool));
}

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    uint32_t *count = context;

    (void)task;
    (void)ticket;
    ++*count;
}

Test(destroy_now, earlier_shutdown_now_still_gets_its_tasks_back)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step waiting = { 0 };
    uint32_t count = 0;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &waiting, 1));
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &count));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_destroy_now(pool));
    expect_eq(count, 1);
    expect(!step_was_called(&waiting));
    gate_fini(&gate);
}

Test(destroy_now, inside_one_of_its_tasks_it_is_a_deadlock)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.function = destroy_inside;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_status(destroy_inside_status, LANEPOOL_DEADLOCK);
}
