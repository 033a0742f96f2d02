/**
 * @file
 * What happens to tasks, lanes and workers, as a stream of events.
 *
 * A pool whose option `trace_events` is not 0 keeps a ring of at least that many events
 * for each of its threads and for each thread that submits. Nothing waits for
 * readers: when a ring is full its oldest event is overwritten, and each reader
 * knows how many it has missed. A pool without rings records nothing, at the
 * cost of a predictable branch for each event.
 *
 * Times are the monotonic clock's. Where the system's clock goes by a counter of the
 * processor, that counter is written, and becomes the clock's time when it is read:
 * exact to a millisecond, and mostly to some 100 ns, unless between two reads the
 * clock's rate was set anew or the machine slept. One thread's times never go back.
 * All readers get the same times, but for one that reads at the same moment as
 * another, or lags a thousand reads behind: there they may differ by as little. ROUTE,
 * READY and RELEASE may have the time of the event before them on their thread.
 *
 * Where the system has <sys/sdt.h> such a pool also has a static probe for each
 * event: provider `lanepool`, the event's name in small letters, with the
 * arguments task, object and detail.
 */
#ifndef LANEPOOL_TRACE_H
#define LANEPOOL_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What has happened. In brackets: what `object` and `detail` say, if anything. */
typedef enum lanepool_event_type {
    LANEPOOL_EVENT_SUBMIT = 1,  /**< a thread is handing a task in [object: its submission] */
    LANEPOOL_EVENT_ROUTE = 2,   /**< the task has its ticket [object: its submission; detail: its
                                     tag]; what it enters follows */
    LANEPOOL_EVENT_ENTER = 3,   /**< the task enters a lane [object: the lane; detail:
                                     LANEPOOL_EVENT_SHARED, LANEPOOL_EVENT_GRANTED] */
    LANEPOOL_EVENT_ARRIVE = 4,  /**< the task, which waited there, has reached the head of a lane:
                                     a rollup that still waits for others is latched there [object:
                                     the lane] */
    LANEPOOL_EVENT_READY = 5,   /**< every lane is granted: the task waits for a worker only */
    LANEPOOL_EVENT_START = 6,   /**< its function is called */
    LANEPOOL_EVENT_END = 7,     /**< its function has returned [detail: a lanepool_status] */
    LANEPOOL_EVENT_RELEASE = 8, /**< the task leaves a lane [object: the lane; detail:
                                     LANEPOOL_EVENT_EARLY] */
    LANEPOOL_EVENT_STEAL = 9,   /**< a worker has taken ready tasks from another's queue [object:
                                     that worker; detail: how many] */
    LANEPOOL_EVENT_PARK = 10,   /**< a worker has found nothing to do and sleeps; it may leave */
    LANEPOOL_EVENT_WAKE = 11,   /**< a worker was woken, or has come back */
    LANEPOOL_EVENT_CANCEL = 12, /**< the task will not run: it is handed back, or called to be told
                                     so; if it has places in lanes, these go in their turn, or at
                                     once; without a ticket [object: its submission], it was refused
                                     because the pool had been shut down meanwhile */
    LANEPOOL_EVENT_NAME = 13,   /**< a part of a lane's name [object: the lane; detail: where in the
                                   name the part stands, and from bit 16 on the size of the whole;
                                   task: up to eight bytes of it, the first one lowest] */
    LANEPOOL_EVENT_RETRY = 14, /**< an attempt has failed, and the task, which keeps its lanes, will
                                   be tried again: READY and START follow [detail: a
                                   lanepool_status] */
    LANEPOOL_EVENT_KEEP = 15,  /**< the last attempt has failed, and the task is kept with its
                                    lanes: READY follows if it is tried again, or END [detail: a
                                    lanepool_status] */
} lanepool_event_type;

/** In the detail of LANEPOOL_EVENT_ENTER. */
#define LANEPOOL_EVENT_SHARED  ((uint32_t)1) /**< the claim is SHARED */
#define LANEPOOL_EVENT_GRANTED ((uint32_t)2) /**< at once: no ARRIVE follows */

/** In the detail of LANEPOOL_EVENT_RELEASE. */
#define LANEPOOL_EVENT_EARLY                                                \
    ((uint32_t)1) /**< the task runs, and gives the lane up before its end; \
                       or it was cancelled, and never had it */

/** What the `object` of ENTER, ARRIVE, RELEASE and NAME identifies: `object_type`. */
typedef enum lanepool_event_lane {
    LANEPOOL_EVENT_LANE_ID = 1,      /**< the lane of a 64-bit number, which is `object` */
    LANEPOOL_EVENT_LANE_POINTER = 2, /**< the lane of an address, which is `object` */
    LANEPOOL_EVENT_LANE_BYTES = 3,   /**< the lane of a byte string; `object` is a number that no
                                          other such lane has at the same time; NAME tells more */
    LANEPOOL_EVENT_LANE_WORKER = 4,  /**< a worker's lane; `object` is its index */
    LANEPOOL_EVENT_LANE_TASK = 5,    /**< no lane: with `is_compatible` a task stands behind others,
                                          each by its ticket */
    LANEPOOL_EVENT_LANE_KIND = 6     /**< likewise: behind the tasks of the kind that `object` is */
} lanepool_event_lane;

/** As `thread`: the numbers of threads that are not workers begin here. */
#define LANEPOOL_EVENT_OUTSIDE ((uint16_t)0x8000)
/** The longest name of a lane that is recorded, in bytes; what is longer is cut. */
#define LANEPOOL_EVENT_NAME_MAX 64u

/** One event. */
typedef struct lanepool_event {
    uint64_t time_ns;    /**< when, by the monotonic clock; see above */
    uint64_t task;       /**< the task's ticket; 0 if the event has none, or it is not known yet */
    uint64_t object;     /**< see lanepool_event_type */
    uint32_t detail;     /**< see lanepool_event_type */
    uint16_t thread;     /**< where: a worker's index; from LANEPOOL_EVENT_OUTSIDE on other threads,
                              each with a number of its own */
    uint8_t type;        /**< a lanepool_event_type */
    uint8_t object_type; /**< of an event with a lane: a lanepool_event_lane */
} lanepool_event;

/** A place in a pool's events. */
typedef struct lanepool_trace_reader lanepool_trace_reader;

/**
 * Makes a reader, which begins with the oldest events that the rings still hold. Several readers
 * do not disturb each other.
 *
 * @param pool   A pool with `trace_events`.
 * @param reader Receives the reader, which the caller closes before the pool is destroyed; NULL on
 *               failure.
 * @retval LANEPOOL_OK      Done.
 * @retval LANEPOOL_INVALID An argument is NULL, or the pool records no events.
 * @retval LANEPOOL_NOMEM   Memory is lacking.
 * @par Threads
 * Any thread, inside tasks and callbacks too; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_trace_open(lanepool_pool *pool, lanepool_trace_reader **reader);

/**
 * Reads the next events, of all threads, sorted by their time.
 *
 * What one event has caused comes after it, in this call or a later one; so each task's events come
 * in their order. Of what happened while this call runs, some is left for the next. Once
 * lanepool_pool_await() has answered LANEPOOL_OK, everything is there to be read.
 *
 * @param reader   The reader.
 * @param events   Receives up to `capacity` events.
 * @param capacity How many fit.
 * @param count    Receives how many were read; 0: there are none yet.
 * @retval LANEPOOL_OK      Done.
 * @retval LANEPOOL_INVALID An argument is NULL.
 * @retval LANEPOOL_NOMEM   Memory is lacking: nothing has been read.
 * @par Threads
 * Any thread, inside tasks and callbacks too, one at a time for each reader; never blocks. Also in
 * a signal handler, such as one for crashes, while at most 16 threads have come to the pool since
 * the reader was opened or has read: it takes no lock, and allocates for more threads only.
 * @par Complexity
 * O(events x threads).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_trace_read(lanepool_trace_reader *reader,
                                                                     lanepool_event *events,
                                                                     size_t capacity,
                                                                     size_t *count);

/**
 * How many events this reader has missed, since they were overwritten before it came, or were
 * about to be. Exact: each event is either read or counted here.
 *
 * @par Threads
 * As for lanepool_trace_read().
 */
LANEPOOL_API uint64_t lanepool_trace_missed(const lanepool_trace_reader *reader);

/**
 * Closes a reader; NULL does nothing.
 *
 * @par Threads
 * As for lanepool_trace_read().
 */
LANEPOOL_API void lanepool_trace_close(lanepool_trace_reader *reader);

/**
 * Chooses what is recorded from now on; at first everything is. Threads that are just writing an
 * event may do so under the earlier choice.
 *
 * A sample of the tasks is enough for how long tasks wait and run, and costs a fraction; what each
 * lane does at each moment cannot be told from it.
 *
 * @param pool  A pool with `trace_events`.
 * @param types A bit (1u << type) for each lanepool_event_type that is wanted; 0: none.
 * @param every Of tasks, those whose ticket is a multiple of it: a power of two; 1: all. Beyond 1
 *              no SUBMIT is recorded, since a task has no ticket then.
 * @retval LANEPOOL_OK      Done.
 * @retval LANEPOOL_INVALID pool is NULL, or records no events, or `every` is no power of two.
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_trace_choose(lanepool_pool *pool,
                                                                       uint32_t types,
                                                                       uint32_t every);

#ifdef __cplusplus
}
#endif

#endif
