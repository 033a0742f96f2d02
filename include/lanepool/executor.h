/**
 * @file
 * Executors: other people's threads, for sequences to run on (sequence.h).
 *
 * An executor is made from a few functions that hand work to a thread pool, an event loop, or
 * whatever else runs things. The library does not own what is behind it. Ready ones: a lanepool
 * pool (here), GLib's and libuv's (adapters/glib.h, adapters/uv.h).
 */
#ifndef LANEPOOL_EXECUTOR_H
#define LANEPOOL_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Something that runs sequences. */
typedef struct lanepool_executor lanepool_executor;

/** What an executor is handed to run: the library's, and valid until it has been run. */
typedef struct lanepool_work lanepool_work;

/**
 * Runs a piece of work that an executor was handed. It returns after at most a quantum of tasks.
 *
 * An executor calls it once for each time that it was handed the work and accepted it: on any
 * thread, inside of `execute` too, as late as it likes, several works at once. More is forgiven:
 * whatever else it does, no two tasks of a sequence ever run at once or out of order.
 *
 * - *Twice* for one hand-over: the second call does nothing, or what another is due to do, earlier.
 *   It must not come after the executor was destroyed.
 * - *Late*: after the sequence was destroyed, after the executor too, it does nothing.
 * - *Never*: the tasks wait; cancelling lets go of all that they hold. The work itself, some 200
 *   bytes, is kept for the call that may still come.
 *
 * @param work Not NULL.
 * @par Threads
 * Any thread that may run tasks.
 */
LANEPOOL_API void lanepool_work_run(lanepool_work *work);

/**
 * What an executor is made from. Start from LANEPOOL_EXECUTOR_FUNCTIONS_INIT.
 *
 * The functions may be called from any thread, several at once, and hold no lock of the library's.
 */
typedef struct lanepool_executor_functions {
    size_t struct_size; /**< sizeof(lanepool_executor_functions) */
    /**
     * Has lanepool_work_run() called once, soon. Required. Anything but LANEPOOL_OK is a refusal:
     * the work will not be run on that account, and the submit answers that status. */
    lanepool_status (*execute)(void *context, lanepool_work *work);
    /**
     * The same, once so many nanoseconds have passed; early is forgiven. NULL: the library's own
     * clock measures delays, on a thread that is started when the first one is asked for. The
     * library asks for one at a time: it takes the last one back before the next. */
    lanepool_status (*execute_after)(void *context, uint64_t delay_ns, lanepool_work *work);
    /**
     * Takes the last `execute_after` back. True: the work will not be run on that account; false:
     * it is being run, or was, or there is none. May be NULL: then it runs and finds nothing to
     * do. */
    bool (*take_back)(void *context, lanepool_work *work);
    /**
     * Called once when the library will not use `context` again: the executor was destroyed, and
     * everything that was accepted has been run. On any thread; may be NULL. */
    void (*release)(void *context);
} lanepool_executor_functions;

/** Functions with none set. */
#define LANEPOOL_EXECUTOR_FUNCTIONS_INIT                \
    {                                                   \
        sizeof(lanepool_executor_functions), 0, 0, 0, 0 \
    }

/**
 * Makes an executor from functions.
 *
 * @param functions Read during the call only; `execute` is required.
 * @param context   Passed to them; may be NULL.
 * @param executor  Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK      It can be used.
 * @retval LANEPOOL_INVALID An argument or `execute` is NULL, `take_back` is there without
 *                          `execute_after`, or functions has unknown bytes that are not zero.
 * @retval LANEPOOL_NOMEM   Memory, a lock or a semaphore is lacking; nothing is left behind, and
 *                          `release` is not called.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_executor_create(
    const lanepool_executor_functions *functions, void *context, lanepool_executor **executor);

/**
 * Makes an executor of a pool's workers: a sequence that has something to run submits a task
 * without claims, which takes its place among the pool's other tasks and counts as one.
 *
 * The pool stays the caller's, and must be there until the sequences of the executor have been
 * destroyed. While the pool is full, a submit to an idle sequence blocks like one to the pool. A
 * pool that drains runs what its sequences have accepted. At a lanepool_pool_shutdown_now(), a
 * sequence that waits to run is cancelled with the task that was to run it; if that is handed back
 * instead, it may be submitted to another pool as it is.
 *
 * @param pool     Without an `is_compatible` of its own, which would be asked about those tasks.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK      It can be used.
 * @retval LANEPOOL_INVALID An argument is NULL, or the pool has a rule of its own.
 * @retval LANEPOOL_NOMEM   As for lanepool_executor_create().
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_executor(lanepool_pool *pool, lanepool_executor **executor);

/**
 * Destroys an executor that no sequence uses any more, and ends its clock's thread. What runs the
 * work is not touched, and need not have come to an end: see lanepool_work_run().
 *
 * @param executor May be NULL, which does nothing.
 * @retval LANEPOOL_OK   It is gone.
 * @retval LANEPOOL_BUSY Sequences use it: destroy them first. Nothing has changed.
 * @par Threads
 * One thread, while no other uses it; inside a task only of another executor. Waits for the clock's
 * thread.
 */
LANEPOOL_API lanepool_status lanepool_executor_destroy(lanepool_executor *executor);

#ifdef __cplusplus
}
#endif

#endif
