/* Owns the functions that a running task calls to ask about its call, and to set its result. */
#include "base/misuse.h"
#include "core/run.h"

void lanepool_run_set_result(lanepool_run *run, void *value)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return;
    run->value = value;
}

lanepool_pool *lanepool_run_pool(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return NULL;
    return run->pool;
}

uint64_t lanepool_run_ticket(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return 0;
    return run->task != NULL ? lanepool_i_task_ticket(run->task) : run->of_sequence->number;
}

size_t lanepool_run_worker(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return SIZE_MAX;
    return run->worker;
}

void *lanepool_run_worker_context(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return NULL;
    return run->worker != SIZE_MAX ? run->record->worker->context : NULL;
}
