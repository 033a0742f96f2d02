/**
 * @file
 * Tasks: descriptions, the running task, failures, detached tasks.
 */
#ifndef LANEPOOL_TASK_H
#define LANEPOOL_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/key.h"
#include "lanepool/status.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup tasks Tasks
 * A task is a function, its context, and its claims. @{
 */

/** A handle of a task's completion and result; see future.h. */
typedef struct lanepool_future lanepool_future;
/** A set of tasks that are waited for, cancelled or taken together; see future.h. */
typedef struct lanepool_group lanepool_group;
/** Runs tasks on a thread of the program; see schedule.h. */
typedef struct lanepool_pump lanepool_pump;
/** A policy for failures, see below. */
typedef struct lanepool_failure_policy lanepool_failure_policy;

/**
 * A task's function, called to run the task and for nothing else: every conflicting earlier task
 * has finished. Called once, except for tasks that are retried.
 * @param run     This call, for lanepool_run_set_result() and the like.
 * @param context The caller's, as submitted; the library never reads what it points to.
 * @return 0 for success. Any other code is a failure of the caller's own, which the future and
 *         `on_error` get. The task's policy says what follows; by default its lanes are released.
 */
typedef int (*lanepool_task_fn)(lanepool_run *run, void *context);

/**
 * Called once, instead of the function, for a task that ends without having run; see
 * docs/endings.md. The task has none of its lanes, except those of failed calls of `at_lane`.
 * @param context As submitted; `release` follows.
 * @param why     CANCELLED: by the program. TIMED_OUT: it did not start in time. SHUT_DOWN: by the
 *                pool's end. POISONED: the task does not wait in a poisoned lane. IN_PARTS: a
 *                cut ends after calls of its `at_lane`.
 * @threads The thread that cancels, or a thread of the pool.
 */
typedef void (*lanepool_cancelled_fn)(void *context, lanepool_status why);

/**
 * Called once, last, when the pool no longer uses a task's context: the place to free it. Not
 * called for a task that was refused or handed back.
 */
typedef void (*lanepool_release_fn)(void *context);

/**
 * Called once for each lane of a *cut*, which is a task with an `at_lane`. The lanes of a cut do
 * not wait for one another. The call for a lane is made when all earlier tasks that conflict on
 * that lane have finished. When the call returns, the lane is released. When all lanes are
 * released, the task's function is called. Together the calls see one state: that of the serial run
 * at the task's ticket. For this, a call may access only what its claim protects, in the claim's
 * mode, and its own part of the result; the function may access only those parts. A task that needs
 * one lane's value to change another lane cannot be a cut.
 *
 * Calls for different lanes overlap, in any order, on any workers. Waits inside the call answer
 * DEADLOCK. A failed call keeps its lane; the other calls are made. Then the cut's policy
 * applies, and a retry makes the failed calls again. Until the first call a cut can be cancelled.
 * Later it ends whole, or *in parts*: a call has failed for good, or lanepool_pool_shutdown_now()
 * came before the last one. Then `cancelled` is called with IN_PARTS instead of the function.
 * docs/cuts.md says what a program stores so that it can go on after a crash.
 *
 * As `at_grant`, the function is called for each lane of a *progressive rollup*. The call is made
 * as soon as the lane is granted, while the rollup still waits for other lanes. The lane is not
 * released when the call returns: the rollup has all of its lanes until its function has ended. So
 * the rollup may collect while it waits. All else is as for a cut.
 * @param run     The call: it has one claim, that of the lane.
 * @param context The task's.
 * @param index   The number of the claim in the task's `claims`; the first, if several name the
 *                key.
 * @return 0 for success; else a code of the caller's own.
 */
typedef int (*lanepool_at_lane_fn)(lanepool_run *run, void *context, size_t index);

/** A task as `is_compatible` sees it. */
typedef struct lanepool_task_view {
    lanepool_task_fn function; /**< as submitted */
    void *context;             /**< as submitted */
    uint64_t kind;             /**< as submitted; 0: none */
} lanepool_task_view;

/**
 * The program's conflict rule: may these two tasks overlap? The pool asks for (a, b) and (b, a);
 * two tasks are compatible if both answers are true. The rule must be fast, must not lock or wait,
 * and must always give the same answer for the same tasks. Claims are its scope, with lanes per
 * key: the pool asks only about tasks that name a common key in modes that conflict, and about
 * tasks without claims. So each submit asks about all pending tasks of its keys, and without claims
 * about all pending tasks. A `kind` saves most of these questions, see docs/caveats.md.
 * @param a,b Two tasks whose `release` has not been called: their contexts are readable.
 */
typedef bool (*lanepool_compatible_fn)(
    const lanepool_task_view *a, const lanepool_task_view *b, void *user);

/** A task to submit. Start from LANEPOOL_TASK_INIT. A submit copies it, and the claims. */
typedef struct lanepool_task {
    size_t struct_size;           /**< sizeof(lanepool_task) */
    lanepool_task_fn function;    /**< required */
    void *context;                /**< passed to the function; may be NULL */
    const lanepool_claim *claims; /**< what the task conflicts on; a key in two modes counts as
                                       EXCLUSIVE. With an `is_compatible`: about which tasks it is
                                       asked; none with lanes per worker, or with a kind */
    size_t claim_count;           /**< 0 to LANEPOOL_CLAIMS_MAX; 0: it conflicts with no other */
    uint64_t kind;                /**< 0: none. Else, only in pools with an `is_compatible`: the
                                       rule's answer for two tasks follows from their kinds */
    lanepool_release_fn release;  /**< may be NULL */
    lanepool_future **future;     /**< receives a future, which the caller releases, or NULL if the
                                       submit fails. May be NULL: no future */
    uint32_t tag;                 /**< for traces and snapshots: 0 (none) to LANEPOOL_TAG_MAX */
    uint32_t priority;            /**< 0 to LANEPOOL_PRIORITY_MAX, the highest; not 0 only in pools
                                       with `priorities`; see docs/priorities.md */
    lanepool_group *group;        /**< the group that the task joins; NULL: none */
    lanepool_pump *pump; /**< a pump of the pool, which alone runs the task; NULL: a worker does */
    const lanepool_failure_policy
        *on_failure;          /**< NULL for the pool's policy. A task with a future, tag, group,
                                   pump or policy takes more memory */
    uint64_t start_within_ns; /**< 0, or how soon after its acceptance or delay the task must start:
                                   else it is cancelled with TIMED_OUT; see docs/deadlines.md */
    uint64_t run_within_ns;   /**< 0, or after how long a running task is asked to end */
    lanepool_cancelled_fn cancelled; /**< called if the task ends without having run; may be NULL */
    lanepool_at_lane_fn at_lane;     /**< NULL; else the task is a cut: it has claims, none of them
                                          COMMUTING, and no pump. Only in pools that
                                          docs/features.md names */
    lanepool_at_lane_fn at_grant;    /**< NULL; else the task is a *progressive rollup*: the pool
                                          calls this for each lane as soon as the lane is granted.
                                          The lane stays the task's until the function has ended.
                                          Otherwise as `at_lane`, which must be NULL; see
                                          docs/cuts.md */
} lanepool_task;

/** The largest tag of a task. */
#define LANEPOOL_TAG_MAX 255u
/** The highest priority of a task. */
#define LANEPOOL_PRIORITY_MAX 7u

#ifndef __cplusplus
/**
 * Makes a `const lanepool_task *` in place, which lives to the end of the enclosing block. Members
 * that are not named have their default: `LANEPOOL_TASK(.function = post, .context = &x)`.
 */
#define LANEPOOL_TASK(...) \
    (&(const lanepool_task){ .struct_size = sizeof(lanepool_task), __VA_ARGS__ })

/** Claims of a LANEPOOL_TASK(): `LANEPOOL_CLAIMS(lanepool_exclusive(7), lanepool_shared(8))`. */
#define LANEPOOL_CLAIMS(...)                           \
    .claims = (const lanepool_claim[]){ __VA_ARGS__ }, \
    .claim_count = sizeof((const lanepool_claim[]){ __VA_ARGS__ }) / sizeof(lanepool_claim)
#endif

/** A task with everything at its default. */
#define LANEPOOL_TASK_INIT                                                       \
    {                                                                            \
        sizeof(lanepool_task), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/** Sets the value of the task's future, if any. @param value The caller's. */
LANEPOOL_API void lanepool_run_set_result(lanepool_run *run, void *value);

/** Returns the pool of the running task; NULL in a sequence's task. */
LANEPOOL_API lanepool_pool *lanepool_run_pool(const lanepool_run *run);

/**
 * Returns the task's ticket: its number in the pool's acceptance order, or in its sequence. Of two
 * conflicting tasks, the one with the smaller ticket finishes before the other starts. Starts again
 * at 0 after 2^40 tasks.
 */
LANEPOOL_API uint64_t lanepool_run_ticket(const lanepool_run *run);

/**
 * Returns the index of the worker that runs the task, from 0. SIZE_MAX if no worker does, but a
 * submitter or a pump.
 */
LANEPOOL_API size_t lanepool_run_worker(const lanepool_run *run);

/**
 * Returns the worker's context, which `worker_start` has returned; NULL if no worker runs the task
 * or the pool has no `worker_start`. No other thread uses it during the call. Tasks that this
 * thread runs during a wait inside the task may.
 */
LANEPOOL_API void *lanepool_run_worker_context(const lanepool_run *run);

/** @} */

/**
 * @defgroup failures Failures
 * A task fails if its function returns a code other than 0 (FAILED) or ends its thread (ABANDONED).
 * Its policy, or the pool's, says what follows; see docs/failures.md. @{
 */

/** The consequence of a failed last attempt. */
typedef enum lanepool_failure_end {
    LANEPOOL_FAILURE_CONTINUE = 0, /**< the task ends, and its lanes are released */
    LANEPOOL_FAILURE_PAUSE = 2,    /**< the task ends, and its lanes are paused, even for a drain,
                                        until lanepool_lane_resume(). With lanes per key only */
    LANEPOOL_FAILURE_POISON = 1    /**< the task is *parked*: it stays in its lanes, which are
                                    *poisoned*, until lanepool_pool_resolve() */
} lanepool_failure_end;

/** The behaviour of a task that would wait in a poisoned lane. A barrier always waits. */
typedef enum lanepool_at_poison {
    LANEPOOL_AT_POISON_WAIT = 0,       /**< it waits until the parked task is resolved */
    LANEPOOL_AT_POISON_FAIL = 1,       /**< it leaves the lane, and ends as POISONED when it has its
                                            other lanes; its `cancelled` is called */
    LANEPOOL_AT_POISON_RUN_WITHOUT = 2 /**< it leaves the lane, and runs when it has its other
                                            lanes; see lanepool_run_holds() */
} lanepool_at_poison;

/**
 * A policy for failures. Start from LANEPOOL_FAILURE_POLICY_INIT; zero: the task ends with its
 * first failure. docs/features.md says which policies a pool offers. Between two attempts the task
 * keeps its position and its lanes, and counts as pending; it uses no thread. A task is not retried
 * after it was asked to end, after it has released or handed over a lane, or after
 * lanepool_pool_shutdown_now(). Runs of periodic tasks have no policy.
 */
typedef struct lanepool_failure_policy {
    size_t struct_size;           /**< sizeof(lanepool_failure_policy) */
    unsigned retries;             /**< how often the task is retried */
    uint64_t delay_ns;            /**< before the first retry; 0: every retry follows at once */
    uint64_t delay_max_ns;        /**< the delay doubles with each retry up to this; less than
                                       delay_ns: it stays delay_ns */
    lanepool_failure_end at_end;  /**< what follows the last attempt */
    lanepool_at_poison at_poison; /**< what the task does in a poisoned lane; with lanes per key and
                                       without an `is_compatible` only */
} lanepool_failure_policy;

/** A policy with everything at its default. */
#define LANEPOOL_FAILURE_POLICY_INIT                                         \
    {                                                                        \
        sizeof(lanepool_failure_policy), 0, 0, 0, LANEPOOL_FAILURE_CONTINUE, \
            LANEPOOL_AT_POISON_WAIT                                          \
    }

/** Returns the number of this attempt, from 1; in sequences 1. */
LANEPOOL_API unsigned lanepool_run_attempt(const lanepool_run *run);

/**
 * Returns whether the running task has the lane of a key. False if it has never claimed the key,
 * has released the lane, or runs without it because it is poisoned. Always false with lanes per
 * worker and with an `is_compatible`.
 * @param key A key or a lane handle.
 * @complexity O(claims of the task).
 */
LANEPOOL_API bool lanepool_run_holds(const lanepool_run *run, lanepool_key key);

/**
 * Returns how many claims the running task has: each key once, without released ones, and with
 * those of poisoned lanes that it runs without. They are numbered from 0 in the order of the
 * description. If one is released, the last one gets its number. Returns 0 for a barrier, and where
 * lanepool_run_holds() is always false.
 */
LANEPOOL_API size_t lanepool_run_claim_count(const lanepool_run *run);

/**
 * Tells the i-th claim of the running task, and whether the task has its lane.
 * @param i     The number, less than lanepool_run_claim_count().
 * @param claim Receives the claim; EXCLUSIVE if its key was claimed in two modes. Bytes are valid
 *              during the call of the task. All zero on failure.
 * @retval LANEPOOL_OK       The task has the lane.
 * @retval LANEPOOL_POISONED The task runs without the lane, which was poisoned.
 * @retval LANEPOOL_INVALID  run or claim is NULL, or i is too large.
 */
LANEPOOL_API lanepool_status
lanepool_run_claim(const lanepool_run *run, size_t i, lanepool_claim *claim);

/**
 * Lists the claims whose lanes the running task runs without, by their numbers, the lowest first.
 * @param numbers     Receives the first `numbers_max` of them; may be NULL if that is 0.
 * @param numbers_max The room in numbers.
 * @return How many there are.
 * @complexity O(claims of the task).
 */
LANEPOOL_API size_t
lanepool_run_missing(const lanepool_run *run, size_t *numbers, size_t numbers_max);

/** A parked task; plain data. */
typedef struct lanepool_parked_task {
    uint64_t ticket;              /**< its number in the acceptance order */
    lanepool_task_fn function;    /**< as submitted */
    void *context;                /**< as submitted; still the task's */
    uint32_t tag;                 /**< as submitted */
    lanepool_status status;       /**< of its last attempt: FAILED or ABANDONED */
    int code;                     /**< what that attempt returned, if FAILED */
    unsigned attempts;            /**< failed attempts since it was last resolved */
    const lanepool_claim *claims; /**< copies of the claims whose lanes it has, each once */
    size_t claim_count;           /**< their number */
    uint64_t reserved[4];         /**< 0 */
} lanepool_parked_task;

/** The tasks that were parked at one moment. */
typedef struct lanepool_parked_tasks {
    const lanepool_parked_task *tasks; /**< `count` tasks, by ticket */
    size_t count;                      /**< their number */
} lanepool_parked_tasks;

/**
 * Lists the parked tasks. A task is listed once `on_error` has returned for its last failure. The
 * list may be empty although a call has answered LANEPOOL_PARKED: tasks that wait in lanes that a
 * failure has paused count, too. See docs/failures.md.
 * @param failures Receives the list, which may outlive the pool. Release it by
 *                 lanepool_parked_tasks_release(). NULL on failure.
 * @also INVALID, NOMEM, FORKED. @complexity O(n log n) for n claims of parked tasks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_parked(lanepool_pool *pool, lanepool_parked_tasks **failures);

/** Releases a list of parked tasks. */
LANEPOOL_API void lanepool_parked_tasks_release(lanepool_parked_tasks *failures);

/** How a parked task is resolved. */
typedef enum lanepool_resolution {
    LANEPOOL_RESOLVE_RETRY = 0, /**< it is retried, and its attempts are counted anew */
    LANEPOOL_RESOLVE_SKIP = 1,  /**< it ends as FAILED or ABANDONED, and its lanes are released */
    LANEPOOL_RESOLVE_DROP = 2   /**< all tasks behind it in its lanes are cancelled; then as SKIP */
} lanepool_resolution;

/**
 * Resolves a parked task. A skipped task ends on this thread: its future completes, and its
 * `release` is called (with an `is_compatible`, later and by the thread that routes).
 * @param ticket The task's ticket.
 * @param how    What happens to it.
 * @retval LANEPOOL_DONE No task with this ticket is parked.
 * @retval LANEPOOL_BUSY Another call is dropping the tasks behind it.
 * @retval LANEPOOL_INVALID pool is NULL, or `how` is unknown. RETRY: the task has released a lane.
 * @retval LANEPOOL_SHUT_DOWN The pool has ended, or was stopped, which ends parked tasks.
 * @also UNSUPPORTED, DEADLOCK (DROP), NO_RESOURCE (DROP), NOMEM, FORKED. @threads Any thread; DROP
 *     waits for routing. @complexity O(claims of the task); DROP as lanepool_lane_cancel().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_resolve(lanepool_pool *pool, uint64_t ticket, lanepool_resolution how);

/**
 * Resolves all tasks that are parked now, the first one parked first. RETRY leaves those parked
 * that have released a lane. DROP cancels what is behind any of them in one go.
 * @param how   What happens to them.
 * @param count Receives how many were resolved, 0 on failure; may be NULL.
 * @return As lanepool_pool_resolve(), but never DONE or BUSY: OK if no task is parked. A task that
 *         another call is dropping is left to that call.
 * @threads As for lanepool_pool_resolve(). @complexity O(claims of the tasks); DROP as
 *     lanepool_pool_cancel(), once.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_resolve_all(lanepool_pool *pool, lanepool_resolution how, size_t *count);

/** @} */

/**
 * @defgroup detached Detached tasks and hand-overs
 * Tasks that keep their lanes longer than their function runs, release them earlier, or hand them
 * to another task. @{
 */

/** A task that continues after its function has returned; see lanepool_run_detach(). */
typedef struct lanepool_detached lanepool_detached;

/**
 * Detaches the running task: it ends at lanepool_task_complete(), not when its function returns.
 * Until then it counts as running and keeps its lanes, but no thread. The result of its function is
 * ignored, also if the function ends its thread. A drain waits for detached tasks; a shutdown now
 * ends them. See docs/deadlines.md.
 * @param detached Receives the handle for lanepool_task_complete(); any thread may complete it,
 *                 even before the function has returned. NULL on failure.
 * @retval LANEPOOL_INVALID   An argument is NULL, the task is detached already, or the task is a
 *                            sequence's.
 * @retval LANEPOOL_NOMEM     No memory; the task ends with its function, as also with the next two.
 * @retval LANEPOOL_SHUT_DOWN A shutdown now has been called.
 * @retval LANEPOOL_TIMED_OUT The task's `run_within_ns` is over.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_run_detach(lanepool_run *run, lanepool_detached **detached);

/**
 * Ends a detached task. If its function has returned, this thread completes the future and calls
 * `on_error` and `release`; otherwise the thread of the function does so later.
 * @param detached The handle; invalid after OK and DONE. Complete each task once, even one that the
 *                 library has ended.
 * @param code     As if the function had returned it.
 * @param value    As for lanepool_run_set_result().
 * @retval LANEPOOL_OK    The task has ended, or will when its function returns.
 * @retval LANEPOOL_DONE  The library has ended the task, by a deadline or a shutdown now.
 * @retval LANEPOOL_NOMEM This thread's first use of the pool, and no memory: nothing has changed;
 *                        call again.
 * @also INVALID. @complexity O(claims of the task).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_task_complete(lanepool_detached *detached, int code, void *value);

/** Returns whether a detached task, not yet completed, was asked to end or ended by the library. */
LANEPOOL_API bool lanepool_detached_is_cancelled(const lanepool_detached *detached);

/**
 * Releases one of the running task's lanes early: the task no longer claims that key.
 * @param run The call that this thread is in, of a pool with lanes per key.
 * @param key A key or a lane handle that the task claims.
 * @retval LANEPOOL_INVALID run is NULL, or the task does not have that lane.
 * @retval LANEPOOL_NOMEM  No memory for the journal's entry; nothing has changed.
 * @also UNSUPPORTED, DEADLOCK, NO_RESOURCE. @threads The thread of the call; waits for routing.
 *     @complexity O(claims of the task).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_run_release(lanepool_run *run, lanepool_key key);

/**
 * Hands the running task's lanes over: the given task runs next on them, before all tasks that wait
 * there. It gets the running task's ticket, and the lanes that that task has when it ends, also if
 * it fails. Until then only its future can cancel it, and snapshots do not show it.
 * @param run  The call that this thread is in, of a pool with lanes per key.
 * @param task As for lanepool_pool_submit(), without claims.
 * @retval LANEPOOL_INVALID     An argument is NULL or invalid, or this call has handed over before.
 * @retval LANEPOOL_UNSUPPORTED The task has claims, or the pool does not offer this.
 * @retval LANEPOOL_SHUT_DOWN   lanepool_pool_shutdown_now() was called; nothing has changed.
 * @also DEADLOCK, NOMEM, NO_RESOURCE. @threads The thread of the call; waits for routing.
 *     @complexity O(claims of the running task).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_run_hand_over(lanepool_run *run, const lanepool_task *task);

/** @} */

LANEPOOL_C_END

#endif
