/* Tasks that only have the pool's policy, and get their record when they fail. */
#include "support/step.h"
#include "support/store.h"
#include "support/test.h"

enum { DELAYED = 2000, ROUNDS = 5 };

static lanepool_pool *pool_with(lanepool_allocator *allocator, unsigned retries)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    policy.retries = retries;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    options.workers = 1;
    options.on_failure = &policy;
    options.allocator = allocator;
    return pool_make_with(&options);
}

/* What the task of the next test does, attempt by attempt. */
struct attempts {
    unsigned calls;
    lanepool_detached *detached;
    struct gate gate;
};

static int fail_then_detach(lanepool_run *run, void *context)
{
    struct attempts *attempts = context;

    if (attempts->calls++ == 0) {
        return 1;
    }
    expect_ok(lanepool_run_detach(run, &attempts->detached));
    gate_arrive(&attempts->gate);
    return 0;
}

static void submit_attempts(lanepool_pool *pool, struct attempts *attempts)
{
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = fail_then_detach;
    task.context = attempts;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&attempts->gate, 1));
}

Test(failure_late, detached_call_of_a_retried_task_outlives_the_pool)
{
    struct attempts attempts = { .calls = 0 };
    lanepool_pool *pool = pool_with(NULL, 1);

    gate_init(&attempts.gate);
    submit_attempts(pool, &attempts);
    expect_ok(lanepool_pool_destroy_now(pool));
    expect_eq(lanepool_task_complete(attempts.detached, 0, NULL), LANEPOOL_DONE);
    gate_fini(&attempts.gate);
}

Test(failure_late, detached_call_of_a_retried_task_completes_it)
{
    struct attempts attempts = { .calls = 0 };
    struct step behind = { 0 };
    lanepool_pool *pool = pool_with(NULL, 1);

    gate_init(&attempts.gate);
    submit_attempts(pool, &attempts);
    expect_ok(step_submit_on(pool, &behind, 1));
    expect(!lanepool_detached_is_cancelled(attempts.detached));
    expect_ok(lanepool_task_complete(attempts.detached, 0, NULL));
    pool_end(pool);
    expect_eq(attempts.calls, 2);
    expect_eq(behind.runs, 1);
    gate_fini(&attempts.gate);
}

Test(failure_late, cancelled_delayed_tasks_leave_no_memory)
{
    struct store store;
    lanepool_allocator allocator = store_open(&store);
    lanepool_pool *pool = pool_with(&allocator, 0);
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    size_t first_bytes = 0;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < DELAYED; i++) {
            expect_ok(lanepool_pool_submit_after(pool, &task, INT64_MAX));
        }
        expect_ok(lanepool_pool_cancel(pool, NULL));
        pool_settle(pool);
        if (round == 0) {
            first_bytes = store_bytes(&store);
        }
        expect(store_bytes(&store) <= first_bytes);
    }
    pool_end(pool);
    store_close(&store);
}

static int release_and_return(lanepool_run *run, void *context)
{
    expect_ok(lanepool_run_release(run, lanepool_key_id(1)));
    return step_body(run, context);
}

/* No retry follows once a lane was released. */
Test(failure_late, task_that_released_a_lane_is_parked_and_may_succeed)
{
    struct step steps[2] = { { .code = 0 }, { .code = 7 } };
    lanepool_pool *pool = pool_with(NULL, 3);

    for (int i = 0; i < 2; i++) {
        lanepool_claim claims[2] = { lanepool_exclusive(1), lanepool_exclusive(2) };
        lanepool_task task = step_task(&steps[i], claims, 2);

        task.function = release_and_return;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_settle_parked(pool);
    expect_eq(steps[0].runs, 1);
    expect_eq(steps[1].runs, 1);
    expect_ok(lanepool_pool_destroy_now(pool));
}
