/**
 * @file
 * The pool: workers that know which tasks conflict.
 *
 * Equivalent serial program: tasks run one by one in the order in which they
 * were accepted, except that compatible tasks may overlap or swap. With
 * several submitting threads acceptance is one total order, so there are no
 * cycles and no deadlock.
 *
 * A pool stays in the process that has made it. In a child of fork() its threads are not there: on
 * Linux 4.14 and later every call on it, and on its lanes, pumps, timers and unfinished tasks'
 * futures, answers LANEPOOL_FORKED there and changes nothing. The child makes pools of its own if
 * it needs some; the parent does not notice. What had ended before can be asked for; futures,
 * groups, lanes and timers can be given back; lanepool_pool_destroy() lets go of the pool. Who
 * forks inside a task must not return from it in the child: it ends by _exit(), or becomes another
 * program.
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
    unsigned attempt;          /**< which call of its function has failed, from 1 */
    bool is_last;              /**< no further attempt follows; see failure.h */
} lanepool_error;

/**
 * Called for each attempt at a task that fails, on the thread that ran it, before its lanes move
 * on: no conflicting later task has started. It may submit; a wait in it answers LANEPOOL_DEADLOCK.
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
 * has to get to its end (no pthread_exit). With `workers_min` below `workers` it is called each
 * time that a thread comes for a worker, for one worker never before worker_stop has returned; what
 * was submitted meanwhile wants other workers. It is called for threads of a pool, too, that is
 * refused because others could not be had. It may submit; a wait in it answers LANEPOOL_DEADLOCK.
 *
 * @param user         The pool's `user` option.
 * @param worker_index The worker, from 0.
 * @return The worker's context, for lanepool_run_worker_context() and for worker_stop.
 */
typedef void *(*lanepool_worker_start_fn)(void *user, size_t worker_index);

/**
 * Called on each worker's thread when it ends, once for each call of worker_start: the last that
 * the pool calls there. Submits in it answer LANEPOOL_SHUT_DOWN, waits LANEPOOL_DEADLOCK. When a
 * worker leaves because it has idled (`worker_idle_ns`), the pool goes on and takes submits; no
 * task runs on the thread any more, unless worker_start is called there again since something came
 * just then; but the thread may still route, and so call `is_compatible` and releases. All have
 * returned when lanepool_pool_await() or lanepool_pool_destroy() has answered LANEPOOL_OK, or
 * lanepool_pool_create() that a thread could not be had.
 *
 * @param user         The pool's `user` option.
 * @param worker_index The worker, from 0.
 * @param context      What worker_start returned; NULL if there is none.
 */
typedef void (*lanepool_worker_stop_fn)(void *user, size_t worker_index, void *context);

/** A task that takes long, as on_slow_task sees it. */
typedef struct lanepool_slow_task {
    lanepool_pool *pool;       /**< whose it is */
    lanepool_task_fn function; /**< as submitted */
    void *context;             /**< as submitted; still the task's: it may be gone by now */
    uint64_t ticket;           /**< its place in the acceptance order */
    uint32_t tag;              /**< as submitted */
    const char *label;         /**< how its tag is called; NULL: it has no name */
    size_t worker;             /**< which worker runs it; SIZE_MAX: another thread does, or it is
                                    detached */
    uint64_t running_ns;       /**< it has been running for at least so many nanoseconds */
} lanepool_slow_task;

/**
 * Called when a task has been running for longer than `slow_task_ns`: once for each, after at most
 * twice that time unless the system or another callback holds the clock thread up.
 *
 * A task runs from its call to its end: while it waits inside for others too, and detached until it
 * is completed. Who hands over and the heir have one ticket, and count as one task. So do attempts
 * at a task that fails (failure.h), if each look finds one of them: then what lies between them has
 * been counted in `running_ns`, and after a look that found none the task may be told of again.
 *
 * No lock of the pool's is held meanwhile; the task goes on, and may have ended before this
 * returns. It may submit, and cancel by a future; it may take a snapshot and have waits explained;
 * a wait in it answers LANEPOOL_DEADLOCK. It is called on the clock thread, so that delayed tasks
 * are late by what it takes. In a pool that drains, a submit answers LANEPOOL_SHUT_DOWN when every
 * task has finished; after lanepool_pool_shutdown_now() no new call is made.
 *
 * @param user The pool's `user` option.
 * @param task Valid during the call.
 */
typedef void (*lanepool_slow_task_fn)(void *user, const lanepool_slow_task *task);

/** A pool that does not get on, as on_stalled sees it. */
typedef struct lanepool_stall {
    lanepool_pool *pool; /**< which */
    uint64_t pending; /**< tasks that were accepted and have not finished, delayed ones left out */
    size_t threads;   /**< so many threads are inside of tasks: if none is, the tasks wait for a
                           pump's thread, for a detached task to be completed, or for a callback
                           that does not return */
    uint64_t stalled_ns; /**< no task has started or ended for at least so many nanoseconds */
} lanepool_stall;

/**
 * Called when tasks are pending and none has started or ended for longer than `stalled_ns`: once,
 * after at most twice that time, and again after the next start or end.
 *
 * A pool that is paused is not stalled, nor one in which nothing runs and nothing is ready while a
 * lane is paused; the time starts anew when that is over (a pause that is shorter than half of it
 * may be missed). Tasks that are not due are not pending. A single task that runs for so long is a
 * stall, too, if no other starts or ends; and so is a pool of which all that is left is held up by
 * tasks that have failed and are kept: lanepool_pool_failures() lists them. So is one of which all
 * that is left waits to be tried again: an attempt after the first may be taken for no start, and
 * who was told before it is not told anew when the task is kept. The rules for calls in
 * it are those of a lanepool_slow_task_fn: lanepool_snapshot_take() and
 * lanepool_snapshot_write_text() say who waits for whom.
 *
 * @param user  The pool's `user` option.
 * @param stall Valid during the call.
 */
typedef void (*lanepool_stalled_fn)(void *user, const lanepool_stall *stall);

/**
 * Where a pool's memory comes from that grows with its load: tasks with up to 2 KiB of claims, byte
 * strings up to the same size, lanes and the index of keys (blocks of up to 2 MiB, and a table that
 * grows by doubling), and futures. What a pool has from its beginning, what its threads have, and
 * handles, delayed tasks, records of contexts, longer byte strings, snapshots and the like come
 * from the system.
 *
 * Both functions are called by any thread, several at once, inside the pool's calls, and must not
 * call the pool.
 */
typedef struct lanepool_allocator {
    /** Returns `size` bytes at a multiple of `alignment`, a power of two, not cleared; NULL: memory
     * is lacking, which is answered as LANEPOOL_NOMEM. */
    void *(*allocate)(void *user, size_t size, size_t alignment);
    /** Gives back what `allocate` has returned, with the same size. */
    void (*deallocate)(void *user, void *memory, size_t size);
    void *user; /**< passed to both */
} lanepool_allocator;

/** What a pool does about contexts of keys; see context.h. */
typedef struct lanepool_context_options lanepool_context_options;

/**
 * What a pool is made with. Start from LANEPOOL_OPTIONS_INIT; zero means default everywhere.
 *
 * @par Priorities
 * In a pool with the option `priorities` a worker takes, of all tasks that are ready when it
 * chooses, one of the highest *level*, and of those the one that has been there for longest. It
 * chooses anew after each task, and routes before what was accepted until then; what another thread
 * is just routing may come too late for it. A task's level is its priority or what it was *lent*.
 *
 * - Conflicting tasks run in their order all the same. A task that waits lends its level to all
 *   that it waits for, in each of its lanes, and to what those wait for in theirs: nothing lower
 *   comes before what holds up something higher. What was lent stays, also when the lender is
 *   cancelled.
 * - A wait inside a task lends its level to the awaited task. So does a wait for a group to each
 *   member. Waits outside of tasks lend nothing.
 * - With `priority_age_ns` A, a ready task counts as one level higher after A, as two after 2 A and
 *   so on. Let d be the longest time for which no worker chooses: one of priority p is at the top
 *   after (LANEPOOL_PRIORITY_MAX - p) * (A + d), and from then on nothing that becomes ready later
 *   starts before it. So nothing starves.
 * - A barrier lends nothing: while it waits nothing is ready but what it waits for.
 * - A task that is tried again has its level as before, and waits anew. One that does not wait in
 *   a poisoned lane lends nothing there.
 * - An heir has at least the level of the task that handed over to it, and lends nothing to that
 *   one while it still runs. What is left of a cancelled task holds nobody up for want of a level.
 * - A delayed or periodic task's priority counts from when it is due. A task of a pump, and one
 *   that its submitter runs, lend like others; where they have to run they come in the order in
 *   which they became ready. A thread that waits inside a task runs the highest of what it needs.
 * - With an `is_compatible` of the program's, priorities, ageing and waits count likewise, but
 *   who waits because of a conflict lends nothing.
 *
 * All workers share one list then, under a lock, and nothing is run in a row: tasks cost more, and
 * each takes 128 bytes without claims, 256 with one or two. A submit of a task of priority 0 costs
 * O(claims) as ever, one of a higher priority O(entries before it) in its lanes and those of what
 * holds it up, on the thread that routes.
 */
typedef struct lanepool_options {
    size_t struct_size;                   /**< sizeof(lanepool_options) */
    unsigned workers;                     /**< 1 to LANEPOOL_WORKERS_MAX; 0: the number of CPUs that
                                               the process may use. See `workers_min` */
    lanepool_layout layout;               /**< where lanes live */
    lanepool_routing routing;             /**< who routes */
    lanepool_compatible_fn is_compatible; /**< the conflict rule; NULL: tasks conflict by claims */
    size_t pending_max;                   /**< limit on accepted, unfinished tasks; 0:
                                               LANEPOOL_PENDING_DEFAULT; LANEPOOL_UNLIMITED: none */
    unsigned quantum_tasks;     /**< how many tasks of one lane a worker runs in a row before
                                     others get their turn; 0: 64. With priorities
                                     a worker chooses after each task */
    uint64_t quantum_ns;        /**< the same as time, in nanoseconds, by the system's coarse
                                     clock, which moves every 1 to 10 ms; 0: 1,000,000 */
    lanepool_error_fn on_error; /**< may be NULL */
    void *user;                 /**< passed to is_compatible, on_error, key_name, worker_start,
                                     worker_stop, on_slow_task, on_stalled, and the
                                     callbacks of contexts */
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
                           thread, "ledger/keeper" for the one that closes contexts. A name is cut
                           so that with what follows it has 15 bytes. NULL or empty: like the thread
                           that starts them */
    lanepool_worker_start_fn worker_start; /**< may be NULL */
    lanepool_worker_stop_fn worker_stop;   /**< may be NULL */
    lanepool_slow_task_fn on_slow_task; /**< may be NULL. With this or on_stalled the pool has its
                                             clock thread from the beginning, which looks at the
                                             other threads twice in the time given, and not more
                                             often than once in 1,000,000 ns; tasks pay nothing */
    uint64_t slow_task_ns;              /**< nanoseconds, for on_slow_task only; 0: 1,000,000,000 */
    lanepool_stalled_fn on_stalled;     /**< may be NULL */
    uint64_t stalled_ns;                /**< nanoseconds, for on_stalled only; 0: 10,000,000,000 */
    const lanepool_allocator *allocator; /**< NULL: the system's. It must outlive the pool, and the
                                              futures and groups of its tasks */
    const lanepool_context_options *contexts; /**< contexts of keys, see context.h; read during the
                                     creation only. NULL: there are none. Only with
                                     LANEPOOL_PER_KEY and without is_compatible */
    unsigned workers_min;    /**< 1 to `workers`; 0: as many as that, so that each worker has its
                                  thread from the beginning to the end. If less, only so many have
                                  theirs all the time: another thread is started when a task is
                                  submitted or becomes ready and all workers that have one are busy.
                                  Not with LANEPOOL_PER_WORKER */
    uint64_t worker_idle_ns; /**< with `workers_min` below `workers`: how long one of the others
                                  finds nothing to do before its thread ends; 0: 10 s; INVALID
                                  without `workers_min` */
    const lanepool_failure_policy *on_failure; /**< what follows when a task without a policy of its
                                                    own fails; read during the creation only. Then
                                                    each task takes the memory of a future, asked
                                                    for or not. NULL: its lanes go on */
    bool priorities;                           /**< tasks may have a priority; see above. Not with
                                                    PER_WORKER, where each worker has its own order */
    uint64_t priority_age_ns; /**< with priorities: who has been ready for so long, in nanoseconds
                                 by the coarse clock, counts as one priority higher, and so on; 0: a
                                   second; LANEPOOL_FOREVER: never */
    size_t lane_pending_max;  /**< limit on accepted, unfinished tasks that claim one and the same
                                   key, for each key; 0: none, and lanes cannot have limits of their
                                   own; LANEPOOL_UNLIMITED: only those that have one, see
                                   lanepool_lane_set_pending_max(). Not with `is_compatible` */
} lanepool_options;

/** Options with everything at its default. */
#define LANEPOOL_OPTIONS_INIT                                                                      \
    {                                                                                              \
        sizeof(lanepool_options), 0, LANEPOOL_PER_KEY, LANEPOOL_ROUTING_DEFAULT, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                             \
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
 *                            the known options must be zero), a time is given for a callback that
 *                            is not, or priority_age_ns without priorities, an allocator lacks a
 *                            function or contexts their `open`, workers_min is more than workers,
 *                            or less with LANEPOOL_PER_WORKER, or something is asked for that the
 *                            layout or a rule of the program's does not have.
 * @retval LANEPOOL_NOMEM     Memory, a lock or a semaphore is lacking; nothing is left behind.
 * @retval LANEPOOL_NO_THREAD A thread could not be had; nothing is left behind.
 * @par Threads
 * Any thread.
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
 * In a child of fork() it waits for nothing, and gives back what the pool began with. Most other
 * memory of the pool cannot be told from what its threads were just changing, and stays. After it
 * futures of tasks that had not ended may only be released there.
 *
 * @param pool May be NULL, which does nothing.
 * @retval LANEPOOL_OK       The pool is gone.
 * @retval LANEPOOL_DEADLOCK Called from inside one of the pool's own tasks or callbacks; nothing
 *                           has changed.
 * @retval LANEPOOL_HELD     As for lanepool_pool_await(): the pool is shut down, not gone; do what
 *                           is said there, then call again.
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
 * With `lane_pending_max` a pool is also full for a task while one of the task's lanes is. The task
 * is admitted for the pool and for all its lanes at once; until then it takes no place in any.
 * Blocked submitters are served in their order, whatever the priorities of their tasks, as far as
 * they want the same lane: one that waits for a full lane does not hold up those who want other
 * lanes only, and nobody overtakes it in one of its own. A task counts in its lanes as long as it
 * is one of the pool's pending tasks: from its acceptance to its end, a cancelled one until its
 * places have gone, a delayed one also before it is due, a periodic one until its series is over,
 * one that gave a lane up early until it ends; an heir counts in place of the task that hands over,
 * once that has ended. A barrier counts in no lane.
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
 * @retval LANEPOOL_FORKED    Not accepted: this is a child of the process that has the pool. Make
 *                            another one. Every call on the pool may answer this.
 * @par Threads
 * Any thread, inside tasks and callbacks too. Not from a signal handler.
 * @par Complexity
 * O(claims), whatever is pending, with the default rule; with an `is_compatible` of the caller's,
 * at most two questions for each pending task. With `lane_pending_max` also O(claims of the tasks
 * of blocked submitters), and the same for each task that ends.
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
 * Returns at once; lanepool_pool_await() waits for the end. What is ready by now a worker may still
 * start if it was just about to; a task that waits for another one which ends only after this call
 * does not start. When the last running task has returned, each task that had not started gets its
 * one call, in submission order, on one of the pool's threads or a submitter's: `handback` if there
 * is one, else the task's own function with LANEPOOL_CALL_CANCELLED. All submits, from inside tasks
 * too, are refused from now on.
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
 * @retval LANEPOOL_HELD      The pool drains, and all that is left are tasks that have failed and
 *                            are kept, what waits behind them, and what waits in lanes that a
 *                            failure has paused. It goes on when lanepool_pool_resolve() is called
 *                            for each task that lanepool_pool_failures() lists, and
 *                            lanepool_lane_resume() for each lane that a snapshot shows as paused;
 *                            or end it by lanepool_pool_shutdown_now(). Then wait again. Not told
 *                            to who polls. See failure.h.
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
 * @retval LANEPOOL_HELD      All that the pool has, delayed tasks apart, are tasks that have failed
 *                            and are kept, and what waits behind them, or for a resume: see
 *                            lanepool_pool_await(). Not told to who polls. A task that waits
 *                            inside for a kept one runs, and is not held up: see failure.h.
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

/** Whether a shutdown of either kind has been called; true in a child of fork(). Any thread; never
 * blocks. */
LANEPOOL_API bool lanepool_pool_is_shut_down(const lanepool_pool *pool);

/**
 * Whether every task of a pool that was shut down has had its call. The worker threads may still be
 * on their last instructions, or in worker_stop: they are gone once lanepool_pool_await() has
 * answered LANEPOOL_OK. Any thread; never blocks.
 */
LANEPOOL_API bool lanepool_pool_is_terminated(const lanepool_pool *pool);

/** The number of workers, with those that have no thread now. Any thread; never blocks. */
LANEPOOL_API size_t lanepool_pool_worker_count(const lanepool_pool *pool);

#ifdef __cplusplus
}
#endif

#endif
