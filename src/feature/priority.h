/*
 * Priority inheritance: a task gets the level of a more urgent task that waits for it. So a task
 * that blocks an urgent one runs before tasks that are less urgent than that one.
 *
 * Links. In each lane, the rank entries (rank.h) of all its tasks, granted ones included, are
 * linked from the newest to the oldest. A task is linked before it enters the lane, and unlinked
 * before it leaves the lane. So every linked task is alive, and no task that another one may wait
 * for is missing. These links are not the lane's own list: they change under the overflow list's
 * lock alone. That lock also guards the order of the ready tasks. So a task whose level is raised
 * either becomes ready later, at its new level, or is moved in that order at once.
 *
 * Invariant, while the lock is free and the role's holder raises no levels: a task's level is not
 * below the level of any task that waits for it.
 *
 * Raising. From each entry of a task, the role's holder walks towards the lane's head and raises
 * the tasks there. From a SHARED entry it first skips the SHARED ones ahead: the task does not wait
 * for them. It may stop at an EXCLUSIVE entry whose level is not lower: by the invariant, no level
 * ahead of that one is lower. A task that is raised raises those ahead of it in its other lanes.
 * Levels never fall, so an EXCLUSIVE entry is passed at most seven times.
 *
 * A wait inside a task raises the awaited task. A barrier raises no task: while it waits, every
 * task that can be ready is one that it waits for. A tombstone raises no more tasks; those that it
 * has raised keep their level.
 *
 * With a rule of the program's own, only waits inside tasks raise levels. There, a task is linked
 * to the tasks that wait for it, not to those that it waits for.
 *
 * Callers, by the guard letters of rule.h: R the role's holder, W the thread that runs the task.
 */
#ifndef LANEPOOL_SRC_FEATURE_PRIORITY_H
#define LANEPOOL_SRC_FEATURE_PRIORITY_H

#include "route/pool.h"

extern const lanepool_i_feature lanepool_i_feature_priority;

/* R: unlinks an entry that is about to leave its lane without having been granted. The entry stays
 * in the task, and waits for nothing. */
void lanepool_i_priority_withdraw(lanepool_pool *pool, lanepool_i_task *task, size_t entry);
/* W: the task has failed and will be ready again. Forgets how far it had risen by waiting. */
void lanepool_i_priority_wait_again(lanepool_pool *pool, lanepool_i_task *task);
/* R, with the waits' lock: raises each task that a wait inside a task waits for. */
void lanepool_i_priority_inherit_through_waits_locked(lanepool_pool *pool);

/* Any thread that keeps the block from being reused: reads a task's priority and level. */
void lanepool_i_priority_read(lanepool_pool *pool, lanepool_i_task *task, uint32_t *priority,
                              uint32_t *level);

#endif
