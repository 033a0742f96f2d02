/*
 * The figures of a run: how long tasks waited, were latched and ran, and what workers did.
 */
#ifndef LANEVIEW_STATS_H
#define LANEVIEW_STATS_H

#include "base/text.h"
#include "model/model.h"

/* Durations in nanoseconds; sorted once all are gathered. */
struct stats_measure {
    uint64_t *values;
    size_t count, capacity;
};

enum stats_phase {
    STATS_WAITING, /* lane: from entering to being granted; tag: from submit to ready */
    STATS_LATCHED, /* rollups: from being granted in a lane to the start */
    STATS_RUNNING, /* each attempt; of a cut in a lane: each visit */
    STATS_RETRIED, /* from a failed attempt until the task is ready again */
    STATS_PARKED,  /* from the last failed attempt until it is ready again or ends */
    STATS_PHASES
};

/* A lane, or the tasks with one tag. */
struct stats_group {
    const char *name; /* owned by the model */
    struct stats_measure phases[STATS_PHASES];
};

struct stats {
    struct stats_group *lanes; /* in the order of their names */
    size_t lane_count;
    struct stats_group tags[RECORDING_TAGS]; /* a tag that no task has has no name here */
    uint64_t latched_ns;                     /* heads latched, all lanes together */
    uint64_t latched_waiting_ns;             /* the part of it while others waited behind */
    uint64_t poisoned_ns;                    /* heads parked, all lanes together */
    size_t attempts, failed_attempts;
    size_t retries;      /* how often tasks were ready again */
    size_t parked_count; /* how often tasks were parked */
};

/* The model has been fed all events, and must outlive the figures. */
void stats_gather(struct stats *stats, const struct model *model);
void stats_fini(struct stats *stats);

/* The value that `percent` of a sorted measure do not exceed; 0 for an empty measure. */
uint64_t stats_percentile(const struct stats_measure *measure, unsigned percent);

void stats_write_text(struct text *text, const struct stats *stats, const struct model *model);
void stats_write_json(struct text *json, const struct stats *stats, const struct model *model);

#endif
