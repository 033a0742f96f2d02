/*
 * Tasks that do not wait in poisoned lanes. By their policy they leave such a lane, and then run
 * without it or are refused.
 *
 * Leaving a lane. The role's holder freezes the lane, and then checks that it is still poisoned. If
 * so, the parked task was granted the lane before the freeze and still has it. So no other thread
 * is advancing the lane. A thread that releases it later sees the freeze, and leaves the advance to
 * the role's holder. Therefore the role's holder may take entries out of the list until the thaw.
 *
 * The entry then refers to the *void lane*, in which no task ever waits. There it is counted,
 * released and handed over like any other entry. The void lane is the pool's, since a census may
 * read the entries of a task that has just ended.
 *
 * A cut's entry is not counted there: the cut makes no visit for it, and has passed it.
 *
 * Which lanes are poisoned. A table contains the entries of parked tasks (parked.h), chained by
 * lane through `next`, which granted entries do not need. The lock of the suspended tasks
 * guards the table.
 *
 * Why no task is missed. A task that leaves poisoned lanes is checked when it is routed, after it
 * has entered its lanes. When a task is parked, a message has the role's holder check that task's
 * lanes for tasks routed before. Since the table is under a lock, either the first check finds the
 * lane in the table, or the second check finds the task in the lane. During the first check the
 * task's countdown is held, so it cannot become ready.
 *
 * The first check is left out while the table counts no entry. A message is sent if some task
 * leaves poisoned lanes (`is_avoided`). If the count is read as 0 although a task has been parked,
 * that task's message is carried out later, by this or another holder of the role, and finds the
 * task in the lane: a message that was carried out before carries the count. The same holds for a
 * message that was on its way already (`is_notifying`). If none was sent, the parking thread has
 * read `is_avoided` as false after it had stored the count. `is_avoided` was set before the task
 * was appended, and the count is read after that. All four are in the total order, so the count is
 * not read as 0.
 */
#ifndef LANEPOOL_SRC_FEATURE_POISON_H
#define LANEPOOL_SRC_FEATURE_POISON_H

#include "feature/retry.h"
#include "route/router.h"

/* With the lock of the suspended tasks: a task has been parked. Returns true if the caller must
 * then call lanepool_i_poison_notify(); the message has a reference. Returns false if no task
 * leaves poisoned lanes, or if an earlier message is on its way, which will find the task parked.
 */
bool lanepool_i_poison_begin_notify_locked(lanepool_i_attempts *attempts);
/* Any thread that holds no lock: sends the message. */
void lanepool_i_poison_notify(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_attempts *attempts);

/* Role's holder: the task has been put into its lanes, and is held so that it cannot become ready.
 * It leaves those that are poisoned, if its policy says so. */
void lanepool_i_poison_leave_lanes(lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_i_grants *grants);

#endif
