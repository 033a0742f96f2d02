/**
 * @file
 * Futures: wait for one task, take its result, or be called when it is there.
 */
#ifndef LANEPOOL_FUTURE_H
#define LANEPOOL_FUTURE_H

#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Wait without a limit, where a call takes `wait_ns_max`. */
#define LANEPOOL_FOREVER UINT64_MAX

/** How a task ended. */
typedef struct lanepool_result {
    lanepool_status status; /**< OK, FAILED (see code), CANCELLED, ABANDONED or POISONED (see
                                 failure.h) */
    int code;               /**< what the function returned; 0 unless FAILED */
    void *value;            /**< what lanepool_run_set_result() set, else NULL */
} lanepool_result;

/**
 * Called once when a future completes.
 *
 * @param context The caller's.
 * @param result  Valid during the call.
 */
typedef void (*lanepool_then_fn)(void *context, const lanepool_result *result);

/**
 * Waits until the task has ended, and gives its result.
 *
 * Equivalent serial program: the task's call has returned before this returns.
 *
 * Inside a task or a callback of a pool the wait is judged first. If the
 * awaited task could not end before the waiting one does, the answer is
 * LANEPOOL_DEADLOCK at once. Otherwise the thread runs the awaited task, or
 * what that waits for, and nothing else. The same goes for a sequence's task, if the waiting thread
 * is inside a task of the same executor, or of the pool that is the executor; it is a deadlock if
 * it is inside of that sequence. Circles through several sequences are not found.
 *
 * A task that is tried again has not ended, nor has one that has failed and is kept (failure.h):
 * who waits for it without a limit waits until another thread calls lanepool_pool_resolve().
 *
 * @param future      Not NULL.
 * @param wait_ns_max Nanoseconds of the monotonic clock: 0 polls, LANEPOOL_FOREVER has no limit.
 *                    A task that the waiting thread runs meanwhile is not cut short.
 * @param result      Receives the result on LANEPOOL_OK; may be NULL.
 * @retval LANEPOOL_OK        The task has ended; how is in result.
 * @retval LANEPOOL_INVALID   future is NULL.
 * @retval LANEPOOL_TIMED_OUT Not yet; wait again, or release the future.
 * @retval LANEPOOL_DEADLOCK  Inside a task or callback: the wait could never end, or waits are
 *                            nested deeper than 64. Return first, or use lanepool_future_then().
 * @retval LANEPOOL_SHUT_DOWN Inside a task: lanepool_pool_shutdown_now() was called and the
 *                            awaited task had not started.
 * @retval LANEPOOL_NOMEM     Inside a task: memory is lacking; nothing has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_FORKED    In a child of fork(): the task had not ended before, and never will
 *                            here; or a thread that is not there was just asking for it.
 * @par Threads
 * Any thread; may block.
 * @par Complexity
 * O(1) outside tasks; inside, O(tasks behind the waiting task's lanes that came before the
 * awaited one) for the judgement.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_future_wait(lanepool_future *future,
                                                                      uint64_t wait_ns_max,
                                                                      lanepool_result *result);

/**
 * Asks to be called when the task has ended; at once, on this thread, if it already has.
 *
 * The call is made by the thread that completes the task, after the task's
 * lanes have moved on, outside of every lock. It may submit; a wait in it
 * answers LANEPOOL_DEADLOCK (not if the call is made at once). Several calls may be asked for; they
 * are made in the order of asking.
 *
 * @param future  Not NULL; may be released right after.
 * @param then    Not NULL.
 * @param context Passed on.
 * @retval LANEPOOL_OK      The call is or will be made, once.
 * @retval LANEPOOL_INVALID future or then is NULL.
 * @retval LANEPOOL_NOMEM   No call will be made; ask again, or wait.
 * @retval LANEPOOL_FORKED  No call will be made, as for lanepool_future_wait().
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(1).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_future_then(lanepool_future *future,
                                                                      lanepool_then_fn then,
                                                                      void *context);

/**
 * Takes one more reference on a future.
 *
 * @param future Not NULL.
 * @return future.
 * @par Threads
 * Any thread that holds a reference; never blocks.
 */
LANEPOOL_API lanepool_future *lanepool_future_retain(lanepool_future *future);

/**
 * Gives a reference back; the last one frees the future. The task is not affected. A future may
 * outlive its pool.
 *
 * @param future May be NULL, which does nothing.
 * @par Threads
 * Any thread that holds a reference; never blocks.
 */
LANEPOOL_API void lanepool_future_release(lanepool_future *future);

#ifdef __cplusplus
}
#endif

#endif
