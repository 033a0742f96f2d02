/*
 * Running a task, and everything that follows: its failure policy, its lanes, its future, its
 * release callback, its block. Also the chain of successors that the same worker runs next, up to a
 * quantum.
 */
#ifndef LANEPOOL_SRC_CORE_RUN_H
#define LANEPOOL_SRC_CORE_RUN_H

#include "lanepool/sequence.h"
#include "route/pool.h"

/* One call of a task's function; on the stack of the thread that makes it. */
struct lanepool_run {
    lanepool_pool *pool; /* NULL for a sequence's task */
    union {
        lanepool_i_thread_record *record;
        const struct lanepool_i_sequence_call *of_sequence;
    };
    lanepool_run *outer;   /* the call that this thread is already in, if it waits inside a task */
    lanepool_i_task *task; /* NULL for a sequence's task */
    void *value;           /* for the task's future */
    struct lanepool_detached *call; /* its record, or NULL; see call_record.h */
    size_t worker;                  /* SIZE_MAX if no worker runs the task */
    bool asks_worker;               /* it uses what belongs to the worker; see accesses.h */
};

/* Enters a call into the thread's list of running tasks. */
static inline void lanepool_i_run_push(lanepool_run *run, lanepool_pool *pool,
                                       lanepool_i_thread_record *record, lanepool_i_task *task)
{
    *run = (lanepool_run){ pool, { record }, record->run,          task,
                           NULL, NULL,       record->worker_index, false };
    store_relaxed(&task->next, load_relaxed(&record->running));
    store_release(&record->running, task);
    record->run = run;
}

static inline void lanepool_i_run_pop(lanepool_i_thread_record *record, const lanepool_run *run)
{
    record->run = run->outer;
    store_release(&record->running, load_relaxed(&run->task->next));
}

/* Runs a ready task and the chain of tasks behind it, on the worker's thread. */
void lanepool_i_run_chain(lanepool_pool *pool, lanepool_i_worker *worker, lanepool_i_task *task);
/* Runs one ready task, and puts the tasks that became ready into a ready ring. Any thread. `helper`
 * is the wait that needs this task, or NULL. */
void lanepool_i_run_alone(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_wait *helper);
/* Ends the tasks whose calls the thread was in when a task ended the thread. */
void lanepool_i_run_abandoned(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Ends a task that the caller has removed from the suspended tasks. `call` is a detached task's
 * record. A task that has failed has none, and its own record must say `ends_uncalled`. */
void lanepool_i_run_end_suspended(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task, struct lanepool_detached *call,
                                  lanepool_result result);
/* Calls `cancelled` if it is not NULL. */
void lanepool_i_run_call_cancelled(lanepool_i_thread_record *record,
                                   lanepool_cancelled_fn cancelled, void *context,
                                   lanepool_status why);
/* Completes a future, if it is not NULL. */
void lanepool_i_run_complete(lanepool_i_thread_record *record, lanepool_future *future,
                             const lanepool_result *result);
/* Completes the future of a cancelled task with this status, if it is not NULL. */
void lanepool_i_run_complete_cancelled(lanepool_i_thread_record *record, lanepool_future *future,
                                       lanepool_status status);
/* Calls `release` if it is not NULL. */
void lanepool_i_run_call_release(lanepool_i_thread_record *record, lanepool_release_fn release,
                                 void *context);

/* Reports a failed attempt to the program, unless it was reported already. */
LANEPOOL_I_COLD void lanepool_i_run_report_failure(lanepool_pool *pool,
                                                   lanepool_i_thread_record *record,
                                                   const lanepool_i_task *task,
                                                   const lanepool_result *result, bool is_last);
/* Ends a task that has failed before: completes its future and disposes of it, but releases no
 * lanes. By the role's holder, when no worker is left. */
void lanepool_i_run_end_after_failure(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *task, const lanepool_result *result);

/* Makes a tombstone of a task that its future has cancelled. */
void lanepool_i_run_set_tombstone(lanepool_i_thread_record *record, lanepool_i_task *task);

/* Work that a pool runs as an executor. */
struct lanepool_work {
    void (*run)(lanepool_work *work);                         /* I */
    void (*cancel)(lanepool_work *work, lanepool_status why); /* I: or NULL, of an alarm */
};

/* The functions of a task whose context is work: they run it, and cancel it. The task is submitted
 * without a `cancelled`, so that it is plain; the hand-back knows it by its function. A cancelling
 * of the whole pool spares it: the sequence continues. */
int lanepool_i_run_work(lanepool_run *run, void *context);
void lanepool_i_cancel_work(void *context, lanepool_status why);

/* Disposes of a task: calls its release callback, frees its block, and counts it as finished. */
void lanepool_i_run_dispose(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task);
/* Records that a task has started, and that no thread runs it now: its future becomes SUSPENDED. */
void lanepool_i_run_suspend(lanepool_pool *pool, lanepool_future *future);
/* Disposes of a task without calling its release callback. */
void lanepool_i_run_dispose_silently(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task);

#endif
