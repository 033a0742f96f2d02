/* Owns the functions that a running task calls to ask about its call, and to set its result. */
#include "core/run.h"

void lanepool_run_set_result(lanepool_run *run, void *value)
{
    run->value = value;
}

lanepool_pool *lanepool_run_pool(const lanepool_run *run)
{
    return run->pool;
}

uint64_t lanepool_run_ticket(const lanepool_run *run)
{
    return run->task != NULL ? lanepool_i_task_ticket(run->task) : run->of_sequence->number;
}

size_t lanepool_run_worker(const lanepool_run *run)
{
    return run->worker;
}

void *lanepool_run_worker_context(const lanepool_run *run)
{
    return run->worker != SIZE_MAX ? run->record->worker->context : NULL;
}
