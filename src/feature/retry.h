/*
 * Failed attempts: the task is retried or parked, or it ends; see attempts.h.
 */
#ifndef LANEPOOL_SRC_FEATURE_RETRY_H
#define LANEPOOL_SRC_FEATURE_RETRY_H

#include "future/attempts.h"
#include "sched/thread_record.h"

/* Called when the running task has released a lane early. */
void lanepool_i_retry_released_lane(lanepool_pool *pool, lanepool_i_task *task);
/* Called when a task that has started was asked to stop: makes a delayed retry due. */
void lanepool_i_retry_asked_to_stop(lanepool_future *future);
/* Asks all tasks that wait for a retry to stop. */
void lanepool_i_retry_ask_all_to_stop(lanepool_pool *pool);

/* Retries parked tasks, linked through `taken`, with their attempts counted from 0. */
void lanepool_i_retry_reset(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_attempts *taken);

/* Role's holder, no worker left: collects the suspended tasks. */
void lanepool_i_retry_collect(lanepool_pool *pool, lanepool_i_tasks *tasks);
/* Role's holder, no worker left: ends a task that was called before: as CANCELLED between two
 * attempts, else with its last result. Returns false if it was not called. */
bool lanepool_i_retry_end_at_stop(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task);

#endif
