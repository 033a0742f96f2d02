/* Plans that tests make and run. */
#ifndef TESTS_FEATURE_PLAN_PLANS_H
#define TESTS_FEATURE_PLAN_PLANS_H

#include <stdarg.h>
#include <string.h>

#include "lanepool/lanepool.h"
#include "support/test.h"

static inline lanepool_plan *plan_make(void)
{
    lanepool_plan *plan;

    expect_ok(lanepool_plan_create(&plan));
    return plan;
}

/* Adds a task with `count` claims, at most 3. */
static inline void plan_add(lanepool_plan *plan, uint64_t duration_ns, size_t count, ...)
{
    lanepool_claim claims[3];
    lanepool_plan_task task = { .claims = claims,
                                .claim_count = count,
                                .duration_ns = duration_ns };
    va_list list;

    va_start(list, count);
    for (size_t i = 0; i < count; i++) {
        claims[i] = va_arg(list, lanepool_claim);
    }
    va_end(list);
    expect_ok(lanepool_plan_add(plan, &task));
}

static inline lanepool_plan_result plan_times_by(const lanepool_plan *plan, unsigned workers,
                                                 lanepool_plan_time *times)
{
    lanepool_plan_pool pool = { .workers = workers };
    lanepool_plan_result result;

    expect_ok(lanepool_plan_run(plan, &pool, &result, times));
    return result;
}

static inline lanepool_plan_result plan_run_by(const lanepool_plan *plan, unsigned workers)
{
    return plan_times_by(plan, workers, NULL);
}

#endif
