/*
 * Priority inheritance: a task gets the level of a more urgent task that waits for it. So a task
 * that blocks an urgent one runs before tasks that are less urgent than that one.
 *
 * Links. In each lane, the rank entries (rank.h) of all its tasks are linked from the newest to the
 * oldest; granted tasks are among them. A task is linked before it enters the lane, and unlinked
 * before it leaves the lane. So every linked task is alive, and no task that another one may wait
 * for is missing. These links are not the lane's own list. They are guarded by the overflow list's
 * lock alone, which also guards the order of the ready tasks. So when a task's level is raised,
 * either it becomes ready later, at its new level, or it is moved in the ready order at once.
 *
 * Invariant, while the lock is free and the role's holder raises no levels: a task's level is not
 * below the level of any task that waits for it.
 *
 * Raising. For each entry of a task, the role's holder visits the tasks ahead, towards the lane's
 * head, and raises them to the task's level. If the entry is SHARED, it skips the SHARED ones
 * directly ahead: the task does not wait for them. It may stop at an EXCLUSIVE entry whose level is
 * not lower: by the invariant, all entries ahead of that one have at least the same level. A task
 * that is raised raises those ahead of it in its other lanes. Levels never fall, and there are
 * eight of them. So an EXCLUSIVE entry is passed at most seven times; a SHARED one may be passed
 * more often.
 *
 * A wait inside a task raises the awaited task to the waiting task's level. A barrier raises no
 * task: while it waits, every task that can be ready is one that it waits for. A cancelled task
 * raises no more tasks; those that it has raised keep their level.
 *
 * With a rule of the program's own, only waits inside tasks raise levels. There, a task is linked
 * to the tasks that wait for it, but not to the tasks that it waits for.
 *
 * Callers, by the guard letters of rule.h: R the role's holder, W the thread that runs the task.
 */
#ifndef LANEPOOL_SRC_FEATURE_PRIORITY_H
#define LANEPOOL_SRC_FEATURE_PRIORITY_H

#include "route/pool.h"

/* R: links a wide task whose entries have their lanes, but are in no lane yet. Raises the tasks
 * that it waits for. */
void lanepool_i_priority_enter(lanepool_pool *pool, lanepool_i_task *task);
/* W: unlinks a task that is about to release its lanes. */
void lanepool_i_priority_leave(lanepool_pool *pool, lanepool_i_task *task);
/* R: unlinks one entry, whose lane the task is about to release early. The last entry moves to its
 * index. */
void lanepool_i_priority_drop(lanepool_pool *pool, lanepool_i_task *task, size_t entry);
/* R: unlinks one entry that is about to leave its lane without having been granted. The entry stays
 * at its index and waits for nothing. */
void lanepool_i_priority_withdraw(lanepool_pool *pool, lanepool_i_task *task, size_t entry);
/* W: gives the entries and the level of a task to its receiver. */
void lanepool_i_priority_hand_over(lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_i_task *receiver);
/* W: resets how far a failed task has risen by waiting among the ready tasks; it will be ready
 * again. */
void lanepool_i_priority_wait_again(lanepool_pool *pool, lanepool_i_task *task);
/* R: unlinks a cancelled rollup that is about to leave its lanes one by one. Raises it to the
 * highest level: if it is ready by now, a worker takes it first and only has to dispose of it. */
void lanepool_i_priority_bury(lanepool_pool *pool, lanepool_i_task *task);

/* R, with the waits' lock: raises each awaited task to the level of the task that waits for it. */
void lanepool_i_priority_inherit_through_waits_locked(lanepool_pool *pool);

/* Reads a task's priority and level. The calling thread ensures that the block is not reused. */
void lanepool_i_priority_read(lanepool_pool *pool, lanepool_i_task *task, uint32_t *priority,
                              uint32_t *level);

#endif
