/*
 * The barrier: a task that conflicts with every other task.
 *
 * 1. When the router takes a barrier from the inbox, it stops giving entries to tasks. Later tasks
 *    get their tickets and are held back, in order.
 * 2. When every earlier task has finished, the router routes the barrier. Without claims, it is
 *    ready at once.
 * 3. When the barrier has finished, the router routes the tasks held back, up to the next barrier.
 *
 * No parallelism is lost: no task that is held back could have started earlier.
 *
 * Messages are held back, too, since they may refer to tasks before them. Urgent messages are not:
 * the barrier may be waiting for their sender.
 *
 * While there is a barrier, `attention` is not zero. So each worker that finds no work, and each
 * thread outside of the workers that finishes a task, checks the counters.
 *
 * All of this belongs to the role's holder.
 */
#ifndef LANEPOOL_SRC_FEATURE_BARRIER_H
#define LANEPOOL_SRC_FEATURE_BARRIER_H

#include "route/router.h"

/* Routes a task that has its ticket; a barrier waits first. */
void lanepool_i_barrier_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task, lanepool_i_grants *grants);
/* Routes the barrier if it is due, and the tasks held back if the barrier has finished. */
void lanepool_i_barrier_check(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Returns true if lanepool_i_barrier_check() would find something to do. */
bool lanepool_i_barrier_is_due(lanepool_pool *pool);
/* If the barrier was cancelled before it was routed, ends the wait for it. */
void lanepool_i_barrier_lift(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_grants *grants);
/* Routes everything, when no worker is left. */
void lanepool_i_barriers_route_all(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Returns true if the task has no entries yet. */
bool lanepool_i_barrier_holds_back(const lanepool_i_router *router, const lanepool_i_task *task);
/* Returns true if the ticket is that of an unfinished barrier, or a later one. */
bool lanepool_i_barrier_is_before(const lanepool_i_router *router, uint64_t ticket);
/* Calls `found` for each task without entries. */
void lanepool_i_barrier_each(const lanepool_i_router *router,
                             void (*found)(lanepool_i_task *task, void *context), void *context);

#endif
