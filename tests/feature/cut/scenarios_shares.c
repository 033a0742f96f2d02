/* Cuts whose visitors take several lanes at once: a slow visit delays none of the others. */
#include <string.h>

#include "property/world.h"
#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { LANES = 6, PATIENCE = 1000 };

static struct {
    lanepool_pool *pool;
    size_t slow; /* its visit waits until all others were made */
    _Atomic uint32_t visits[LANES];
    _Atomic uint32_t visited, calls;
} row;

static int visit(lanepool_run *run, void *context, size_t index)
{
    (void)run;
    (void)context;
    for (int i = 0; index == row.slow && i < PATIENCE && atomic_load(&row.visited) < LANES - 1; i++)
        sim_sleep(5);
    EXPECT(index != row.slow || atomic_load(&row.visited) == LANES - 1);
    atomic_fetch_add(&row.visits[index], 1);
    atomic_fetch_add(&row.visited, 1);
    return 0;
}

static int end(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    for (size_t i = 0; i < LANES; i++)
        EXPECT(atomic_load(&row.visits[i]) == 1);
    atomic_fetch_add(&row.calls, 1);
    return 0;
}

static void play_slow_visit(size_t slow)
{
    lanepool_claim claims[LANES];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    memset(&row, 0, sizeof row);
    row.slow = slow;
    options.workers = 2;
    EXPECT_STATUS(OK, lanepool_pool_create(&options, &row.pool));
    for (size_t i = 0; i < LANES; i++)
        claims[i] = lanepool_exclusive(i);
    sim_explore_from_here();
    EXPECT_STATUS(
        OK, lanepool_pool_submit(row.pool, LANEPOOL_TASK(.function = end, .at_lane = visit,
                                                         .claims = claims, .claim_count = LANES)));
    sim_sleep(5);
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_pool_destroy(row.pool));
    EXPECT(atomic_load(&row.calls) == 1);
}

/* The first visitor makes the first visit, then takes several lanes. */
SCENARIO(scenario_86_a_slow_visit_delays_no_other, EXHAUSTIVE)
{
    play_slow_visit(1);
}

SCENARIO(scenario_86_a_slow_visit_in_any_lane_delays_no_other, RANDOM)
{
    for (size_t slow = 0; slow < LANES; slow++)
        play_slow_visit(slow);
}
