/*
 * Cuts: tasks whose lanes do not wait for one another; see visits.h. A cut ends whole, when its
 * function was called, or *in parts*: after a visit that has failed for good, or because the pool
 * stops.
 */
#ifndef LANEPOOL_SRC_FEATURE_CUT_H
#define LANEPOOL_SRC_FEATURE_CUT_H

#include "lane/lane.h"
#include "sched/thread_record.h"

/* Role's holder: the cut leaves a poisoned lane, which it waits in. The entry then names the lane
 * of tasks that have left theirs. */
void lanepool_i_cut_leave_lane(lanepool_pool *pool, lanepool_i_task *cut,
                               lanepool_i_wide_entry *entry, lanepool_i_grants *grants);
/* By the role's holder, no worker left: ends a cut that has begun, and waits neither for a retry
 * nor for a resolution. `of_series` is the `cancelled` of a repeated cut, whose series ends, too;
 * else NULL. Returns false for any other task. */
bool lanepool_i_cut_end_at_stop(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *task, lanepool_cancelled_fn of_series);

#endif
