/*
 * Trimming a pool: gives memory that is free back to the system. Its blocks are in slab_trim.c, its
 * lanes in lane_table.c; both are trimmed in small parts, each by any thread.
 *
 * Callers: the worker for these; any thread for the call.
 */
#ifndef LANEPOOL_SRC_POOL_POOL_TRIM_H
#define LANEPOOL_SRC_POOL_POOL_TRIM_H

#include "sched/worker.h"

/* These are called by the workers' loop; see lanepool_i_work. */
bool lanepool_i_pool_may_trim(void *owner);
void lanepool_i_pool_trim_asleep(void *owner, lanepool_i_worker *worker);
void lanepool_i_pool_trim_busy(void *owner, lanepool_i_worker *worker);

#endif
