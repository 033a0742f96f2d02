/*
 * Threads that wait to run their own task, for a control call, or for the router role.
 */
#ifndef LANEPOOL_SRC_CORE_CALLER_RUNS_H
#define LANEPOOL_SRC_CORE_CALLER_RUNS_H

#include "future/expiry.h"
#include "route/waiters.h"

/* A function that the role's holder runs for a caller. */
typedef void (*lanepool_i_action)(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  void *context, lanepool_i_grants *grants);

/* Posts the caller of a ready task. Returns false if the caller has given up or the pool is
 * stopping: then the task goes into a ready ring. */
bool lanepool_i_caller_notify(lanepool_pool *pool, lanepool_i_task *task);
/* Needs the waits' lock. Calls `found` for each ready task of a caller. */
void lanepool_i_callers_each_ready_locked(const lanepool_i_waits *waits,
                                          void (*found)(lanepool_i_task *task, void *context),
                                          void *context);

/* Enters the pool for a control call. Returns OK with the thread's record; or FORKED or NOMEM; or
 * DEADLOCK if the calling thread may have the role. At a shutdown now the role's holder calls
 * cancelled tasks; since this may be such a call, the answer in a task is SHUT_DOWN then. */
lanepool_status lanepool_i_control_enter(lanepool_pool *pool, lanepool_i_thread_record **record);
/* Calls `action` once the caller has the role. Returns NO_RESOURCE or TIMED_OUT if it was not
 * called. */
lanepool_status lanepool_i_control_call(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        uint64_t deadline_ns, lanepool_i_action action,
                                        void *context);
/* Waits until the role's holder has routed every task accepted before, and has called `action`.
 * Returns SHUT_DOWN if the pool has ended, DEADLOCK if the calling thread may have the role, or
 * NO_RESOURCE. */
lanepool_status lanepool_i_control_call_in_turn(lanepool_pool *pool,
                                                lanepool_i_thread_record *record,
                                                lanepool_i_action action, void *context);
/* Appends a task, arms the listed deadline, waits until the task is ready, and runs it. Returns
 * SHUT_DOWN or NO_RESOURCE if the task was not accepted. */
lanepool_status lanepool_i_caller_append_and_run(lanepool_pool *pool,
                                                 lanepool_i_thread_record *record,
                                                 lanepool_i_task *task,
                                                 lanepool_i_expiry **expiring);

#endif
