/* Periodic tasks: run after run; ended by themselves, by other threads, by a drain, by a stop. */
#include "property/world.h"
#include "simulated/scenarios.h"
#include "simulated/scene.h"

#include <string.h>

enum { SERIES_MAX = 3, RUNS = 3 };
#define TICKET_BIT ((uint64_t)1 << 39)

/* A periodic task and its history. */
struct series {
    lanepool_timer *timer;
    uint32_t stops_at; /* cancels itself in this run; 0: never */
    uint64_t ticket;
    uint64_t run_ended_ns;
    uint64_t period_ns;
    lanepool_period period;
    lanepool_status expected_why; /* OK: CANCELLED or SHUT_DOWN */
    _Atomic uint32_t inside, running, runs, cancels, returns, releases;
};

static struct series all[SERIES_MAX];
static uint64_t key_cell; /* guarded by the lane of "A" */

static void run_series(lanepool_run *run, struct series *series)
{
    uint32_t number = atomic_fetch_add(&series->runs, 1) + 1;
    uint64_t ticket = lanepool_run_ticket(run);

    EXPECT(atomic_load(&series->cancels) == 0);
    EXPECT(number == 1 || ((ticket - series->ticket) & TICKET_BIT) == 0);
    if (number > 1 && series->period == LANEPOOL_FIXED_DELAY)
        EXPECT(sim_now() >= series->run_ended_ns + series->period_ns);
    series->ticket = ticket;
    atomic_store(&series->running, 1);
    key_cell++;
    sim_sleep(5);
    if (number == series->stops_at)
        EXPECT_STATUS(RUNNING, lanepool_timer_cancel(series->timer));
    series->run_ended_ns = sim_now();
    atomic_store(&series->running, 0);
}

static int call_series(lanepool_run *run, void *context)
{
    struct series *series = context;

    EXPECT(atomic_fetch_add(&series->inside, 1) == 0);
    run_series(run, series);
    atomic_fetch_sub(&series->inside, 1);
    return 0;
}

static void cancelled_series(void *context, lanepool_status why)
{
    struct series *series = context;

    EXPECT(why == LANEPOOL_CANCELLED || why == LANEPOOL_SHUT_DOWN);
    EXPECT(series->expected_why == LANEPOOL_OK || series->expected_why == why);
    EXPECT(atomic_fetch_add(&series->inside, 1) == 0);
    atomic_fetch_add(&series->cancels, 1);
    atomic_fetch_sub(&series->inside, 1);
}

static void release_series(void *context)
{
    struct series *series = context;

    EXPECT(atomic_load(&series->cancels) == 1);
    atomic_fetch_add(&series->releases, 1);
}

static void hand_back_series(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct series *series = task->context;

    (void)ticket;
    EXPECT(context == all && task->function == call_series && task->release == release_series);
    if (scene.options.is_compatible == NULL) {
        EXPECT(task->claim_count == 2);
        EXPECT(task->claims[0].key.id == 'A' || task->claims[1].key.id == 'A');
    }
    atomic_fetch_add(&series->returns, 1);
}

static lanepool_status submit_series(struct series *series, int64_t delay_ns, uint64_t period_ns,
                                     lanepool_period period)
{
    lanepool_claim claims[3] = {
        lanepool_exclusive('A'),
        lanepool_claim_of(lanepool_key_bytes("second", 6), LANEPOOL_SHARED), lanepool_shared('A')
    };
    lanepool_task task = LANEPOOL_TASK_INIT;

    series->period_ns = period_ns;
    series->period = period;
    task.function = call_series;
    task.context = series;
    task.claims = claims;
    task.claim_count = scene.options.is_compatible == NULL ? 3 : 0;
    task.release = release_series;
    task.cancelled = cancelled_series;
    task.tag = 3;
    return lanepool_pool_submit_every(scene.pool, &task, delay_ns, period_ns, period,
                                      &series->timer);
}

/* The program's rule: all tasks conflict. */
static bool nothing_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b,
                                  void *user)
{
    (void)user;
    EXPECT(a->context != NULL && b->context != NULL);
    return false;
}

static lanepool_options some_options(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 1 + scene_variant(2);
    options.layout = (lanepool_layout)(scene_variant(4) / 2);
    options.is_compatible = scene_seed / 4 % 3 == 0 ? nothing_is_compatible : NULL;
    return options;
}

static bool try_open_series(const lanepool_options *options)
{
    memset(all, 0, sizeof all);
    key_cell = 0;
    return scene_try_open(options);
}

static void open_series(void)
{
    lanepool_options options = some_options();
    EXPECT(try_open_series(&options));
}

/* Checks that the periodic task had its one last call. */
static void judge_series(struct series *series)
{
    uint32_t ends = atomic_load(&series->cancels) + atomic_load(&series->returns);

    EXPECT(ends == (series->timer != NULL));
    EXPECT(atomic_load(&series->releases) == atomic_load(&series->cancels));
    EXPECT(series->stops_at == 0 || atomic_load(&series->runs) <= series->stops_at);
    if (series->timer != NULL)
        EXPECT_STATUS(DONE, lanepool_timer_cancel(series->timer));
    lanepool_timer_release(series->timer);
}

static void close_series(void)
{
    scene_close();
    for (int i = 0; i < SERIES_MAX; i++)
        judge_series(&all[i]);
}

static void wait_until_over(const struct series *series)
{
    while (atomic_load(&series->releases) == 0)
        sim_sleep(50);
}

SCENARIO(scenario_periodic_ends_itself, RANDOM)
{
    open_series();
    for (uint32_t i = 0; i < 2; i++) {
        all[i].stops_at = RUNS;
        EXPECT_STATUS(OK, submit_series(&all[i], (int64_t)i * 10, 20, (lanepool_period)i));
    }
    for (uint32_t i = 0; i < 2; i++) {
        wait_until_over(&all[i]);
        EXPECT(atomic_load(&all[i].runs) == RUNS);
    }
    close_series();
}

/* A periodic task whose period is too short for it: its runs follow each other, with other tasks
 * between them. */
SCENARIO(scenario_periodic_late_runs_follow_one_by_one, RANDOM)
{
    open_series();
    all[0].stops_at = all[1].stops_at = RUNS;
    EXPECT_STATUS(OK, submit_series(&all[0], -5, 1, LANEPOOL_FIXED_RATE));
    EXPECT_STATUS(OK, submit_series(&all[1], 0, 1, LANEPOOL_FIXED_RATE));
    wait_until_over(&all[0]);
    wait_until_over(&all[1]);
    EXPECT(key_cell == 2 * RUNS);
    close_series();
}

/* Once the cancel has returned, no run starts; if it answered OK, none is running either. */
static void cancel_series(void *argument)
{
    struct series *series = argument;
    lanepool_status status = lanepool_timer_cancel(series->timer);
    uint32_t runs = atomic_load(&series->runs);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
    if (status == LANEPOOL_OK)
        EXPECT(atomic_load(&series->inside) == 0 || atomic_load(&series->cancels) == 1);
    sim_sleep(100);
    if (status != LANEPOOL_RUNNING)
        EXPECT(atomic_load(&series->runs) == runs);
}

SCENARIO(scenario_periodic_cancelled_from_outside, RANDOM)
{
    open_series();
    EXPECT_STATUS(OK, submit_series(&all[0], 0, 15, (lanepool_period)scene_variant(2)));
    EXPECT_STATUS(OK, submit_series(&all[1], 0, 15, LANEPOOL_FIXED_DELAY));
    sim_sleep(scene_seed % 7 * 8);
    scene_spawn(cancel_series, &all[0]);
    cancel_series(&all[0]);
    cancel_series(&all[1]);
    scene_join();
    wait_until_over(&all[0]);
    wait_until_over(&all[1]);
    close_series();
}

static void submit_late(void *argument)
{
    lanepool_status status = submit_series(argument, 10, 10, LANEPOOL_FIXED_RATE);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

/* Cancels all tasks while a run of a periodic task waits for its turn, or between two runs; between
 * two runs nothing is cancelled. */
SCENARIO(scenario_periodic_cancelled_with_everything, RANDOM)
{
    size_t count;

    open_series();
    EXPECT_STATUS(OK, submit_series(&all[0], 0, 5, LANEPOOL_FIXED_RATE));
    EXPECT_STATUS(OK, submit_series(&all[1], 0, 5, LANEPOOL_FIXED_DELAY));
    sim_sleep(scene_seed % 7 * 4);
    EXPECT_STATUS(OK, lanepool_pool_cancel(scene.pool, &count));
    EXPECT(atomic_load(&all[0].cancels) + atomic_load(&all[1].cancels) == count);
    (void)lanepool_timer_cancel(all[1].timer);
    wait_until_over(&all[1]);
    close_series();
}

static int run_alone(lanepool_run *run, void *context)
{
    EXPECT(atomic_load(&all[1].running) == 0);
    return call_series(run, context);
}

/* Each run is a barrier. */
SCENARIO(scenario_periodic_that_claims_everything, RANDOM)
{
    lanepool_claim claim = lanepool_claim_all();
    lanepool_task task = LANEPOOL_TASK_INIT;

    open_series();
    all[0].stops_at = all[1].stops_at = RUNS;
    task.function = run_alone;
    task.context = &all[0];
    task.release = release_series;
    task.cancelled = cancelled_series;
    task.claims = &claim;
    task.claim_count = 1;
    EXPECT_STATUS(OK, lanepool_pool_submit_every(scene.pool, &task, 0, 10, LANEPOOL_FIXED_RATE,
                                                 &all[0].timer));
    EXPECT_STATUS(OK, submit_series(&all[1], 0, 10, LANEPOOL_FIXED_RATE));
    wait_until_over(&all[0]);
    wait_until_over(&all[1]);
    close_series();
}

/* A drain ends them, whether it waits for delayed tasks or not. */
SCENARIO(scenario_periodic_ended_by_a_drain, RANDOM)
{
    lanepool_options options = some_options();
    options.drain_waits_for_delayed = scene_seed % 5 < 2;
    EXPECT(try_open_series(&options));
    EXPECT_STATUS(OK, submit_series(&all[0], 0, 15, (lanepool_period)scene_variant(2)));
    EXPECT_STATUS(OK, submit_series(&all[1], 30, 15, LANEPOOL_FIXED_RATE));
    scene_spawn(submit_late, &all[2]);
    sim_sleep(scene_seed % 7 * 8);
    for (int i = 0; i < SERIES_MAX; i++)
        all[i].expected_why = LANEPOOL_SHUT_DOWN;
    close_series();
}

/* The pool ends while the run that a cancel of the timer has asked to stop may still run. */
SCENARIO(scenario_periodic_cancelled_before_a_shutdown, RANDOM)
{
    open_series();
    EXPECT_STATUS(OK, submit_series(&all[0], 0, 15, (lanepool_period)scene_variant(2)));
    sim_sleep(scene_seed % 7 * 4);
    all[0].expected_why = LANEPOOL_CANCELLED;
    (void)lanepool_timer_cancel(all[0].timer);
    if (scene_seed % 3 == 0) {
        atomic_store(&scene.stops, true);
        EXPECT_STATUS(OK, lanepool_pool_shutdown_now(scene.pool, NULL, NULL));
    }
    close_series();
}

SCENARIO(scenario_periodic_handed_back, RANDOM)
{
    bool hands_back = scene_seed % 2 == 0;

    open_series();
    EXPECT_STATUS(OK, submit_series(&all[0], 0, 15, (lanepool_period)scene_variant(2)));
    EXPECT_STATUS(OK, submit_series(&all[1], 30, 15, LANEPOOL_FIXED_RATE));
    scene_spawn(submit_late, &all[2]);
    sim_sleep(scene_seed % 7 * 8);
    if (scene_seed % 3 == 0)
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    if (scene_seed % 5 == 0)
        (void)lanepool_timer_cancel(all[0].timer);
    atomic_store(&scene.stops, true);
    lanepool_status status =
        lanepool_pool_shutdown_now(scene.pool, hands_back ? hand_back_series : NULL, all);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    close_series();
}

/* Blocks that a census retains must return to their periodic tasks. */
SCENARIO(scenario_periodic_beside_snapshots, RANDOM)
{
    lanepool_snapshot *snapshot;

    open_series();
    all[0].stops_at = all[1].stops_at = RUNS;
    EXPECT_STATUS(OK, submit_series(&all[0], 0, 5, LANEPOOL_FIXED_RATE));
    EXPECT_STATUS(OK, submit_series(&all[1], 0, 5, LANEPOOL_FIXED_DELAY));
    for (int i = 0; i < 6; i++) {
        EXPECT_STATUS(OK, lanepool_snapshot_take(scene.pool, &snapshot));
        EXPECT(snapshot->task_count <= 2);
        lanepool_snapshot_release(snapshot);
        sim_sleep(5);
    }
    wait_until_over(&all[0]);
    wait_until_over(&all[1]);
    close_series();
}

/* A periodic task counts as one pending task, during its runs and between them. */
SCENARIO(scenario_periodic_counts_against_the_limit, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 1;
    options.pending_max = 1;
    EXPECT(try_open_series(&options));
    EXPECT_STATUS(OK, submit_series(&all[0], 0, 10, LANEPOOL_FIXED_RATE));
    EXPECT_STATUS(FULL, scene_submit_within(scene_task("B"), 0));
    sim_sleep(30);
    (void)lanepool_timer_cancel(all[0].timer);
    wait_until_over(&all[0]);
    EXPECT_STATUS(OK, scene_submit(scene_task("B")));
    close_series();
}

SCENARIO(scenario_periodic_each_failure_in_turn, FAULTS)
{
    lanepool_options options = some_options();

    if (!try_open_series(&options))
        return;
    for (int i = 0; i < SERIES_MAX; i++) {
        lanepool_status status = submit_series(&all[i], 10 * i, 10, LANEPOOL_FIXED_RATE);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
        EXPECT((status == LANEPOOL_OK) == (all[i].timer != NULL));
    }
    sim_sleep(25);
    (void)lanepool_timer_cancel(all[1].timer);
    world_stop_refusing();
    close_series();
}
