/*
 * Watching a batch: --trace records what its pool does, --live draws it meanwhile.
 */
#ifndef LEDGERBATCH_WATCH_WATCH_H
#define LEDGERBATCH_WATCH_WATCH_H

#include "watch/live.h"
#include "watch/recorder.h"

struct watch_options {
    const char *trace; /* the file of a recording; NULL: none */
    bool is_live, is_ascii;
};

struct watch {
    const struct watch_options *options;
    struct recording head; /* what is known before the first event */
    struct recorder recorder;
    struct live live;
    bool has_recorder, has_live;
};

/* Refuses what cannot be written, before anything has changed. To be finished in either case. */
bool watch_open(struct watch *watch, const struct watch_options *options, struct problem *problem);
void watch_fini(struct watch *watch);

/* What a pool needs to be watched; right before it is created. */
void watch_prepare(struct watch *watch, lanepool_options *options);

/* The tag of what holds a lane because of an earlier run's failure. */
#define WATCH_TAG_HOLD 5u

/* The tag of a task that has so many lanes. */
uint32_t watch_tag(const struct task *task, size_t lane_count);

/* After the pool's creation, before its first task; and when it has ended, before it is destroyed.
 */
void watch_start(struct watch *watch, const struct batch *batch, size_t done_before,
                 lanepool_pool *pool);
void watch_end(struct watch *watch);

/* At the end of a run that has gone well or not: whether watching has, too. When both have failed
 * the run's own problem stays, and the other is printed. */
bool watch_report(const struct watch *watch, bool has_run, struct problem *problem);

#endif
