/*
 * Whether only parked tasks are left in a pool, and tasks blocked by them: each unfinished task is
 * parked, or waits in a lane or behind others. The check takes the same time whatever waits.
 *
 * A task is *active* from when it becomes ready until it finishes, except while it is parked. So a
 * task that runs, is detached, waits for a retry, or lies in a ring or a pump is active. Each
 * thread counts the tasks that it makes ready (`readied`). The active tasks are those made ready
 * less those finished less those parked. Only what is routed can become active, so the inbox must
 * be empty.
 *
 * Only pools with lanes per key have parked tasks.
 *
 * The counters are read while they change, in this order: finished, parked, readied, accepted. If
 * readied less finished equals parked, no task was active when the second one was read:
 *
 * 1. Each finish that is seen shows that the task became ready. A thread counts a task as ready
 *    before it passes the task on, so before the finish is counted; and the finish is a release.
 * 2. Each parked task that is seen shows the same, by the lock of the suspended tasks.
 * 3. So the two sides are equal only if each task that is seen to become ready is seen to finish or
 *    is parked. Suppose that another task was active. No holder of the role has made it ready: each
 *    hold of the role counts before it ends. So a task that ended has made it ready, and its thread
 *    counted that before the end. This end is not seen, or the count would be seen. So the task
 *    that ended was active and unseen, too, and step 3 applies to it. These steps lead back to a
 * task that a holder of the role has made ready, which is seen: a contradiction.
 *
 * They may also lead back to a parked task that is resolved. A resolution is seen as a change. A
 * task that is being dropped, and a message that notifies a lane that it is poisoned, may make
 * tasks ready, too: `unsettled` counts both.
 */
#ifndef LANEPOOL_SRC_POOL_STALLED_H
#define LANEPOOL_SRC_POOL_STALLED_H

#include "route/pool.h"

/* Called by the role's holder when a task is parked or a lane is paused by a failure. O(threads).
 */
bool lanepool_i_only_parked_left(lanepool_pool *pool);

#endif
