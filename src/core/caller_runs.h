/*
 * Callers that wait to run their own task, to have something carried out, or for the router role.
 */
#ifndef LANEPOOL_SRC_CORE_CALLER_RUNS_H
#define LANEPOOL_SRC_CORE_CALLER_RUNS_H

#include "route/waiters.h"

/* Something to be carried out by the role's holder after all tasks accepted before were routed,
 * while the caller waits; on its stack. */
typedef struct lanepool_i_control_call {
    lanepool_i_message message;
    void (*action)(lanepool_pool *pool, lanepool_i_thread_record *record, void *context,
                   lanepool_i_grants *grants); /* I */
    void *context;                             /* I */
    lanepool_i_caller caller;
} lanepool_i_control_call;

/* A task that its caller is to run has become ready. False: the caller has given up, or all are
 * handed back. */
bool lanepool_i_caller_notify(lanepool_pool *pool, lanepool_i_task *task);
/* Under the lock: a bound on the tasks that are ready and their callers'. */
size_t lanepool_i_callers_ready_max_locked(const lanepool_i_waits *waits);
/* Under the lock: the tasks that are ready and their callers'. */
void lanepool_i_callers_each_ready_locked(const lanepool_i_waits *waits,
                                          void (*found)(lanepool_i_task *task, void *context),
                                          void *context);

/* Waits for the role, carries something out, and gives the role back. NO_THREAD or TIMED_OUT: not
 * done. */
lanepool_status lanepool_i_with_role(
    lanepool_pool *pool, lanepool_i_thread_record *record, uint64_t deadline_ns,
    void (*action)(lanepool_pool *pool, lanepool_i_thread_record *record, void *context),
    void *context);
/* Sends an order and waits until it is carried out. SHUT_DOWN: the pool has ended; DEADLOCK: the
 * caller may be the role's holder; NO_THREAD. */
lanepool_status lanepool_i_control_call_run(lanepool_pool *pool, lanepool_i_thread_record *record,
                                            lanepool_i_control_call *order);
/* Appends a task, waits until it is ready, and runs it. SHUT_DOWN, NOMEM or NO_THREAD: not
 * accepted. */
lanepool_status lanepool_i_caller_append_and_run(lanepool_pool *pool,
                                                 lanepool_i_thread_record *record,
                                                 lanepool_i_task *task);

#endif
