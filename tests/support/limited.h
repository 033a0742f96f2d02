/* Pools with a limit for each lane. */
#ifndef TESTS_SUPPORT_LIMITED_H
#define TESTS_SUPPORT_LIMITED_H

#include "support/step.h"
#include "support/test.h"

static inline lanepool_pool *limited_pool(unsigned workers, size_t lane_pending_max)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.lane_pending_max = lane_pending_max;
    return pool_make_with(&options);
}

/* Submits the step on the lane, if it has room. */
static inline lanepool_status try_on(lanepool_pool *pool, struct step *step, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = step_task(step, &claim, 1);

    return lanepool_pool_submit_within(pool, &task, 0);
}

#endif
