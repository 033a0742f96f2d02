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

/** The kinds of failed checks. */
typedef enum lanepool_check_kind {
    LANEPOOL_CHECK_UNCLAIMED,           /**< a lanepool_assert_claimed() fails */
    LANEPOOL_CHECK_RULE_CHANGED,        /**< the rule has changed its answer about two tasks */
    LANEPOOL_CHECK_RULE_AGAINST_CLAIMS, /**< the rule lets tasks with conflicting claims overlap */
} lanepool_check_kind;

/** A failed check, for `on_check`. */
typedef struct lanepool_failed_check {
    lanepool_pool *pool;       /**< the pool */
    lanepool_claim claim;      /**< UNCLAIMED: as given to lanepool_assert_claimed() */
    const lanepool_run *run;   /**< UNCLAIMED: the innermost task of the pool on this thread, or
                                    NULL; else NULL */
    lanepool_task_fn function; /**< the task's, as submitted; about a rule the newer task's; NULL
                                    without a task */
    void *context;             /**< the task's, as submitted */
    uint64_t ticket;          /**< the task's number in the acceptance order; about a rule the newer
                                   task's */
    lanepool_check_kind kind; /**< the kind of check */
    uint64_t other_ticket;    /**< about a rule: the older task's number */
} lanepool_failed_check;

/**
 * Called when a check fails. A lanepool_assert_claimed() then returns.
 * @param failed Valid during the call.
 * @threads The thread that asserts, inside its task. About a rule: as `is_compatible` is called.
 */
typedef void (*lanepool_check_fn)(void *user, const lanepool_failed_check *failed);

/**
 * Returns whether the running task has a claim: the key, in this mode or EXCLUSIVE. A barrier has
 * every claim. False if the task has released the lane, or runs without it because it is
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

/**
 * @defgroup access_checks Checks of accesses
 * ThreadSanitizer reports accesses of a task to data that it does not claim, with both stacks. The
 * tasks need not overlap: one worker is enough. See docs/checks.md. @{
 */

/** An option's bit: the order of two tasks comes from their claims only, for ThreadSanitizer. */
#define LANEPOOL_CHECK_ACCESSES 1u

/** The suppression that LANEPOOL_CHECK_ACCESSES needs: ThreadSanitizer then ignores the library's
 * own accesses. The program's __tsan_default_suppressions() returns it, alone or with other lines.
 */
#define LANEPOOL_CHECK_SUPPRESSIONS "called_from_lib:liblanepool\n"

/**
 * Returns NULL if pools of this process can have LANEPOOL_CHECK_ACCESSES. Otherwise returns a
 * sentence that says what is missing, and creating such a pool answers LANEPOOL_UNSUPPORTED.
 * @return A constant. @threads Any thread. @complexity O(1).
 */
LANEPOOL_API const char *lanepool_check_accesses_missing(void);

/** @} */

/**
 * @defgroup rule_checks Checks of a rule
 * A rule must answer the same about two tasks at all times: see docs/checks.md. A pool with a bit
 * below asks its rule more often, and reports to `on_check`. Without an `on_check` it aborts; a
 * checked library writes a message first. Without an `is_compatible`: LANEPOOL_UNSUPPORTED. @{
 */

/** An option's bit: reports a rule that has changed its answer. */
#define LANEPOOL_CHECK_RULE 2u

/** An option's bit: reports a rule that lets two tasks overlap whose claims conflict. Only with
 * lanes per key. */
#define LANEPOOL_CHECK_RULE_CLAIMS 4u

/** @} */

LANEPOOL_C_END

#endif
