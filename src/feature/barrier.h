/*
 * The barrier: a task that conflicts with every other, whatever that claims.
 *
 * When it comes to its place, routing stops: what stands behind it gets its
 * ticket and is held back, in order. The barrier is placed, like a task that
 * conflicts with nothing, when everything before it has finished; and when it
 * has finished itself, what was held back is placed, as far as the next barrier.
 * Nothing is lost by that: none of it could have started before.
 *
 * Messages are held back, too, since they may speak of tasks before them; urgent
 * ones are not: those whose sender the barrier may be waiting for.
 *
 * While there is a barrier the lifecycle's attention is wanted: who finds no more
 * work, or finishes outside of the workers, looks at the counters.
 *
 * All is the role's holder's.
 */
#ifndef LANEPOOL_SRC_FEATURE_BARRIER_H
#define LANEPOOL_SRC_FEATURE_BARRIER_H

#include "route/router.h"

/* A task that has its ticket takes its place; or it is a barrier, and is waited for. */
void lanepool_i_barrier_place(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task, lanepool_i_grants *grants);
/* Looks whether the barrier can be placed, or has finished. */
void lanepool_i_barrier_look(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Whether a look would find so. */
bool lanepool_i_barrier_is_due(lanepool_pool *pool);
/* If the barrier has been cancelled before it was placed, nothing waits for it any more. */
void lanepool_i_barrier_lift(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_grants *grants);
/* Once no worker is left: everything is placed. */
void lanepool_i_barriers_end(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Whether the task has no place yet. */
bool lanepool_i_barrier_holds(const lanepool_i_router *router, const lanepool_i_task *task);
/* Whether the task, which has its ticket, comes after a barrier that has not finished, or is it. */
bool lanepool_i_barrier_is_before(const lanepool_i_router *router, uint64_t ticket);
/* Calls `found` for all tasks that have no place yet. */
void lanepool_i_barrier_each(const lanepool_i_router *router,
                             void (*found)(lanepool_i_task *task, void *context), void *context);

#endif
