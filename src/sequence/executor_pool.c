/*
 * A pool's workers as an executor. Work is handed over as a task without claims; the work is the
 * context of the task.
 */
#include "sequence/executor.h"

#include "core/run.h"
#include "feature/delay.h"
#include "route/offers.h"

static lanepool_status submit_work_task(void *context, lanepool_work *work)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = lanepool_i_run_work;
    task.context = work;
    return lanepool_pool_submit(context, &task);
}

lanepool_status lanepool_pool_executor(lanepool_pool *pool, lanepool_executor **executor)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    if (executor != NULL)
        *executor = NULL;
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(pool, LANEPOOL_I_SEQUENCES))
        return LANEPOOL_UNSUPPORTED;
    functions.execute = submit_work_task;
    lanepool_status status = lanepool_executor_create(&functions, pool, executor);
    if (status != LANEPOOL_OK)
        return status;
    (*executor)->pool = pool;
    if (pool->driver != NULL)
        (*executor)->timers = &pool->delays->timers;
    return LANEPOOL_OK;
}
