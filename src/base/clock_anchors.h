/*
 * Conversion of ticks to times. Events are stamped with ticks: of the processor's counter where it
 * is usable (platform.h), else of the monotonic clock itself. Readers convert ticks to the clock's
 * nanoseconds.
 *
 * An anchor is what counter and clock said at one moment. The first one is taken at the start; a
 * reader of an event later than the newest anchor adds one. Times between two anchors are
 * interpolated, so they follow the clock, which the system may speed up or slow down. Anchors never
 * change, and each is later than the one before. So readers that find the same anchors around the
 * same ticks compute the same time.
 *
 * The anchors are in a ring, which is written and read like a ring of events (event_ring.h). A
 * reader that finds another one adding does not store its own anchor. It does not wait either: it
 * may be a signal handler that has interrupted the other. A reader that has missed anchors uses
 * those that are left; times between them are less exact.
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
    lanepool_i_clock_anchor first; /* I */
    _Atomic bool taken;            /* A: a reader is adding an anchor */
    _Atomic uint64_t written;      /* A: written by the reader that has set `taken` */
    _Atomic uint64_t words[2 * LANEPOOL_I_CLOCK_ANCHORS]; /* A: as `written` */
} lanepool_i_clock_anchors;

/* A reader's position among the anchors. One reader uses it. */
typedef struct lanepool_i_clock_time {
    lanepool_i_clock_anchors *anchors; /* NULL if ticks are the clock's */
    uint64_t next;                     /* number of the next anchor to read */
    lanepool_i_clock_anchor before, after;
} lanepool_i_clock_time;

/* Takes the first anchor. Returns NULL if memory cannot be allocated. */
lanepool_i_clock_anchors *lanepool_i_clock_anchors_create(void);
void lanepool_i_clock_anchors_free(lanepool_i_clock_anchors *anchors);

lanepool_i_clock_time lanepool_i_clock_time_begin(lanepool_i_clock_anchors *anchors);
/* Returns the time of ticks that were taken before this call. */
uint64_t lanepool_i_clock_time_of(lanepool_i_clock_time *time, uint64_t ticks);

#endif
