/*
 * Limits on the pending tasks of each key, from the side of the tasks: what a
 * task that is submitted is charged to, and when that ends.
 *
 * A charge is made before the task is admitted, handed to its block when that is
 * built, and given back when the block goes, or when the task was not accepted.
 * So it counts exactly as long as the task is one of the pool's pending ones,
 * whatever becomes of its lanes: a mark counts until it has passed, a task that
 * gave a lane up early until it ends, a periodic one until its series is over.
 * An heir gets the charge of who hands over to it.
 *
 * Without limits per lane nothing here is called.
 */
#ifndef LANEPOOL_SRC_FEATURE_LANE_LIMIT_H
#define LANEPOOL_SRC_FEATURE_LANE_LIMIT_H

#include "route/pool.h"

/* What the task is to be charged to: its quotas exist from now on. OK, with NULL if it claims
 * nothing or everything; or NOMEM. */
lanepool_status lanepool_i_lane_limits_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                                              const lanepool_task *task,
                                              lanepool_i_charge **charge);
/* The task counts no more, or never has; NULL does nothing. Who calls sees to it that those who
 * wait are served. */
void lanepool_i_lane_limits_discharge(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_charge *charge);

/* Handles: keeps the key's quota, whose bytes are a copy; NULL: memory is lacking. */
lanepool_i_lane_quota *lanepool_i_lane_limits_keep(lanepool_pool *pool,
                                                   lanepool_i_thread_record *record,
                                                   const lanepool_claim *key);
void lanepool_i_lane_limits_unkeep(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_lane_quota *quota);

/* A lane in a snapshot. */
void lanepool_i_lane_limits_describe(lanepool_pool *pool, const lanepool_i_lane *lane,
                                     lanepool_snapshot_lane *described);

bool lanepool_i_lane_limits_init(lanepool_pool *pool);
void lanepool_i_lane_limits_fini(lanepool_pool *pool);

/* Where a task's charge stands: with priorities its rank has the other place. */
static inline lanepool_i_charge **lanepool_i_lane_limits_charge_of(const lanepool_pool *pool,
                                                                   lanepool_i_task *block)
{
    return pool->options.priorities ? &block->as.wide.rank->charge : &block->as.wide.charge;
}

/* The block goes, or is built no more: what it was charged to is the caller's. */
static inline lanepool_i_charge *lanepool_i_lane_limits_take(const lanepool_pool *pool,
                                                             lanepool_i_task *block)
{
    if (!pool->limits_lanes)
        return NULL;
    lanepool_i_charge **at = lanepool_i_lane_limits_charge_of(pool, block);
    lanepool_i_charge *charge = *at;
    *at = NULL;
    return charge;
}

/* Before the block of a task that ends goes, and before it counts as finished. */
static inline void lanepool_i_lane_limits_ended(lanepool_pool *pool,
                                                lanepool_i_thread_record *record,
                                                lanepool_i_task *block)
{
    if (pool->limits_lanes)
        lanepool_i_lane_limits_discharge(pool, record, lanepool_i_lane_limits_take(pool, block));
}

#endif
