/*
 * The common part of the two rules with a lane for each worker: the lanes, and a task's way through
 * the lanes that its rule has chosen.
 *
 * Threads: R the role's holder, W the thread that finishes the task.
 */
#ifndef LANEPOOL_SRC_ROUTE_WORKER_LANES_H
#define LANEPOOL_SRC_ROUTE_WORKER_LANES_H

#include "route/entries.h"
#include "route/pool.h"
#include "route/rule_lanes.h"

static inline lanepool_i_queued_task *lanepool_i_queued_of(const lanepool_pool *pool,
                                                           lanepool_i_task *task)
{
    return (lanepool_i_queued_task *)(lanepool_i_entries_wide(task) + pool->options.workers);
}

static inline size_t lanepool_i_worker_of_lane(const lanepool_i_lane *lane)
{
    return (size_t)lanepool_i_lane_number(lane);
}

/* Returns true if the task has an entry in the lane. */
bool lanepool_i_worker_lanes_have(lanepool_i_task *task, const lanepool_i_lane *lane);
/* R: reads what has finished, once for all tasks that are routed at one moment: the lanes' tasks
 * write these lines all the time. */
void lanepool_i_worker_lanes_look(lanepool_pool *pool);
/* R: returns the lane with the most `covered_conflicts` that is not chosen; of these the one with
 * the fewest entries, unless both are busy; of these the first. */
size_t lanepool_i_worker_lanes_best(const lanepool_pool *pool);
/* R: gives the task an entry for this lane. Before the first one, the task's count is 0. */
void lanepool_i_worker_lanes_add(lanepool_pool *pool, lanepool_i_task *task, size_t index);
/* R: appends the task to its lanes. */
void lanepool_i_worker_lanes_enter(lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_i_grants *grants);

bool lanepool_i_worker_lanes_init(lanepool_pool *pool);
void lanepool_i_worker_lanes_fini(lanepool_pool *pool);

/* Functions of a rule; see rule.h. */
void lanepool_i_worker_lanes_finish(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    lanepool_i_task *task, lanepool_i_grants *grants);
size_t lanepool_i_worker_lanes_worker_of(const lanepool_pool *pool,
                                         const lanepool_i_thread_record *record,
                                         lanepool_i_task *task);
void lanepool_i_worker_lanes_each(lanepool_pool *pool,
                                  void (*found)(lanepool_i_key *lane, void *context),
                                  void *context);
size_t lanepool_i_worker_lanes_extension(const lanepool_options *options);

/* The part of a rule's table that these functions fill. */
#define LANEPOOL_I_WORKER_LANES_FUNCTIONS                                              \
    LANEPOOL_I_LANES_FUNCTIONS, .all_wide = true, .route_max = LANEPOOL_I_ROUTE_BATCH, \
                                .extension = lanepool_i_worker_lanes_extension,        \
                                .worker_of = lanepool_i_worker_lanes_worker_of,        \
                                .each_lane = lanepool_i_worker_lanes_each

#endif
