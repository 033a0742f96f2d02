/*
 * Whether all that is left in a pool is held up by tasks that have failed: each
 * unfinished task is kept, or waits in a lane or behind others.
 *
 * That is counted. What has finished is added up first, then those that wait and those
 * that are kept, then what was accepted. If nothing is missing, no task was ready or
 * ran from the first moment on: what was then would have been missing since, and only
 * the end of a task makes others ready; or a resolution, which is seen as a change, or counted
 * while it drops what waits; or a look at the barrier that is due; or the message that a lane is
 * poisoned, which is counted.
 */
#ifndef LANEPOOL_SRC_POOL_STALLED_H
#define LANEPOOL_SRC_POOL_STALLED_H

#include "route/pool.h"

/* Role's holder, when some task is kept or some lane is paused by a failure. */
bool lanepool_i_only_parked_left(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
