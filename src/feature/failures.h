/*
 * Shared by retries, parking and pauses after a failure: the pool's policy, messages to the router,
 * and the counts of parked tasks and paused lanes. The record of a failed task is in attempts.h.
 */
#ifndef LANEPOOL_SRC_FEATURE_FAILURES_H
#define LANEPOOL_SRC_FEATURE_FAILURES_H

#include "future/attempts.h"
#include "sched/thread_record.h"

/* Copies the pool's policy. Returns what lanepool_i_policy_check() says about it. */
lanepool_status lanepool_i_failures_read_policy(lanepool_pool *pool);

/* Returns true if the tasks of a pool with this policy need a record only after a failure. */
bool lanepool_i_policy_makes_records_late(const lanepool_failure_policy *policy);
/* Returns true if tasks under the pool's policy may be plain. */
bool lanepool_i_failures_allow_plain(const lanepool_i_failures *failures);

/* Removes the policy of a periodic task that was built: it runs again, whatever a run returns. */
void lanepool_i_failures_remove_policy(lanepool_i_task *task);

/* Returns true if a task is parked, or a lane is paused by a failure. */
bool lanepool_i_failures_block_some(lanepool_pool *pool);
/* Sends an urgent message that waits inside tasks route, too. Returns false if the pool has ended.
 */
bool lanepool_i_failures_send(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_message *message);
/* Role's holder: the message is being carried out. */
void lanepool_i_failures_sent(lanepool_pool *pool);
/* Role's holder: `by` more lanes are paused by a failure, or one less: (size_t)-1. */
void lanepool_i_failures_count_paused(lanepool_pool *pool, size_t by);

#endif
