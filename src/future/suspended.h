/*
 * Suspended tasks: each was called, has not ended, and holds its lanes, but no thread runs it. A
 * pool has one list of them, for all that look for such tasks: a snapshot, a cancel of the pool,
 * the hand-back, the thread that resolves.
 *
 *   suspended until | then             | seen as  | a pool that stops ends it
 *   COMPLETION      | it ends          | running  | as ABANDONED, before the hand-back
 *   TIMER           | READY            | retrying | as CANCELLED
 *   RESOLUTION      | READY, or it ends| parked   | with the result of its last attempt
 *   READY           | it is called     | ready    | as CANCELLED
 *
 * COMPLETION is a detached task (call_record.h), the others have failed (attempts.h). A thread that
 * removes the task from the list, under the lock, owns the task: it makes it ready or ends it. A
 * READY task is among the ready tasks, too; the thread that takes it from there owns it, and
 * removes it from this list.
 */
#ifndef LANEPOOL_SRC_FUTURE_SUSPENDED_H
#define LANEPOOL_SRC_FUTURE_SUSPENDED_H

#include "base/list.h"
#include "task/task.h"

typedef enum lanepool_i_until {
    LANEPOOL_I_UNTIL_COMPLETION,
    LANEPOOL_I_UNTIL_TIMER,
    LANEPOOL_I_UNTIL_RESOLUTION,
    LANEPOOL_I_UNTIL_READY, /* until a thread takes it */
    LANEPOOL_I_NOT_SUSPENDED
} lanepool_i_until;

/* Part of the record of a task. Guards: I immutable, L the list's lock. */
typedef struct lanepool_i_suspended {
    lanepool_i_task *task;  /* I */
    lanepool_i_link link;   /* L */
    lanepool_i_until until; /* L; read without it by the thread that owns the task */
} lanepool_i_suspended;

/* No lock is taken under it but those of futures and timers. */
typedef struct lanepool_i_suspended_tasks {
    lanepool_i_mutex lock;
    lanepool_i_list list; /* L: suspended last at the end */
} lanepool_i_suspended_tasks;

static inline bool lanepool_i_suspended_tasks_init(lanepool_i_suspended_tasks *tasks)
{
    lanepool_i_list_init(&tasks->list);
    return lanepool_i_mutex_init(&tasks->lock, LANEPOOL_I_LOCK_SUSPENDED);
}

static inline void lanepool_i_suspended_init(lanepool_i_suspended *suspended, lanepool_i_task *task)
{
    suspended->task = task;
    suspended->until = LANEPOOL_I_NOT_SUSPENDED;
}

static inline void lanepool_i_suspended_add_locked(lanepool_i_suspended_tasks *tasks,
                                                   lanepool_i_suspended *suspended,
                                                   lanepool_i_until until)
{
    suspended->until = until;
    lanepool_i_list_add(&tasks->list, &suspended->link);
}

static inline void lanepool_i_suspended_remove_locked(lanepool_i_suspended *suspended)
{
    suspended->until = LANEPOOL_I_NOT_SUSPENDED;
    lanepool_i_unlink(&suspended->link);
}

#endif
