/**
 * @file
 * Delayed and periodic tasks.
 *
 * A delayed task is accepted now, and counts against the pool's limit from now on; it takes its
 * place in the order, and its ticket, when it is due. Until then it holds up nobody. Tasks that are
 * due at one moment take their places in the order in which they were accepted.
 *
 * Moments are those of the monotonic clock: changes of the wall clock do not matter. No task is due
 * early; how late it is depends on the system and on what the pool is busy with. The first of these
 * calls starts one thread, the pool's clock thread.
 *
 * lanepool_pool_quiesce() does not wait for tasks that are not due, and snapshots do not show them;
 * lanepool_stats counts them as `delayed`. A wait inside a task for one that is not due is judged
 * when that is due. lanepool_pool_cancel() cancels them, too.
 *
 * lanepool_pool_shutdown() cancels tasks that are not due, in the order in which they would have
 * been: the clock thread calls their functions with LANEPOOL_CALL_CANCELLED, completes their
 * futures as CANCELLED, and calls their `release`. With the option `drain_waits_for_delayed` it
 * waits until they are due and runs them. Periodic tasks it ends, either way.
 * lanepool_pool_shutdown_now() hands them back behind all other tasks, in the same order; each gets
 * its ticket then. In cancelling calls of tasks that never were due the ticket is 0; a wait in
 * them answers LANEPOOL_DEADLOCK, and they have to return.
 */
#ifndef LANEPOOL_DELAY_H
#define LANEPOOL_DELAY_H

#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A handle to a periodic task. */
typedef struct lanepool_timer lanepool_timer;

/** From where a periodic task's next run is counted. */
typedef enum lanepool_period {
    LANEPOOL_FIXED_RATE = 0, /**< from the moment at which the last run was due: a late run is
                                  followed by the next at once, so that none is left out */
    LANEPOOL_FIXED_DELAY = 1 /**< from the end of the last run */
} lanepool_period;

/**
 * Submits a task that is due after a while; blocks while the pool is full.
 *
 * @param pool     The pool.
 * @param task     As for lanepool_pool_submit(), without a group and without a pump unless
 *                 delay_ns is 0 or less. A held lane that it claims must stay held until it
 *                 is due.
 * @param delay_ns Nanoseconds from now; 0 and less is lanepool_pool_submit(). A moment that the
 *                 clock cannot tell never comes.
 * @retval LANEPOOL_OK        Accepted: the task will be called exactly once.
 * @retval LANEPOOL_INVALID   As for lanepool_pool_submit().
 * @retval LANEPOOL_NOMEM     As for lanepool_pool_submit().
 * @retval LANEPOOL_NO_THREAD Not accepted; a lock, a semaphore or the clock thread could not be
 * had.
 * @retval LANEPOOL_SHUT_DOWN Not accepted. While the pool drains, also inside tasks, unless it
 * waits for delayed tasks.
 * @par Threads
 * As for lanepool_pool_submit().
 * @par Complexity
 * O(claims + log(delayed tasks)).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit_after(lanepool_pool *pool, const lanepool_task *task, int64_t delay_ns);

/**
 * Submits a task that is run again and again, never twice at once.
 *
 * Each run takes its place when it is due, has a ticket of its own, and counts as a task of its
 * own; the first is due after `delay_ns`. When the series ends (lanepool_timer_cancel(), or the
 * pool is shut down) the function is called once more, with LANEPOOL_CALL_CANCELLED, and then
 * `release`; or the task is handed back by lanepool_pool_shutdown_now(), without claims'
 * duplicates. The runs keep the lanes of their claims alive. Between two runs memory is never asked
 * for.
 *
 * @param pool      The pool.
 * @param task      As for lanepool_pool_submit(), without a future, a group and a pump. A held lane
 * that it claims must stay held until the series has ended.
 * @param delay_ns  Nanoseconds from now until the first run; 0 and less: at once.
 * @param period_ns Nanoseconds, at least 1.
 * @param period    From where they are counted.
 * @param timer     Receives the handle, before the first run starts; the caller releases it. NULL
 * on failure.
 * @retval LANEPOOL_OK        Accepted.
 * @retval LANEPOOL_INVALID   As for lanepool_pool_submit(); or the task has a future, timer is
 * NULL, or a period is wrong.
 * @retval LANEPOOL_NOMEM     Not accepted; memory is lacking.
 * @retval LANEPOOL_NO_THREAD As for lanepool_pool_submit_after().
 * @retval LANEPOOL_SHUT_DOWN Not accepted: the pool is shut down, inside tasks too.
 * @par Threads
 * As for lanepool_pool_submit().
 * @par Complexity
 * O(claims + log(delayed tasks)); so is each run's way back.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit_every(lanepool_pool *pool, const lanepool_task *task, int64_t delay_ns,
                           uint64_t period_ns, lanepool_period period, lanepool_timer **timer);

/**
 * Ends a periodic task: no further run starts.
 *
 * The function's last call, with LANEPOOL_CALL_CANCELLED, is made on the clock thread; it may come
 * after this returns. A run that is due and has not started keeps its place and passes its turn. A
 * sequence's: see lanepool_sequence_submit_every().
 *
 * @param timer The handle. After the series has ended the pool, or the sequence, may be gone.
 * @retval LANEPOOL_OK      None is running.
 * @retval LANEPOOL_RUNNING One is, and is the last; lanepool_run_is_cancelled() says so in it.
 * @retval LANEPOOL_DONE    It was ended before, and none is running.
 * @retval LANEPOOL_INVALID timer is NULL.
 * @par Threads
 * Any thread, inside the periodic task too; never blocks.
 * @par Complexity
 * O(log(delayed tasks)).
 */
LANEPOOL_API lanepool_status lanepool_timer_cancel(lanepool_timer *timer);

/**
 * Gives a handle back. The periodic task goes on.
 *
 * @param timer May be NULL, which does nothing.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API void lanepool_timer_release(lanepool_timer *timer);

#ifdef __cplusplus
}
#endif

#endif
