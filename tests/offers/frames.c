/* Frames for the functions of features.c: make the pool, submit the task, and free them. */
#include "features.h"

lanepool_status first_of(lanepool_status earlier, lanepool_status later)
{
    return earlier != LANEPOOL_OK ? earlier : later;
}

static int do_nothing(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

int visit_nothing(lanepool_run *run, void *context, size_t index)
{
    return run == NULL && context != NULL && index > 0;
}

lanepool_task nothing(void)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = do_nothing;
    return task;
}

lanepool_claim exclusive(void)
{
    return lanepool_exclusive(KEY);
}

lanepool_options options_of(const struct sort *sort)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.layout = sort->layout;
    options.is_compatible = sort->rule;
    return options;
}

lanepool_status with_options(const lanepool_options *options,
                             lanepool_status (*use)(lanepool_pool *pool))
{
    lanepool_pool *pool;
    lanepool_status status = lanepool_pool_create(options, &pool);

    if (status != LANEPOOL_OK) {
        return status;
    }
    status = use(pool);
    return first_of(status, lanepool_pool_destroy(pool));
}

lanepool_status with_pool(const struct sort *sort, lanepool_status (*use)(lanepool_pool *pool))
{
    lanepool_options options = options_of(sort);

    return with_options(&options, use);
}

lanepool_status run_task(lanepool_pool *pool, lanepool_task *task)
{
    lanepool_future *future;
    lanepool_result result;
    lanepool_status status;

    task->future = &future;
    status = lanepool_pool_submit(pool, task);
    if (status != LANEPOOL_OK) {
        return status;
    }
    status = lanepool_future_wait(future, LANEPOOL_FOREVER, &result);
    lanepool_future_release(future);
    return first_of(status, result.status);
}

lanepool_status run_with_claim(lanepool_pool *pool, lanepool_claim claim)
{
    lanepool_task task = nothing();

    task.claims = &claim;
    task.claim_count = 1;
    return run_task(pool, &task);
}

lanepool_status with_lane(lanepool_pool *pool, lanepool_status (*use)(lanepool_lane *lane))
{
    lanepool_claim key = exclusive();
    lanepool_lane *lane;
    lanepool_status status = lanepool_lane_acquire(pool, key.key, &lane);

    if (status == LANEPOOL_OK) {
        status = use(lane);
        lanepool_lane_release(lane);
    }
    return status;
}

/* A call that a task makes. */
struct inside {
    lanepool_status (*call)(lanepool_run *run);
    lanepool_status answer;
};

static int call_inside(lanepool_run *run, void *context)
{
    struct inside *inside = context;

    inside->answer = inside->call(run);
    return 0;
}

lanepool_status call_in_task(lanepool_pool *pool, lanepool_status (*call)(lanepool_run *run))
{
    struct inside inside = { call, LANEPOOL_INVALID };
    lanepool_claim claim = exclusive();
    lanepool_task task = nothing();
    lanepool_status status;

    task.function = call_inside;
    task.context = &inside;
    task.claims = &claim;
    task.claim_count = 1;
    status = run_task(pool, &task);
    if (status == LANEPOOL_UNSUPPORTED) {
        task.claim_count = 0;
        status = run_task(pool, &task);
    }
    return first_of(status, inside.answer);
}

lanepool_status run_with_two(lanepool_pool *pool, lanepool_at_lane_fn at_lane,
                             lanepool_at_lane_fn at_grant)
{
    lanepool_claim claims[] = { exclusive(), lanepool_exclusive(KEY + 1) };
    lanepool_task task = *LANEPOOL_TASK(.function = nothing().function, .claims = claims,
                                        .claim_count = 2, .at_lane = at_lane, .at_grant = at_grant);

    return run_task(pool, &task);
}
