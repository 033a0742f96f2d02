/**
 * @file
 * What a program submits: a function, its context, and what it claims.
 */
#ifndef LANEPOOL_TASK_H
#define LANEPOOL_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/claim.h"
#include "lanepool/export.h"
#include "lanepool/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A handle to a task's completion and result; see future.h. */
typedef struct lanepool_future lanepool_future;

/** A set of tasks that can be waited for, cancelled, and taken in completion order; see group.h. */
typedef struct lanepool_group lanepool_group;

/** Runs tasks on a thread of the program's own; see pump.h. */
typedef struct lanepool_pump lanepool_pump;

/** What follows when a task fails; see failure.h. */
typedef struct lanepool_failure_policy lanepool_failure_policy;

/** The call that a task function is in: valid on its thread until the function returns. */
typedef struct lanepool_run lanepool_run;

/** Why a task's function is called. Every accepted task is called exactly once, but for one that
 * fails and whose policy has it tried again (failure.h). */
typedef enum lanepool_call {
    LANEPOOL_CALL_RUN = 0,      /**< do the work: every conflicting earlier task has finished */
    LANEPOOL_CALL_CANCELLED = 1 /**< do not do the work, let go of the context: the task was
                                     cancelled, or the pool shut down, before it started. The lanes
                                     that it claims are not its own in this call */
} lanepool_call;

/**
 * A task's function.
 *
 * @param run     This call; for lanepool_run_set_result() and its like.
 * @param context The caller's, as it was submitted; the library never touches what it points to.
 * @param call    Why the function is called.
 * @return 0 for success. Anything else is a failure code of the caller's own: it appears in the
 *         future's result and in the pool's error callback, and the task's lanes go on, unless a
 *         policy says otherwise (failure.h). After LANEPOOL_CALL_CANCELLED it is not looked at.
 */
typedef int (*lanepool_task_fn)(lanepool_run *run, void *context, lanepool_call call);

/**
 * Called once when the pool will not look at a task's context again: after the task's one call,
 * and after the last time that the pool's `is_compatible` saw it. Its place to free a context.
 * It may submit; a wait in it answers LANEPOOL_DEADLOCK.
 */
typedef void (*lanepool_release_fn)(void *context);

/** What `is_compatible` sees of a task: the caller's own values, for rollups too. */
typedef struct lanepool_task_view {
    lanepool_task_fn function; /**< as submitted */
    void *context;             /**< as submitted */
    uint64_t kind;             /**< as submitted; 0 when the task has none */
} lanepool_task_view;

/**
 * The caller's conflict rule: may these two tasks overlap?
 *
 * The pool asks for (a, b) and (b, a); two tasks are compatible when both answers are true. The
 * rule must be fast, must not lock or wait, and must give the same answer whenever it is asked.
 * It may submit; a wait in it answers LANEPOOL_DEADLOCK.
 *
 * @param a,b  Two tasks whose `release` has not been called: their contexts are readable.
 * @param user The pool's `user` option.
 */
typedef bool (*lanepool_compatible_fn)(const lanepool_task_view *a, const lanepool_task_view *b,
                                       void *user);

/**
 * A task to be submitted. Start from LANEPOOL_TASK_INIT; the pool copies what it needs, so that
 * the description and the claims may go as soon as the submit returns.
 */
typedef struct lanepool_task {
    size_t struct_size;           /**< sizeof(lanepool_task) */
    lanepool_task_fn function;    /**< required */
    void *context;                /**< passed on; may be NULL */
    const lanepool_claim *claims; /**< what the task conflicts on; duplicates are merged to the
                                       strongest mode. Must be empty in a pool with its own
                                       `is_compatible`, which decides instead */
    size_t claim_count;           /**< 0 to LANEPOOL_CLAIMS_MAX; a task without claims conflicts
                                       with nothing and starts as soon as a worker is free */
    uint64_t kind;                /**< 0: none. Else, in pools with their own `is_compatible` only:
                                       the rule's answer for two such tasks is a function of their
                                       kinds, also when they are equal */
    lanepool_release_fn release;  /**< may be NULL */
    lanepool_future **future;     /**< where to put a new future, which the caller releases;
                                       NULL: none is made. Holds NULL if the submit fails */
    uint32_t tag;                 /**< what sort of task it is, for those who look at the pool: 0,
                                       none, to LANEPOOL_TAG_MAX. A task with a tag takes as much
                                       memory as one with a future */
    uint32_t priority;            /**< 0 to LANEPOOL_PRIORITY_MAX, the highest: who is to come first
                                       of those that are ready. In pools with `priorities` only,
                                       else it must be 0; see pool.h */
    lanepool_group *group;        /**< the group that the task is to be a member of; NULL: none. A
                                       member takes the memory of a future, asked for or not */
    lanepool_pump *pump;          /**< one of the pool's: the task runs only in lanepool_pump_run(),
                                       and takes the memory of a future; NULL: workers run it */
    const lanepool_failure_policy
        *on_failure; /**< what follows when it fails; it takes the memory
                          of a future. NULL: what the pool's policy says */
} lanepool_task;

/** The largest tag of a task. */
#define LANEPOOL_TAG_MAX 255u

/** The highest priority of a task. */
#define LANEPOOL_PRIORITY_MAX 7u

/** A task description with everything at its default. */
#define LANEPOOL_TASK_INIT                                        \
    {                                                             \
        sizeof(lanepool_task), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/**
 * Sets the value that the task's future will carry.
 *
 * @param run   The call that this thread is in.
 * @param value The caller's; passed on as it is. Without a future it is dropped.
 * @par Threads
 * The thread of the call; never blocks.
 */
LANEPOOL_API void lanepool_run_set_result(lanepool_run *run, void *value);

/**
 * The pool that makes this call, for submitting from inside a task; NULL in a sequence's task.
 *
 * @par Threads
 * The thread of the call; never blocks.
 */
LANEPOOL_API lanepool_pool *lanepool_run_pool(const lanepool_run *run);

/**
 * The task's ticket: its number in the pool's acceptance order. Of two conflicting tasks the one
 * with the smaller ticket finishes before the other starts. After 2^40 tasks it begins again at 0.
 * A task that is cancelled by its future may have none yet in its cancelling call: then 0.
 * In a sequence's task: its number among the sequence's submits.
 *
 * @par Threads
 * The thread of the call; never blocks.
 */
LANEPOOL_API uint64_t lanepool_run_ticket(const lanepool_run *run);

/**
 * The index of the worker that makes this call, from 0; SIZE_MAX when the caller of
 * lanepool_pool_submit_or_run() or lanepool_pump_run() runs the task, and in cancelling calls.
 *
 * @par Threads
 * The thread of the call; never blocks.
 */
LANEPOOL_API size_t lanepool_run_worker(const lanepool_run *run);

/**
 * What the pool's `worker_start` has returned for the worker that makes this call; NULL where
 * lanepool_run_worker() is SIZE_MAX, and if there is no such option. Nothing else uses it during
 * the call, but for tasks that the thread runs while this one waits for them.
 *
 * @par Threads
 * The thread of the call; never blocks.
 */
LANEPOOL_API void *lanepool_run_worker_context(const lanepool_run *run);

#ifdef __cplusplus
}
#endif

#endif
