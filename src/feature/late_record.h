/*
 * Records that most tasks of a pool with a failure policy get only when they fail; see attempts.h.
 */
#ifndef LANEPOOL_SRC_FEATURE_LATE_RECORD_H
#define LANEPOOL_SRC_FEATURE_LATE_RECORD_H

#include "future/attempts.h"
#include "sched/thread_record.h"

/* Returns true if the task gets its record when it fails. */
bool lanepool_i_late_record_is_for(const lanepool_pool *pool, const lanepool_task *task);
/* Returns true if the running task has no record, and may get one. */
bool lanepool_i_late_record_is_missing(const lanepool_pool *pool, const lanepool_i_task *task);
/* Gives the reservation of a task that ends without a record to this thread. */
void lanepool_i_late_record_end(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *task);

#endif
