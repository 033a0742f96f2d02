/**
 * @file
 * Cancelling tasks that have not started, and asking those that run to end early.
 *
 * A task that is cancelled gets its one call, with LANEPOOL_CALL_CANCELLED, on the thread that
 * cancels it, before the call that cancels returns; its future completes as CANCELLED; then its
 * `release` is called, in a pool with its own `is_compatible` by the thread that routes, as soon as
 * the rule is not asked about the task any more. In the cancelling call, too, submits are allowed,
 * and a wait answers LANEPOOL_DEADLOCK.
 *
 * Its places in lanes stay as empty marks, which count as pending until they go. A mark holds
 * nothing up but what its own turn has not come for: with lanes per key each of its lanes goes on
 * by itself, with lanes per worker the mark takes its turn there, and with the program's own rule
 * those who wait for it wait until all that it waited for has finished.
 */
#ifndef LANEPOOL_CANCEL_H
#define LANEPOOL_CANCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/future.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Cancels a task unless it has started. The answer is exact.
 *
 * If the task runs, it is asked to end early (lanepool_run_is_cancelled()) and otherwise left
 * alone.
 *
 * @param future Not NULL. While its task is pending the call counts as a use of the task's pool.
 * @retval LANEPOOL_OK      Cancelled by this call: the task has had its one call, and never starts.
 * @retval LANEPOOL_RUNNING Too late, it has started; it was asked.
 * @retval LANEPOOL_DONE    It has ended, or another call has cancelled it or is just doing so.
 * @retval LANEPOOL_INVALID future is NULL.
 * @retval LANEPOOL_NOMEM   Memory is lacking; nothing has changed.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(1); whoever routes does O(claims of the task) later.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_future_cancel(lanepool_future *future);

/**
 * The same, and returns when the task is certainly not running: waits for one that has started.
 *
 * @param future      Not NULL.
 * @param wait_ns_max As for lanepool_future_wait().
 * @retval LANEPOOL_OK   Cancelled by this call.
 * @retval LANEPOOL_DONE The task has ended, and its call has returned.
 * @return Otherwise as lanepool_future_wait() or lanepool_future_cancel(); with LANEPOOL_TIMED_OUT
 *         or LANEPOOL_DEADLOCK it may be running still, and was asked to end.
 * @par Threads
 * As for lanepool_future_wait(); may block.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_future_cancel_wait(lanepool_future *future, uint64_t wait_ns_max);

/**
 * Whether the task that makes this call was asked to end early. Once true it stays so.
 *
 * @param run The call that this thread is in. Only tasks with a future can be asked.
 * @par Threads
 * The thread of the call; never blocks.
 * @par Complexity
 * O(1): one load.
 */
LANEPOOL_API bool lanepool_run_is_cancelled(const lanepool_run *run);

/**
 * Cancels every task that claims a lane, was accepted before this call, and has not started. A
 * delayed task has no lane before it is due.
 *
 * @param lane  A held lane: lanepool_lane_acquire() gives that of any key.
 * @param count Receives how many tasks this call has cancelled; may be NULL.
 * @retval LANEPOOL_OK        Done; each other task of the lane had started, or a thread was just
 *                            about to start it, taking it over, ready, from another, or letting it
 *                            go at the end of what it had waited for.
 * @retval LANEPOOL_INVALID   lane is NULL.
 * @retval LANEPOOL_NOMEM     Memory is lacking; no task was cancelled.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; no task was cancelled.
 * @retval LANEPOOL_DEADLOCK  Called from a callback; no task was cancelled.
 * @retval LANEPOOL_SHUT_DOWN The pool has ended, or hands its tasks back.
 * @par Threads
 * Any thread, inside tasks too; waits for the thread that routes, for a moment.
 * @par Complexity
 * O(pending tasks and their claims).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_lane_cancel(lanepool_lane *lane,
                                                                      size_t *count);

/**
 * Cancels every task that was accepted before this call and has not started, delayed ones among
 * them (delay.h), and ends every periodic one. Tasks that are just becoming due may escape.
 *
 * @param pool  The pool, which goes on.
 * @param count As for lanepool_lane_cancel().
 * @return As for lanepool_lane_cancel(); LANEPOOL_INVALID: pool is NULL.
 * @par Threads
 * As for lanepool_lane_cancel().
 * @par Complexity
 * O(pending tasks and their claims).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_cancel(lanepool_pool *pool,
                                                                      size_t *count);

#ifdef __cplusplus
}
#endif

#endif
