/* Tasks and options in one line. */
#include "support/step.h"
#include "support/test.h"

Test(one_line, task_with_claims)
{
    struct step first = { 0 }, second = { 0 };
    lanepool_future *future;
    lanepool_pool *pool;
    int evaluated = 0;

    expect_ok(lanepool_pool_create(LANEPOOL_OPTIONS(.workers = 2, .pending_max = 5), &pool));
    expect_eq(lanepool_pool_worker_count(pool), 2);
    expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = step_body, .context = &first)));
    expect_ok(lanepool_pool_submit(
        pool, LANEPOOL_TASK(.function = step_body, .context = &second, .future = &future,
                            LANEPOOL_CLAIMS(lanepool_exclusive((uint64_t)evaluated++),
                                            lanepool_shared(8)))));
    expect_eq(evaluated, 1);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(future);
    pool_end(pool);
    expect(step_was_called(&first));
    expect(step_was_called(&second));
}

Test(one_line, claims_are_counted)
{
    const lanepool_task *task = LANEPOOL_TASK(
        LANEPOOL_CLAIMS(lanepool_exclusive(1), lanepool_shared(2), lanepool_claim_all()));

    expect_eq(task->struct_size, sizeof *task);
    expect_eq(task->claim_count, 3);
    expect_eq(task->claims[1].key.id, 2);
    expect_eq(task->claims[1].mode, LANEPOOL_SHARED);
    expect(task->future == NULL);
}

Test(one_line, run_claims_its_key_exclusively)
{
    struct step steps[3] = { { 0 } };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, lanepool_key_id(7), &lane));
    expect_ok(lanepool_lane_pause(lane));
    expect_ok(lanepool_pool_run(pool, lanepool_key_id(7), step_body, &steps[0]));
    expect_ok(lanepool_pool_run(pool, lanepool_key_lane(lane), step_body, &steps[1]));
    expect_ok(lanepool_pool_run(pool, lanepool_key_none(), step_body, &steps[2]));
    expect(!step_was_called(&steps[0]));
    expect(!step_was_called(&steps[1]));
    expect_ok(lanepool_lane_resume(lane));
    lanepool_lane_release(lane);
    pool_end(pool);
    expect(step_was_called(&steps[0]));
    expect(step_was_called(&steps[1]));
    expect(step_was_called(&steps[2]));
}

Test(one_line, bad_run)
{
    struct step step = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_status(lanepool_pool_run(NULL, lanepool_key_id(1), step_body, &step), LANEPOOL_INVALID);
    expect_status(lanepool_pool_run(pool, lanepool_key_id(1), NULL, &step), LANEPOOL_INVALID);
    expect_status(lanepool_pool_run(pool, lanepool_key_lane(NULL), step_body, &step),
                  LANEPOOL_INVALID);
    pool_end(pool);
    expect(!step_was_called(&step));
}
