/*
 * Whether only parked tasks are left in a pool, and tasks blocked by them: each unfinished task is
 * parked, or waits in a lane or behind others.
 *
 * That is counted, in this order: the finished tasks, the parked ones, the waiting ones, the
 * accepted ones. If accepted less finished equals parked plus waiting, no task has been ready or
 * running since the first count. There are two reasons:
 *
 * 1. Such a task would be missing in the sum: it is not in the finished count, and neither parked
 *    nor waiting.
 * 2. A waiting task becomes ready only if a task ends, which would be missing itself, or in three
 *    other ways. A parked task is resolved: that is seen as a change, or as `dropped`. A barrier
 *    that is due is placed: that is checked. A message notifies a lane that it is poisoned:
 *    `notifying` counts it.
 */
#ifndef LANEPOOL_SRC_POOL_STALLED_H
#define LANEPOOL_SRC_POOL_STALLED_H

#include "route/pool.h"

/* Called by the role's holder when a task is parked or a lane is paused by a failure. */
bool lanepool_i_only_parked_left(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
