/*
 * Waiting for futures of pools without threads, and of sequences on them.
 */
#ifndef LANEPOOL_SRC_WAIT_FUTURE_WAIT_H
#define LANEPOOL_SRC_WAIT_FUTURE_WAIT_H

#include "base/driver.h"
#include "lanepool/future.h"

/* Returns the driver of the future's pool, or of its sequence's pool, if the task is pending and
 * the pool has no threads; else NULL. */
lanepool_i_driver *lanepool_i_future_driver(lanepool_future *future);

#endif
