/*
 * How ticks become times. Events are stamped with ticks, of the processor's
 * counter where it is usable (platform.h), else of the monotonic clock itself. Whoever
 * reads them turns ticks into the clock's nanoseconds.
 *
 * An anchor is what counter and clock said at one moment. There is one from the
 * beginning, and whoever reads an event that is younger than the newest anchor
 * adds one. Between two anchors time goes evenly: so it follows the clock, which
 * the system may let go faster or slower. Anchors are never changed, and each
 * is younger than the one before, so the same ticks are the same time to all who
 * find the same anchors around them.
 *
 * They stand in a ring, which is written and read like those of events (event_ring.h).
 * Whoever finds another one adding goes without: nobody waits here, since a reader
 * may be a signal handler that has stopped the other. A reader that has missed
 * anchors takes those that there are: what lies between them is less exact.
 */
#ifndef LANEPOOL_SRC_BASE_CLOCK_ANCHORS_H
#define LANEPOOL_SRC_BASE_CLOCK_ANCHORS_H

#include "base/atomic.h"
#include "base/sizes.h"

typedef struct lanepool_i_clock_anchor {
    uint64_t ticks;
    uint64_t ns;
} lanepool_i_clock_anchor;

/* Guards: I immutable, A atomic. */
typedef struct lanepool_i_clock_anchors {
    lanepool_i_clock_anchor first;                        /* I */
    _Atomic bool taken;                                   /* A: someone is adding one */
    _Atomic uint64_t written;                             /* A: who has it taken writes */
    _Atomic uint64_t words[2 * LANEPOOL_I_CLOCK_ANCHORS]; /* A: likewise */
} lanepool_i_clock_anchors;

/* A reader's place among them. Guards: one reader's. */
typedef struct lanepool_i_clock_time {
    lanepool_i_clock_anchors *anchors; /* NULL: ticks are the clock's */
    uint64_t next;                     /* the anchor to be looked at */
    lanepool_i_clock_anchor before, after;
} lanepool_i_clock_time;

/* Takes the first one; NULL: memory is lacking. */
lanepool_i_clock_anchors *lanepool_i_clock_anchors_create(void);
void lanepool_i_clock_anchors_free(lanepool_i_clock_anchors *anchors);

lanepool_i_clock_time lanepool_i_clock_time_begin(lanepool_i_clock_anchors *anchors);
/* The time of ticks that were taken before this call. */
uint64_t lanepool_i_clock_time_of(lanepool_i_clock_time *time, uint64_t ticks);

#endif
