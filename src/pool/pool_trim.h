/*
 * Trimming a pool: gives memory that is free back to the system. Its blocks are in slab_trim.c, its
 * lanes in lane_table.c; both are trimmed in small parts, each by any thread.
 *
 * Callers: the worker.
 */
#ifndef LANEPOOL_SRC_POOL_POOL_TRIM_H
#define LANEPOOL_SRC_POOL_POOL_TRIM_H

#include "sched/worker.h"

/* These are called by the workers' loop; see lanepool_i_work. */
uint64_t lanepool_i_pool_trim_due(void *owner);
void lanepool_i_pool_trim_asleep(void *owner, lanepool_i_worker *worker);
void lanepool_i_pool_trim_busy(void *owner, lanepool_i_worker *worker);

#endif
