/**
 * @file
 * Sequences: serial lanes over any executor.
 *
 * Equivalent serial program: the tasks of one sequence run one by one in the order in which they
 * were accepted, delayed ones from the moment that they are due. Many sequences share an executor;
 * what happens to one never touches another.
 */
#ifndef LANEPOOL_SEQUENCE_H
#define LANEPOOL_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lanepool/delay.h"
#include "lanepool/executor.h"
#include "lanepool/export.h"
#include "lanepool/future.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A serial lane over an executor. */
typedef struct lanepool_sequence lanepool_sequence;

/**
 * Creates a sequence.
 *
 * @param executor Must be there for as long as the sequence is.
 * @param sequence Receives the sequence, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK      It takes tasks.
 * @retval LANEPOOL_INVALID An argument is NULL.
 * @retval LANEPOOL_NOMEM   Memory or a lock is lacking; nothing is left behind.
 * @par Threads
 * Any thread; never blocks.
 * @par Complexity
 * O(1). No thread belongs to a sequence.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_sequence_create(lanepool_executor *executor, lanepool_sequence **sequence);

/**
 * Cancels what has not started, waits for the task that runs, and frees the sequence.
 *
 * It does not wait for the executor: work that still stands there finds nothing to do. To have
 * everything run first, call lanepool_sequence_wait() before.
 *
 * @param sequence May be NULL, which does nothing. No other thread may use it during or after this
 *                 call; its futures may live on.
 * @retval LANEPOOL_OK        The sequence is gone.
 * @retval LANEPOOL_DEADLOCK  Called from inside one of its own tasks or callbacks; nothing has
 *                            changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had while a task runs: everything else is
 *                            cancelled; call again.
 * @par Threads
 * Any thread that is not inside one of its tasks; blocks while one runs.
 */
LANEPOOL_API lanepool_status lanepool_sequence_destroy(lanepool_sequence *sequence);

/**
 * Submits a task: it runs when all tasks accepted before it have ended.
 *
 * The first task of an idle sequence has work handed to the executor; others join it. An executor
 * that runs work inside of `execute` runs the task before this returns, unless the caller is
 * inside a task of the same sequence: then it runs when that has ended. After 64 tasks the work is
 * handed to the executor anew, so that others get their turn; if the executor refuses that, the
 * thread goes on.
 *
 * @param sequence The sequence.
 * @param task     Read during the call only; see lanepool_task. Without claims, kind, tag,
 *                 group and pump. Its `release` is called once, after the task's one call.
 * @retval LANEPOOL_OK        Accepted: the task will be called exactly once.
 * @retval LANEPOOL_INVALID   An argument is wrong.
 * @retval LANEPOOL_NOMEM     Not accepted; memory is lacking.
 * @retval LANEPOOL_NO_THREAD Not accepted; a lock could not be had.
 * @retval LANEPOOL_CANCELLED Not accepted: the sequence was cancelled.
 * @return Otherwise what the executor's `execute` answered: not accepted.
 * @par Threads
 * Any thread, inside tasks and callbacks too. Blocks only if the executor does.
 * @par Complexity
 * O(1).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_sequence_submit(lanepool_sequence *sequence, const lanepool_task *task);

/**
 * Submits a task that takes its place in the sequence later, when it is due.
 *
 * Delayed tasks take their places in the order in which they are due, and at one moment in the
 * order of these calls. The executor's own timer measures the delay if it has one, else the
 * library's clock. If the executor refuses its timer, or the work when the task is due, the
 * library's clock and its thread stand in.
 *
 * @param sequence The sequence.
 * @param task     As for lanepool_sequence_submit(); its future can be cancelled at any time.
 * @param delay_ns Nanoseconds of the monotonic clock; 0 and less mean now, like
 *                 lanepool_sequence_submit().
 * @retval LANEPOOL_OK        Accepted.
 * @retval LANEPOOL_NO_THREAD Not accepted; a lock, or a thread for the clock, could not be had.
 * @return Otherwise as for lanepool_sequence_submit().
 * @par Threads
 * As for lanepool_sequence_submit().
 * @par Complexity
 * O(log of the executor's delayed tasks).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_sequence_submit_after(
    lanepool_sequence *sequence, const lanepool_task *task, int64_t delay_ns);

/**
 * Submits a task that is run again and again, never twice at once.
 *
 * Each run takes its place in the sequence when it is due, like a delayed task. The series ends
 * with lanepool_timer_cancel(), lanepool_sequence_cancel() or lanepool_sequence_destroy(), or when
 * neither the executor's timer nor the library's clock can be had for the next run: then the
 * function is called once more, with LANEPOOL_CALL_CANCELLED, and then `release`. That last call is
 * made by who cancels, before the cancelling call returns, or, if a run is going on, behind that
 * run on its thread. A run that fails does not end the series.
 *
 * @param sequence  The sequence.
 * @param task      As for lanepool_sequence_submit(), without a future.
 * @param delay_ns  Nanoseconds from now until the first run; 0 and less: at once.
 * @param period_ns Nanoseconds, at least 1.
 * @param period    From where they are counted.
 * @param timer     Receives the handle, before the first run starts; the caller releases it with
 *                  lanepool_timer_release(), at any time, after the sequence has gone, too. NULL on
 *                  failure.
 * @retval LANEPOOL_OK      Accepted.
 * @retval LANEPOOL_INVALID An argument is wrong.
 * @return Otherwise as for lanepool_sequence_submit_after().
 * @par Threads
 * As for lanepool_sequence_submit().
 * @par Complexity
 * O(log of the executor's delayed tasks), for each run, too.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_sequence_submit_every(
    lanepool_sequence *sequence, const lanepool_task *task, int64_t delay_ns, uint64_t period_ns,
    lanepool_period period, lanepool_timer **timer);

/**
 * Cancels a sequence for good: what has not started, delayed tasks included, is called with
 * LANEPOOL_CALL_CANCELLED on this thread before this returns; later submits are refused. The task
 * that runs is not disturbed. No other sequence is touched. To cancel one task, cancel its future.
 *
 * @param sequence The sequence.
 * @retval LANEPOOL_OK      It is cancelled, now or before.
 * @retval LANEPOOL_INVALID sequence is NULL.
 * @par Threads
 * Any thread, inside its tasks too; never blocks.
 * @par Complexity
 * O(tasks that have not started).
 */
LANEPOOL_API lanepool_status lanepool_sequence_cancel(lanepool_sequence *sequence);

/** Whether the sequence was cancelled. Any thread; never blocks. */
LANEPOOL_API bool lanepool_sequence_is_cancelled(lanepool_sequence *sequence);

/**
 * Starts no further task until lanepool_sequence_resume(). The task that runs goes on; tasks are
 * accepted and become due meanwhile.
 *
 * @param sequence The sequence.
 * @retval LANEPOOL_OK      It is paused, now or before.
 * @retval LANEPOOL_INVALID sequence is NULL.
 * @par Threads
 * Any thread, inside its tasks too; never blocks.
 */
LANEPOOL_API lanepool_status lanepool_sequence_pause(lanepool_sequence *sequence);

/**
 * Ends a pause.
 *
 * @param sequence The sequence.
 * @retval LANEPOOL_OK      It is not paused.
 * @retval LANEPOOL_INVALID sequence is NULL.
 * @return Otherwise what the executor's `execute` answered: it is still paused; try again.
 * @par Threads
 * As for lanepool_sequence_submit().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_sequence_resume(lanepool_sequence *sequence);

/**
 * Waits until nothing of the sequence runs or stands in its queue. Delayed tasks that are not due
 * are not waited for. Inside a task of the same executor, the thread runs the sequence itself if
 * the executor has not come to it.
 *
 * @param sequence    The sequence.
 * @param wait_ns_max Nanoseconds; 0 polls, LANEPOOL_FOREVER has no limit.
 * @retval LANEPOOL_OK        There was such a moment during the call.
 * @retval LANEPOOL_TIMED_OUT There was none; a paused sequence, or an executor that does not run
 *                            its work, may never have one.
 * @retval LANEPOOL_DEADLOCK  Called from inside one of its own tasks or callbacks, or nested deeper
 *                            than 64 drains.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_INVALID   sequence is NULL.
 * @par Threads
 * Any number of threads at once; may block. Outside of its tasks, a thread that the executor needs
 * to get its work done, such as a loop's own, must not wait without a limit.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_sequence_wait(lanepool_sequence *sequence,
                                                                        uint64_t wait_ns_max);

#ifdef __cplusplus
}
#endif

#endif
