/*
 * Deadlines of tasks: for the start, and for each attempt. Tasks without deadlines pay nothing.
 *
 * A timer for the start is armed after the append, since before it the task could not be cancelled.
 * So the submitter takes a reference to the future of each such task before the append.
 *
 * The clock thread judges the timers that have fired between two batches, where it may call the
 * program. It cancels a task that has not started as lanepool_future_cancel() does; `started` and
 * `cancelled` decide under the future's lock. So the task either starts, or is cancelled.
 */
#ifndef LANEPOOL_SRC_FEATURE_DEADLINE_H
#define LANEPOOL_SRC_FEATURE_DEADLINE_H

#include "future/expiry.h"
#include "sched/thread_record.h"

/* Adds a record to the member of a task that is being built. Returns OK; NOMEM, NO_RESOURCE or
 * SHUT_DOWN if there can be no record or no clock thread. */
lanepool_status lanepool_i_deadline_add(lanepool_pool *pool, lanepool_future *future,
                                        const lanepool_task *description);

/* Called before a task is appended: if it has a deadline for its start, adds its record to the
 * list, with a reference to the future. */
void lanepool_i_deadline_expect(const lanepool_i_task *task, lanepool_i_expiry **list);
/* Called after the append: arms the timers of the listed records, unless the tasks were refused,
 * and empties the list. */
void lanepool_i_deadlines_expected(lanepool_i_expiry **list, bool accepted);
/* Called when a delayed task has been appended. The caller has a reference to the future. */
void lanepool_i_deadline_arm(lanepool_future *future);

/* Sets the deadlines of a task that is handed back, as they were submitted. */
void lanepool_i_deadline_describe(lanepool_future *future, lanepool_task *description);

/* Called when the task's function is about to be called. */
void lanepool_i_deadline_started(lanepool_future *future);
/* Called when the task is detached, and with NULL when a detached task has ended. Returns false if
 * the deadline for the attempt has passed. */
bool lanepool_i_deadline_set_detached(lanepool_future *future, struct lanepool_detached *detached);
/* Called when an attempt has ended, and the task has not. */
void lanepool_i_deadline_paused(lanepool_future *future);

/* On the clock thread, between two batches: judges the timers that have fired. */
void lanepool_i_deadlines_judge(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
