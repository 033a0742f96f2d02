/*
 * The end of a pool that was told to stop: every task that had not started
 * gets its one call, in submission order.
 */
#ifndef LANEPOOL_SRC_POOL_HAND_BACK_H
#define LANEPOOL_SRC_POOL_HAND_BACK_H

#include "route/router.h"

/* Role's holder, once no worker is left: closes the inbox and hands everything back. */
void lanepool_i_handback(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
