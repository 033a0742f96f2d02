/*
 * The hand-back: when a pool is shut down at once, each task that has not started gets its one
 * call, in acceptance order.
 */
#ifndef LANEPOOL_SRC_POOL_HAND_BACK_H
#define LANEPOOL_SRC_POOL_HAND_BACK_H

#include "route/router.h"

/* Closes the inbox and hands all tasks back. Called by the role's holder when no worker is left. */
void lanepool_i_hand_back_tasks(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
