/* Owns the functions that a running task calls to ask about its call, and to set its result. */
#include "base/misuse.h"
#include "core/run.h"
#include "platform/notes.h"

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

static void note_use_of_worker(const lanepool_run *run)
{
    if (run->worker == SIZE_MAX)
        return;
    ((lanepool_run *)run)->asks_worker = true; /* the call is this thread's */
    lanepool_i_note_acquire(run->record->worker);
}

size_t lanepool_run_worker(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return SIZE_MAX;
    note_use_of_worker(run);
    return run->worker;
}

void *lanepool_run_worker_context(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return NULL;
    if (run->worker == SIZE_MAX)
        return NULL;
    note_use_of_worker(run);
    return run->record->worker->context;
}
