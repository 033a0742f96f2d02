/* The library as a plain pool: tasks claim nothing, and run in any order. */
#include <lanepool/lanepool.h>

#include "engine.h"

static lanepool_pool *pool;

static int run(lanepool_run *call_run, void *context)
{
    (void)call_run;
    bench_task_run(context);
    return 0;
}

static void start(const struct bench_setup *setup)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = setup->workers;
    options.pending_max = LANEPOOL_UNLIMITED;
    bench_require(lanepool_pool_create(&options, &pool) == LANEPOOL_OK, "a pool");
}

static void submit(const struct bench_task *task)
{
    lanepool_task description = LANEPOOL_TASK_INIT;
    description.function = run;
    description.context = (void *)(uintptr_t)task; /* only read */
    bench_require(lanepool_pool_submit(pool, &description) == LANEPOOL_OK, "a submit");
}

static void wait_for_quiet(void)
{
    bench_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK, "a quiesce");
}

static void stop(void)
{
    bench_require(lanepool_pool_destroy(pool) == LANEPOOL_OK, "the end of the pool");
}

const struct bench_hooks bench_engine = {
    .name = "plain",
    .features = BENCH_GATES | BENCH_SEVERAL_SUBMITTERS | BENCH_UNORDERED,
    .start = start,
    .submit = submit,
    .wait = wait_for_quiet,
    .stop = stop,
};
