/**
 * @file
 * libuv's threads and loops as executors. In a library of its own: link `lanepool::uv`. With a
 * strict `-std=c11`, libuv's header needs _POSIX_C_SOURCE to be 200112L or more.
 */
#ifndef LANEPOOL_ADAPTERS_UV_H
#define LANEPOOL_ADAPTERS_UV_H

#include <uv.h>

#include "lanepool/sequence.h"

LANEPOOL_C_BEGIN

/**
 * @addtogroup adapters
 * @{
 */

/**
 * Creates an executor on a loop: tasks run on the thread that runs the loop; delays are its timers,
 * to the millisecond. The loop stays alive while the executor exists. After
 * lanepool_executor_destroy() it runs the accepted work, closes the executor's handles, and may
 * end.
 * @param loop     The caller's.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_NOMEM       No memory or lock.
 * @retval LANEPOOL_NO_RESOURCE The loop cannot have another handle.
 * @also INVALID. @threads The thread that runs the loop, or any before it runs; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_uv_loop_executor(uv_loop_t *loop, lanepool_executor **executor);

/**
 * Creates an executor on libuv's threads (uv_queue_work()), through a loop.
 * @param loop     As for lanepool_uv_loop_executor(). It must run.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_NOMEM       No memory or lock.
 * @retval LANEPOOL_NO_RESOURCE The loop cannot have another handle.
 * @also INVALID. @threads The thread that runs the loop, or any before it runs; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_uv_pool_executor(uv_loop_t *loop, lanepool_executor **executor);

/** @} */

LANEPOOL_C_END

#endif
