/*
 * Checks whether only parked tasks are left in a pool, and tasks blocked by them: each unfinished
 * task is parked, or waits in a lane or behind others.
 *
 * The check counts, in this order: the tasks that have finished, the parked ones, the waiting ones,
 * and the accepted ones. If accepted less finished equals parked plus waiting, then no task has
 * been ready or running since the first count:
 *
 * - A task that was ready or running then is not in the finished count, and it is neither parked
 *   nor waiting. It would be missing in the sum.
 * - A waiting task becomes ready only if a task ends, which would be missing itself, or in one of
 *   three other ways. A parked task is resolved: that is seen as a change, or as `dropped` while
 *   the tasks behind it are cancelled. A barrier that is due is placed: that is checked. A message
 *   notifies a lane that it is poisoned: such messages are counted in `notifying`.
 */
#ifndef LANEPOOL_SRC_POOL_STALLED_H
#define LANEPOOL_SRC_POOL_STALLED_H

#include "route/pool.h"

/* Called by the role's holder when a task is parked or a lane is paused by a failure. Returns true
 * if only parked tasks are left, and tasks blocked by them. */
bool lanepool_i_only_parked_left(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
