/*
 * Lending: a task that waits for others lends them its level, so that nothing of lower priority
 * comes before what holds up something of higher.
 *
 * In each lane the tasks that have a place are linked from the newest to the oldest, granted ones
 * among them (rank.h). A task enters there before it enters the lane, and leaves before it leaves
 * the lane, so that whatever stands there is alive, and nobody whom it might wait for is missing.
 * That has nothing to do with the lane's own list: it changes under the spill's lock alone, under
 * which ready tasks are ordered, too. So a task that is lent something either becomes ready later,
 * and then at its new level, or is moved at once.
 *
 * *What holds*, whenever the lock is free and the role's holder does not lend: the level of a task
 * is not below that of any task that waits for it. So who lends goes from each place towards the
 * lane's front, over SHARED ones beside its own, and may stop at an EXCLUSIVE one whose level is
 * not lower: all before that were lent as much. Whoever is lent something lends it on in its other
 * lanes. Levels never fall, so each place is passed by at most seven times, but for SHARED ones.
 *
 * A wait inside a task lends the task's level to the awaited one. A barrier lends nothing: all that
 * can be ready while it waits is what it waits for. A task that was cancelled has lent what it has.
 *
 * With a rule of the program's only waits inside tasks lend: a task is not linked to what it
 * waits for, but the other way round.
 *
 * Who may call: as guarded by the rule's functions that they belong to (rule.h): R the role's
 * holder, W who runs the task.
 */
#ifndef LANEPOOL_SRC_FEATURE_PRIORITY_H
#define LANEPOOL_SRC_FEATURE_PRIORITY_H

#include "route/pool.h"

/* R: a wide task whose entries have found their lanes, and are in none yet. */
void lanepool_i_priority_enter(lanepool_pool *pool, lanepool_i_task *task);
/* W: the task is about to give up its lanes. */
void lanepool_i_priority_leave(lanepool_pool *pool, lanepool_i_task *task);
/* R: it is about to give up the lane of one of its entries, whose place the last one takes. */
void lanepool_i_priority_drop(lanepool_pool *pool, lanepool_i_task *task, size_t entry);
/* R: it is about to leave a lane without having had it; the entry stays, and waits for nothing. */
void lanepool_i_priority_withdraw(lanepool_pool *pool, lanepool_i_task *task, size_t entry);
/* W: the heir has the task's places from now on, and what the task was lent. */
void lanepool_i_priority_hand_over(lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_i_task *receiver);
/* W: the task has failed, and will be ready again: how high it had risen by waiting for its last
 * attempt is over. */
void lanepool_i_priority_wait_again(lanepool_pool *pool, lanepool_i_task *task);
/* R: a cancelled rollup is about to give up its lanes one by one. If it has all of them by now, it
 * has only to be passed, and that comes first. */
void lanepool_i_priority_bury(lanepool_pool *pool, lanepool_i_task *task);

/* R, with the waits' lock held: what waits inside tasks have been lent goes on to the awaited. */
void lanepool_i_priority_inherit_through_waits_locked(lanepool_pool *pool);

/* Any thread that keeps the task's block from being reused: its priority, and its level. */
void lanepool_i_priority_read(lanepool_pool *pool, lanepool_i_task *task, uint32_t *priority,
                              uint32_t *level);

#endif
