/*
 * Pools without threads; pool_step.c explains them.
 */
#ifndef LANEPOOL_SRC_FEATURE_POOL_STEP_H
#define LANEPOOL_SRC_FEATURE_POOL_STEP_H

#include "lanepool/pool.h"

/* Draws whether the step routes before it chooses a task. True if there is no ready task. */
bool lanepool_i_step_routes(lanepool_pool *pool);

#endif
