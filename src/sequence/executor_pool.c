/*
 * A pool's workers as an executor: each errand is handed over as a task without
 * claims, whose context it is.
 */
#include "sequence/executor.h"

#include "route/pool.h"
#include "sequence/sequence.h"

/* The pool stops and will not run the task, nor accept another: what waits in the sequence is told
 * now, since it is not handed back. */
static void cancel_sequence(lanepool_work *work)
{
    lanepool_i_sequence_work *errand = (lanepool_i_sequence_work *)work;
    lanepool_i_mutex_lock(&errand->lock);
    if (errand->sequence != NULL)
        lanepool_i_sequence_cancel_locked(errand->sequence);
    else
        lanepool_i_mutex_unlock(&errand->lock);
}

/* A sequence that was cancelled has nothing to run: the call only counts. */
static int run(lanepool_run *run, void *context, lanepool_call call)
{
    (void)run;
    if (call == LANEPOOL_CALL_CANCELLED)
        cancel_sequence(context);
    lanepool_work_run(context);
    return 0;
}

static lanepool_status execute(void *context, lanepool_work *work)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = run;
    task.context = work;
    return lanepool_pool_submit(context, &task);
}

lanepool_status lanepool_pool_executor(lanepool_pool *pool, lanepool_executor **executor)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    if (executor != NULL)
        *executor = NULL;
    if (pool == NULL || pool->options.is_compatible != NULL)
        return LANEPOOL_INVALID;
    functions.execute = execute;
    lanepool_status status = lanepool_executor_create(&functions, pool, executor);
    if (status == LANEPOOL_OK)
        (*executor)->pool = pool;
    return status;
}
