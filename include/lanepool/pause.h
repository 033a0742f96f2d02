/**
 * @file
 * Pausing: a pool, or a lane of it, takes tasks as ever and starts none.
 *
 * What runs when a pause begins goes on. Nothing else changes meanwhile: tasks take their places,
 * can be waited for and cancelled, and start in their order after the resume. A pool that is
 * drained (lanepool_pool_shutdown()) resumes by itself, and so do its lanes, but for those that
 * were paused because a task has failed there (failure.h); after a lanepool_pool_shutdown_now()
 * nothing paused starts: it is handed back.
 */
#ifndef LANEPOOL_PAUSE_H
#define LANEPOOL_PAUSE_H

#include <stdbool.h>

#include "lanepool/claim.h"
#include "lanepool/export.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Pauses the pool: its workers start no more tasks.
 *
 * What is ready by now a worker may still start if it was just about to; a task that waits for
 * another one which ends only after this call starts after the resume. Tasks that their submitter
 * runs (lanepool_pool_submit_or_run()), and those that a thread runs while it waits inside a task,
 * are not held up. lanepool_pool_quiesce() waits for the resume, too.
 *
 * @param pool The pool.
 * @retval LANEPOOL_OK        The pool is paused; once is enough to resume it.
 * @retval LANEPOOL_INVALID   pool is NULL.
 * @retval LANEPOOL_SHUT_DOWN A shutdown has been called: nothing has changed.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(1).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_pause(lanepool_pool *pool);

/**
 * Lets a paused pool go on; does nothing if it is not paused.
 *
 * @param pool The pool.
 * @retval LANEPOOL_OK      It goes on.
 * @retval LANEPOOL_INVALID pool is NULL.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(workers).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_resume(lanepool_pool *pool);

/** Whether the pool is paused. Any thread; never blocks. */
LANEPOOL_API bool lanepool_pool_is_paused(const lanepool_pool *pool);

/**
 * Pauses a lane: no task that claims it starts, but for those that had it already: they run, or
 * are ready to.
 *
 * A rollup over a paused lane waits, and keeps the other lanes that it has latched.
 *
 * @param lane A held lane of a pool with lanes per key; any handle of the same key does. The pause
 *             stays when the handle is released.
 * @retval LANEPOOL_OK        The lane is paused; once is enough to resume it.
 * @retval LANEPOOL_INVALID   lane is NULL, or its pool has lanes per worker.
 * @retval LANEPOOL_NOMEM     Memory is lacking; nothing has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_DEADLOCK  Called from a callback; nothing has changed.
 * @retval LANEPOOL_SHUT_DOWN A shutdown has been called: nothing has changed.
 * @par Threads
 * Any thread, inside tasks too; waits for the thread that routes, for a moment.
 * @par Complexity
 * O(lanes paused).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_lane_pause(lanepool_lane *lane);

/**
 * Lets a paused lane go on; does nothing if it is not paused.
 *
 * @param lane As for lanepool_lane_pause().
 * @return As lanepool_lane_pause(), but that it needs no memory; after a shutdown LANEPOOL_OK, or
 *         LANEPOOL_SHUT_DOWN once the pool has ended.
 * @par Threads
 * As for lanepool_lane_pause().
 * @par Complexity
 * O(lanes paused).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_lane_resume(lanepool_lane *lane);

#ifdef __cplusplus
}
#endif

#endif
