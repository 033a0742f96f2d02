/*
 * A pool's workers as an executor. Work is handed over as a task without claims; the work is the
 * context of the task.
 */
#include "sequence/executor.h"

#include "route/pool.h"
#include "sequence/sequence.h"

/* The pool is stopping and accepts no other task. Cancels the sequence's tasks now, since the pool
 * does not hand them back. */
static void cancel_sequence(lanepool_work *base)
{
    lanepool_i_sequence_work *work = (lanepool_i_sequence_work *)base;
    lanepool_i_mutex_lock(&work->lock);
    if (work->sequence != NULL)
        lanepool_i_sequence_cancel_locked(work->sequence);
    else
        lanepool_i_mutex_unlock(&work->lock);
}

/* After a cancel there is nothing to run, and the call of the work is only counted. */
static int run_work_task(lanepool_run *run, void *context, lanepool_call call)
{
    (void)run;
    if (call == LANEPOOL_CALL_CANCELLED)
        cancel_sequence(context);
    lanepool_work_run(context);
    return 0;
}

static lanepool_status submit_work_task(void *context, lanepool_work *work)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = run_work_task;
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
    functions.execute = submit_work_task;
    lanepool_status status = lanepool_executor_create(&functions, pool, executor);
    if (status == LANEPOOL_OK)
        (*executor)->pool = pool;
    return status;
}
