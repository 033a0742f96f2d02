/**
 * @file
 * Tasks whose lanes are not held from the call of the function to its return: held longer
 * (lanepool_run_detach()), given up earlier (lanepool_run_release()), or handed on to another task
 * (lanepool_run_hand_over()).
 */
#ifndef LANEPOOL_HELD_H
#define LANEPOOL_HELD_H

#include <stdbool.h>

#include "lanepool/claim.h"
#include "lanepool/export.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A task that goes on after its function has returned; see lanepool_run_detach(). */
typedef struct lanepool_detached lanepool_detached;

/**
 * Detaches the task that makes this call: it does not end when its function returns, but when
 * lanepool_task_complete() is called. Until then it counts as running and keeps its lanes, and no
 * thread is held up for it. What its function returns is not looked at.
 *
 * The pool's end waits for detached tasks, lanepool_pool_shutdown_now() included. If the function
 * ends its thread (ABANDONED) after the call, the task is detached all the same.
 *
 * @param run      The call that this thread is in.
 * @param detached Receives what is to be given to lanepool_task_complete(), by any thread, possibly
 *                 before the function has returned; NULL on failure.
 * @retval LANEPOOL_OK      The task is detached.
 * @retval LANEPOOL_INVALID An argument is NULL, the task is detached already, it is being
 * cancelled, or it is a sequence's.
 * @retval LANEPOOL_NOMEM   Memory is lacking; the task ends with its function as ever.
 * @par Threads
 * The thread of the call; never blocks.
 * @par Complexity
 * O(1).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_run_detach(lanepool_run *run,
                                                                     lanepool_detached **detached);

/**
 * Ends a detached task: its lanes go on, its future completes, its `release` is called. If the
 * function has returned, all of it, and the error callback after a failure, on this thread.
 *
 * @param detached Of lanepool_run_detach(); it is gone on LANEPOOL_OK. Once for each.
 * @param code     As if the function had returned it.
 * @param value    As for lanepool_run_set_result().
 * @retval LANEPOOL_OK      The task has ended, or will when its function returns.
 * @retval LANEPOOL_INVALID detached is NULL.
 * @retval LANEPOOL_NOMEM   This thread uses the pool for the first time, and memory is lacking:
 *                          nothing has changed, call again.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(claims of the task).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_task_complete(lanepool_detached *detached,
                                                                        int code, void *value);

/** Whether a detached task was asked to end early; as lanepool_run_is_cancelled(). Before its
 * completion; any thread; never blocks. */
LANEPOOL_API bool lanepool_detached_is_cancelled(const lanepool_detached *detached);

/**
 * Gives one of the running task's lanes up early: from now on the task does not claim it.
 *
 * @param run   The call that this thread is in, of a pool with lanes per key and without its own
 *              `is_compatible`.
 * @param claim A key or a held lane that the task claims; its mode is not looked at. However often
 *              the task has named it, it is given up whole.
 * @retval LANEPOOL_OK        The lane goes on.
 * @retval LANEPOOL_INVALID   An argument is NULL, the task does not hold that lane (any more), it
 * is being cancelled, or its pool has no lanes per key.
 * @retval LANEPOOL_DEADLOCK  Called from a callback; nothing has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @par Threads
 * The thread of the call; waits for the thread that routes, for a moment.
 * @par Complexity
 * O(claims of the task).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_run_release(lanepool_run *run,
                                                                      const lanepool_claim *claim);

/**
 * Hands the running task's lanes on: the task given runs next on them, before all that waits there.
 *
 * It gets the place of the task that hands over, its ticket included, and all lanes that this holds
 * when it ends, in the same modes: the one case in which a later task comes before earlier ones
 * that it conflicts with. It is called exactly once like any other, also if the first one fails.
 * Until it has the lanes only its future can cancel it, and snapshots do not show it.
 *
 * @param run  The call that this thread is in, of a pool with lanes per key and without its own
 *             `is_compatible`.
 * @param task As for lanepool_pool_submit(), without claims.
 * @retval LANEPOOL_OK        Accepted.
 * @retval LANEPOOL_INVALID   An argument is NULL or invalid, the task has claims, this call has
 *                            handed over before, is cancelling, or its pool has no lanes per key.
 * @retval LANEPOOL_NOMEM     Memory is lacking; nothing has changed.
 * @retval LANEPOOL_SHUT_DOWN lanepool_pool_shutdown_now() has been called; nothing has changed.
 * @retval LANEPOOL_DEADLOCK  Called from a callback; nothing has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore or lock could not be had; nothing has changed.
 * @par Threads
 * The thread of the call; waits for the thread that routes, for a moment.
 * @par Complexity
 * O(claims of the running task).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_run_hand_over(lanepool_run *run,
                                                                        const lanepool_task *task);

#ifdef __cplusplus
}
#endif

#endif
