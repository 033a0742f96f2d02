/**
 * @file
 * How long tasks wait, stand latched, stand ready and run: by lane and by tag, from events; and why
 * workers idle.
 *
 * A program that records events (trace.h) reads them now and then and adds them here, in the order
 * in which it reads them. Durations are kept in histograms of a fixed size, some 10 KiB for each
 * lane or tag, so that what this takes is bounded but for pending tasks.
 */
#ifndef LANEPOOL_TIMES_H
#define LANEPOOL_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/status.h"
#include "lanepool/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As `object_type` of a row: all lanes for which there was no row of their own. */
#define LANEPOOL_TIMES_OTHERS ((uint8_t)255)

/** What was added up so far. */
typedef struct lanepool_times lanepool_times;

/** Some durations, in nanoseconds; 0 everywhere if there are none. Percentiles are at most 7 % too
 * large; the longest is exact. */
typedef struct lanepool_durations {
    uint64_t count;  /**< how many */
    uint64_t p50_ns; /**< half of them were at most so long */
    uint64_t p99_ns; /**< 99 in 100 were */
    uint64_t max_ns; /**< the longest */
} lanepool_durations;

/** The times of the tasks of one lane, or with one tag. */
typedef struct lanepool_times_row {
    uint64_t object;            /**< the lane as in events, or the tag */
    uint8_t object_type;        /**< a lanepool_event_lane; 0: this is a tag; or OTHERS */
    lanepool_durations waiting; /**< behind others: in this lane; of a tag, from ROUTE to READY */
    lanepool_durations latched; /**< at the head of this lane, while a rollup waited for others; of
                                   a tag, from its first arrival on. Of rollups only */
    lanepool_durations ready;   /**< for a worker; before each attempt anew */
    lanepool_durations running; /**< from START to END; of a task that is tried again, or kept, what
                                   its attempts took together, each from START to RETRY, KEEP or
                                   END. What lies between them is in none of these */
} lanepool_times_row;

/** What all workers together did with their time, in nanoseconds. */
typedef struct lanepool_times_workers {
    uint64_t running_ns; /**< running tasks */
    uint64_t idle_ns;    /**< asleep while no routed task waited in lanes, and none was ready */
    uint64_t idle_blocked_ns; /**< asleep while some waited in lanes, and none was ready */
    uint64_t idle_ready_ns;   /**< asleep while some task was ready: being woken */
} lanepool_times_workers;

/**
 * Makes an empty one.
 *
 * @param lanes_max How many lanes get a row of their own, the first ones; further ones share a row.
 *
 * @param times Receives it; the caller destroys it. NULL on failure.
 * @retval LANEPOOL_OK      Done.
 * @retval LANEPOOL_INVALID times is NULL, or lanes_max is 0.
 * @retval LANEPOOL_NOMEM   Memory is lacking.
 * @par Threads
 * This and all other functions here: any thread, one at a time for each lanepool_times.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_times_create(size_t lanes_max,
                                                                       lanepool_times **times);

/** Destroys it; NULL does nothing. */
LANEPOOL_API void lanepool_times_destroy(lanepool_times *times);

/**
 * Adds events. Of a task whose first events are not among them, what is not known is left out.
 *
 * @param times  What to add to.
 * @param events `count` of them, as lanepool_trace_read() gave them.
 * @param count  May be 0.
 * @retval LANEPOOL_OK      Done.
 * @retval LANEPOOL_INVALID An argument is NULL.
 * @retval LANEPOOL_NOMEM   Memory is lacking: of some of these tasks nothing will be known.
 * @par Complexity
 * O(events), for a task's last one O(its lanes).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_times_add(lanepool_times *times,
                                                                    const lanepool_event *events,
                                                                    size_t count);

/**
 * Forgets the tasks that are under way, not what was added up: to be called when the reader has
 * missed events, since some tasks' ends may be among them.
 */
LANEPOOL_API void lanepool_times_forget_pending(lanepool_times *times);

/**
 * The times by lane and by tag, in the order in which these first appeared.
 *
 * @param times    What was added up.
 * @param rows     Receives up to `capacity` rows; may be NULL when that is 0.
 * @param capacity How many fit.
 * @return How many rows there are, those that did not fit included.
 * @par Complexity
 * O(rows).
 */
LANEPOOL_API size_t lanepool_times_rows(const lanepool_times *times, lanepool_times_row *rows,
                                        size_t capacity);

/** The workers' time, up to the last event; of a sample of the tasks it says nothing. */
LANEPOOL_API void lanepool_times_of_workers(const lanepool_times *times,
                                            lanepool_times_workers *workers);

#ifdef __cplusplus
}
#endif

#endif
