/*
 * The limits on the pending tasks of each key: which quotas a task is charged to, and how long.
 *
 * A task is charged when it is admitted, or before. Its block has the charge from when it is built
 * until it is freed, or the task is refused: a wide task in the feature's room. The block of a
 * plain task has only the addresses of its quotas. So a task is charged while it is pending, even
 * after it has left a lane: a tombstone until it has passed its lanes, a task that releases a lane
 * early until it ends, a periodic task until its last call. A receiver gets the charge of its
 * giver.
 *
 * A cut counts in a lane until it has visited that lane. Its charge has the quota of a lane at the
 * number of the visit: that of the first claim that names the lane. Each visitor ends the quotas of
 * its own visits only, and the rest ends with the cut. The lock of the visits orders the two.
 *
 * In a pool without limits per lane, no function here is called.
 */
#ifndef LANEPOOL_SRC_FEATURE_LANE_LIMIT_H
#define LANEPOOL_SRC_FEATURE_LANE_LIMIT_H

#include "route/pool.h"

/* Ends the charge of a block, if it has one. Then the caller must have waiting submitters served.
 */
void lanepool_i_lane_limits_end_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_task *task);

/* Called by the visitor that has released a lane: ends the cut's charge for it. `number` is that of
 * the visit. Serves submitters that wait for the lane. */
void lanepool_i_lane_limits_end_visit(lanepool_pool *pool, lanepool_i_task *cut, uint32_t number);

/* Adds a reference to the key's quota, made if needed. A handle stands for its key. Returns NULL if
 * memory cannot be allocated. */
lanepool_i_lane_quota *lanepool_i_lane_limits_reference_quota(lanepool_pool *pool,
                                                              lanepool_i_thread_record *record,
                                                              lanepool_key key);

/* Removes some idle quotas. Returns false at the end of the trim. */
bool lanepool_i_lane_limits_trim_some(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_quota_trim *trim);

/* Describes a lane's limit in a snapshot. */
void lanepool_i_lane_limits_describe(lanepool_pool *pool, const lanepool_i_lane *lane,
                                     lanepool_snapshot_lane *described);

bool lanepool_i_lane_limits_init(lanepool_pool *pool);
void lanepool_i_lane_limits_fini(lanepool_pool *pool);

#endif
