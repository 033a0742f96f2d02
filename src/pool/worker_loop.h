/*
 * The functions that the workers' loop (worker.h) calls in a pool.
 */
#ifndef LANEPOOL_SRC_POOL_WORKER_LOOP_H
#define LANEPOOL_SRC_POOL_WORKER_LOOP_H

#include "route/pool.h"

const lanepool_i_work *lanepool_i_work_of_pool(const lanepool_pool *pool);

#endif
