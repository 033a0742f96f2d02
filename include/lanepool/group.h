/**
 * @file
 * Groups: tasks that are waited for, cancelled, or taken in completion order together.
 *
 * A task becomes a member when it is submitted with the group in its description. Its lanes, its
 * order and its future are what they would be without; members may be of several pools.
 *
 * A child of fork() may use a group that it has inherited, for tasks of pools of its own. It cannot
 * if a thread of the parent was just in a call on the group, or a member of it was just submitted
 * or ending: then calls on it answer LANEPOOL_FORKED, a submit with it LANEPOOL_INVALID, and
 * destroying it gives nothing back.
 */
#ifndef LANEPOOL_GROUP_H
#define LANEPOOL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/future.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a group is made with. Start from LANEPOOL_GROUP_OPTIONS_INIT. */
typedef struct lanepool_group_options {
    size_t struct_size;     /**< sizeof(lanepool_group_options) */
    bool keeps_completions; /**< members that have ended are kept, with their futures' memory, until
                                 lanepool_group_next() takes them; else they leave nothing */
} lanepool_group_options;

/** Options with everything at its default. */
#define LANEPOOL_GROUP_OPTIONS_INIT           \
    {                                         \
        sizeof(lanepool_group_options), false \
    }

/** A member that has ended. */
typedef struct lanepool_completion {
    void *context;          /**< as submitted; whether it is still there the program knows: the
                                 task's `release` may have been called */
    lanepool_result result; /**< as its future has it */
} lanepool_completion;

/**
 * Makes a group without members.
 *
 * @param options NULL for all defaults; read during the call only.
 * @param group   Receives the group, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK        The group is there.
 * @retval LANEPOOL_INVALID   group is NULL, or an option is unknown.
 * @retval LANEPOOL_NOMEM     Memory is lacking.
 * @retval LANEPOOL_NO_THREAD A lock could not be had.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_group_create(const lanepool_group_options *options, lanepool_group **group);

/**
 * Lets go of a group. Members that are pending go on as if they had none; completions that were
 * kept are dropped; the descriptor of lanepool_group_fd() is closed.
 *
 * The caller sees to it that no other thread uses the group, or submits with it, during or after
 * this call. The pools of its members may be gone before it or after it.
 *
 * @param group May be NULL, which does nothing.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(completions kept).
 */
LANEPOOL_API void lanepool_group_destroy(lanepool_group *group);

/**
 * Waits until every member that was accepted before this call has ended.
 *
 * Inside a task or a callback it is judged as lanepool_future_wait() would be for each of them,
 * from the newest to the oldest: a task that waits for a group which it is a member of gets
 * LANEPOOL_DEADLOCK.
 *
 * @param group       Not NULL.
 * @param wait_ns_max Nanoseconds, for all together; 0 polls, LANEPOOL_FOREVER has no limit.
 * @retval LANEPOOL_OK        They have ended.
 * @retval LANEPOOL_INVALID   group is NULL.
 * @retval LANEPOOL_TIMED_OUT Not all have; wait again, or let it be.
 * @retval LANEPOOL_DEADLOCK  As for lanepool_future_wait(), for one of them that has not ended.
 * @retval LANEPOOL_SHUT_DOWN As for lanepool_future_wait().
 * @retval LANEPOOL_NOMEM     As for lanepool_future_wait().
 * @retval LANEPOOL_NO_THREAD As for lanepool_future_wait().
 * @retval LANEPOOL_FORKED    As for lanepool_future_wait().
 * @par Threads
 * Any number of threads at once; may block.
 * @par Complexity
 * O(members pending); the thread sleeps at most once for each, and as a rule for the newest only.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_group_wait(lanepool_group *group,
                                                                     uint64_t wait_ns_max);

/**
 * Cancels the members that were accepted before this call and have not started, as by
 * lanepool_future_cancel(), from the newest to the oldest. Those that run are asked to end
 * (lanepool_run_is_cancelled()) and otherwise left alone.
 *
 * @param group Not NULL.
 * @param count Receives how many this call has cancelled; may be NULL.
 * @retval LANEPOOL_OK      No member that was accepted before this call will start.
 * @retval LANEPOOL_INVALID group is NULL.
 * @retval LANEPOOL_NOMEM   Memory is lacking; those that `count` tells of were cancelled.
 * @retval LANEPOOL_FORKED  In a child of fork(): a member's pool is the parent's.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks. The members' cancelling calls are made
 * on it.
 * @par Complexity
 * O(members pending).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_group_cancel(lanepool_group *group,
                                                                       size_t *count);

/**
 * Takes the member that ended first of those not taken yet; waits if none has.
 *
 * Inside a task or a callback of any pool this takes what there is and never waits.
 *
 * @param group       A group that keeps completions.
 * @param wait_ns_max Nanoseconds; 0 polls, LANEPOOL_FOREVER has no limit.
 * @param completion  Receives it on LANEPOOL_OK.
 * @retval LANEPOOL_OK        Taken; nothing of it is kept.
 * @retval LANEPOOL_DONE      Nothing is left to take, and no member is pending that could leave
 *                            something.
 * @retval LANEPOOL_TIMED_OUT Members are pending, and none has ended yet.
 * @retval LANEPOOL_DEADLOCK  The same inside a task or callback, when wait_ns_max is not 0.
 * @retval LANEPOOL_INVALID   An argument is NULL, or the group keeps no completions.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_FORKED    The same in a child of fork(), when wait_ns_max is not 0.
 * @par Threads
 * Any number of threads at once; may block, but not inside tasks and callbacks.
 * @par Complexity
 * O(1), and O(threads that wait here) if it gives up.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_group_next(lanepool_group *group, uint64_t wait_ns_max, lanepool_completion *completion);

/**
 * A file descriptor for an event loop: readable while lanepool_group_next() has something to take
 * at once. It is made by the first call.
 *
 * @param group A group that keeps completions.
 * @param fd    Receives the descriptor. It stays the group's: poll it, do not read or close it.
 * @retval LANEPOOL_OK        fd is valid until the group is destroyed.
 * @retval LANEPOOL_INVALID   An argument is NULL, or the group keeps no completions.
 * @retval LANEPOOL_NO_THREAD The system gives no descriptor; nothing has changed.
 * @retval LANEPOOL_FORKED    In a child of fork(), of a group that cannot be used there.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_group_fd(lanepool_group *group, int *fd);

/**
 * How many members were accepted and have not ended. By the time that the caller looks at it, it
 * may have changed. 0 in a child of fork(), of a group that cannot be used there.
 *
 * @param group Not NULL.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API size_t lanepool_group_pending(lanepool_group *group);

#ifdef __cplusplus
}
#endif

#endif
