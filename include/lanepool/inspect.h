/**
 * @file
 * Looking at a pool: snapshots, events, times. docs/inspecting.md explains them.
 */
#ifndef LANEPOOL_INSPECT_H
#define LANEPOOL_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/future.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup snapshots Snapshots
 * A pool's tasks, lanes and workers at one moment, and why a task does not run. A task that a
 * worker is just taking, or that is just being submitted, may be missing. @{
 */

/** As an index: none. */
#define LANEPOOL_SNAPSHOT_NONE SIZE_MAX
/** With an `is_compatible`: the most tasks that one is shown behind. */
#define LANEPOOL_SNAPSHOT_BEHIND_MAX 64u

/** The state of a task. */
typedef enum lanepool_snapshot_state {
    LANEPOOL_SNAPSHOT_WAITING = 0,  /**< behind others in every lane that it has entered */
    LANEPOOL_SNAPSHOT_LATCHED = 1,  /**< at the head of some lanes, which it blocks while it waits
                                         for the others */
    LANEPOOL_SNAPSHOT_READY = 2,    /**< waits for a worker only */
    LANEPOOL_SNAPSHOT_RUNNING = 3,  /**< its function was called, and has not returned */
    LANEPOOL_SNAPSHOT_RETRYING = 4, /**< has failed, and will be retried */
    LANEPOOL_SNAPSHOT_PARKED = 5,   /**< has failed, and is parked: its lanes are poisoned */
    LANEPOOL_SNAPSHOT_VISITED = 6   /**< a cut that has begun: its entries are in the lanes that
                                         have not gone on */
} lanepool_snapshot_state;

/** A task that was routed and has not finished. */
typedef struct lanepool_snapshot_task {
    uint64_t ticket;               /**< its number in the acceptance order */
    lanepool_task_fn function;     /**< as submitted */
    void *context;                 /**< as submitted; the task may have freed it by now */
    uint32_t tag;                  /**< as submitted */
    const char *label;             /**< the name of its tag, or NULL */
    lanepool_snapshot_state state; /**< its state */
    uint32_t priority;             /**< as submitted */
    uint32_t level;                /**< the higher of its priority and its inherited level */
    size_t worker;                 /**< the worker that runs it; NONE if no worker does */
    size_t first_entry;            /**< index of its first entry */
    size_t entry_count;            /**< the entries that it needs */
    size_t arrived;                /**< the granted ones of them */
    unsigned attempts;             /**< failed attempts, if RETRYING or PARKED; else 0 */
    uint64_t retry_ns;             /**< RETRYING: when, by the monotonic clock */
    bool detached;        /**< RUNNING: its function has returned, and it is not complete */
    bool pumped;          /**< its pump runs it, no worker */
    size_t missing;       /**< poisoned lanes that it does without */
    size_t busy_context;  /**< in lanepool_run_context(): the one it waits for or opens; or NONE */
    uint64_t started_ns;  /**< RUNNING: when its function was called, by the monotonic clock. 0: not
                               known, as in a pool without `trace_events` */
    uint32_t form;        /**< a lanepool_plan_form */
    uint32_t in_queue;    /**< READY: how many ready tasks are before it in its queue */
    uint64_t reserved[2]; /**< 0 */
} lanepool_snapshot_task;

/** A task's position in a lane. With an `is_compatible`: a task that it waits for. */
typedef struct lanepool_snapshot_entry {
    size_t task;          /**< its task */
    size_t lane;          /**< its lane; NONE with an `is_compatible` */
    size_t behind;        /**< with an `is_compatible`: the unfinished task before it; else NONE */
    uint32_t mode;        /**< a lanepool_mode */
    bool granted;         /**< at the lane's head */
    uint8_t level;        /**< the task's level; that of a cut's visit if that is higher */
    size_t ahead;         /**< entries before it in the lane; 0 if granted */
    uint64_t reserved[1]; /**< 0 */
} lanepool_snapshot_entry;

/** A lane that some of the tasks have entered. */
typedef struct lanepool_snapshot_lane {
    uint64_t number;      /**< as in events: a number, an address, a worker's index */
    uint32_t type;        /**< a lanepool_event_lane */
    const char *name;     /**< its name, with a final zero */
    size_t first;         /**< index of its first entry in `order` */
    size_t granted;       /**< granted entries, which come first */
    size_t waiting;       /**< waiting entries, in their order, after those */
    size_t unknown;       /**< entries granted to tasks that are missing here */
    bool paused;          /**< see lanepool_lane_pause() */
    bool by_rule;         /**< `is_compatible` decides which of its tasks wait; see their entries */
    uint64_t pending;     /**< accepted, unfinished tasks that claim its key, including those not
                               routed or not due; 0 if they are not counted */
    uint64_t pending_max; /**< the limit on them, or LANEPOOL_UNLIMITED; 0 if not counted */
    uint64_t reserved[4]; /**< 0 */
} lanepool_snapshot_lane;

/** A worker. */
typedef struct lanepool_snapshot_worker {
    size_t task;  /**< the task that it runs (the innermost, if it waits inside one), or NONE */
    bool asleep;  /**< it sleeps */
    size_t ready; /**< ready tasks in its queue */
    bool absent;  /**< it has no thread; see `workers_min` */
    uint64_t reserved[2]; /**< 0 */
} lanepool_snapshot_worker;

/** A context of a key that is open, or in `open`, `use` or `close`. */
typedef struct lanepool_snapshot_context {
    uint64_t number;        /**< of its key, as a lane's; 0 for a byte string */
    uint32_t type;          /**< as a lane's */
    const char *name;       /**< its key's name, with a final zero */
    bool busy;              /**< open, use or close is running for it */
    bool closing;           /**< busy: the pool's own thread closes it */
    size_t task;            /**< busy: the task that calls; NONE if closing or missing here */
    size_t waiting;         /**< busy: tasks that wait for the call */
    void *context;          /**< the context, maybe closed by now; NULL if busy */
    size_t users;           /**< tasks that use it; 0 if it lingers or is busy */
    uint64_t idle_since_ns; /**< lingers since, by the monotonic clock; else 0 */
    uint64_t due_ns;        /**< lingers until, by the monotonic clock; else 0 */
    uint64_t reserved[4];   /**< 0 */
} lanepool_snapshot_context;

/** A pool at one moment. Tasks are ordered by ticket. */
typedef struct lanepool_snapshot {
    uint64_t time_ns;                          /**< when, by the monotonic clock */
    uint64_t unrouted;                         /**< tasks that were just being submitted */
    uint64_t blocked;                          /**< submits that wait for room */
    const lanepool_snapshot_task *tasks;       /**< `task_count` tasks */
    size_t task_count;                         /**< their number */
    const lanepool_snapshot_entry *entries;    /**< `entry_count` entries, by task */
    size_t entry_count;                        /**< their number */
    const lanepool_snapshot_lane *lanes;       /**< `lane_count` lanes */
    size_t lane_count;                         /**< their number */
    const size_t *order;                       /**< entries by lane; see lanepool_snapshot_lane */
    const lanepool_snapshot_worker *workers;   /**< `worker_count` workers */
    size_t worker_count;                       /**< their number */
    bool paused;                               /**< see lanepool_pool_pause() */
    const lanepool_snapshot_context *contexts; /**< `context_count` contexts, in no order */
    size_t context_count;                      /**< their number */
    bool in_one_order;      /**< the workers take ready tasks in one order; see `priorities` */
    uint32_t quantum_tasks; /**< see lanepool_options */
    uint64_t quantum_ns;    /**< see lanepool_options */
} lanepool_snapshot;

/**
 * Takes a snapshot; tasks accepted before are routed first. Waits for the thread that routes, and
 * so for callbacks there: hold no lock here that one of these takes.
 * @param snapshot Receives the snapshot, which may outlive the pool. Release it by
 *                 lanepool_snapshot_release(). NULL on failure.
 * @retval LANEPOOL_SHUT_DOWN The pool has ended. Inside a task also when the pool was stopped.
 * @also INVALID, DEADLOCK, NOMEM, NO_RESOURCE, FORKED. @threads Any thread; may block while another
 *     thread routes. @complexity O(n log n) for n entries of pending tasks, and O(lanes); with an
 *     `is_compatible` O(n^2) questions.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_snapshot_take(lanepool_pool *pool, lanepool_snapshot **snapshot);

/** Releases a snapshot. */
LANEPOOL_API void lanepool_snapshot_release(lanepool_snapshot *snapshot);

/**
 * Returns the index of a task; LANEPOOL_SNAPSHOT_NONE if it is not in the snapshot.
 * @param ticket The task's ticket.
 * @complexity O(log(tasks)).
 */
LANEPOOL_API size_t lanepool_snapshot_find(const lanepool_snapshot *snapshot, uint64_t ticket);

/** Where the task of a future is. */
typedef enum lanepool_snapshot_where {
    LANEPOOL_SNAPSHOT_FOUND = 0,       /**< in the snapshot */
    LANEPOOL_SNAPSHOT_PASSING = 1,     /**< it is just being submitted, or is just ending */
    LANEPOOL_SNAPSHOT_DELAYED = 2,     /**< it is not due yet */
    LANEPOOL_SNAPSHOT_FINISHED = 3,    /**< its future is complete */
    LANEPOOL_SNAPSHOT_IN_SEQUENCE = 4, /**< in a sequence, of which there are no snapshots */
    LANEPOOL_SNAPSHOT_UNWRITTEN = 5,   /**< it has run, and its journal entry is not written yet */
} lanepool_snapshot_where;

/** The task of a future. */
typedef struct lanepool_snapshot_place {
    lanepool_snapshot_where where; /**< where it is; decides which other members are set */
    lanepool_snapshot *snapshot;   /**< FOUND: the snapshot, else NULL. Release it by
                                        lanepool_snapshot_release() */
    size_t task;                   /**< FOUND: the task's index there; else NONE */
    lanepool_result result;        /**< FINISHED: its result */
    uint64_t time_ns;              /**< when, by the monotonic clock */
    uint64_t due_ns;               /**< DELAYED: when it is due, by the monotonic clock */
    uint64_t reserved[2];          /**< 0 */
} lanepool_snapshot_place;

/**
 * Finds the task of a future. Takes a snapshot if the task may be in it.
 * @param future The task's; its pool must not be destroyed during the call.
 * @param place  Receives where the task is.
 * @retval LANEPOOL_SHUT_DOWN As for lanepool_snapshot_take().
 * @also INVALID, DEADLOCK, NOMEM, NO_RESOURCE, FORKED. @threads As for lanepool_snapshot_take().
 * @complexity As for lanepool_snapshot_take().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_snapshot_locate(lanepool_future *future, lanepool_snapshot_place *place);

/** One reason why a task does not run: in one lane it is behind another task. */
typedef struct lanepool_snapshot_reason {
    size_t entry;   /**< the entry that is not granted; its task waits */
    size_t blocker; /**< a task that has the lane, or a rollup that waits before it there; NONE: the
                         lane is paused, or the blocker is missing here */
    size_t depth;   /**< 0 for the given task, 1 for its blockers, and so on */
    uint64_t reserved[1]; /**< 0 */
} lanepool_snapshot_reason;

/**
 * Says why a task does not run: its blockers, their blockers, and so on down to tasks that run, are
 * ready or have failed. For each lane where it waits there is a reason for each task that has the
 * lane, and one for the nearest rollup before it that also waits elsewhere. Each blocker is
 * followed once.
 * @param task     An index of a task.
 * @param reasons  Receives up to `capacity` reasons, by depth; may be NULL if that is 0.
 * @param capacity The room in reasons.
 * @param count    Receives the number of all reasons; 0 if the task runs, is ready or has failed.
 * @retval LANEPOOL_INVALID An argument is NULL, or there is no such task.
 * @also NOMEM. @complexity O(entries of the followed tasks, and of the lanes that they wait in).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_explain(
    const lanepool_snapshot *snapshot, size_t task, lanepool_snapshot_reason *reasons,
    size_t capacity, size_t *count);

/**
 * Receives a piece of text, without a final zero.
 * @param text Valid during the call.
 * @param size In bytes.
 */
typedef void (*lanepool_write_fn)(void *context, const char *text, size_t size);

/**
 * Writes why a task does not run, a line for each reason.
 * @param ticket The task's ticket.
 * @retval LANEPOOL_INVALID An argument is NULL, or the task is not in the snapshot.
 * @also NOMEM. @threads Any thread; blocks only if write does. @complexity As
 *     lanepool_snapshot_explain().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_write_reasons(
    const lanepool_snapshot *snapshot, uint64_t ticket, lanepool_write_fn write, void *context);

/**
 * Writes a snapshot as text: workers and why they are idle; lanes, the tasks that have them, and
 * the tasks that wait.
 * @also INVALID, NOMEM. @threads Any thread; blocks only if write does. @complexity O(snapshot).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_write_text(
    const lanepool_snapshot *snapshot, lanepool_write_fn write, void *context);

/**
 * Writes a snapshot as a graph for Graphviz: which task waits for which.
 * @also INVALID, NOMEM. @threads Any thread; blocks only if write does. @complexity O(snapshot).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_snapshot_write_dot(
    const lanepool_snapshot *snapshot, lanepool_write_fn write, void *context);

/**
 * Writes why a task does not run, or what has become of it, from its future. Takes a snapshot.
 * @param future The task's; its pool must not be destroyed during the call.
 * @retval LANEPOOL_OK Done, also if the task has finished, is delayed, or is a sequence's.
 * @return Otherwise as lanepool_snapshot_take(). @threads As for lanepool_snapshot_take().
 * @complexity As for lanepool_snapshot_take().
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_explain(lanepool_future *future, lanepool_write_fn write, void *context);

/** @} */

/**
 * @defgroup events Events
 * The events of a pool with `trace_events`. Each thread has a ring; a full ring overwrites its
 * oldest event, and each reader counts the events that it has missed. @{
 */

/** The types of events. In brackets: what `object` and `detail` contain, if anything. */
typedef enum lanepool_event_type {
    LANEPOOL_EVENT_SUBMIT = 1,  /**< a thread submits a task [object: its submission] */
    LANEPOOL_EVENT_ROUTE = 2,   /**< it gets its ticket [object: its submission; detail: its tag] */
    LANEPOOL_EVENT_ENTER = 3,   /**< the task enters a lane [object: the lane; detail:
                                     see LANEPOOL_EVENT_SHARED] */
    LANEPOOL_EVENT_ARRIVE = 4,  /**< a task that waited in a lane now heads it; a rollup is latched
                                     there while it waits elsewhere [object: the lane] */
    LANEPOOL_EVENT_READY = 5,   /**< every lane is granted, or a cut has made all of its visits: the
                                     task waits for a worker only */
    LANEPOOL_EVENT_START = 6,   /**< its function is called */
    LANEPOOL_EVENT_END = 7,     /**< its function has returned [detail: a lanepool_status] */
    LANEPOOL_EVENT_RELEASE = 8, /**< the task leaves a lane [object: the lane; detail:
                                     LANEPOOL_EVENT_EARLY] */
    LANEPOOL_EVENT_STEAL = 9,   /**< a worker takes ready tasks from another's queue [object: that
                                     worker; detail: how many] */
    LANEPOOL_EVENT_SLEEP = 10,  /**< a worker has nothing to do and sleeps, or leaves */
    LANEPOOL_EVENT_WAKE = 11,   /**< a worker was woken, or has come back */
    LANEPOOL_EVENT_CANCEL = 12, /**< the task is cancelled or handed back; without a ticket, it was
                                     refused by a shutdown [object: its submission] */
    LANEPOOL_EVENT_NAME = 13,   /**< a part of a lane's name [object: the lane; detail: the part's
                                     position, and from bit 16 on the size of the name; task: up to
                                     eight bytes, the first one lowest] */
    LANEPOOL_EVENT_RETRY = 14,  /**< an attempt has failed; READY and START follow when the task is
                                     retried [detail: a lanepool_status] */
    LANEPOOL_EVENT_PARK = 15,   /**< the last attempt has failed, and the task is parked: READY
                                     follows if it is retried, or END [detail: a lanepool_status] */
    LANEPOOL_EVENT_VISIT = 16,  /**< `at_lane` or `at_grant` is called [object: the lane] */
    LANEPOOL_EVENT_VISITED = 17, /**< that call has returned; RELEASE follows, unless it has failed
                                     [object: the lane; detail: a lanepool_status] */
} lanepool_event_type;

/** In the detail of LANEPOOL_EVENT_ENTER. */
#define LANEPOOL_EVENT_SHARED    ((uint32_t)1) /**< the claim is SHARED */
#define LANEPOOL_EVENT_GRANTED   ((uint32_t)2) /**< at once: no ARRIVE follows */
#define LANEPOOL_EVENT_COMMUTING ((uint32_t)4) /**< the claim is COMMUTING */
#define LANEPOOL_EVENT_CUT       ((uint32_t)8) /**< the task is a cut: it is never latched */

/** Returns the claim's lanepool_mode. @param detail Of an ENTER event. */
static inline uint32_t lanepool_event_mode(uint32_t detail)
{
    if ((detail & LANEPOOL_EVENT_COMMUTING) != 0)
        return LANEPOOL_COMMUTING;
    return (detail & LANEPOOL_EVENT_SHARED) != 0 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
}

/** In the detail of LANEPOOL_EVENT_RELEASE: released while it runs, by a cut after its visit, or
 * cancelled before it ran. */
#define LANEPOOL_EVENT_EARLY ((uint32_t)1)

/** `object_type` of ENTER, ARRIVE, VISIT, VISITED, RELEASE and NAME: what `object` identifies. */
typedef enum lanepool_event_lane {
    LANEPOOL_EVENT_LANE_ID = 1,      /**< a 64-bit number's lane: `object` is the number */
    LANEPOOL_EVENT_LANE_POINTER = 2, /**< an address's lane: `object` is the address */
    LANEPOOL_EVENT_LANE_BYTES = 3,   /**< a byte string's lane: `object` is unique among such lanes
                                          at that time; see NAME */
    LANEPOOL_EVENT_LANE_WORKER = 4,  /**< a worker's lane: `object` is its index */
    LANEPOOL_EVENT_LANE_TASK = 5,    /**< with `is_compatible`: the ticket of a task before it */
    LANEPOOL_EVENT_LANE_KIND = 6     /**< with `is_compatible`: a kind with tasks before it */
} lanepool_event_lane;

/** As `thread`: numbers from here on are threads that are not workers. */
#define LANEPOOL_EVENT_OUTSIDE ((uint16_t)0x8000)
/** The longest recorded name of a lane, in bytes; longer names are cut. */
#define LANEPOOL_EVENT_NAME_MAX 64u

/** One event. */
typedef struct lanepool_event {
    uint64_t time_ns;    /**< when, by the monotonic clock */
    uint64_t task;       /**< the task's ticket; 0 if none, or not known yet */
    uint64_t object;     /**< see lanepool_event_type */
    uint32_t detail;     /**< see lanepool_event_type */
    uint16_t thread;     /**< a worker's index, or from LANEPOOL_EVENT_OUTSIDE on another thread */
    uint8_t type;        /**< a lanepool_event_type */
    uint8_t object_type; /**< with a lane: a lanepool_event_lane */
} lanepool_event;

/** A position in a pool's events. */
typedef struct lanepool_trace_reader lanepool_trace_reader;

/**
 * Opens a reader at the oldest events that the rings still contain. Readers are independent.
 * @param pool   A pool with `trace_events`.
 * @param reader Receives the reader; close it before the pool is destroyed. NULL on failure.
 * @retval LANEPOOL_INVALID An argument is NULL, or the pool records no events.
 * @also NOMEM, FORKED. @complexity O(threads).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_trace_open(lanepool_pool *pool, lanepool_trace_reader **reader);

/**
 * Reads the next events of all threads, ordered by time and cause. Some events of the time of the
 * call are left for the next one. After lanepool_pool_await() all events can be read.
 * @param events   Receives up to `capacity` events.
 * @param capacity The room in events.
 * @param count    Receives how many were read; 0: none yet.
 * @also INVALID, NOMEM. @threads Any thread, one at a time for each reader; never blocks. In a
 *     signal handler see docs/inspecting.md. @complexity O(events x threads).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_trace_read(
    lanepool_trace_reader *reader, lanepool_event *events, size_t capacity, size_t *count);

/**
 * Returns the exact number of events that were overwritten before this reader could read them.
 * @threads As for lanepool_trace_read(). @complexity O(threads).
 */
LANEPOOL_API uint64_t lanepool_trace_missed(const lanepool_trace_reader *reader);

/** Closes a reader. @threads As for lanepool_trace_read(). */
LANEPOOL_API void lanepool_trace_close(lanepool_trace_reader *reader);

/**
 * Chooses the events that are recorded from now on; initially all are. A thread may still write the
 * event that it was just writing.
 * @param pool  A pool with `trace_events`.
 * @param types A bit (1u << type) for each lanepool_event_type; 0: none.
 * @param every Record only tasks whose ticket is a multiple of this power of two; 1: all. Beyond 1
 *              * no SUBMIT is recorded.
 * @retval LANEPOOL_INVALID pool is NULL or records no events, or `every` is not a power of two.
 * @also FORKED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_trace_choose(lanepool_pool *pool, uint32_t types, uint32_t every);

/** @} */

/**
 * @defgroup times Times
 * How long tasks wait, are latched, are ready and run, for each lane and tag, and why workers are
 * idle: added up from events, in the order of reading. One thread at a time for each object. @{
 */

/** As `object_type` of a row: all lanes without a row of their own. */
#define LANEPOOL_TIMES_OTHERS ((uint8_t)255)

/** Added-up times. */
typedef struct lanepool_times lanepool_times;

/** Durations in nanoseconds; 0 if there are none. Percentiles are at most 7 % too large. */
typedef struct lanepool_durations {
    uint64_t count;  /**< how many */
    uint64_t p50_ns; /**< half of them were at most this long */
    uint64_t p99_ns; /**< 99 in 100 were at most this long */
    uint64_t max_ns; /**< the longest, exact */
} lanepool_durations;

/** The times of the tasks of one lane or one tag. */
typedef struct lanepool_times_row {
    uint64_t object;            /**< the lane as in events, or the tag */
    uint8_t object_type;        /**< a lanepool_event_lane; 0 for a tag; LANEPOOL_TIMES_OTHERS */
    lanepool_durations waiting; /**< behind others in this lane; for a tag from ROUTE to READY */
    lanepool_durations latched; /**< rollups at the head of this lane that waited elsewhere; for a
                                     tag from the first arrival on */
    lanepool_durations ready; /**< for a worker; again before each attempt; before a cut's visit */
    lanepool_durations running; /**< from START to END; all attempts, without the time between. Of a
                                     cut in this lane: each visit */
    uint64_t reserved[4];       /**< 0 */
} lanepool_times_row;

/** The time of all workers together, in nanoseconds. */
typedef struct lanepool_times_workers {
    uint64_t running_ns;      /**< running tasks, and making visits of cuts */
    uint64_t idle_ns;         /**< asleep, no routed task waiting or ready */
    uint64_t idle_blocked_ns; /**< asleep, some waiting in lanes, none ready */
    uint64_t idle_ready_ns;   /**< asleep, some ready: being woken */
    uint64_t reserved[4];     /**< 0 */
} lanepool_times_workers;

/**
 * Creates an empty lanepool_times.
 * @param lanes_max The number of lanes with rows of their own, at least 1. The first lanes get
 *                  them; the others share a row.
 * @param times     Receives it; the caller destroys it. NULL on failure.
 * @retval LANEPOOL_INVALID times is NULL, or lanes_max is 0.
 * @also NOMEM.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_times_create(size_t lanes_max, lanepool_times **times);

/** Destroys a lanepool_times. @complexity O(rows + unfinished tasks). */
LANEPOOL_API void lanepool_times_destroy(lanepool_times *times);

/**
 * Adds events. If the first events of a task are missing, its unknown times are left out.
 * @param events,count As lanepool_trace_read() gave them; count may be 0.
 * @retval LANEPOOL_NOMEM No memory: the times of some of these tasks are lost.
 * @also INVALID. @complexity O(events + lanes of the tasks that end).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_times_add(lanepool_times *times, const lanepool_event *events, size_t count);

/**
 * Forgets unfinished tasks, but no added-up time. Call it when the reader has missed events.
 * @complexity O(unfinished tasks).
 */
LANEPOOL_API void lanepool_times_forget_pending(lanepool_times *times);

/**
 * Reads the times by lane and by tag, in the order in which these first appeared.
 * @param rows     Receives up to `capacity` rows; may be NULL if that is 0.
 * @param capacity The room in rows.
 * @return The number of all rows.
 * @complexity O(rows).
 */
LANEPOOL_API size_t
lanepool_times_rows(const lanepool_times *times, lanepool_times_row *rows, size_t capacity);

/**
 * Reads the workers' time up to the last event; meaningless if only a sample was recorded.
 * @param workers Receives the times.
 */
LANEPOOL_API void
lanepool_times_of_workers(const lanepool_times *times, lanepool_times_workers *workers);

/** @} */

/**
 * @defgroup metrics Metrics
 * Counters and times of pools as text for monitoring systems: Prometheus' text format 0.0.4.
 * docs/production.md says what to alarm on. @{
 */

/** One pool on a page of metrics. The library keeps none of it. */
typedef struct lanepool_metrics_source {
    const char *pool;            /**< the label `pool`, in UTF-8; a single pool needs none: NULL */
    const lanepool_stats *stats; /**< required */
    const lanepool_worker_stats *workers; /**< NULL if worker_count is 0 */
    size_t worker_count;                  /**< those of which lines are written */
    const lanepool_times *times; /**< histograms of each tag, and the workers' time; NULL: none. No
                                      thread may add to it during the call */
    const void *reserved[3];     /**< NULL */
} lanepool_metrics_source;

/**
 * Writes metrics of pools, grouped as the format requires: call it once for all pools of a page.
 * Durations are in seconds. A histogram has a bucket for each power of four from 1.023 microseconds
 * to 73 minutes. There is no line for a lane, since programs have too many of them.
 * @param sources Each with another `pool`.
 * @param count   May be 0.
 * @retval LANEPOOL_INVALID write is NULL, `stats` or needed `workers` are NULL, a reserved member
 *     is not NULL, or two sources have the same `pool`. Nothing was written.
 * @threads Any thread; blocks only if write does. @complexity O(sources^2 + workers + tags).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_metrics_write(
    const lanepool_metrics_source *sources, size_t count, lanepool_write_fn write, void *context);

/** @} */

LANEPOOL_C_END

#endif
