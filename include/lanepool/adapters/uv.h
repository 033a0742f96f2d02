/**
 * @file
 * libuv's threads and loops as executors. In a library of its own: link `lanepool::uv`. With a
 * strict `-std=c11`, libuv's header needs _POSIX_C_SOURCE to be 200112L or more.
 */
#ifndef LANEPOOL_ADAPTERS_UV_H
#define LANEPOOL_ADAPTERS_UV_H

#include <uv.h>

#include "lanepool/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes an executor of a loop: tasks run on the thread that runs the loop, and delays are its
 * timers, to the millisecond.
 *
 * The loop goes on for as long as the executor is there. After lanepool_executor_destroy() it runs
 * what it has accepted, closes the executor's handles, and may end.
 *
 * @param loop     The caller's.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK        It can be used, from any thread.
 * @retval LANEPOOL_INVALID   An argument is NULL.
 * @retval LANEPOOL_NOMEM     Memory or a lock is lacking; nothing is left behind.
 * @retval LANEPOOL_NO_THREAD The loop cannot have another handle.
 * @par Threads
 * The thread that runs the loop, or before it runs; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_uv_loop_executor(uv_loop_t *loop, lanepool_executor **executor);

/**
 * Makes an executor of libuv's threads (uv_queue_work()), which a loop hands the work to.
 *
 * @param loop     As for lanepool_uv_loop_executor(): it has to run.
 * @param executor As for lanepool_uv_loop_executor().
 * @return As lanepool_uv_loop_executor().
 * @par Threads
 * The thread that runs the loop, or before it runs; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_uv_pool_executor(uv_loop_t *loop, lanepool_executor **executor);

#ifdef __cplusplus
}
#endif

#endif
