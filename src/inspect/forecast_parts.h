/*
 * A snapshot as a plan, shared by the files that make forecasts from it.
 */
#ifndef LANEPOOL_SRC_INSPECT_FORECAST_PARTS_H
#define LANEPOOL_SRC_INSPECT_FORECAST_PARTS_H

#include "inspect/plan_parts.h"

/* A task of the plan is one of the snapshot, or the *gate* of a paused lane, which never ends. The
 * plan's lanes have numbers: a lane's index in the snapshot; or, from the count of these on, the
 * index of a task that others are `behind`. */
typedef struct lanepool_i_forecast_plan {
    const lanepool_snapshot *snapshot;
    lanepool_plan *plan;
    size_t *task_of;           /* by number in the plan; NONE: a gate */
    size_t target;             /* the number of the task in question */
    lanepool_plan_time *times; /* by number in the plan */
    uint64_t *granted_ns;      /* by entry of the plan; UINT64_MAX: never */
} lanepool_i_forecast_plan;

/* Sets all but `undated`, after the run. The task has not started, and is not parked. Returns false
 * if memory cannot be allocated. */
bool lanepool_i_forecast_decide(const lanepool_i_forecast_plan *made, lanepool_forecast *forecast);

/* A forecast without a time. */
static inline lanepool_forecast lanepool_i_forecast_of(lanepool_forecast_limit limit)
{
    return (lanepool_forecast){
        .limit = limit,
        .start_ns = limit == LANEPOOL_FORECAST_STARTED ? 0 : LANEPOOL_FOREVER,
        .task = LANEPOOL_SNAPSHOT_NONE,
        .lane = LANEPOOL_SNAPSHOT_NONE,
    };
}

#endif
