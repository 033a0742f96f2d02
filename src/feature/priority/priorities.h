/*
 * The part of a pool with priorities that is the feature's, and what its files share: where a
 * task's rank is, the clock, and the lock.
 */
#ifndef LANEPOOL_SRC_FEATURE_PRIORITY_PRIORITIES_H
#define LANEPOOL_SRC_FEATURE_PRIORITY_PRIORITIES_H

#include "feature/priority/priority_queue.h"
#include "route/pool.h"

extern const lanepool_i_feature lanepool_i_feature_priority;

/* The feature's part of a pool. Guards: I immutable, A atomic. */
typedef struct lanepool_i_priorities {
    lanepool_i_ready_order order; /* the first: the workers have its address */
    lanepool_i_priority_queue queue;
    lanepool_pool *pool;         /* I */
    lanepool_i_noted_cuts noted; /* A: cuts whose ready visitors may have to be raised */
} lanepool_i_priorities;

static inline lanepool_i_priorities *lanepool_i_priorities_of(const lanepool_pool *pool)
{
    return (lanepool_i_priorities *)pool->workers.order;
}

static inline lanepool_i_priority_queue *lanepool_i_priorities_queue(const lanepool_pool *pool)
{
    return &lanepool_i_priorities_of(pool)->queue;
}

static inline lanepool_i_rank *lanepool_i_priorities_rank(const lanepool_pool *pool,
                                                          lanepool_i_task *task)
{
    if (!lanepool_i_task_is_wide(task))
        return lanepool_i_rank_behind(task);
    if (lanepool_i_task_is_visitor(task))
        return &lanepool_i_rank_of_visitor((lanepool_i_visitor *)task)->rank;
    lanepool_i_wide_rank *wide = lanepool_i_features_room(pool, &lanepool_i_feature_priority, task);
    return &wide->rank;
}

/* Coarse, unless the pool has a clock of its own. */
static inline uint64_t lanepool_i_priorities_now(const lanepool_pool *pool)
{
    return pool->driver != NULL ? lanepool_i_driver_now(pool->driver) : lanepool_i_clock_coarse();
}

static inline void lanepool_i_priorities_lock(lanepool_pool *pool)
{
    lanepool_i_word_lock_lock(&pool->workers.overflow_lock);
}

static inline void lanepool_i_priorities_unlock(lanepool_pool *pool)
{
    lanepool_i_word_lock_unlock(&pool->workers.overflow_lock);
}

#endif
