/**
 * @file
 * Checks that a task claims what it uses.
 */
#ifndef LANEPOOL_CHECK_H
#define LANEPOOL_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "lanepool/key.h"
#include "lanepool/task.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup checks Checks of claims
 * A function that uses a key's data asserts that the running task claims the key. If a task forgets
 * the claim, its first call of that function fails, in every schedule. See docs/checks.md. @{
 */

/** A claim that the running task lacks, for `on_check`. */
typedef struct lanepool_failed_check {
    lanepool_pool *pool;       /**< as given to lanepool_assert_claimed() */
    lanepool_claim claim;      /**< as given to lanepool_assert_claimed() */
    const lanepool_run *run;   /**< the innermost task of the pool on this thread; NULL: none */
    lanepool_task_fn function; /**< the task's, as submitted; NULL without a task */
    void *context;             /**< the task's, as submitted */
    uint64_t ticket;           /**< the task's number in the acceptance order */
} lanepool_failed_check;

/**
 * Called by a lanepool_assert_claimed() that fails, which then returns.
 * @param failed Valid during the call.
 * @threads The thread that asserts, inside its task.
 */
typedef void (*lanepool_check_fn)(void *user, const lanepool_failed_check *failed);

/**
 * Returns whether the running task has a claim: the key, in this mode or a stronger one. A barrier
 * has every claim. False if the task has released the lane, or runs without it because it is
 * poisoned; and in a sequence's task. Unlike lanepool_run_holds(), it works in every pool with
 * claims.
 * @param claim Its key may be a lane handle.
 * @complexity O(claims of the task).
 */
LANEPOOL_API bool lanepool_run_claims(const lanepool_run *run, lanepool_claim claim);

/**
 * Asserts that the task that this thread runs has a claim, as lanepool_run_claims() says it.
 * Otherwise calls the pool's `on_check`. Without an `on_check` it aborts; a checked library writes
 * a message first. Code that is called from a task needs no lanepool_run for it. Inside a callback
 * the task around it counts, if any.
 * @param claim What the code that follows uses.
 * @threads The thread of a task of the pool; on any other thread the assertion fails.
 * @complexity O(claims of the task).
 */
LANEPOOL_API void lanepool_assert_claimed(lanepool_pool *pool, lanepool_claim claim);

/** @} */

LANEPOOL_C_END

#endif
