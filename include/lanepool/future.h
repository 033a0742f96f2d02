/**
 * @file
 * Futures, cancelling, waiting for several tasks, groups. See docs/waiting.md for waits in tasks.
 */
#ifndef LANEPOOL_FUTURE_H
#define LANEPOOL_FUTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/status.h"
#include "lanepool/task.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup futures Futures
 * Wait for one task, take its result, or be called when it has ended. @{
 */

/** As `wait_max_ns`: no limit. */
#define LANEPOOL_FOREVER UINT64_MAX

/** How a task ended. */
typedef struct lanepool_result {
    lanepool_status
        status;  /**< OK, FAILED, CANCELLED, ABANDONED, POISONED, TIMED_OUT or UNWRITTEN */
    int code;    /**< what the function returned; 0 if it has not failed */
    void *value; /**< what lanepool_run_set_result() has set, or NULL */
} lanepool_result;

/** Called once when a future completes. @param result Valid during the call. */
typedef void (*lanepool_then_fn)(void *context, const lanepool_result *result);

/**
 * Waits until a task has ended, and reads its result. A task that will be retried, or is parked,
 * has not ended. Inside a task or callback a wait that could never end answers LANEPOOL_DEADLOCK at
 * once. Otherwise the thread runs the awaited task, or tasks that it waits for, and no others.
 * @param wait_max_ns Nanoseconds. Tasks that this thread runs during the wait are not cut short.
 * @param result      Receives the result on LANEPOOL_OK; may be NULL.
 * @retval LANEPOOL_OK        The task has ended; see result.
 * @retval LANEPOOL_TIMED_OUT Not yet; wait again, or release the future.
 * @retval LANEPOOL_DEADLOCK  Inside a task or callback: the wait could never end, or waits are
 *                            nested more than 64 deep. Return first, or use lanepool_future_then().
 * @retval LANEPOOL_SHUT_DOWN Inside a task: the pool was stopped, and the task had not started.
 * @retval LANEPOOL_FORKED    In a child of fork(): the task had not ended, or another thread was
 *                            using the future at the fork.
 * @also INVALID, NO_RESOURCE, NOMEM (inside tasks only). @threads Any thread; may block.
 *     @complexity O(1) outside tasks. Inside, O(tasks between the waiting and the awaited one).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_future_wait(lanepool_future *future, uint64_t wait_max_ns, lanepool_result *result);

/**
 * Asks for a call when a task has ended; made at once, on this thread, if it has. Otherwise the
 * thread that completes the task makes the call, after the task's lanes are released and without a
 * lock. Several calls are made in the order of asking.
 * @param future May be released right after.
 * @param then   Called once.
 * @also INVALID, NOMEM, FORKED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_future_then(lanepool_future *future, lanepool_then_fn then, void *context);

/** Adds a reference, and returns the future. @threads Any thread that has one; never blocks. */
LANEPOOL_API lanepool_future *lanepool_future_retain(lanepool_future *future);

/**
 * Releases a reference; the last one frees the future. The task is not affected. A future may
 * outlive its pool.
 * @threads Any thread that has a reference; never blocks.
 */
LANEPOOL_API void lanepool_future_release(lanepool_future *future);

/** @} */

/**
 * @defgroup cancelling Cancelling
 * A cancelled task never runs. The thread that cancels calls its `cancelled`, completes its future
 * as CANCELLED, and calls its `release` (with an `is_compatible`, the router does later), before it
 * returns. The task counts as pending until it has left its lanes. See docs/endings.md and
 * docs/caveats.md. @{
 */

/**
 * Cancels a task unless it has started. The answer is exact. A running task is asked to end early
 * (lanepool_run_is_cancelled()), and is not disturbed otherwise.
 * @param future Its pool may be gone, or be destroyed by another thread during the call.
 * @retval LANEPOOL_OK      Cancelled by this call: the task never runs.
 * @retval LANEPOOL_RUNNING It has started, and was asked to end.
 * @retval LANEPOOL_DONE    It has ended, or another call cancels it.
 * @retval LANEPOOL_NOMEM   It has not started, and nothing has changed; call again.
 * @also INVALID, FORKED. @complexity O(1); the thread that routes does O(claims of the task) later.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_future_cancel(lanepool_future *future);

/**
 * Cancels a task like lanepool_future_cancel(); if it has started, waits until it has ended.
 * @retval LANEPOOL_OK        Cancelled by this call.
 * @retval LANEPOOL_DONE      The task has ended, and its call has returned.
 * @retval LANEPOOL_TIMED_OUT It was asked to end, and may still run.
 * @retval LANEPOOL_DEADLOCK  As for lanepool_future_wait(); it was asked to end, and may still run.
 * @retval LANEPOOL_SHUT_DOWN As for lanepool_future_wait().
 * @also INVALID, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; may block. @complexity As for
 *     lanepool_future_wait().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_future_cancel_wait(lanepool_future *future, uint64_t wait_max_ns);

/**
 * Returns whether the running task was asked to end early. Once true, it stays true. Tasks without
 * a future, group or timer are never asked.
 * @complexity O(1): one load.
 */
LANEPOOL_API bool lanepool_run_is_cancelled(const lanepool_run *run);

/**
 * Cancels the tasks that claim a lane, were accepted before this call and have not started. Misses
 * a task that a worker is just taking, and delayed tasks that are not due.
 * @param lane  Any handle of the key.
 * @param count Receives how many tasks this call has cancelled; may be NULL.
 * @retval LANEPOOL_SHUT_DOWN The pool has ended, or hands its tasks back.
 * @also INVALID, DEADLOCK, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; waits for routing.
 *     @complexity O(pending tasks and their claims).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_lane_cancel(lanepool_lane *lane, size_t *count);

/**
 * Cancels the tasks of a pool that were accepted before this call and have not started, including
 * delayed tasks, and ends every periodic task. Misses tasks that a worker is just taking or that
 * are just becoming due. Tasks that wait for a retry end without it: docs/failures.md. The pool
 * continues.
 * @param count Receives how many tasks this call has cancelled, without those that waited for a
 *              retry; may be NULL.
 * @retval LANEPOOL_SHUT_DOWN The pool has ended, or hands its tasks back.
 * @also INVALID, DEADLOCK, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; waits for routing.
 *     @complexity O(pending tasks and their claims).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_cancel(lanepool_pool *pool, size_t *count);

/** @} */

/**
 * @defgroup waiting Waiting for several tasks
 * For all or any of some futures, or for the tasks that conflict with some claims. @{
 */

/**
 * Waits until all of the tasks have ended. Inside a task or callback each wait is judged as by
 * lanepool_future_wait(), one after the other in the array's order. So a LANEPOOL_DEADLOCK with a
 * later task is answered when the tasks before it have ended.
 * @param futures      `future_count` futures of any pools, none NULL; duplicates are allowed.
 * @param future_count May be 0: then nothing is waited for.
 * @param wait_max_ns  Nanoseconds for all together.
 * @retval LANEPOOL_OK All have ended; lanepool_future_wait() reads the results.
 * @retval LANEPOOL_INVALID futures or one of them is NULL.
 * @retval LANEPOOL_TIMED_OUT Not all have ended; wait again.
 * @retval LANEPOOL_DEADLOCK,LANEPOOL_SHUT_DOWN As for lanepool_future_wait().
 * @also NOMEM, NO_RESOURCE, FORKED. @threads Any thread; may block. @complexity O(future_count),
 *     and that of lanepool_future_wait() for each.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_future_wait_all(
    lanepool_future *const *futures, size_t future_count, uint64_t wait_max_ns);

/**
 * Waits until at least one of the tasks has ended. Inside a task or callback of any pool it never
 * waits: there, wait for one of them, or use lanepool_future_then().
 * @param futures      As for lanepool_future_wait_all().
 * @param future_count At least 1.
 * @param index        Receives, on LANEPOOL_OK, the index of the first in the array that has ended.
 * @retval LANEPOOL_OK        One has ended.
 * @retval LANEPOOL_INVALID   A pointer or a future is NULL, or future_count is 0.
 * @retval LANEPOOL_TIMED_OUT None has ended.
 * @retval LANEPOOL_DEADLOCK  Inside a task or callback, with wait_max_ns not 0: none has ended.
 * @also NOMEM, NO_RESOURCE, FORKED. @threads Any thread; may block, but not inside tasks and
 *     callbacks. @complexity O(future_count).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_future_wait_any(
    lanepool_future *const *futures, size_t future_count, uint64_t wait_max_ns, size_t *index);

/**
 * Waits until every task that was accepted before this call and conflicts with the claims has ended
 * or was cancelled. Like submitting an empty task with these claims and waiting for it: it counts
 * as pending, and blocks its lanes during the wait. An `is_compatible` is not asked: the call waits
 * for all tasks that name one of the keys in a mode that conflicts, and for those without claims.
 * @param claims      As in lanepool_task; read during the call only.
 * @param claim_count 1 to LANEPOOL_CLAIMS_MAX.
 * @param wait_max_ns Nanoseconds, at least 1; also limits the wait for a full pool.
 * @retval LANEPOOL_INVALID   An argument is wrong.
 * @retval LANEPOOL_TIMED_OUT Not yet.
 * @retval LANEPOOL_DEADLOCK  As for lanepool_future_wait(); also inside a task that claims one of
 *                            the keys.
 * @retval LANEPOOL_SHUT_DOWN The pool takes no tasks, or was stopped during the wait; use
 *                            lanepool_pool_await().
 * @also UNSUPPORTED, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; may block. @complexity
 *     O(claim_count), as a submit.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_wait_claims(
    lanepool_pool *pool, const lanepool_claim *claims, size_t claim_count, uint64_t wait_max_ns);

/** @} */

/**
 * @defgroup groups Groups
 * Tasks that are waited for, cancelled, or taken in completion order together. A task joins by
 * `lanepool_task.group`; its lanes, its order and its future are not affected. Members may be tasks
 * of several pools. docs/fork.md says what a child of fork() may do with a group. @{
 */

/** The options of a group. Start from LANEPOOL_GROUP_OPTIONS_INIT. */
typedef struct lanepool_group_options {
    size_t struct_size;     /**< sizeof(lanepool_group_options) */
    bool keeps_completions; /**< members that have ended stay in the group, with the memory of their
                                 futures, until lanepool_group_next() takes them */
    unsigned char reserved[sizeof(size_t) - sizeof(bool)]; /**< 0 */
} lanepool_group_options;

/** Options with everything at its default. */
#define LANEPOOL_GROUP_OPTIONS_INIT            \
    {                                          \
        sizeof(lanepool_group_options), false, \
        {                                      \
            0                                  \
        }                                      \
    }

/** A member that has ended. */
typedef struct lanepool_completion {
    void *context;          /**< as submitted; the task's `release` may have freed it */
    lanepool_result result; /**< that of its future */
    uint64_t reserved[2];   /**< 0 */
} lanepool_completion;

/**
 * Creates a group without members.
 * @param options NULL for all defaults; read during the call only.
 * @param group   Receives the group, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_INVALID group is NULL, or an option is unknown.
 * @also NOMEM, NO_RESOURCE.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_group_create(const lanepool_group_options *options, lanepool_group **group);

/**
 * Destroys a group: pending members continue without it, completions are dropped, its descriptor is
 * closed. No other thread may use the group, or submit with it, during or after the call. The pools
 * of its members may be destroyed before or after it.
 * @complexity O(completions).
 */
LANEPOOL_API void lanepool_group_destroy(lanepool_group *group);

/**
 * Waits until every member accepted before this call has ended. Inside a task or callback it is
 * judged as lanepool_future_wait() for each member, from the newest to the oldest: a task that
 * waits for its own group gets LANEPOOL_DEADLOCK.
 * @param wait_max_ns Nanoseconds for all together.
 * @retval LANEPOOL_TIMED_OUT                   Not all have ended; wait again.
 * @retval LANEPOOL_DEADLOCK,LANEPOOL_SHUT_DOWN As for lanepool_future_wait().
 * @also INVALID, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; may block. @complexity O(pending
 *     members); the thread sleeps at most once for each, usually once in all.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_group_wait(lanepool_group *group, uint64_t wait_max_ns);

/**
 * Cancels the members that were accepted before this call and have not started, from the newest to
 * the oldest, as by lanepool_future_cancel(). Running members are asked to end.
 * @param count Receives how many this call has cancelled, also on LANEPOOL_NOMEM; may be NULL.
 * @retval LANEPOOL_OK    No member accepted before this call will start.
 * @retval LANEPOOL_NOMEM No memory for the rest; call again.
 * @also INVALID, FORKED. @complexity O(pending members).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_group_cancel(lanepool_group *group, size_t *count);

/**
 * Closes a group: it takes no more members. Submits with it answer LANEPOOL_SHUT_DOWN, and
 * lanepool_group_next() answers LANEPOOL_DONE after the last completion. May be called again.
 * @also INVALID, FORKED. @complexity O(waiting threads).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_group_close(lanepool_group *group);

/**
 * Takes the completion of the member that ended first; waits if there is none. While the group is
 * open it also waits for members that are submitted later. Inside a task or callback of any pool it
 * never waits.
 * @param group      A group that keeps completions.
 * @param completion Receives it on LANEPOOL_OK.
 * @retval LANEPOOL_DONE      The group is closed, and the last completion has been taken.
 * @retval LANEPOOL_TIMED_OUT No member has ended yet.
 * @retval LANEPOOL_DEADLOCK  As TIMED_OUT, inside a task or callback with wait_max_ns not 0.
 * @retval LANEPOOL_INVALID   An argument is NULL, or the group keeps no completions.
 * @also NO_RESOURCE, FORKED. @threads Any thread, several at once; may block, but not inside tasks
 *     and callbacks. @complexity O(1); O(threads that wait here) after a wait in vain.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_group_next(lanepool_group *group, uint64_t wait_max_ns, lanepool_completion *completion);

/**
 * Returns a descriptor for an event loop: readable while lanepool_group_next() answers OK or DONE
 * at once.
 * @param group A group that keeps completions.
 * @param fd    Receives the descriptor, which the group owns: poll it, do not read or close it.
 *              Valid until the group is destroyed.
 * @retval LANEPOOL_INVALID An argument is NULL, or the group keeps no completions.
 * @also NO_RESOURCE, FORKED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_group_fd(lanepool_group *group, int *fd);

/** Returns how many members have not ended; 0 in a child of fork() that cannot use the group. */
LANEPOOL_API size_t lanepool_group_pending(lanepool_group *group);

/** @} */

LANEPOOL_C_END

#endif
