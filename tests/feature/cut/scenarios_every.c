/* Repeated cuts and progressive rollups beside transfers, a cancel of the series and the pool's
 * end. */
#include <string.h>

#include "simulated/scenarios.h"
#include "simulated/scene.h"

/* The series ends itself after some runs, since a schedule may never run other threads. */
enum { LANES = 3, TRANSFERS = 6, RUNS_MAX = 4 };

static struct {
    lanepool_pool *pool;
    lanepool_timer *timer;
    int64_t cells[LANES]; /* plain memory, guarded by the lanes; transfers keep the sum */
    int64_t seen[LANES];  /* by the visits of this run */
    _Atomic uint32_t visits[LANES];
    _Atomic uint32_t inside, runs, cancels, releases;
    uint32_t transfers[TRANSFERS][2];
    bool stops;
    bool is_rollup; /* the series is a progressive rollup, not a cut */
} till;

static int transfer(lanepool_run *run, void *context)
{
    const uint32_t *lanes = context;

    (void)run;
    till.cells[lanes[0]]--;
    lanepool_i_yield();
    till.cells[lanes[1]]++;
    return 0;
}

static int visit(lanepool_run *run, void *context, size_t index)
{
    (void)context;
    EXPECT(lanepool_run_claim_count(run) == 1);
    EXPECT(atomic_fetch_add(&till.visits[index], 1) == 0);
    atomic_fetch_add(&till.inside, 1);
    till.seen[index] = till.cells[index];
    atomic_fetch_sub(&till.inside, 1);
    return 0;
}

static void cancel_series(void *argument)
{
    (void)argument;
    lanepool_status status = lanepool_timer_cancel(till.timer);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

static int sum_up(lanepool_run *run, void *context)
{
    int64_t sum = 0;

    (void)context;
    EXPECT(atomic_load(&till.inside) == 0);
    EXPECT(lanepool_run_claim_count(run) == (till.is_rollup ? LANES : 0));
    for (uint32_t i = 0; i < LANES; i++) {
        EXPECT(atomic_exchange(&till.visits[i], 0) == 1);
        EXPECT(!till.is_rollup || till.seen[i] == till.cells[i]);
        sum += till.seen[i];
    }
    EXPECT(sum == 0);
    if (atomic_fetch_add(&till.runs, 1) + 1 == RUNS_MAX)
        cancel_series(NULL);
    return 0;
}

static void series_cancelled(void *context, lanepool_status why)
{
    (void)context;
    EXPECT(why == LANEPOOL_CANCELLED || why == LANEPOOL_SHUT_DOWN ||
           (why == LANEPOOL_IN_PARTS && till.stops));
    EXPECT(atomic_load(&till.inside) == 0);
    atomic_fetch_add(&till.cancels, 1);
}

static void series_released(void *context)
{
    (void)context;
    atomic_fetch_add(&till.releases, 1);
}

static void submit_transfers(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < TRANSFERS; i++) {
        uint32_t *lanes = till.transfers[i];
        lanepool_claim claims[2];
        lanes[0] = (uint32_t)((scene_seed >> i) % LANES);
        lanes[1] = (uint32_t)((scene_seed >> 2 * i) % LANES);
        claims[0] = lanepool_exclusive(lanes[0]);
        claims[1] = lanepool_exclusive(lanes[1]);
        lanepool_status status =
            lanepool_pool_submit(till.pool, LANEPOOL_TASK(.function = transfer, .context = lanes,
                                                          .claims = claims, .claim_count = 2));
        EXPECT(status == LANEPOOL_OK || (till.stops && status == LANEPOOL_SHUT_DOWN));
    }
}

static void stop_pool(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_shutdown_now(till.pool, NULL, NULL));
}

static void play_series(bool is_rollup)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim claims[LANES];
    lanepool_mode mode = scene_variant(2) == 0 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;

    memset(&till, 0, sizeof till);
    till.is_rollup = is_rollup;
    till.stops = scene_variant(3) == 0;
    options.workers = 1 + scene_variant(2);
    EXPECT_STATUS(OK, lanepool_pool_create(&options, &till.pool));
    for (uint32_t i = 0; i < LANES; i++)
        claims[i] = lanepool_claim_of(lanepool_key_id(i), mode);
    EXPECT_STATUS(
        OK,
        lanepool_pool_submit_every(
            till.pool,
            LANEPOOL_TASK(.function = sum_up, .claims = claims, .claim_count = LANES,
                          .at_lane = is_rollup ? NULL : visit, .at_grant = is_rollup ? visit : NULL,
                          .cancelled = series_cancelled, .release = series_released),
            scene_variant(2) * 10, 1 + scene_variant(40), LANEPOOL_FIXED_DELAY, &till.timer));
    scene_spawn(submit_transfers, NULL);
    scene_spawn(till.stops ? stop_pool : cancel_series, NULL);
    scene_join();
    cancel_series(NULL);
    lanepool_timer_release(till.timer);
    EXPECT_STATUS(OK, lanepool_pool_destroy(till.pool));
    EXPECT(atomic_load(&till.cancels) == 1);
    EXPECT(atomic_load(&till.releases) == 1);
}

SCENARIO(scenario_83_a_repeated_cut_among_transfers, RANDOM)
{
    play_series(false);
}

/* The function finds each lane as its call has found it. */
SCENARIO(scenario_83_a_repeated_progressive_rollup_among_transfers, RANDOM)
{
    play_series(true);
}
