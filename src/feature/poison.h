/*
 * Tasks that do not wait in poisoned lanes. Their policy says that they leave such a lane, and then
 * run without it or are refused.
 *
 * Leaving a lane. The role's holder freezes the lane, and then checks under the failures' lock that
 * the lane is still poisoned. If it is, the parked task was granted the lane before the freeze and
 * still has it. So no other thread is advancing the lane. A thread that releases the lane later
 * sees that it is frozen, and leaves the advance to the role's holder. Until the thaw, only the
 * role's holder changes the lane's list, and it may take entries out.
 *
 * The entry then refers to the *void lane*, in which no task ever waits. There it is granted at
 * once. It is counted, released and handed over like any other entry. The void lane belongs to the
 * pool, since a census may read the entries of a task that has just ended.
 *
 * Which lanes are poisoned. A hash table contains the entries of parked tasks, chained by lane. The
 * chain uses the entries' `next` links, which granted entries do not need. The failures' lock
 * guards the table.
 *
 * Why no such task is missed. A task that leaves poisoned lanes is checked when it is routed, after
 * its entries are in their lanes. When a task is parked, a message has the role's holder check that
 * task's lanes for tasks routed earlier. Both use the table under its lock. So either the check of
 * a routed task finds the lane in the table, or that task was in the lane before the message. While
 * the router checks a task, it holds the task's countdown, so the task cannot become ready.
 */
#ifndef LANEPOOL_SRC_FEATURE_POISON_H
#define LANEPOOL_SRC_FEATURE_POISON_H

#include "feature/retry.h"
#include "route/router.h"

/* Called when a task that leaves poisoned lanes is built: makes the router check it. */
void lanepool_i_poison_expect(lanepool_pool *pool, lanepool_i_task *task);
/* Role's holder: returns true if the task leaves poisoned lanes. False for a barrier, which has no
 * lanes, and for a tombstone, whose future may be gone. */
static inline bool lanepool_i_poison_concerns(const lanepool_i_task *task)
{
    return !lanepool_i_task_is_tombstone(task) && lanepool_i_task_count(task) > 0 &&
           lanepool_i_attempts_avoid_poison(task);
}
/* Role's holder: routes a task that leaves poisoned lanes; it has its ticket. */
void lanepool_i_poison_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task, lanepool_i_grants *grants);
/* With the failures' lock, and lanes per key: adds the entries of a parked task to the table, or
 * removes them. */
void lanepool_i_poison_add_locked(lanepool_i_failures *failures, lanepool_i_task *task);
void lanepool_i_poison_remove_locked(lanepool_i_failures *failures, lanepool_i_task *task);
/* With the failures' lock, when a task has been parked: returns true if the caller must call
 * lanepool_i_poison_notify(); then the message has a reference to the future. Returns false if no
 * task leaves poisoned lanes, or if an earlier message of this task is on its way: that one will
 * find the task parked. */
bool lanepool_i_poison_begin_notify_locked(lanepool_i_attempts *attempts);
/* Sends the message; called without locks. */
void lanepool_i_poison_notify(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_attempts *attempts);

#endif
