/*
 * Running a task, and what follows: the failure policy, its lanes, its future,
 * its release callback, its block; and the chain of successors that the same
 * worker runs next, up to a quantum.
 */
#ifndef LANEPOOL_SRC_CORE_RUN_H
#define LANEPOOL_SRC_CORE_RUN_H

#include "route/pool.h"

/* One call of a task's function; on the stack of the thread that makes it. */
struct lanepool_run {
    lanepool_pool *pool; /* NULL: a sequence's task */
    union {
        lanepool_i_thread_record *record;
        const struct lanepool_i_sequence_call *of_sequence;
    };
    lanepool_run *outer;   /* the call that this thread is in, if it waits inside a task */
    lanepool_i_task *task; /* NULL: a sequence's */
    void *value;           /* for the future */
    struct lanepool_detached *detach; /* NULL: the task ends with the function; see detach.h */
    size_t worker;                    /* SIZE_MAX: not a worker's to run */
};

/* Runs a ready task and the chain behind it; a worker's thread. */
void lanepool_i_run_chain(lanepool_pool *pool, lanepool_i_worker *worker, lanepool_i_task *task);
/* Runs a ready task alone; what it makes ready goes to a queue. Any thread. `helper` is the wait
 * that needs the task, or NULL. */
void lanepool_i_run_alone(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_wait *helper);
/* The thread is ending inside the task calls that it was in. */
void lanepool_i_run_abandoned(lanepool_pool *pool, lanepool_i_thread_record *record);
/* A detached task whose function has returned was completed; any thread. */
void lanepool_i_run_completed(lanepool_pool *pool, lanepool_i_thread_record *record,
                              struct lanepool_detached *detach);
/* Calls a task that will not run with CANCELLED, and lets it go. */
void lanepool_i_run_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task);

/* The same call alone: the block may be a copy of the task's, without entries. */
void lanepool_i_run_call_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_task *task, lanepool_future *future);

/* Tells the program of an attempt that has failed, unless it knows of it. */
LANEPOOL_I_COLD void lanepool_i_run_report_failure(lanepool_pool *pool,
                                                   lanepool_i_thread_record *record,
                                                   const lanepool_i_task *task,
                                                   const lanepool_result *result, bool is_last);
/* A task that was kept, and says that it ends, does so here and now; any thread. */
void lanepool_i_run_end_parked(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task, const lanepool_result *result);
/* Role's holder, no worker left: a task with a future that was called before ends; its lanes go on
 * no more. */
void lanepool_i_run_end_after_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *task, const lanepool_result *result);

/* The task, which its future has cancelled, is now a mark: only its places are left. */
void lanepool_i_run_set_tombstone(lanepool_i_thread_record *record, lanepool_i_task *task);

/* A task's function that does nothing, whichever call it is. Nobody is handed such a task back. */
int lanepool_i_run_nothing(lanepool_run *run, void *context, lanepool_call call);

/* The last of a task: its release callback, its block, its count. */
void lanepool_i_run_dispose(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task);
/* The same without the callback. */
void lanepool_i_run_dispose_silently(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task);

#endif
