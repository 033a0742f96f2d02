/**
 * @file
 * Pumps: tasks that run on a thread of the program's own, such as an event loop's.
 *
 * A task that is submitted with a pump in its description takes its place in its lanes like any
 * other: what it conflicts with waits for it, and it for that. When its turn has come it runs in
 * lanepool_pump_run(), on the thread that calls that, and nowhere else.
 *
 * A wait inside a task of a pump is judged like any other, and may run tasks of the same pump
 * meanwhile, if it needs them.
 *
 * A pause of the pool does not hold pumps up: what is ready runs when the program says so.
 *
 * The pool waits for its pumps' tasks. While they are pending a draining shutdown does not end, and
 * lanepool_pool_destroy() does not return: shut down, run the pump until it answers
 * LANEPOOL_SHUT_DOWN, destroy the pump, then the pool. After lanepool_pool_shutdown_now() nothing
 * of them runs: they are handed back or told, like all others, on one of the pool's threads.
 */
#ifndef LANEPOOL_PUMP_H
#define LANEPOOL_PUMP_H

#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes a pump.
 *
 * @param pool The pool whose tasks it is to run. It must outlive the pump.
 * @param pump Receives the pump, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK      The pump is there.
 * @retval LANEPOOL_INVALID An argument is NULL.
 * @retval LANEPOOL_NOMEM   Memory is lacking.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pump_create(lanepool_pool *pool,
                                                                      lanepool_pump **pump);

/**
 * Destroys a pump of which no task is pending, and closes the descriptor of lanepool_pump_fd().
 *
 * The caller sees to it that no other thread uses the pump, or submits with it, during or after
 * this call.
 *
 * @param pump May be NULL, which does nothing.
 * @retval LANEPOOL_OK      The pump is gone.
 * @retval LANEPOOL_INVALID Tasks of the pump have not ended, perhaps the one that calls this;
 *                          nothing has changed.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pump_destroy(lanepool_pump *pump);

/**
 * Runs tasks of the pump that are ready, in the order in which they became so; waits for the first
 * one if there is none.
 *
 * @param pump           The pump.
 * @param task_count_max At least 1: how many tasks to run at most.
 * @param wait_ns_max    Nanoseconds to wait for the first; 0 runs what is ready, LANEPOOL_FOREVER
 *                       has no limit. After the first task it does not wait.
 * @param task_count     Receives how many were run, 0 unless LANEPOOL_OK; may be NULL.
 * @retval LANEPOOL_OK        At least one task was run.
 * @retval LANEPOOL_TIMED_OUT None was ready in time.
 * @retval LANEPOOL_SHUT_DOWN The pool has drained, or was stopped: no more will come.
 * @retval LANEPOOL_DEADLOCK  Called from inside one of the pool's own tasks or callbacks.
 * @retval LANEPOOL_INVALID   pump is NULL, or task_count_max is 0.
 * @retval LANEPOOL_NOMEM     Memory is lacking; nothing was run.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing was run.
 * @par Threads
 * Any thread outside of the pool's tasks; may block. If several call at once, each task runs on
 * one of them.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pump_run(lanepool_pump *pump,
                                                                   size_t task_count_max,
                                                                   uint64_t wait_ns_max,
                                                                   size_t *task_count);

/**
 * A file descriptor for an event loop: readable while tasks of the pump are ready. It is made by
 * the first call.
 *
 * @param pump The pump.
 * @param fd   Receives the descriptor. It stays the pump's: poll it, do not read or close it.
 * @retval LANEPOOL_OK        fd is valid until the pump is destroyed.
 * @retval LANEPOOL_INVALID   An argument is NULL.
 * @retval LANEPOOL_NO_THREAD The system gives no descriptor; nothing has changed.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pump_fd(lanepool_pump *pump, int *fd);

#ifdef __cplusplus
}
#endif

#endif
