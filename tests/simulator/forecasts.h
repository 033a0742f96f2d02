/* Forecasts made in the middle of a run, beside what happened then; see plan_times.c. */
#ifndef TESTS_SIMULATOR_FORECASTS_H
#define TESTS_SIMULATOR_FORECASTS_H

#include "lanepool/lanepool.h"

/* A task that forecasts know by its context. */
struct forecast_task {
    lanepool_plan_task planned;
    lanepool_plan_time seen; /* by the monotonic clock less `begin_ns` of the run */
    uint64_t forecast_ns;    /* when it was to start, in the same way; UINT64_MAX: no forecast */
    size_t before;           /* as forecast */
    size_t before_seen;      /* as found by comparing each two tasks */
};

/* Takes a snapshot of a pool with such tasks, and forecasts the start of each that has not started.
 * Returns false if a call fails. */
bool forecasts_take(lanepool_pool *pool, uint64_t begin_ns);

/* Returns the first task that did not start when the forecast said, give or take `off_ns`, or that
 * had another number of tasks before it; `count` if there is none. */
size_t forecasts_find_wrong(const struct forecast_task *tasks, size_t count, uint64_t off_ns);

#endif
