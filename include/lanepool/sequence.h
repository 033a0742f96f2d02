/**
 * @file
 * Sequences: serial lanes over any executor; and executors. docs/sequences.md explains both.
 */
#ifndef LANEPOOL_SEQUENCE_H
#define LANEPOOL_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/future.h"
#include "lanepool/schedule.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup executors Executors
 * Threads for sequences to run on: a lanepool pool, GLib's and libuv's threads and loops
 * (adapters/glib.h, adapters/uv.h), or any other made from a few functions. @{
 */

/** Runs sequences. */
typedef struct lanepool_executor lanepool_executor;
/** Work for an executor. The library owns it; valid until it has been run. */
typedef struct lanepool_work lanepool_work;

/**
 * Runs a piece of work; returns after at most 64 tasks. An executor calls it once for each work
 * that it has accepted, on any thread, also inside `execute`. docs/sequences.md says what happens
 * if it calls twice, late or never.
 * @param work Valid until it has been run.
 * @threads Any thread that may run tasks. @complexity O(tasks run).
 */
LANEPOOL_API void lanepool_work_run(lanepool_work *work);

/**
 * The functions of an executor. Start from LANEPOOL_EXECUTOR_FUNCTIONS_INIT. Any thread may call
 * them, several at once; the library holds no lock during the calls.
 */
typedef struct lanepool_executor_functions {
    size_t struct_size; /**< sizeof(lanepool_executor_functions) */
    /** Required. Arranges one call of lanepool_work_run(), soon. Another status than LANEPOOL_OK
     * refuses: the work will not be run, and the submit answers that status. */
    lanepool_status (*execute)(void *context, lanepool_work *work);
    /** Like `execute`, after a delay; early is allowed. The library takes an earlier one back
     * before it asks for the next. If NULL, the library measures delays, on a thread of its own. */
    lanepool_status (*execute_after)(void *context, uint64_t delay_ns, lanepool_work *work);
    /** Takes the last `execute_after` back. Returns true if the work will not be run because of it;
     * false if it is running, has run, or there is none. If NULL, it runs and does nothing. */
    bool (*take_back)(void *context, lanepool_work *work);
    /** Called once, on any thread, when the library no longer uses `context`: the executor was
     * destroyed, and all accepted work has run. May be NULL. */
    void (*release)(void *context);
} lanepool_executor_functions;

/** Functions with none set. */
#define LANEPOOL_EXECUTOR_FUNCTIONS_INIT                \
    {                                                   \
        sizeof(lanepool_executor_functions), 0, 0, 0, 0 \
    }

/**
 * Creates an executor from functions.
 * @param functions Read during the call only; `execute` is required.
 * @param executor  Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_INVALID A pointer or `execute` is NULL, `take_back` is set without
 *                          `execute_after`, or functions has unknown bytes that are not zero.
 * @retval LANEPOOL_NOMEM   No memory, lock or semaphore; `release` is not called.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_executor_create(
    const lanepool_executor_functions *functions, void *context, lanepool_executor **executor);

/**
 * Creates an executor from a pool: a sequence with tasks to run submits a task without claims to
 * it. While the pool is full, a submit to an idle sequence blocks like one to the pool.
 * @param pool     A pool without an `is_compatible`. Destroy it after the executor's sequences.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_NOMEM As for lanepool_executor_create().
 * @also INVALID, UNSUPPORTED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_executor(lanepool_pool *pool, lanepool_executor **executor);

/**
 * Destroys an executor without sequences, and ends its clock's thread. The threads behind it may
 * still run work.
 * @retval LANEPOOL_BUSY Sequences use it: destroy them first. Nothing has changed.
 * @threads One thread, while no other uses it; inside a task only of another executor. Waits for
 *     the clock's thread.
 */
LANEPOOL_API lanepool_status lanepool_executor_destroy(lanepool_executor *executor);

/** @} */

/**
 * @defgroup sequences Sequences
 * The tasks of one sequence run one by one in the order in which they were accepted; delayed tasks
 * are ordered by when they are due. Sequences that share an executor do not affect each other. @{
 */

/** A serial lane over an executor. */
typedef struct lanepool_sequence lanepool_sequence;

/**
 * Creates a sequence. It has no thread of its own.
 * @param executor Must outlive the sequence.
 * @param sequence Receives the sequence, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_NOMEM No memory or lock.
 * @also INVALID.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_sequence_create(lanepool_executor *executor, lanepool_sequence **sequence);

/**
 * Cancels the tasks that have not started, waits for the running task, and frees the sequence. To
 * run all tasks first, call lanepool_sequence_wait() before.
 * @param sequence May be NULL. No other thread may use it during or after the call. Its futures may
 *                 outlive it.
 * @retval LANEPOOL_DEADLOCK    Called inside its own task or callback; nothing has changed.
 * @retval LANEPOOL_NO_RESOURCE No semaphore, and a task runs: the other tasks are cancelled; call
 *                              again.
 * @threads Any thread outside its tasks; blocks while one runs. @complexity O(waiting tasks).
 */
LANEPOOL_API lanepool_status lanepool_sequence_destroy(lanepool_sequence *sequence);

/**
 * Submits a task: it runs when all tasks accepted before it have ended. The first task of an idle
 * sequence hands work to the executor. An executor that runs work inside `execute` runs the task
 * before this returns, unless the caller is inside a task of the same sequence.
 * @param task Only with a function, a context, a release and a future.
 * @retval LANEPOOL_OK          Accepted: the task ends once.
 * @retval LANEPOOL_INVALID     An argument is wrong.
 * @retval LANEPOOL_UNSUPPORTED The task asks for what a sequence does not offer.
 * @retval LANEPOOL_CANCELLED   Not accepted: the sequence was cancelled.
 * @return Otherwise the status of the executor's `execute`: not accepted.
 * @also NOMEM, NO_RESOURCE. @threads Any thread; blocks only if the executor does.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_sequence_submit(lanepool_sequence *sequence, const lanepool_task *task);

/**
 * Submits a task that gets its position in the sequence when it is due. The executor's timer, or
 * the library's clock, measures the delay.
 * @param task     As for lanepool_sequence_submit(). Its future can be cancelled at any time.
 * @param delay_ns Nanoseconds; 0 or less: as lanepool_sequence_submit().
 * @return As for lanepool_sequence_submit().
 * @threads As for lanepool_sequence_submit(). @complexity O(log(delayed tasks of the executor)).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_sequence_submit_after(
    lanepool_sequence *sequence, const lanepool_task *task, int64_t delay_ns);

/**
 * Submits a task that runs periodically, never twice at once. Each run gets its position when it is
 * due. The series ends by lanepool_timer_cancel(), by cancelling or destroying the sequence, or if
 * no timer is available for the next run. Then `cancelled` and `release` are called: before the
 * call that cancels returns, or after the running run on its thread. A failed run does not end the
 * series.
 * @param task      As for lanepool_sequence_submit(), without a future.
 * @param delay_ns  Nanoseconds until the first run; 0 or less: at once.
 * @param period_ns Nanoseconds, at least 1.
 * @param period    The start of each period.
 * @param timer     Receives the handle, before the first run starts. Release it by
 *                  lanepool_timer_release(), also after the sequence is gone. NULL on failure.
 * @return As for lanepool_sequence_submit().
 * @threads As for lanepool_sequence_submit(). @complexity O(log(delayed tasks of the executor)),
 *     for each run, too.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_sequence_submit_every(
    lanepool_sequence *sequence, const lanepool_task *task, int64_t delay_ns, uint64_t period_ns,
    lanepool_period period, lanepool_timer **timer);

/**
 * Cancels a sequence for good: this thread calls `cancelled` of each task that has not started,
 * including delayed ones, before it returns; later submits are refused. The running task is not
 * disturbed. To cancel one task, cancel its future.
 * @also INVALID. @complexity O(tasks that have not started).
 */
LANEPOOL_API lanepool_status lanepool_sequence_cancel(lanepool_sequence *sequence);

/** Returns whether the sequence was cancelled. */
LANEPOOL_API bool lanepool_sequence_is_cancelled(const lanepool_sequence *sequence);

/**
 * Starts no further task until lanepool_sequence_resume(). The running task continues. Tasks are
 * accepted and become due. @also INVALID.
 */
LANEPOOL_API lanepool_status lanepool_sequence_pause(lanepool_sequence *sequence);

/**
 * Ends a pause.
 * @return Otherwise the status of the executor's `execute`: it is still paused; try again.
 * @also INVALID. @threads As for lanepool_sequence_submit().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_sequence_resume(lanepool_sequence *sequence);

/**
 * Waits until no task of the sequence runs or is queued; delayed tasks that are not due do not
 * count. Inside a task of the same executor this thread runs the sequence if needed.
 * @retval LANEPOOL_OK        There was such a moment during the call.
 * @retval LANEPOOL_TIMED_OUT There was none. A paused sequence, or one whose executor runs no work,
 *                            may never have one.
 * @retval LANEPOOL_DEADLOCK  Called inside its own task or callback, or waits are nested more than
 *                            64 deep.
 * @also INVALID, NO_RESOURCE. @threads Any thread; may block. A thread that the executor needs,
 *     such as a loop's own, must use a limit.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_sequence_wait(lanepool_sequence *sequence, uint64_t wait_max_ns);

/** @} */

LANEPOOL_C_END

#endif
