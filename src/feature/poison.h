/*
 * What tasks do that wait in a poisoned lane (retry.h), as their policies say: wait,
 * or give their place up there, and run over the others, or are refused.
 *
 * The place is taken out of the lane's list by the role's holder, which has stopped the
 * lane and then looked whether the task that poisons it is kept still: that one holds
 * the lane, so nobody moves the lane on who has not seen that it was stopped. What stands in its
 * stead is a place in a lane of the pool's, the *void*, in which nobody ever waits, and
 * which is counted, released, inherited and given up like any other. It is the pool's, since
 * a survey may look at the places of a task that has just ended.
 *
 * Which lanes are poisoned is told by a table of the kept tasks' places, chained by lane through
 * the links that granted places do not need.
 *
 * That a lane is poisoned is looked at twice: when a task of that kind is routed, and
 * when a task begins to be kept, for those that were routed before. The table is under
 * a lock, so one of the two sees the other. A task that is routed is held by its latch until it has
 * looked at all its lanes.
 */
#ifndef LANEPOOL_SRC_FEATURE_POISON_H
#define LANEPOOL_SRC_FEATURE_POISON_H

#include "feature/retry.h"
#include "route/router.h"

/* A task is built that does not wait in poisoned lanes: the router looks closer at it. */
void lanepool_i_poison_expect(lanepool_pool *pool, lanepool_i_task *task);
/* Role's holder: whether a task is of that kind. A barrier has no lanes, and a cancelled task's
 * future may be gone. */
static inline bool lanepool_i_poison_concerns(const lanepool_i_task *task)
{
    return !lanepool_i_task_is_tombstone(task) && lanepool_i_task_count(task) > 0 &&
           lanepool_i_attempts_avoid_poison(task);
}
/* The same: such a task has its ticket, and takes its place. */
void lanepool_i_poison_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task, lanepool_i_grants *grants);
/* Under the failures' lock, with lanes per key: a task is kept from now on, or no longer. */
void lanepool_i_poison_enter_locked(lanepool_i_failures *failures, lanepool_i_task *task);
void lanepool_i_poison_leave_locked(lanepool_i_failures *failures, lanepool_i_task *task);
/* Under the failures' lock: a task is kept from now on. True: then its lanes are to be told of it,
 * by a message that has a reference; one that is on its way will find the task kept. */
bool lanepool_i_poison_begin_notify_locked(lanepool_i_attempts *attempts);
/* Any thread, holding nothing. */
void lanepool_i_poison_notify(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_attempts *attempts);

#endif
