/*
 * Watches a batch: --trace records what its pool does, --live draws it while it runs.
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
    struct recording head; /* a recording without events: names and sizes */
    struct recorder recorder;
    struct live live;
    bool has_recorder, has_live;
};

/*
 * Opens the recording. It is a problem, before anything is changed, if the file cannot be written.
 * watch_fini() must be called in either case.
 */
bool watch_open(struct watch *watch, const struct watch_options *options, struct problem *problem);
void watch_fini(struct watch *watch);

/* Sets the options that a watched pool needs. Called right before the pool is created. */
void watch_prepare(struct watch *watch, lanepool_options *options);

/* The tag of a task that holds a lane because of a failure in an earlier run. */
#define WATCH_TAG_HOLD 6u

/* Returns the tag of a task, which has lane_count lanes. */
uint32_t watch_tag(const struct task *task, size_t lane_count);

/* Called after the pool is created, before its first task. */
void watch_start(struct watch *watch, const struct batch *batch, size_t done_before,
                 lanepool_pool *pool);
/* Called when the pool has ended, before it is destroyed. */
void watch_end(struct watch *watch);

/*
 * Called at the end of a run. Returns true if the run and the recording have succeeded. If both
 * have failed, prints the problem of the recording and leaves that of the run.
 */
bool watch_report(const struct watch *watch, bool has_run, struct problem *problem);

#endif
