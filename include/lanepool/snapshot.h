/**
 * @file
 * How a pool stands: its tasks, lanes and workers as plain data, and why a task is not running.
 *
 * A snapshot shows who waits for whom at one moment: while it is taken no lane moves on. Tasks go
 * on running meanwhile, so one that is shown as running may have returned since, and one that a
 * worker is just taking from its queue, or is just letting go, may be missing.
 */
#ifndef LANEPOOL_SNAPSHOT_H
#define LANEPOOL_SNAPSHOT_H

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

/** In place of an index: there is none. */
#define LANEPOOL_SNAPSHOT_NONE SIZE_MAX

/** With an `is_compatible`: behind how many tasks one is shown at most. */
#define LANEPOOL_SNAPSHOT_BEHIND_MAX 64u

/** How a task stands. */
typedef enum lanepool_snapshot_state {
    LANEPOOL_SNAPSHOT_WAITING = 0, /**< it stands behind others in every lane that it has entered */
    LANEPOOL_SNAPSHOT_LATCHED = 1, /**< it has reached the head of some of its lanes, and blocks
                                        them while it waits for the rest */
    LANEPOOL_SNAPSHOT_READY = 2,   /**< it waits for a worker only */
    LANEPOOL_SNAPSHOT_RUNNING = 3, /**< its function has been called and has not returned */
    LANEPOOL_SNAPSHOT_RETRYING = 4, /**< it has failed, and will be tried again; see failure.h */
    LANEPOOL_SNAPSHOT_KEPT = 5      /**< it has failed, and is kept until it is resolved: its lanes
                                         are poisoned */
} lanepool_snapshot_state;

/** A task that was routed and had not finished. */
typedef struct lanepool_snapshot_task {
    uint64_t ticket;               /**< its place in the acceptance order */
    lanepool_task_fn function;     /**< as submitted */
    void *context;                 /**< as submitted; still the task's: it may be gone by now */
    uint32_t tag;                  /**< as submitted */
    const char *label;             /**< how its tag is called; NULL: it has no name */
    lanepool_snapshot_state state; /**< how it stands */
    uint32_t priority;             /**< as submitted */
    uint32_t level;                /**< the higher of that and of what it was lent by tasks that
                                        wait for it; see pool.h */
    size_t worker;                 /**< which worker runs it; NONE: it does not run, or on another
                                        thread, or it is detached */
    size_t first_entry;            /**< its entries begin here */
    size_t entry_count;            /**< how many it needs */
    size_t arrived;                /**< how many of them are granted */
    unsigned attempts;             /**< how many have failed; 0 unless it is RETRYING or KEPT */
    uint64_t retry_ns;             /**< RETRYING: when it is tried again, by the monotonic clock */
    bool detached;                 /**< RUNNING: its function has returned, and it ends when it is
                                        completed */
    bool pumped;                   /**< its pump runs it, no worker */
    size_t missing;                /**< lanes that it goes without, since they were poisoned */
    size_t busy_context; /**< RUNNING: the context that it waits for, or for which it calls
                              the program, in lanepool_run_context(); or NONE */
} lanepool_snapshot_task;

/** A task's place in a lane. With an `is_compatible`: a task that it stands behind, namely those
 * that run or are ready, and the nearest one that waits itself. */
typedef struct lanepool_snapshot_entry {
    size_t task;   /**< whose it is */
    size_t lane;   /**< NONE: it has no lane, and stands behind a task */
    size_t behind; /**< that task, which has not finished; NONE if it has a lane */
    uint32_t mode; /**< a lanepool_mode */
    bool granted;  /**< the task has reached the lane's head */
    size_t ahead;  /**< how many entries stand before it there; 0 if it is granted */
} lanepool_snapshot_entry;

/** A lane that some of the tasks have entered. */
typedef struct lanepool_snapshot_lane {
    uint64_t number;  /**< as in events: a number, an address, a worker's index */
    uint32_t type;    /**< a lanepool_event_lane */
    const char *name; /**< how it is called, with a final zero */
    size_t first;     /**< its entries begin here in `order` */
    size_t granted;   /**< how many of them are granted: these come first */
    size_t waiting;   /**< how many wait, in their order, behind those */
    size_t unknown;   /**< how many more are granted, to tasks that are missing here */
    bool paused;      /**< see lanepool_lane_pause() */
    uint64_t pending; /**< accepted, unfinished tasks that claim its key, also those that are not
                           routed or not due yet; 0 without `lane_pending_max`, and with lanes per
                           worker */
    uint64_t pending_max; /**< the limit on them, LANEPOOL_UNLIMITED if there is none; 0 where they
                               are not counted */
} lanepool_snapshot_lane;

/** A worker. */
typedef struct lanepool_snapshot_worker {
    size_t task;  /**< what it runs, the innermost if it waits in one and runs another; or NONE */
    bool asleep;  /**< it has found nothing to do and sleeps */
    size_t ready; /**< how many ready tasks stand in its queue */
    bool absent;  /**< it has no thread now; see the option `workers_min` */
} lanepool_snapshot_worker;

/** A context of a key that is open, or for which the program is just being called. */
typedef struct lanepool_snapshot_context {
    uint64_t number;  /**< of its key, as a lane's; 0: a byte string */
    uint32_t type;    /**< as a lane's */
    const char *name; /**< how its key is called, with a final zero */
    bool busy;        /**< open, use or close is being called for it */
    bool closing;     /**< busy: by the pool's own thread, to close it */
    size_t task;      /**< busy: by this task; NONE: it is closing, or the task is missing here */
    size_t waiting;   /**< busy: how many tasks wait until it is not */
    void *context;    /**< what open has given; it may be gone by now; NULL: it is busy */
    size_t users;     /**< tasks that use it; 0: it lingers, or is busy */
    uint64_t idle_since_ns; /**< since when, by the monotonic clock; 0: it is in use, or busy */
    uint64_t due_ns;        /**< when it will be closed, if it is not used before; 0: in use, busy,
                                 or at once */
} lanepool_snapshot_context;

/** A pool at one moment. Tasks stand in the order of their tickets. */
typedef struct lanepool_snapshot {
    uint64_t time_ns;                          /**< when, by the monotonic clock */
    uint64_t unrouted;                         /**< tasks that were just being submitted */
    uint64_t blocked;                          /**< submits that wait for room, in the pool or in
                                                    lanes: see there */
    const lanepool_snapshot_task *tasks;       /**< `task_count` */
    size_t task_count;                         /**< how many tasks */
    const lanepool_snapshot_entry *entries;    /**< `entry_count`, by task */
    size_t entry_count;                        /**< how many entries */
    const lanepool_snapshot_lane *lanes;       /**< `lane_count` */
    size_t lane_count;                         /**< how many lanes */
    const size_t *order;                       /**< entries by lane; see lanepool_snapshot_lane */
    const lanepool_snapshot_worker *workers;   /**< `worker_count` */
    size_t worker_count;                       /**< how many workers */
    bool paused;                               /**< see lanepool_pool_pause() */
    const lanepool_snapshot_context *contexts; /**< `context_count`, in no particular order */
    size_t context_count;                      /**< how many contexts; see context.h */
} lanepool_snapshot;

/**
 * Takes a snapshot. What was accepted before is routed first; a task whose submitter is still in
 * its call on another thread may be left out.
 *
 * Meanwhile no task is routed and no lane moves on; running tasks go on. With an `is_compatible` of
 * the caller's it asks about each waiting task and those that came before it.
 *
 * Unlike a submit, this waits for whoever routes, and so for the program's own callbacks that are
 * called then (`is_compatible`, `key_name`, with a rule of the program's `release`, hand-backs and
 * cancelling calls): do not hold a lock here that one of them takes.
 *
 * @param pool     The pool.
 * @param snapshot Receives the snapshot, which the caller gives back with
 *                 lanepool_snapshot_release(); it may outlive the pool. NULL on failure.
 * @retval LANEPOOL_OK        Done.
 * @retval LANEPOOL_INVALID   An argument is NULL.
 * @retval LANEPOOL_NOMEM     Memory is lacking; nothing has changed.
 * @retval LANEPOOL_NO_THREAD A semaphore could not be had; nothing has changed.
 * @retval LANEPOOL_DEADLOCK  Called from inside a callback of the pool's.
 * @retval LANEPOOL_SHUT_DOWN The pool has stopped: nothing is left to be seen. Inside a task also
 *                            when the pool was told to stop now.
 * @par Threads
 * Any thread, inside tasks too; may block while another thread routes.
 * @par Complexity
 * O(n log n) for n entries of pending tasks, and O(lanes); with an `is_compatible` O(n^2)
 * questions.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_snapshot_take(lanepool_pool *pool, lanepool_snapshot **snapshot);

/** Gives a snapshot back; NULL does nothing. Any thread. */
LANEPOOL_API void lanepool_snapshot_release(lanepool_snapshot *snapshot);

/** The index of the task with this ticket; LANEPOOL_SNAPSHOT_NONE if it is not there. O(log n). */
LANEPOOL_API size_t lanepool_snapshot_find(const lanepool_snapshot *snapshot, uint64_t ticket);

/** One reason why a task does not run: in one lane it stands behind another. */
typedef struct lanepool_snapshot_reason {
    size_t entry;   /**< the entry that is not granted; its task is what waits */
    size_t blocker; /**< a task that holds the lane, or a rollup that waits before it there; NONE:
                         the lane is paused, or whoever holds it is missing in the snapshot */
    size_t depth;   /**< 0 for the task that was asked about, 1 for what blocks that, and so on */
} lanepool_snapshot_reason;

/**
 * Says why a task does not run: what blocks it, what blocks that, and so on down to tasks that run,
 * are ready, or have failed and keep their lanes.
 *
 * For each of its lanes that are not granted there is a reason for each task that holds the lane,
 * and one for the nearest rollup that waits before it there and has to wait elsewhere, too. Each
 * blocker is followed once.
 *
 * @param snapshot The snapshot.
 * @param task     An index of its tasks.
 * @param reasons  Receives up to `capacity` reasons, those of the task asked about first, then by
 *                 depth; may be NULL when that is 0.
 * @param capacity How many fit.
 * @param count    Receives how many there are, those that did not fit included; 0: the task runs,
 *                 is ready, or has failed.
 * @retval LANEPOOL_OK      Done.
 * @retval LANEPOOL_INVALID An argument is NULL, or there is no such task.
 * @retval LANEPOOL_NOMEM   Memory is lacking.
 * @par Threads
 * Any thread.
 * @par Complexity
 * O(entries of the tasks that are followed, and of the lanes that they wait in).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_snapshot_explain(const lanepool_snapshot *snapshot, size_t task,
                          lanepool_snapshot_reason *reasons, size_t capacity, size_t *count);

/** Receives a piece of text, without a final zero. */
typedef void (*lanepool_write_fn)(void *context, const char *text, size_t size);

/**
 * Writes why a task does not run, a line for each reason.
 *
 * @param snapshot The snapshot.
 * @param ticket   The task's.
 * @param write    Called for each piece of text.
 * @param context  Passed to it.
 * @return As for lanepool_snapshot_explain(); INVALID also if the task is not in the snapshot.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_write_reasons(
    const lanepool_snapshot *snapshot, uint64_t ticket, lanepool_write_fn write, void *context);

/** Writes the whole snapshot: workers and why they idle, lanes with who holds them and who waits.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_write_text(
    const lanepool_snapshot *snapshot, lanepool_write_fn write, void *context);

/** Writes the snapshot as a graph in Graphviz's language: who waits for whom. */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_write_dot(
    const lanepool_snapshot *snapshot, lanepool_write_fn write, void *context);

/**
 * Says why a task does not run, from its future: takes a snapshot and writes the task's reasons.
 * Of a task that has finished it says how, of a delayed one when it is due; of one that is just
 * being submitted, taken up or let go, or that is a sequence's, that.
 *
 * @param future  The task's.
 * @param write   Called for each piece of text, before this returns.
 * @param context Passed to it.
 * @retval LANEPOOL_INVALID An argument is NULL.
 * @return Else as for lanepool_snapshot_take(). OK also if the task has finished.
 * @par Threads
 * As for lanepool_snapshot_take(); the task's pool must not be destroyed meanwhile.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_explain(lanepool_future *future,
                                                                  lanepool_write_fn write,
                                                                  void *context);

#ifdef __cplusplus
}
#endif

#endif
