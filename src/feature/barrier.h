/*
 * The barrier: a task that conflicts with every other task, whatever that one claims.
 *
 * 1. When the router takes a barrier from the inbox, it stops giving entries to tasks. Each later
 *    task gets its ticket and is held back, in order.
 * 2. When every earlier task has finished, the router routes the barrier. A barrier has no claims,
 *    so it is ready at once.
 * 3. When the barrier has finished, the router routes the tasks held back, up to the next barrier.
 *
 * No parallelism is lost: no task that is held back could have started earlier.
 *
 * Messages are held back, too, since they may refer to tasks accepted before them. Urgent messages
 * are not: the barrier may be waiting for their sender.
 *
 * While there is a barrier, the lifecycle's `attention` is not zero. So the counters are checked by
 * each worker that finds no more work, and by each thread outside of the workers that finishes a
 * task.
 *
 * The role's holder owns all of this state.
 */
#ifndef LANEPOOL_SRC_FEATURE_BARRIER_H
#define LANEPOOL_SRC_FEATURE_BARRIER_H

#include "route/router.h"

/* Routes a task that has its ticket. If the task is a barrier, waits for the tasks before it
 * instead. */
void lanepool_i_barrier_place(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task, lanepool_i_grants *grants);
/* Routes the barrier if the tasks before it have finished. If the barrier itself has finished,
 * routes the tasks held back. */
void lanepool_i_barrier_look(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Returns true if the tasks before the barrier, or the barrier once it is routed, have finished. */
bool lanepool_i_barrier_is_due(lanepool_pool *pool);
/* If the barrier was cancelled before it was routed, routes it and the tasks held back. */
void lanepool_i_barrier_lift(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_grants *grants);
/* Routes the barrier and every task held back; when no worker is left. */
void lanepool_i_barriers_end(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Returns true if the task has no entries yet: it is held back, or is the unrouted barrier. */
bool lanepool_i_barrier_holds(const lanepool_i_router *router, const lanepool_i_task *task);
/* Returns true if there is a barrier, and `ticket` is its ticket or a later one. */
bool lanepool_i_barrier_is_before(const lanepool_i_router *router, uint64_t ticket);
/* Calls `found` for each task that has no entries yet. */
void lanepool_i_barrier_each(const lanepool_i_router *router,
                             void (*found)(lanepool_i_task *task, void *context), void *context);

#endif
