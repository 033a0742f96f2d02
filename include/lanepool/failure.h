/**
 * @file
 * What follows when a task fails: its function, or lanepool_task_complete(), has answered a code
 * other than zero, or it has ended its thread (ABANDONED).
 *
 * A pool has a policy (lanepool_options.on_failure), and a task may have one of its own
 * (lanepool_task.on_failure). Without one the lanes of a failed task go on. With
 * LANEPOOL_PER_WORKER there is nothing but that: a policy that asks for more is LANEPOOL_INVALID.
 * With an `is_compatible` tasks can be tried again and kept.
 */
#ifndef LANEPOOL_FAILURE_H
#define LANEPOOL_FAILURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What follows when the last attempt at a task has failed. */
typedef enum lanepool_failure_end {
    LANEPOOL_FAILURE_GO_ON = 0, /**< the task ends as FAILED or ABANDONED, its lanes go on */
    LANEPOOL_FAILURE_PAUSE = 2, /**< the task ends as with GO_ON, and before its lanes go on they
                                   are paused, as by lanepool_lane_pause(); a drain does not resume
                                     them, lanepool_lane_resume() does, also after a shutdown. In
                                     pools with lanes per key, without an `is_compatible`. An heir,
                                     which has claimed nothing itself, pauses nothing, nor does
                                     a task that claims everything */
    LANEPOOL_FAILURE_POISON = 1 /**< the task is kept: it stays where it is, and its lanes are
                                     *poisoned*, until lanepool_pool_resolve() says what is to
                                     become of it; so long its future is not complete */
} lanepool_failure_end;

/**
 * What a task does that has to wait in a poisoned lane. Decided for those that wait there when a
 * task begins to be kept, and for those that come while it is; when that is resolved, it does not
 * change for them. A task that claims everything waits.
 */
typedef enum lanepool_at_poison {
    LANEPOOL_AT_POISON_WAIT = 0,      /**< it waits until the kept task is resolved */
    LANEPOOL_AT_POISON_FAIL = 1,      /**< it gives its place in the lane up, and when its turn has
                                           come in its other lanes it has its one call with
                                           LANEPOOL_CALL_CANCELLED and ends as POISONED */
    LANEPOOL_AT_POISON_GO_WITHOUT = 2 /**< it gives its place in the lane up, and runs when its turn
                                           has come in its other lanes; lanepool_run_holds() tells
                                           it which it has: none, if all are poisoned */
} lanepool_at_poison;

/**
 * What follows when a task has failed. Start from LANEPOOL_FAILURE_POLICY_INIT; zero means that the
 * task ends with its first failure, and its lanes go on.
 *
 * A task that is tried again keeps its place and its lanes: nothing that conflicts with it starts
 * in between. It has not ended: it counts as pending, its future is not complete, and a shutdown or
 * a quiesce waits for it, its delay included. Each attempt is a call of its function with
 * LANEPOOL_CALL_RUN; the pool's error callback is told of each that fails.
 *
 * A task is not tried again once it was asked to end (lanepool_future_cancel(), which answers
 * LANEPOOL_RUNNING; lanepool_pool_cancel(), if its delay goes on: that is cut short), has given a
 * lane up (lanepool_run_release()), or the pool was told to stop now. Whoever has handed its lanes
 * over (lanepool_run_hand_over()) ends with its failure, whatever its policy says: they are the
 * heir's. Runs of periodic tasks have no policy: each ends with its failure, and waits in poisoned
 * lanes. Attempts after the first are made by any
 * worker, or, of a pump's task, by its pump.
 */
typedef struct lanepool_failure_policy {
    size_t struct_size;    /**< sizeof(lanepool_failure_policy) */
    unsigned retries;      /**< how often a task that fails is tried again */
    uint64_t delay_ns;     /**< how long before the first retry, in nanoseconds; 0: at once, and all
                                further ones, too */
    uint64_t delay_max_ns; /**< before each further retry the delay doubles, up to this; 0, or less
                                than delay_ns: it stays delay_ns */
    lanepool_failure_end at_end;  /**< what follows when the last attempt has failed */
    lanepool_at_poison at_poison; /**< what the task does in a lane that another has poisoned,
                                       whether or not it ever fails itself; in pools with lanes
                                       per key, without an `is_compatible` */
} lanepool_failure_policy;

/** A policy with everything at its default. */
#define LANEPOOL_FAILURE_POLICY_INIT                                                              \
    {                                                                                             \
        sizeof(lanepool_failure_policy), 0, 0, 0, LANEPOOL_FAILURE_GO_ON, LANEPOOL_AT_POISON_WAIT \
    }

/**
 * Which attempt this call is, from 1. In cancelling calls and in a sequence's task 1.
 *
 * @par Threads
 * The thread of the call; never blocks.
 */
LANEPOOL_API unsigned lanepool_run_attempt(const lanepool_run *run);

/**
 * Whether the task that makes this call has the lane of a claim: false of one that it goes without,
 * since the lane was poisoned, that it has given up, or that it has never claimed; in cancelling
 * calls, and in pools with lanes per worker or an `is_compatible` of their own, of all.
 *
 * @param run   The call that this thread is in.
 * @param claim A key or a held lane; its mode is not looked at.
 * @par Threads
 * The thread of the call; never blocks.
 * @par Complexity
 * O(claims of the task).
 */
LANEPOOL_API bool lanepool_run_holds(const lanepool_run *run, const lanepool_claim *claim);

/** A task that is kept; plain data. */
typedef struct lanepool_failure {
    uint64_t ticket;              /**< its place in the acceptance order */
    lanepool_task_fn function;    /**< as submitted */
    void *context;                /**< as submitted; still the task's: the place for what it has
                                       to say of its failure beyond a code */
    uint32_t tag;                 /**< as submitted */
    lanepool_status status;       /**< of its last attempt: FAILED or ABANDONED */
    int code;                     /**< what that has answered, when FAILED */
    unsigned attempts;            /**< how many have failed, since it was last resolved */
    const lanepool_claim *claims; /**< what it holds: its claims without duplicates, and without
                                       what it has given up; copies, byte strings too. None with an
                                       `is_compatible` of the program's */
    size_t claim_count;           /**< how many */
} lanepool_failure;

/** The tasks that were kept at one moment. */
typedef struct lanepool_failures {
    const lanepool_failure *tasks; /**< `count`, by ticket */
    size_t count;                  /**< how many */
} lanepool_failures;

/**
 * Lists the tasks that are kept. A task is among them once the error callback, which was told of
 * its last failure, has returned.
 *
 * Whoever waits for the pool is told by LANEPOOL_HELD that only such tasks are left, and what waits
 * behind them; but not while a task waits inside for one of them, as long as it likes: that task
 * runs. The answer is LANEPOOL_HELD also for tasks that wait in lanes which a failure has paused
 * (LANEPOOL_FAILURE_PAUSE): nothing is kept then, so the list may be empty. A snapshot shows those
 * lanes, and lanepool_lane_resume() lets them go on.
 *
 * @param pool     The pool.
 * @param failures Receives the list, which the caller gives back with lanepool_failures_release();
 *                 it may outlive the pool. NULL on failure.
 * @retval LANEPOOL_OK      Done; the list may be empty.
 * @retval LANEPOOL_INVALID An argument is NULL.
 * @retval LANEPOOL_NOMEM   Memory is lacking.
 * @retval LANEPOOL_FORKED  Called in a child of fork().
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 * @par Complexity
 * O(n log n) for n claims of kept tasks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_failures(lanepool_pool *pool, lanepool_failures **failures);

/** Gives a list back; NULL does nothing. Any thread. */
LANEPOOL_API void lanepool_failures_release(lanepool_failures *failures);

/** What is to become of a kept task. */
typedef enum lanepool_resolution {
    LANEPOOL_RESOLVE_RETRY = 0, /**< it is tried again, its attempts counted anew */
    LANEPOOL_RESOLVE_SKIP = 1,  /**< it ends as FAILED or ABANDONED, its lanes go on */
    LANEPOOL_RESOLVE_DROP = 2   /**< all that waits in its lanes is cancelled, as
                                     lanepool_lane_cancel() does; then it is skipped. One that
                                     claims everything has no lanes, and is skipped only:
                                     lanepool_pool_cancel() cancels all that is behind it */
} lanepool_resolution;

/**
 * Says what is to become of a kept task.
 *
 * A skipped task ends on this thread: its future completes, its `release` is called, in a pool with
 * its own `is_compatible` by the thread that routes.
 *
 * @param pool   The pool.
 * @param ticket The task's.
 * @param how    One of the three.
 * @retval LANEPOOL_OK        Done, by this call.
 * @retval LANEPOOL_DONE      No task with this ticket is kept, or not any more.
 * @retval LANEPOOL_BUSY      Another call is just dropping what waits behind the task.
 * @retval LANEPOOL_INVALID   pool is NULL, or `how` is none of the three; RETRY: the task has given
 *                            a lane up; DROP: the pool has an `is_compatible` of its own.
 * @retval LANEPOOL_SHUT_DOWN The pool was told to stop now, which ends what is kept, or has ended.
 * @retval LANEPOOL_NOMEM     Memory is lacking; nothing has changed.
 * @retval LANEPOOL_FORKED    Called in a child of fork().
 * @retval LANEPOOL_NO_THREAD DROP: a semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_DEADLOCK  DROP: called from a callback; nothing has changed.
 * @par Threads
 * Any thread, inside tasks and callbacks too; DROP waits for the thread that routes, for a moment.
 * @par Complexity
 * O(tasks kept, claims of the task); DROP as lanepool_lane_cancel().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_resolve(lanepool_pool *pool,
                                                                       uint64_t ticket,
                                                                       lanepool_resolution how);

#ifdef __cplusplus
}
#endif

#endif
