/**
 * @file
 * The pool: options, submitting, waiting, shutdown, statistics, pauses. See status.h first.
 */
#ifndef LANEPOOL_POOL_H
#define LANEPOOL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/check.h"
#include "lanepool/future.h"
#include "lanepool/journal.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup pools Pools
 * Workers that know which tasks conflict. The result is as if tasks ran one by one, in the order in
 * which they were accepted; compatible tasks may overlap or swap. A pool does not work in a child
 * of fork(); see docs/fork.md. @{
 */

/** Where lanes live. */
typedef enum lanepool_layout {
    LANEPOOL_PER_KEY = 0,   /**< a lane for each key; a waiting rollup costs no thread */
    LANEPOOL_PER_WORKER = 1 /**< a lane for each worker: tasks of a lane run on that worker's
                                 thread. Tasks of different keys may wait for each other */
} lanepool_layout;

/** The threads that route tasks into lanes. */
typedef enum lanepool_routing {
    LANEPOOL_ROUTING_DEFAULT = 0,  /**< AUTO; SUBMITTER with `is_compatible` */
    LANEPOOL_ROUTING_AUTO = 1,     /**< awake workers; the submitter only if all workers sleep */
    LANEPOOL_ROUTING_SUBMITTER = 2 /**< the submitter, unless another thread is routing; idle
                                        workers route the rest */
} lanepool_routing;

/** The default of `pending_max`: 64 MiB of tasks with up to two claims. */
#define LANEPOOL_PENDING_DEFAULT ((size_t)1 << 20)
/** As `pending_max` and the like: no limit. */
#define LANEPOOL_UNLIMITED SIZE_MAX
/** The most workers of a pool. */
#define LANEPOOL_WORKERS_MAX 1024u
/** The largest `trace_events`. */
#define LANEPOOL_TRACE_EVENTS_MAX ((size_t)1 << 26)

/** A failed task, for `on_error`. */
typedef struct lanepool_error {
    lanepool_task_fn function; /**< as submitted */
    void *context;             /**< as submitted; still the task's */
    uint64_t ticket;           /**< its number in the acceptance order */
    lanepool_status status;    /**< FAILED or ABANDONED */
    int code;                  /**< what the function returned, if FAILED */
    unsigned attempt;          /**< the number of the attempt, from 1 */
    bool is_last;              /**< no retry follows; else one does, unless the task is cancelled */
} lanepool_error;

/**
 * Called for each failed attempt, on the thread that ran it, before the task's lanes are released.
 * @param error Valid during the call.
 */
typedef void (*lanepool_error_fn)(void *user, const lanepool_error *error);

/**
 * Receives a task that lanepool_pool_shutdown_now() hands back, in acceptance order. The task and
 * its context are the program's again: neither its function nor its `release` is called, and its
 * future completes as CANCELLED. It can be submitted to another pool.
 * @param context As given to lanepool_pool_shutdown_now().
 * @param task    Valid during the call, with its claims (duplicates merged).
 * @param ticket  Its number in the acceptance order.
 */
typedef void (*lanepool_handback_fn)(void *context, const lanepool_task *task, uint64_t ticket);

/**
 * Writes the name of a key for events and snapshots. Called when a lane is created while events are
 * recorded, and when a snapshot is taken. Must be fast, and must not lock or wait.
 * @param key  The key; its bytes are valid during the call.
 * @param text Receives the name, without a final zero.
 * @param size The room in text, in bytes.
 * @return The number of bytes written; 0 if the key has no name.
 */
typedef size_t (*lanepool_key_name_fn)(void *user, lanepool_key key, char *text, size_t size);

/**
 * Called on each worker's thread when it starts, before the worker's first task: to prepare a
 * connection, an arena or signals. Must not end the thread. lanepool_pool_create() does not wait
 * for it, and may fail after it was called. With `workers_min` it is called each time that the
 * worker gets a thread.
 * @param worker_index The worker, from 0.
 * @return The worker's context, for lanepool_run_worker_context() and `worker_stop`.
 */
typedef void *(*lanepool_worker_start_fn)(void *user, size_t worker_index);

/**
 * Called on each worker's thread after its last task, once for each call of `worker_start`. All
 * have returned when lanepool_pool_await() or lanepool_pool_destroy() has answered LANEPOOL_OK. A
 * submit answers LANEPOOL_SHUT_DOWN, unless the worker only leaves because it was idle.
 * @param worker_index The worker, from 0.
 * @param context      What `worker_start` returned, or NULL.
 */
typedef void (*lanepool_worker_stop_fn)(void *user, size_t worker_index, void *context);

/** A task that takes long, for `on_slow_task`. */
typedef struct lanepool_slow_task {
    lanepool_pool *pool;       /**< its pool */
    lanepool_task_fn function; /**< as submitted */
    void *context;             /**< as submitted; the task may have freed it by now */
    uint64_t ticket;           /**< its number in the acceptance order */
    uint32_t tag;              /**< as submitted */
    const char *label;         /**< the name of its tag, or NULL */
    size_t worker;             /**< the one that runs it; SIZE_MAX if none does */
    uint64_t running_ns;       /**< it has run for at least this long */
} lanepool_slow_task;

/**
 * Called once for each task that has run for longer than `slow_task_ns`, on the clock thread. It
 * may also cancel by a future and take snapshots. See docs/inspecting.md.
 * @param task Valid during the call.
 */
typedef void (*lanepool_slow_task_fn)(void *user, const lanepool_slow_task *task);

/** A pool without progress, for `on_stalled`. */
typedef struct lanepool_stall {
    lanepool_pool *pool; /**< the pool */
    uint64_t pending;    /**< accepted, unfinished tasks, without delayed ones */
    size_t threads;      /**< threads inside tasks; 0: all wait for a pump, a completion or a
                              callback */
    uint64_t stalled_ns; /**< no task has started or ended for at least this long */
} lanepool_stall;

/**
 * Called once when tasks are pending and none has started or ended for longer than `stalled_ns`;
 * again after the next start or end. Pools and lanes that the program has paused do not count as
 * stalled. Rules as for lanepool_slow_task_fn.
 * @param stall Valid during the call.
 */
typedef void (*lanepool_stalled_fn)(void *user, const lanepool_stall *stall);

/**
 * An allocator for the memory that grows with the load: tasks, byte strings (up to 2 KiB), lanes,
 * the index of keys, futures, cancels. Blocks have up to 2 MiB. Any thread calls both functions;
 * they must not call the pool. Other memory comes from the system.
 */
typedef struct lanepool_allocator {
    size_t struct_size; /**< sizeof(lanepool_allocator) */
    /** Returns `size` bytes at a multiple of `alignment`, a power of two, or NULL. */
    void *(*allocate)(void *user, size_t size, size_t alignment);
    /** Frees what `allocate` returned for the same size. */
    void (*deallocate)(void *user, void *memory, size_t size);
    void *user; /**< passed to both */
} lanepool_allocator;

/**
 * The options of a pool. Start from LANEPOOL_OPTIONS_INIT. Some exclude each other; see
 * docs/features.md.
 */
typedef struct lanepool_options {
    size_t struct_size;       /**< sizeof(lanepool_options) */
    unsigned workers;         /**< 1 to LANEPOOL_WORKERS_MAX; 0: the CPUs of the process's affinity,
                                   but no more than its cgroup's limit (`cpu.max` of version 2) */
    lanepool_layout layout;   /**< where lanes live */
    lanepool_routing routing; /**< the threads that route */
    lanepool_compatible_fn is_compatible; /**< the conflict rule; NULL for conflicts by claims */
    size_t pending_max;                   /**< limit on accepted, unfinished tasks; 0:
                                               LANEPOOL_PENDING_DEFAULT */
    unsigned quantum_tasks; /**< tasks of one lane that a worker runs in a row; 0: 64 */
    uint64_t quantum_ns;    /**< the same as time, by the coarse clock (1 to 10 ms); 0: 1,000,000 */
    lanepool_error_fn on_error; /**< may be NULL */
    void *user;          /**< passed to all callbacks of these options, and to those of contexts */
    size_t trace_events; /**< events that each thread records at least, 32 bytes each; 0: none */
    lanepool_key_name_fn key_name; /**< names of keys; NULL for the bytes or the number */
    const char *const *tag_names;  /**< each may be NULL; must outlive the pool and snapshots */
    size_t tag_name_count;         /**< their number */
    bool drain_waits_for_delayed;  /**< a drain waits for delayed tasks; false: it cancels them */
    const char
        *name; /**< of threads: "name/0" (a worker), "name/clock", "name/keeper", "name/journal",
                  cut to 15 bytes; NULL or "": as the thread that starts them */
    lanepool_worker_start_fn worker_start;     /**< may be NULL */
    lanepool_worker_stop_fn worker_stop;       /**< may be NULL */
    lanepool_slow_task_fn on_slow_task;        /**< may be NULL */
    uint64_t slow_task_ns;                     /**< for on_slow_task; 0: 1 s */
    lanepool_stalled_fn on_stalled;            /**< may be NULL */
    uint64_t stalled_ns;                       /**< for on_stalled; 0: 10 s */
    const lanepool_allocator *allocator;       /**< NULL: the system's. Must outlive pool, futures
                                                    and groups */
    const lanepool_context_options *contexts;  /**< NULL: none. Read during the creation only */
    unsigned workers_min;                      /**< so many always have a thread, others only while
                                                    all are busy; 0: `workers` */
    uint64_t worker_idle_ns;                   /**< the others' threads end after so long without
                                                    work; 0: 10 s */
    const lanepool_failure_policy *on_failure; /**< for tasks without one, which take more memory;
                                                    NULL: none. Read during the creation only */
    bool priorities;                           /**< tasks have priorities; see docs/priorities.md */
    uint64_t priority_age_ns;   /**< a task that was ready for so long counts one level higher; 0: 1
                                     s; LANEPOOL_FOREVER: never */
    size_t lane_pending_max;    /**< limit on pending tasks for each key; 0: not counted;
                                     LANEPOOL_UNLIMITED: lanepool_lane_set_pending_max() limits */
    lanepool_check_fn on_check; /**< a failed check; NULL: the program aborts */
    size_t worker_stack_size; /**< bytes of stack for each worker's thread; 0: the system's default.
                                   At least PTHREAD_STACK_MIN. Other threads have the default */
    uint64_t step_seed; /**< for tests: no threads, and this seed draws the order; 0: threads. See
                             docs/testing_programs.md */
    uint64_t step_plain_from; /**< with step_seed: from this draw on, counted from 1, the seed draws
                                   no more, and tasks start as accepted; 0: it draws to the end */
    uint64_t checks;          /**< for tests: LANEPOOL_CHECK_ bits; 0: none. See docs/checks.md */
    uint64_t search_ns; /**< how long an idle worker searches before it sleeps. It does so only if
                             its last idle times were short. More: shorter waits, more CPU time; 0:
                             20,000 */
    const lanepool_journal_options *journal; /**< NULL: no journal. Read during the creation only */
} lanepool_options;

#ifndef __cplusplus
/** Makes a `const lanepool_options *` in place, as LANEPOOL_TASK() makes a task. */
#define LANEPOOL_OPTIONS(...) \
    (&(const lanepool_options){ .struct_size = sizeof(lanepool_options), __VA_ARGS__ })
#endif

/** Options with everything at its default. */
#define LANEPOOL_OPTIONS_INIT                                                                      \
    {                                                                                              \
        sizeof(lanepool_options), 0, LANEPOOL_PER_KEY, LANEPOOL_ROUTING_DEFAULT, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0        \
    }

/**
 * Creates a pool and starts its workers. Its threads block all signals except those of their own
 * faults (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT).
 * @param options NULL for all defaults; read during the call only.
 * @param pool    Receives the pool, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_INVALID pool is NULL; an option is unknown or out of range; a time is set
 *     without its callback; an allocator lacks a function, contexts their `open`, or a journal its
 * `write`; the system refuses stacks of `worker_stack_size`.
 * @also UNSUPPORTED, NOMEM, NO_RESOURCE. @threads Any thread. @complexity O(workers).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_create(const lanepool_options *options, lanepool_pool **pool);

/**
 * Shuts the pool down, waits until all accepted tasks have run, and frees the pool. After
 * lanepool_pool_shutdown_now() it waits for running tasks only. No other thread may use the pool or
 * its lane handles during or after the call. Other threads may complete detached tasks, wait for
 * futures, and cancel futures and timers; these may outlive the pool. See docs/shutdown.md.
 * @retval LANEPOOL_UNWRITTEN   The pool is freed, but a write of its journal has failed.
 * @retval LANEPOOL_DEADLOCK    Called inside a task or callback of the pool; nothing has changed.
 * @retval LANEPOOL_PARKED      Shut down, but failures hold up the rest: as for
 *                              lanepool_pool_await(); then call again.
 * @retval LANEPOOL_NO_RESOURCE Shut down, but no semaphore: call again.
 * @threads Any thread outside the pool's tasks; blocks. @complexity O(workers + lanes + futures
 * that were released lately); with futures that outlive the pool also O(free memory).
 */
LANEPOOL_API lanepool_status lanepool_pool_destroy(lanepool_pool *pool);

/**
 * Ends the pool at once, waits for the running tasks, and frees the pool. Tasks that have not
 * started are cancelled, unless an earlier lanepool_pool_shutdown_now() hands them back; parked
 * tasks end. Other rules as for lanepool_pool_destroy().
 * @retval LANEPOOL_UNWRITTEN,LANEPOOL_DEADLOCK,LANEPOOL_NO_RESOURCE As for lanepool_pool_destroy().
 * @threads Any thread outside the pool's tasks; blocks. @complexity O(tasks), and as for
 *     lanepool_pool_destroy().
 */
LANEPOOL_API lanepool_status lanepool_pool_destroy_now(lanepool_pool *pool);

/** @} */

/**
 * @defgroup submitting Submitting
 * A submit gives a task its position in the acceptance order. Four calls differ in what they do
 * while the pool, or one of the task's lanes, is full: see docs/limits.md. @{
 */

/**
 * Submits a task; blocks while the pool is full. Inside a task or callback it never blocks: the
 * task is accepted over the limit.
 * @retval LANEPOOL_OK        Accepted: the task ends once, as docs/endings.md says. Its position in
 *                            the order is some moment inside this call.
 * @retval LANEPOOL_INVALID   A member of the task is wrong.
 * @retval LANEPOOL_SHUT_DOWN Not accepted: the pool is shut down, or the task's group is closed.
 *                            While the pool drains, its tasks may still submit.
 * @also UNSUPPORTED, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; not in a signal handler.
 *     @complexity O(claims). With an `is_compatible`, two questions for each pending task of the
 *     keys, or for each without claims. With `lane_pending_max` also O(claims of blocked tasks).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit(lanepool_pool *pool, const lanepool_task *task);

/**
 * Submits a task; blocks for a limited time, or not at all, while the pool is full.
 * @param wait_max_ns Nanoseconds. With 0 a full pool refuses the task, inside tasks and callbacks
 *                    too; otherwise they submit over the limit.
 * @retval LANEPOOL_FULL      Not accepted, with wait_max_ns 0: the pool is full.
 * @retval LANEPOOL_TIMED_OUT Not accepted: the pool was full for all of the time.
 * @return Otherwise as lanepool_pool_submit(). @threads As for lanepool_pool_submit().
 * @complexity As for lanepool_pool_submit().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit_within(lanepool_pool *pool, const lanepool_task *task, uint64_t wait_max_ns);

/**
 * Submits a task with one exclusive claim and no other member: lanepool_pool_submit() in short.
 * @param key      The key that the task claims; lanepool_key_none() for none.
 * @param function The task's function.
 * @return As lanepool_pool_submit().
 * @threads Any thread; may block. @complexity O(length of the key).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_run(lanepool_pool *pool, lanepool_key key, lanepool_task_fn function, void *context);

/**
 * Submits a task; if the pool is full, the caller runs it: it gets its position over the limit, and
 * the caller waits for its turn and runs it before this returns. Inside a task or callback like
 * lanepool_pool_submit().
 * @retval LANEPOOL_OK Accepted. If the pool was full, the task has been called, unless
 *                     lanepool_pool_shutdown_now() came first and hands it back.
 * @return Otherwise as lanepool_pool_submit().
 * @threads Any thread; may block. @complexity As for lanepool_pool_submit().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit_or_run(lanepool_pool *pool, const lanepool_task *task);

/**
 * Submits several tasks in their order; cheaper than one by one. Tasks of other threads may be
 * accepted between them. Stops at the first task that is not accepted.
 * @param tasks       `task_count` tasks.
 * @param task_count  May be 0.
 * @param wait_max_ns As for lanepool_pool_submit_within(), for the whole call.
 * @param accepted    Receives how many, from the front, were accepted; may be NULL.
 * @retval LANEPOOL_OK All were accepted.
 * @return Otherwise the status of the first task that was not accepted, as for
 *         lanepool_pool_submit_within(). Those before it stay accepted.
 * @threads As for lanepool_pool_submit(). @complexity That of the single submits.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_submit_batch(
    lanepool_pool *pool, const lanepool_task *tasks, size_t task_count, uint64_t wait_max_ns,
    size_t *accepted);

/** @} */

/**
 * @defgroup shutdown Waiting for a pool, and its end
 * A pool ends by a drain (lanepool_pool_shutdown()) or at once (lanepool_pool_shutdown_now()). The
 * stronger one applies. See docs/shutdown.md. @{
 */

/**
 * Drains: refuses tasks from outside, runs all accepted tasks, then ends the workers. Returns at
 * once. Tasks and callbacks may submit until the last task has finished.
 * @also INVALID, FORKED. @complexity O(workers + delayed tasks).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_shutdown(lanepool_pool *pool);

/**
 * Ends the pool when the running tasks have returned; tasks that have not started are handed back.
 * Returns at once. All submits are refused from now on. A worker may still start a task that it was
 * just taking. When no task runs, a thread of the pool or of a submitter calls `handback` for each
 * remaining task, or its `cancelled`, in acceptance order.
 * @param handback May be NULL. Only that of the first shutdown-now counts.
 * @retval LANEPOOL_SHUT_DOWN It was called before, or the pool had drained: handback is not called.
 * @also INVALID, FORKED. @complexity O(workers).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_shutdown_now(lanepool_pool *pool, lanepool_handback_fn handback, void *context);

/**
 * Waits until a pool that was shut down has terminated: its tasks have ended, its threads are gone.
 * @retval LANEPOOL_PARKED Failures hold up the rest: resolve all tasks that lanepool_pool_parked()
 *     lists and resume the lanes that failures have paused, or call lanepool_pool_shutdown_now().
 *     Then wait again. Never with wait_max_ns 0. See docs/failures.md.
 * @retval LANEPOOL_UNWRITTEN It has terminated, but a write of its journal has failed.
 * @retval LANEPOOL_TIMED_OUT Not yet; wait again.
 * @retval LANEPOOL_DEADLOCK Called inside a task or callback of the pool.
 * @also INVALID, NO_RESOURCE, FORKED. @threads Any thread; may block.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_await(lanepool_pool *pool, uint64_t wait_max_ns);

/**
 * Waits until all tasks accepted before this call have finished; with a journal, until they are
 * written. The pool continues. Delayed tasks that are not due do not count.
 * @retval LANEPOOL_OK        They have finished, and their callbacks have returned.
 * @retval LANEPOOL_UNWRITTEN They have finished, but a write of the journal has failed.
 * @retval LANEPOOL_PARKED    Failures hold up all that is left, as for lanepool_pool_await().
 * @retval LANEPOOL_TIMED_OUT Not yet; wait again.
 * @retval LANEPOOL_DEADLOCK  Called inside a task or callback of the pool.
 * @also INVALID, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; may block.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_quiesce(lanepool_pool *pool, uint64_t wait_max_ns);

/**
 * Gives memory that is free now back to the system, in small parts, which hold no other thread up
 * for long. Less than half a MiB of free blocks of each size stays, and so do the lanes of pending
 * tasks and of lane handles. Without this call idle workers do much the same once the pool has not
 * grown for 200 ms; if none is idle, busy workers do it slowly. See docs/caveats.md.
 * @retval LANEPOOL_OK        It is given back, except what other threads needed during the call.
 * @retval LANEPOOL_DEADLOCK  Called in a callback of the pool.
 * @retval LANEPOOL_SHUT_DOWN The pool has ended.
 * @also INVALID, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; may block. @complexity O(free
 *     memory + lanes).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_trim(lanepool_pool *pool);

/**
 * Makes one step of a pool with `step_seed`: runs a ready task on the calling thread, as the pool's
 * only worker. If none is ready, its clock advances to the next delay, period or deadline. Calls
 * that wait for such a pool make steps until there is nothing left to do. See
 * docs/testing_programs.md.
 * @retval LANEPOOL_OK          A task has run, time has passed, or the pool has ended.
 * @retval LANEPOOL_TIMED_OUT   There is nothing left to do.
 * @retval LANEPOOL_DEADLOCK    Called inside a task or callback of the pool.
 * @retval LANEPOOL_BUSY        Another thread makes a step.
 * @retval LANEPOOL_UNSUPPORTED The pool has threads.
 * @also INVALID, FORKED. @threads Any thread, one at a time; runs a task. @complexity O(ready
 *     tasks), and the task's.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_step(lanepool_pool *pool);

/**
 * Returns the time of the clock that measures the pool's delays and limits, in nanoseconds: the
 * monotonic clock, or with `step_seed` the pool's own one.
 */
LANEPOOL_API uint64_t lanepool_pool_time(const lanepool_pool *pool);

/**
 * Advances the clock of a pool with `step_seed`, as if the caller had taken that long. The next
 * steps do what has become due. May be called inside a task.
 * @param by_ns How far, in nanoseconds.
 * @retval LANEPOOL_INVALID     The pool is NULL, or the clock would overflow.
 * @retval LANEPOOL_UNSUPPORTED The pool has threads.
 * @also FORKED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_advance(lanepool_pool *pool, uint64_t by_ns);

/** Returns whether a shutdown of either kind was called; true in a child of fork(). */
LANEPOOL_API bool lanepool_pool_is_shut_down(const lanepool_pool *pool);

/** Returns whether the pool is shut down and every task has ended; threads may still be ending. */
LANEPOOL_API bool lanepool_pool_is_terminated(const lanepool_pool *pool);

/** Returns the number of workers, including those without a thread. */
LANEPOOL_API size_t lanepool_pool_worker_count(const lanepool_pool *pool);

/** @} */

/**
 * @defgroup stats Statistics
 * A pool's counters as plain data. @{
 */

/** Counters of one worker, since the pool was created. */
typedef struct lanepool_worker_stats {
    uint64_t finished;          /**< tasks that it has run */
    uint64_t ready;             /**< ready tasks in its queue now */
    uint64_t taken_from_others; /**< tasks that it took from other workers' queues */
    uint64_t wake_ups;          /**< how often it was woken */
    uint64_t reserved[4];       /**< 0 */
} lanepool_worker_stats;

/** Counters of a pool, since it was created, and its state now. */
typedef struct lanepool_stats {
    uint64_t accepted;          /**< accepted tasks; delayed ones from when they are due */
    uint64_t finished;          /**< tasks that have ended; with a journal, and are written */
    uint64_t pending;           /**< accepted, unfinished tasks */
    uint64_t ready;             /**< pending tasks that only wait for a worker */
    uint64_t latched_lanes;     /**< lanes blocked by a rollup that waits for other lanes */
    uint64_t live_lanes;        /**< lanes in memory, including idle ones */
    uint64_t taken_from_others; /**< tasks that workers took from each other's queues */
    uint64_t wake_ups;          /**< how often a worker was woken */
    uint64_t delayed;  /**< delayed tasks that are not due, and periodic tasks between two runs */
    uint64_t contexts; /**< open contexts of keys */
    uint64_t threads;  /**< workers that have a thread */
    uint64_t reserved[5]; /**< 0 */
} lanepool_stats;

/**
 * Reads the counters. In a busy pool each counter is exact at its own moment; in an idle pool they
 * fit together.
 * @param stats           Receives the pool's counters.
 * @param workers         Those of the first `worker_capacity` workers; may be NULL if that is 0.
 * @param worker_capacity The room in workers; see lanepool_pool_worker_count().
 * @also INVALID, FORKED. @complexity O(workers + threads that have submitted).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_stats(
    lanepool_pool *pool, lanepool_stats *stats, lanepool_worker_stats *workers,
    size_t worker_capacity);

/** @} */

/**
 * @defgroup pausing Pausing
 * A paused pool or lane accepts tasks and starts none; running tasks continue. One resume ends any
 * number of pauses. A drain resumes the pool and its lanes, except lanes that a failure has paused;
 * lanepool_pool_shutdown_now() hands paused tasks back. docs/caveats.md says which tasks may still
 * start after a pause. @{
 */

/**
 * Pauses the pool: its workers start no task, except one that they were just taking. Pumps, and
 * tasks that their submitter runs or that a wait inside a task needs, continue. A quiesce waits for
 * the resume.
 * @retval LANEPOOL_SHUT_DOWN A shutdown was called; nothing has changed.
 * @also INVALID, FORKED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_pause(lanepool_pool *pool);

/** Resumes a pool, if it is paused. @also INVALID, FORKED. @complexity O(workers). */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_resume(lanepool_pool *pool);

/** Returns whether the pool is paused. */
LANEPOOL_API bool lanepool_pool_is_paused(const lanepool_pool *pool);

/**
 * Pauses a lane: no task that claims it starts, except those that have it already. A rollup that
 * waits there keeps its other lanes. The pause outlives the handle.
 * @param lane Any handle of the key, of a pool with lanes per key.
 * @retval LANEPOOL_SHUT_DOWN A shutdown was called; nothing has changed.
 * @also INVALID, UNSUPPORTED, DEADLOCK, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; waits for
 *     routing. @complexity O(paused lanes).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_lane_pause(lanepool_lane *lane);

/**
 * Resumes a lane; does nothing if it is not paused.
 * @param lane As for lanepool_lane_pause().
 * @retval LANEPOOL_SHUT_DOWN The pool has ended.
 * @also INVALID, UNSUPPORTED, DEADLOCK, NO_RESOURCE, FORKED. @threads As for lanepool_lane_pause().
 *     @complexity O(paused lanes).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_lane_resume(lanepool_lane *lane);

/** @} */

LANEPOOL_C_END

#endif
