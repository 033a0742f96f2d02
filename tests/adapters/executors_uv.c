/* libuv's executors; see support/executors.h. */
#include "support/executors.h"

#include "lanepool/adapters/uv.h"
#include "support/test.h"

static uv_loop_t loop_behind;
static uv_thread_t loop_thread;

static void run_loop(void *loop)
{
    uv_run(loop, UV_RUN_DEFAULT);
}

/* The loop starts with the executor, and ends when the executor is destroyed. */
static lanepool_executor *make(lanepool_status (*create)(uv_loop_t *, lanepool_executor **))
{
    lanepool_executor *executor = NULL;

    expect_eq(uv_loop_init(&loop_behind), 0);
    expect_ok(create(&loop_behind, &executor));
    expect_eq(uv_thread_create(&loop_thread, run_loop, &loop_behind), 0);
    return executor;
}

static lanepool_executor *pool_make(void)
{
    return make(lanepool_uv_pool_executor);
}

static lanepool_executor *loop_make(void)
{
    return make(lanepool_uv_loop_executor);
}

static void end(lanepool_executor *executor)
{
    expect_ok(lanepool_executor_destroy(executor));
    expect_eq(uv_thread_join(&loop_thread), 0);
    expect_eq(uv_loop_close(&loop_behind), 0);
}

const struct executor_under_test executors_under_test[] = {
    { "libuv's threads", pool_make, end, true },
    { "a libuv loop", loop_make, end, false },
    { NULL, NULL, NULL, false },
};
