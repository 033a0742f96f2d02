/**
 * @file
 * Waiting for more than one task: for all of some futures, for any of them, or for whatever
 * conflicts with some claims.
 */
#ifndef LANEPOOL_WAIT_MANY_H
#define LANEPOOL_WAIT_MANY_H

#include <stddef.h>
#include <stdint.h>

#include "lanepool/claim.h"
#include "lanepool/export.h"
#include "lanepool/future.h"
#include "lanepool/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Waits until all of the tasks have ended. How each did, lanepool_future_wait() tells afterwards
 * without waiting.
 *
 * Inside a task or a callback each wait is judged as by lanepool_future_wait(), one after the
 * other in the array's order: a DEADLOCK with a later task is answered when the tasks before it
 * have ended.
 *
 * @param futures      `future_count` futures, none NULL; of any pools, the same one more than once
 *                     if need be. They stay the caller's.
 * @param future_count May be 0: there is nothing to wait for.
 * @param wait_ns_max  Nanoseconds, for all together; 0 polls, LANEPOOL_FOREVER has no limit.
 * @retval LANEPOOL_OK        All have ended.
 * @retval LANEPOOL_INVALID   futures or one of them is NULL.
 * @retval LANEPOOL_TIMED_OUT Not all have; wait again, or let it be.
 * @retval LANEPOOL_DEADLOCK  As for lanepool_future_wait().
 * @retval LANEPOOL_SHUT_DOWN As for lanepool_future_wait().
 * @retval LANEPOOL_NOMEM     As for lanepool_future_wait().
 * @retval LANEPOOL_NO_THREAD As for lanepool_future_wait().
 * @par Threads
 * Any thread; may block.
 * @par Complexity
 * O(future_count), and what lanepool_future_wait() says for each.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_future_wait_all(
    lanepool_future *const *futures, size_t future_count, uint64_t wait_ns_max);

/**
 * Waits until at least one of the tasks has ended.
 *
 * Inside a task or a callback of any pool this looks and never waits: which of several waits could
 * end is not judged. There, wait for one of them, or use lanepool_future_then().
 *
 * @param futures      As for lanepool_future_wait_all().
 * @param future_count At least 1.
 * @param wait_ns_max  Nanoseconds; 0 polls, LANEPOOL_FOREVER has no limit.
 * @param index        Receives, on LANEPOOL_OK, the place of the first in the array that has ended.
 * @retval LANEPOOL_OK        One has ended; which, is in index.
 * @retval LANEPOOL_INVALID   An argument or a future is NULL, or there are none.
 * @retval LANEPOOL_TIMED_OUT None has ended yet.
 * @retval LANEPOOL_DEADLOCK  Inside a task or callback: none has ended yet, and wait_ns_max is not
 *                            0.
 * @retval LANEPOOL_NOMEM     Memory is lacking; nothing has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @par Threads
 * Any thread; may block, but not inside tasks and callbacks.
 * @par Complexity
 * O(future_count).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_future_wait_any(
    lanepool_future *const *futures, size_t future_count, uint64_t wait_ns_max, size_t *index);

/**
 * Waits until every task that was accepted before this call and conflicts with the claims has
 * ended.
 *
 * Equivalent serial program: a task with these claims that does nothing is submitted and waited
 * for. Of tasks that were cancelled nothing is waited for. It counts as a pending task, and stands
 * in its lanes like any other while the wait lasts.
 *
 * @param pool        A pool without an `is_compatible` of its own.
 * @param claims      As in lanepool_task; read during the call only. EXCLUSIVE waits for every task
 *                    that claims the key, SHARED for those that claim it EXCLUSIVE.
 * @param claim_count 1 to LANEPOOL_CLAIMS_MAX.
 * @param wait_ns_max Nanoseconds, at least 1; LANEPOOL_FOREVER has no limit. It also limits how
 *                    long a full pool is waited for.
 * @retval LANEPOOL_OK        They have ended.
 * @retval LANEPOOL_INVALID   An argument is wrong; or the pool has its own `is_compatible`.
 * @retval LANEPOOL_TIMED_OUT Not yet.
 * @retval LANEPOOL_DEADLOCK  As for lanepool_future_wait(): inside a task that claims one of the
 *                            keys itself, at once.
 * @retval LANEPOOL_SHUT_DOWN The pool takes no tasks any more, or was stopped meanwhile; wait with
 *                            lanepool_pool_await().
 * @retval LANEPOOL_NOMEM     Memory is lacking.
 * @retval LANEPOOL_NO_THREAD A lock or semaphore could not be had.
 * @par Threads
 * Any thread, inside tasks too; may block.
 * @par Complexity
 * That of a submit with the same claims.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_wait_claims(
    lanepool_pool *pool, const lanepool_claim *claims, size_t claim_count, uint64_t wait_ns_max);

#ifdef __cplusplus
}
#endif

#endif
