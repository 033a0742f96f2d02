/**
 * @file
 * The pool: fixed workers that know which tasks conflict.
 *
 * Equivalent serial program: tasks run one by one in the order in which they
 * were accepted, except that compatible tasks may overlap or swap. With
 * several submitting threads acceptance is one total order, so there are no
 * cycles and no deadlock.
 */
#ifndef LANEPOOL_POOL_H
#define LANEPOOL_POOL_H

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

/** Where lanes live. */
typedef enum lanepool_layout {
    LANEPOOL_PER_KEY = 0, /**< a lane per key (or conflict chain); lanes float over the workers, and
                               a latched lane costs no thread */
    LANEPOOL_PER_WORKER = 1 /**< a lane per worker; tasks of a lane run on that worker's thread
                               only. Gives thread affinity; over-blocks by nature */
} lanepool_layout;

/** Who routes tasks into lanes. */
typedef enum lanepool_routing {
    LANEPOOL_ROUTING_DEFAULT = 0,  /**< AUTO for the default rule in PER_KEY, else SUBMITTER */
    LANEPOOL_ROUTING_AUTO = 1,     /**< awake workers; the submitter only when all workers sleep */
    LANEPOOL_ROUTING_SUBMITTER = 2 /**< the submitter, if no other thread is routing; idle workers
                                        route what is left */
} lanepool_routing;

/** The default limit on pending tasks (64 MiB of tasks with up to two claims). */
#define LANEPOOL_PENDING_DEFAULT ((size_t)1 << 20)
/** As `pending_max`: no limit. */
#define LANEPOOL_UNLIMITED SIZE_MAX
/** The most workers that a pool may have. */
#define LANEPOOL_WORKERS_MAX 1024u
/** The largest `trace_events`. */
#define LANEPOOL_TRACE_EVENTS_MAX ((size_t)1 << 26)

/** A task that failed, as the error callback sees it. */
typedef struct lanepool_error {
    lanepool_task_fn function; /**< as submitted */
    void *context;             /**< as submitted; still the task's */
    uint64_t ticket;           /**< its place in the acceptance order */
    lanepool_status status;    /**< FAILED or ABANDONED */
    int code;                  /**< what the function returned, when FAILED */
} lanepool_error;

/**
 * Called for each task that fails, on the thread that ran it, before its lanes move on: no
 * conflicting later task has started. It may submit; a wait in it answers LANEPOOL_DEADLOCK.
 *
 * @param user  The pool's `user` option.
 * @param error Valid during the call.
 */
typedef void (*lanepool_error_fn)(void *user, const lanepool_error *error);

/**
 * Receives one task that lanepool_pool_shutdown_now() found not started: this is that task's one
 * call. The task is the caller's again, its context included; its `release` is not called, its
 * future completes as CANCELLED. The description can be submitted to another pool as it is.
 *
 * @param context The one given to lanepool_pool_shutdown_now().
 * @param task    Valid during the call, claims included (duplicates merged).
 * @param ticket  Its place in the acceptance order; the calls come in this order.
 */
typedef void (*lanepool_handback_fn)(void *context, const lanepool_task *task, uint64_t ticket);

/**
 * Says how a key is called, for those who look at the pool: in events, snapshots and what is
 * written of them. Called when a lane is made while events are recorded, and when a snapshot is
 * taken. The same rules hold as for a lanepool_compatible_fn.
 *
 * @param user The pool's `user` option.
 * @param key  The key; its mode means nothing.
 * @param text Receives the name, without a final zero.
 * @param size How many bytes fit.
 * @return How many bytes were written; 0: the key has no name.
 */
typedef size_t (*lanepool_key_name_fn)(void *user, const lanepool_claim *key, char *text,
                                       size_t size);

/**
 * Called on each worker's thread when it begins: the place to prepare what a thread needs, such as
 * a connection, an arena, a priority, or signals that it is to take.
 *
 * lanepool_pool_create() does not wait for it; the worker runs no task before it has returned, and
 * has to get to its end (no pthread_exit). It is called for threads of a pool, too, that is refused
 * because others could not be had. It may submit; a wait in it answers LANEPOOL_DEADLOCK.
 *
 * @param user         The pool's `user` option.
 * @param worker_index The worker, from 0.
 * @return The worker's context, for lanepool_run_worker_context() and for worker_stop.
 */
typedef void *(*lanepool_worker_start_fn)(void *user, size_t worker_index);

/**
 * Called on each worker's thread when it ends, once for each call of worker_start: the last that
 * the pool calls there. Submits in it answer LANEPOOL_SHUT_DOWN, waits LANEPOOL_DEADLOCK. All have
 * returned when lanepool_pool_await() or lanepool_pool_destroy() has answered LANEPOOL_OK, or
 * lanepool_pool_create() that a thread could not be had.
 *
 * @param user         The pool's `user` option.
 * @param worker_index The worker, from 0.
 * @param context      What worker_start returned; NULL if there is none.
 */
typedef void (*lanepool_worker_stop_fn)(void *user, size_t worker_index, void *context);

/** What a pool is made with. Start from LANEPOOL_OPTIONS_INIT; zero means default everywhere. */
typedef struct lanepool_options {
    size_t struct_size;                   /**< sizeof(lanepool_options) */
    unsigned workers;                     /**< 1 to LANEPOOL_WORKERS_MAX; 0: the number of CPUs that
                                               the process may use */
    lanepool_layout layout;               /**< where lanes live */
    lanepool_routing routing;             /**< who routes */
    lanepool_compatible_fn is_compatible; /**< the conflict rule; NULL: tasks conflict by claims */
    size_t pending_max;                   /**< limit on accepted, unfinished tasks; 0:
                                               LANEPOOL_PENDING_DEFAULT; LANEPOOL_UNLIMITED: none */
    unsigned quantum_tasks;     /**< how many tasks of one lane a worker runs in a row before
                                     others get their turn; 0: 64 */
    uint64_t quantum_ns;        /**< the same as time, in nanoseconds, by the system's coarse
                                     clock, which moves every 1 to 10 ms; 0: 1,000,000 */
    lanepool_error_fn on_error; /**< may be NULL */
    void *user;                 /**< passed to is_compatible, on_error, key_name, worker_start,
                                     worker_stop */
    size_t trace_events; /**< how many events each thread keeps at least, 32 bytes for each of
                              the next power of two; 0: nothing is recorded; see trace.h */
    lanepool_key_name_fn key_name; /**< how keys are called; NULL: byte strings by their bytes,
                                        others by their numbers */
    const char *const *tag_names; /**< how tags are called, by tag; names may be NULL. The array and
                                     the names must outlive the pool and its snapshots */
    size_t tag_name_count;        /**< how many there are; tags beyond have no names */
    bool drain_waits_for_delayed; /**< lanepool_pool_shutdown() waits for delayed tasks until they
                                     are due; false: it cancels them. See delay.h */
    const char *name; /**< how the system calls the pool's threads: with "ledger" it is "ledger/0",
                           "ledger/1"... for workers by their index, "ledger/clock" for the clock
                           thread. A name is cut so that with what follows it has 15 bytes. NULL or
                           empty: like the thread that starts them */
    lanepool_worker_start_fn worker_start; /**< may be NULL */
    lanepool_worker_stop_fn worker_stop;   /**< may be NULL */
} lanepool_options;

/** Options with everything at its default. */
#define LANEPOOL_OPTIONS_INIT                                                                      \
    {                                                                                              \
        sizeof(lanepool_options), 0, LANEPOOL_PER_KEY, LANEPOOL_ROUTING_DEFAULT, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0                                                                 \
    }

/**
 * Creates a pool and starts its workers.
 *
 * The pool's threads block all signals but those that a thread's own faults raise (SIGSEGV, SIGBUS,
 * SIGFPE, SIGILL, SIGTRAP, SIGSYS): the program's handlers run on its own threads.
 *
 * @param options NULL for all defaults; read during the call only.
 * @param pool    Receives the pool, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK        The pool runs.
 * @retval LANEPOOL_INVALID   pool is NULL, or an option is out of range or unknown (bytes beyond
 *                            the known options must be zero).
 * @retval LANEPOOL_NOMEM     Memory, a lock or a semaphore is lacking; nothing is left behind.
 * @retval LANEPOOL_NO_THREAD A thread could not be had; nothing is left behind.
 * @par Threads
 * Any thread. A pool does not survive fork(): the child must not touch it.
 * @par Complexity
 * O(workers).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_create(const lanepool_options *options, lanepool_pool **pool);

/**
 * Shuts the pool down, waits until everything accepted has run, joins all threads and frees the
 * pool. After lanepool_pool_shutdown_now() it waits for the running tasks only.
 *
 * The caller sees to it that no other thread uses the pool, or a lane held in it, during or after
 * this call; futures may live on.
 *
 * @param pool May be NULL, which does nothing.
 * @retval LANEPOOL_OK       The pool is gone.
 * @retval LANEPOOL_DEADLOCK Called from inside one of the pool's own tasks or callbacks; nothing
 *                           has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had: the pool is shut down, not gone; call
 *                           again.
 * @par Threads
 * Any thread that is not inside one of the pool's tasks; blocks.
 */
LANEPOOL_API lanepool_status lanepool_pool_destroy(lanepool_pool *pool);

/**
 * Submits a task; while the pool is full, blocks.
 *
 * Inside a task or callback it never blocks: the task is accepted over the limit. Blocked
 * submitters are served in the order in which they came.
 *
 * @param pool The pool.
 * @param task Read during the call only; see lanepool_task.
 * @retval LANEPOOL_OK        Accepted: the task will be called exactly once. The moment of
 *                            acceptance lies inside this call and is its place in the order.
 * @retval LANEPOOL_INVALID   An argument is wrong; see lanepool_task.
 * @retval LANEPOOL_NOMEM     Not accepted; memory is lacking.
 * @retval LANEPOOL_NO_THREAD Not accepted; a lock or semaphore could not be had.
 * @retval LANEPOOL_SHUT_DOWN Not accepted. From inside a task this comes only after
 *                            lanepool_pool_shutdown_now(): while draining, tasks may still submit.
 * @par Threads
 * Any thread, inside tasks and callbacks too. Not from a signal handler.
 * @par Complexity
 * O(claims), whatever is pending, with the default rule; with an `is_compatible` of the caller's,
 * at most two questions for each pending task.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_submit(lanepool_pool *pool,
                                                                      const lanepool_task *task);

/**
 * Submits a task; while the pool is full, blocks for a limited time, or not at all.
 *
 * @param pool        The pool.
 * @param task        As for lanepool_pool_submit().
 * @param wait_ns_max Nanoseconds; 0 never blocks, and inside a task too answers LANEPOOL_FULL when
 *                    the pool is full. Otherwise, inside a task, the task is accepted over the
 * limit.
 * @retval LANEPOOL_OK        Accepted.
 * @retval LANEPOOL_FULL      Not accepted, with wait_ns_max 0: the pool is full.
 * @retval LANEPOOL_TIMED_OUT Not accepted: the pool was full all the time.
 * @retval LANEPOOL_INVALID   As for lanepool_pool_submit().
 * @retval LANEPOOL_NOMEM     As for lanepool_pool_submit().
 * @retval LANEPOOL_NO_THREAD As for lanepool_pool_submit().
 * @retval LANEPOOL_SHUT_DOWN As for lanepool_pool_submit().
 * @par Threads
 * As for lanepool_pool_submit().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit_within(lanepool_pool *pool, const lanepool_task *task, uint64_t wait_ns_max);

/**
 * Submits a task; if the pool is full, the caller runs it itself.
 *
 * The task takes its place in the order all the same, over the limit; the caller waits until its
 * turn has come and runs it before this returns. Inside a task or callback it is like
 * lanepool_pool_submit().
 *
 * @param pool The pool.
 * @param task As for lanepool_pool_submit().
 * @retval LANEPOOL_OK        Accepted; if the pool was full, the task has been called, unless
 *                            lanepool_pool_shutdown_now() came first and hands it back.
 * @retval LANEPOOL_INVALID   As for lanepool_pool_submit().
 * @retval LANEPOOL_NOMEM     As for lanepool_pool_submit().
 * @retval LANEPOOL_NO_THREAD As for lanepool_pool_submit().
 * @retval LANEPOOL_SHUT_DOWN As for lanepool_pool_submit().
 * @par Threads
 * Any thread; may block.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit_or_run(lanepool_pool *pool, const lanepool_task *task);

/**
 * Submits several tasks in their order; cheaper than one by one.
 *
 * The tasks are accepted in their order, but those of other threads may come between. It stops at
 * the first task that is not accepted.
 *
 * @param pool        The pool.
 * @param tasks       `task_count` descriptions, read during the call only.
 * @param task_count  May be 0.
 * @param wait_ns_max As for lanepool_pool_submit_within(), for the whole call.
 * @param accepted    Receives how many, from the front, were accepted; may be NULL.
 * @return LANEPOOL_OK when all were accepted; else why the first that was not, as for
 *         lanepool_pool_submit_within(). Those before it stay accepted.
 * @par Threads
 * As for lanepool_pool_submit().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit_batch(lanepool_pool *pool, const lanepool_task *tasks, size_t task_count,
                           uint64_t wait_ns_max, size_t *accepted);

/**
 * Drains: takes no more tasks from outside, runs everything accepted, then stops the workers.
 *
 * Returns at once; lanepool_pool_await() waits for the end. Tasks and callbacks may still submit
 * until the last of them has finished. Blocked submitters are refused.
 *
 * @param pool The pool.
 * @retval LANEPOOL_OK      The pool is, or already was, shut down.
 * @retval LANEPOOL_INVALID pool is NULL.
 * @par Threads
 * Any thread, inside tasks too; never blocks. The strongest of several shutdowns applies.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_shutdown(lanepool_pool *pool);

/**
 * Stops as soon as the running tasks have returned; what has not started is handed back.
 *
 * Returns at once; lanepool_pool_await() waits for the end. A worker that was just about to start a
 * task may still do so. When the last running task has returned, each task that had not started
 * gets its one call, in submission order, on one of the pool's threads or a submitter's: `handback`
 * if there is one, else the task's own function with LANEPOOL_CALL_CANCELLED. All submits, from
 * inside tasks too, are refused from now on.
 *
 * @param pool     The pool.
 * @param handback May be NULL. Only the first shutdown-now's counts.
 * @param context  Passed to handback.
 * @retval LANEPOOL_OK        This call decided it.
 * @retval LANEPOOL_SHUT_DOWN An earlier lanepool_pool_shutdown_now() did, or the pool had already
 *                            drained: handback will not be called.
 * @retval LANEPOOL_INVALID   pool is NULL.
 * @par Threads
 * Any thread, inside tasks too; never blocks. It strengthens a lanepool_pool_shutdown().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_shutdown_now(lanepool_pool *pool, lanepool_handback_fn handback, void *context);

/**
 * Waits until a pool that was shut down has terminated: every task has had its call, and the
 * worker threads are gone.
 *
 * @param pool        The pool.
 * @param wait_ns_max Nanoseconds; 0 polls, LANEPOOL_FOREVER has no limit.
 * @retval LANEPOOL_OK        Terminated.
 * @retval LANEPOOL_TIMED_OUT Not yet; the pool goes on as before, wait again.
 * @retval LANEPOOL_DEADLOCK  Called from inside one of the pool's own tasks or callbacks.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_INVALID   pool is NULL.
 * @par Threads
 * Any number of threads at once; may block.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_await(lanepool_pool *pool,
                                                                     uint64_t wait_ns_max);

/**
 * Waits until every task that was accepted before this call has finished, without stopping the
 * pool, and gives memory that is no longer needed back.
 *
 * @param pool        The pool.
 * @param wait_ns_max Nanoseconds; 0 polls, LANEPOOL_FOREVER has no limit.
 * @retval LANEPOOL_OK        They have finished, and their callbacks have returned.
 * @retval LANEPOOL_TIMED_OUT Not yet.
 * @retval LANEPOOL_DEADLOCK  Called from inside one of the pool's own tasks or callbacks.
 * @retval LANEPOOL_NOMEM     Memory is lacking; nothing has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_INVALID   pool is NULL.
 * @par Threads
 * Any number of threads at once; may block.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_quiesce(lanepool_pool *pool,
                                                                       uint64_t wait_ns_max);

/** Whether a shutdown of either kind has been called. Any thread; never blocks. */
LANEPOOL_API bool lanepool_pool_is_shut_down(const lanepool_pool *pool);

/**
 * Whether every task of a pool that was shut down has had its call. The worker threads may still be
 * on their last instructions, or in worker_stop: they are gone once lanepool_pool_await() has
 * answered LANEPOOL_OK. Any thread; never blocks.
 */
LANEPOOL_API bool lanepool_pool_is_terminated(const lanepool_pool *pool);

/** The number of workers. Any thread; never blocks. */
LANEPOOL_API size_t lanepool_pool_worker_count(const lanepool_pool *pool);

#ifdef __cplusplus
}
#endif

#endif
