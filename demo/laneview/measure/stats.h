/*
 * The figures of a run: how long tasks waited, were latched and ran, and what workers did.
 */
#ifndef LANEVIEW_STATS_H
#define LANEVIEW_STATS_H

#include "base/text.h"
#include "model/model.h"

/* Durations, in nanoseconds; sorted once all are there. */
struct stats_measure {
    uint64_t *values;
    size_t count, capacity;
};

enum stats_phase {
    STATS_WAITING, /* of a lane: from enter to arrive; of a tag: from submit to ready */
    STATS_LATCHED, /* of rollups: from a lane's arrive to the start */
    STATS_RUNNING, /* each attempt */
    STATS_RETRIED, /* from an attempt that failed until the task is ready again */
    STATS_PARKED,  /* until it is ready again, or ends: so long its lanes are poisoned */
    STATS_PHASES
};

/* A lane, or the tasks with one tag. */
struct stats_group {
    const char *name; /* of the model */
    struct stats_measure phases[STATS_PHASES];
};

struct stats {
    struct stats_group *lanes; /* in the order of their names */
    size_t lane_count;
    struct stats_group tags[RECORDING_TAGS]; /* those of tasks that there were have a name */
    uint64_t latched_ns;                     /* of all lanes, heads latched */
    uint64_t latched_waiting_ns;             /* of it, while others waited behind */
    uint64_t poisoned_ns;                    /* of all lanes, heads kept */
    size_t attempts, failed_attempts;
    size_t retries;      /* tasks that were ready again */
    size_t parked_count; /* tasks that were kept, each time */
};

/* The model has been fed all events, and outlives the figures. */
void stats_gather(struct stats *stats, const struct model *model);
void stats_fini(struct stats *stats);

/* The value that `percent` of a sorted measure do not exceed; 0 if it is empty. */
uint64_t stats_percentile(const struct stats_measure *measure, unsigned percent);

void stats_write_text(struct text *text, const struct stats *stats, const struct model *model);
void stats_write_json(struct text *json, const struct stats *stats, const struct model *model);

#endif
