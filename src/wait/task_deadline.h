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
#ifndef LANEPOOL_SRC_WAIT_TASK_DEADLINE_H
#define LANEPOOL_SRC_WAIT_TASK_DEADLINE_H

#include "route/feature.h"

extern const lanepool_i_feature lanepool_i_feature_deadline;

#endif
