/*
 * What becomes of a failed attempt; see attempts.h.
 */
#ifndef LANEPOOL_SRC_FEATURE_RETRY_H
#define LANEPOOL_SRC_FEATURE_RETRY_H

#include "future/attempts.h"

struct lanepool_i_thread_record;

/* False: the pool's own policy is not valid. */
bool lanepool_i_failures_read_policy(lanepool_pool *pool);

/* The future of a task that has a policy; NULL with the status set. */
lanepool_future *lanepool_i_retry_create(lanepool_pool *pool, lanepool_i_task *task,
                                         const lanepool_task *description, lanepool_status *status);

/* A periodic task was built, which has no policy: its series goes on, whatever becomes of a run. */
void lanepool_i_retry_withdraw(lanepool_i_task *task);

/* An attempt has failed: true, the task has not ended with that, and is the caller's no more; what
 * stands ready was added to grants. Whoever has handed its lanes over ends. */
LANEPOOL_I_COLD bool lanepool_i_retry_failed(lanepool_pool *pool,
                                             struct lanepool_i_thread_record *record,
                                             lanepool_i_task *task, const lanepool_result *result,
                                             bool has_lanes, lanepool_i_grants *grants);
/* A worker has taken the task; false: it ends with what it has answered last. */
bool lanepool_i_retry_may_start(lanepool_i_attempts *attempts);
/* The running task has given a lane up. */
void lanepool_i_retry_released_lane(const lanepool_i_task *task);
/* A task that has started was asked to end. */
void lanepool_i_retry_asked_to_stop(lanepool_future *future);
/* The same for all whose time has not come. */
void lanepool_i_retry_ask_all_to_stop(lanepool_pool *pool);

/* Whether some task is kept, or some lane paused because of one that was not. */
bool lanepool_i_retry_some_parked(lanepool_pool *pool);
/* Sends the task's message; false: the pool has ended. */
bool lanepool_i_retry_send_message(lanepool_pool *pool, struct lanepool_i_thread_record *record,
                                   lanepool_i_attempts *attempts);
/* Role's holder: it is being carried out. */
void lanepool_i_retry_message_done(lanepool_pool *pool);
/* Role's holder: so many more lanes are paused, or one less. */
void lanepool_i_retry_count_paused(lanepool_pool *pool, size_t by);
/* Under the lock: it stands in the list no more. */
void lanepool_i_retry_unlist_locked(lanepool_i_failures *failures, lanepool_i_attempts *attempts);
/* A task that was kept is tried again as if it never had been. */
void lanepool_i_retry_from_anew(lanepool_pool *pool, struct lanepool_i_thread_record *record,
                                lanepool_i_attempts *attempts);

/* Role's holder, no worker left: collects what waits for its time, or is kept. */
void lanepool_i_retry_collect(lanepool_pool *pool, lanepool_i_tasks *tasks);
/* The same: a task that was called before ends with what it has answered; false: it was not. */
bool lanepool_i_retry_end_at_stop(lanepool_pool *pool, struct lanepool_i_thread_record *record,
                                  lanepool_i_task *task);

#endif
