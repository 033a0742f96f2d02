/* Forecasts for tasks of pools. Without events, a running task counts as if it had just been
 * called, so that times are exact. */
#include <stdio.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { A = 1, B = 2, FREE = 9, TEXT_MAX = 4096, EVENTS = 64 };
#define MS      UINT64_C(1000000)
#define HOUR_NS UINT64_C(3600000000000)

/* A step that takes so long; 0: not known. */
struct timed {
    struct step step;
    uint64_t ns;
};

static bool expect_timed(void *user, const lanepool_snapshot *snapshot, size_t task,
                         lanepool_expected *expected)
{
    const struct timed *timed = snapshot->tasks[task].context;

    (void)user;
    expected->duration_ns = timed->ns;
    return timed->ns != 0;
}

static lanepool_future *submit_timed(lanepool_pool *pool, struct timed *timed, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = step_task(&timed->step, &claim, 1);
    lanepool_future *future;

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static lanepool_forecast forecast_of(lanepool_future *future)
{
    lanepool_snapshot_place place;
    lanepool_forecast forecast;

    expect_ok(lanepool_snapshot_locate(future, &place));
    expect_eq(place.where, LANEPOOL_SNAPSHOT_FOUND);
    expect_ok(
        lanepool_snapshot_forecast(place.snapshot, place.task, expect_timed, NULL, &forecast));
    for (size_t i = 0; i < sizeof forecast.reserved / sizeof forecast.reserved[0]; i++) {
        expect_eq(forecast.reserved[i], 0);
    }
    lanepool_snapshot_release(place.snapshot);
    return forecast;
}

static void expect_forecast(lanepool_future *future, lanepool_forecast_limit limit,
                            uint64_t start_ns, size_t before)
{
    lanepool_forecast forecast = forecast_of(future);

    expect_eq(forecast.limit, limit);
    expect_eq(forecast.start_ns, start_ns);
    expect_eq(forecast.before, before);
}

static void expect_line(lanepool_future *future, const char *wanted)
{
    char text[TEXT_MAX] = "";
    lanepool_forecast forecast;

    expect_ok(lanepool_explain_forecast(future, expect_timed, NULL, &forecast, text_append, text));
    expect_eq(forecast.task, LANEPOOL_SNAPSHOT_NONE);
    expect_eq(forecast.lane, LANEPOOL_SNAPSHOT_NONE);
    if (strstr(text, wanted) == NULL) {
        printf("%s", text);
    }
    expect(strstr(text, wanted) != NULL);
}

/* --- lanes and workers --- */

Test(plan_forecast, tasks_wait_for_lanes)
{
    struct gate gate;
    struct timed runs = { { .gate = &gate }, 100 * MS };
    struct timed second = { .ns = 30 * MS }, third = { .ns = MS };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *futures[3] = { submit_timed(pool, &runs, A) };
    expect(gate_await(&gate, 1));
    futures[1] = submit_timed(pool, &second, A);
    futures[2] = submit_timed(pool, &third, A);
    expect_forecast(futures[0], LANEPOOL_FORECAST_STARTED, 0, 0);
    expect_forecast(futures[1], LANEPOOL_FORECAST_RUNNING, 100 * MS, 1);
    expect_forecast(futures[2], LANEPOOL_FORECAST_LANE, 130 * MS, 2);
    expect_eq(forecast_of(futures[1]).undated, 1);
    expect_line(futures[0], "\nit has started\n");
    expect_line(futures[1],
                "\nit starts in about 100 ms, after 1 task: then task 0, which runs now, leaves "
                "lane 1\n");
    expect_line(futures[2],
                "\nit starts in about 130 ms, after 2 tasks: then task 1 leaves lane 1\n");
    gate_open(&gate, 1);
    for (int i = 0; i < 3; i++) {
        future_finish(futures[i]);
    }
    pool_end(pool);
    gate_fini(&gate);
}

Test(plan_forecast, tasks_wait_for_workers)
{
    struct gate gate;
    struct timed slow = { { .gate = &gate }, 100 * MS }, quick = { { .gate = &gate }, 5 * MS };
    struct timed first = { .ns = 7 * MS }, second = { .ns = MS };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *futures[4] = { submit_timed(pool, &slow, 1), submit_timed(pool, &quick, 2) };
    expect(gate_await(&gate, 2));
    futures[2] = submit_timed(pool, &first, 3);
    futures[3] = submit_timed(pool, &second, 4);
    expect_forecast(futures[2], LANEPOOL_FORECAST_WORKER, 5 * MS, 0);
    expect_forecast(futures[3], LANEPOOL_FORECAST_WORKER, 12 * MS, 0);
    expect_line(futures[3], "\nit starts in about 12 ms: then task 2 ends, and a worker is free\n");
    gate_open(&gate, 2);
    for (int i = 0; i < 4; i++) {
        future_finish(futures[i]);
    }
    pool_end(pool);
    gate_fini(&gate);
}

Test(plan_forecast, a_barrier_waits_for_all_and_holds_others_back)
{
    struct gate gate;
    struct timed slow = { { .gate = &gate }, 50 * MS }, quick = { { .gate = &gate }, 10 * MS };
    struct timed all = { .ns = 5 * MS }, later = { .ns = MS };
    lanepool_claim everything = lanepool_claim_all();
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_task barrier = step_task(&all.step, &everything, 1);
    lanepool_future *futures[4];

    gate_init(&gate);
    futures[0] = submit_timed(pool, &slow, A);
    futures[1] = submit_timed(pool, &quick, B);
    expect(gate_await(&gate, 2));
    barrier.future = &futures[2];
    expect_ok(lanepool_pool_submit(pool, &barrier));
    futures[3] = submit_timed(pool, &later, FREE);
    expect_forecast(futures[2], LANEPOOL_FORECAST_RUNNING, 50 * MS, 2);
    expect_forecast(futures[3], LANEPOOL_FORECAST_LANE, 55 * MS, 3);
    expect_line(futures[3], "\nit starts in about 55 ms, after 3 tasks: then task 2 ends\n");
    gate_open(&gate, 2);
    for (int i = 0; i < 4; i++) {
        future_finish(futures[i]);
    }
    pool_end(pool);
    gate_fini(&gate);
}

static bool never(const lanepool_task_view *later, const lanepool_task_view *earlier, void *user)
{
    (void)later, (void)earlier, (void)user;
    return false;
}

Test(plan_forecast, with_a_rule_tasks_wait_for_tasks)
{
    struct gate gate;
    struct timed runs = { { .gate = &gate }, 20 * MS }, waits = { .ns = MS };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_future *future;

    options.workers = 2;
    options.is_compatible = never;
    lanepool_pool *pool = pool_make_with(&options);
    gate_init(&gate);
    lanepool_task task = step_task(&runs.step, NULL, 0);
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    task = step_task(&waits.step, NULL, 0);
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_forecast(future, LANEPOOL_FORECAST_RUNNING, 20 * MS, 1);
    gate_open(&gate, 1);
    future_finish(future);
    pool_end(pool);
    gate_fini(&gate);
}

static int visit_nothing(lanepool_run *run, void *context, size_t index)
{
    (void)run, (void)context, (void)index;
    return 0;
}

static bool expect_visits(void *user, const lanepool_snapshot *snapshot, size_t task,
                          lanepool_expected *expected)
{
    expected->visit_ns = 3 * MS;
    return expect_timed(user, snapshot, task, expected);
}

Test(plan_forecast, a_cut_lets_tasks_pass_where_it_has_been)
{
    struct gate gate;
    struct timed runs = { { .gate = &gate }, 20 * MS }, reads = { .ns = 7 * MS };
    struct timed passes = { .ns = MS };
    lanepool_claim claims[] = { lanepool_exclusive(A), lanepool_exclusive(B) };
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);
    lanepool_task cut = step_task(&reads.step, claims, 2);
    lanepool_snapshot *snapshot;
    lanepool_forecast forecast;

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &runs.step, A));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_pause(pool)); /* no visit is made */
    cut.at_lane = visit_nothing;
    expect_ok(lanepool_pool_submit(pool, &cut));
    expect_ok(step_submit_on(pool, &passes.step, B));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 3);
    expect_eq(snapshot->tasks[0].form, LANEPOOL_PLAN_PLAIN);
    expect_eq(snapshot->tasks[1].form, LANEPOOL_PLAN_CUT);
    lanepool_snapshot resumed = *snapshot;
    resumed.paused = false;
    expect_ok(lanepool_snapshot_forecast(&resumed, 2, expect_visits, NULL, &forecast));
    expect_eq(forecast.limit, LANEPOOL_FORECAST_LANE);
    expect_eq(forecast.start_ns, 3 * MS); /* the cut has visited B */
    expect_eq(forecast.before, 1);
    expect_ok(lanepool_snapshot_forecast(&resumed, 1, expect_visits, NULL, &forecast));
    expect_eq(forecast.limit, LANEPOOL_FORECAST_RUNNING);
    expect_eq(forecast.start_ns, 23 * MS); /* it visits A, then its function is called */
    lanepool_snapshot_release(snapshot);
    expect_ok(lanepool_pool_resume(pool));
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- no forecast --- */

Test(plan_forecast, no_end_of_a_task_of_unknown_duration_is_known)
{
    struct gate gate;
    struct timed runs = { { .gate = &gate }, 0 };
    struct timed behind = { .ns = MS }, last = { .ns = MS }, other = { .ns = MS };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *futures[4] = { submit_timed(pool, &runs, A) };
    expect(gate_await(&gate, 1));
    futures[1] = submit_timed(pool, &behind, A);
    futures[2] = submit_timed(pool, &last, A);
    futures[3] = submit_timed(pool, &other, FREE);
    for (int i = 1; i < 4; i++) {
        lanepool_forecast forecast = forecast_of(futures[i]);

        expect_eq(forecast.limit, LANEPOOL_FORECAST_ENDLESS);
        expect_eq(forecast.start_ns, LANEPOOL_FOREVER);
        expect_eq(forecast.task, 0);
    }
    expect_line(futures[2], "\nits start is not known: task 0 has no known duration\n");
    gate_open(&gate, 1);
    for (int i = 0; i < 4; i++) {
        future_finish(futures[i]);
    }
    pool_end(pool);
    gate_fini(&gate);
}

Test(plan_forecast, paused_pools_and_lanes_are_named)
{
    struct timed waits = { .ns = MS };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, lanepool_key_id(A), &lane));
    expect_ok(lanepool_lane_pause(lane));
    lanepool_future *future = submit_timed(pool, &waits, A);
    expect_forecast(future, LANEPOOL_FORECAST_PAUSED, LANEPOOL_FOREVER, 0);
    expect_line(future, "\nits start is not known: lane 1 is paused\n");
    expect_ok(lanepool_pool_pause(pool));
    expect_forecast(future, LANEPOOL_FORECAST_PAUSED, LANEPOOL_FOREVER, 0);
    expect_line(future, "\nits start is not known: the pool is paused\n");
    expect_ok(lanepool_pool_resume(pool));
    expect_ok(lanepool_lane_resume(lane));
    lanepool_lane_release(lane);
    future_finish(future);
    pool_end(pool);
}

Test(plan_forecast, parked_tasks_never_end)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    struct timed parked = { { .code = 1 }, MS }, behind = { .ns = MS };
    lanepool_claim claim = lanepool_exclusive(A);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&parked.step, &claim, 1);
    lanepool_future *first, *second;

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.on_failure = &policy;
    task.future = &first;
    expect_ok(lanepool_pool_submit(pool, &task));
    second = submit_timed(pool, &behind, A);
    expect_status(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect_forecast(first, LANEPOOL_FORECAST_PARKED, LANEPOOL_FOREVER, 0);
    expect_forecast(second, LANEPOOL_FORECAST_PARKED, LANEPOOL_FOREVER, 1);
    expect_line(second, "\nits start is not known: task 0 is parked until it is resolved\n");
    expect_ok(lanepool_pool_destroy_now(pool));
    lanepool_future_release(first);
    lanepool_future_release(second);
}

/* --- delays --- */

Test(plan_forecast, a_retry_starts_when_it_is_due)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    struct timed fails = { { .code = 1 }, 2 * MS }, behind = { .ns = MS };
    lanepool_claim claim = lanepool_exclusive(A);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&fails.step, &claim, 1);
    lanepool_snapshot_place place;
    lanepool_forecast forecast;
    lanepool_future *first;

    policy.retries = 1;
    policy.delay_ns = policy.delay_max_ns = HOUR_NS;
    task.on_failure = &policy;
    task.future = &first;
    expect_ok(lanepool_pool_submit(pool, &task));
    lanepool_future *second = submit_timed(pool, &behind, A);
    for (bool fails_again = false; !fails_again;) {
        expect_ok(lanepool_snapshot_locate(first, &place));
        fails_again = place.where == LANEPOOL_SNAPSHOT_FOUND &&
                      place.snapshot->tasks[place.task].state == LANEPOOL_SNAPSHOT_RETRYING;
        if (!fails_again) {
            lanepool_snapshot_release(place.snapshot);
        }
    }
    uint64_t left_ns = place.snapshot->tasks[place.task].retry_ns - place.snapshot->time_ns;
    expect_ok(lanepool_snapshot_forecast(place.snapshot, 0, expect_timed, NULL, &forecast));
    expect_eq(forecast.limit, LANEPOOL_FORECAST_DELAY);
    expect_eq(forecast.start_ns, left_ns);
    expect_ok(lanepool_snapshot_forecast(place.snapshot, 1, expect_timed, NULL, &forecast));
    expect_eq(forecast.limit, LANEPOOL_FORECAST_LANE);
    expect_eq(forecast.start_ns, left_ns + 2 * MS);
    lanepool_snapshot_release(place.snapshot);
    expect_line(first, ": it is not due before\n");
    expect_ok(lanepool_pool_destroy_now(pool));
    lanepool_future_release(first);
    lanepool_future_release(second);
}

Test(plan_forecast, tasks_outside_of_snapshots_have_forecasts_too)
{
    struct timed later = { .ns = MS }, over = { .ns = MS };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&later.step, NULL, 0);
    char text[TEXT_MAX] = "";
    lanepool_forecast forecast;
    lanepool_future *future;

    task.future = &future;
    expect_ok(lanepool_pool_submit_after(pool, &task, (int64_t)HOUR_NS));
    expect_ok(lanepool_explain_forecast(future, expect_timed, NULL, &forecast, text_append, text));
    expect_eq(forecast.limit, LANEPOOL_FORECAST_DELAY);
    expect(forecast.start_ns > 0 && forecast.start_ns <= HOUR_NS);
    expect(strstr(text, "the task is due in ") != NULL);
    lanepool_future_release(future);
    future = submit_timed(pool, &over, A);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    expect_ok(lanepool_explain_forecast(future, expect_timed, NULL, &forecast, text_append, text));
    expect_eq(forecast.limit, LANEPOOL_FORECAST_STARTED);
    expect_eq(forecast.start_ns, 0);
    lanepool_future_release(future);
    expect_ok(lanepool_pool_destroy_now(pool));
}

/* --- when tasks have started, and how long they take --- */

/* Returns a pool that records events, and submits a task that runs until the gate opens. */
static lanepool_pool *make_traced_pool(struct timed *runs)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.trace_events = EVENTS;
    lanepool_pool *pool = pool_make_with(&options);
    gate_init(runs->step.gate);
    expect_ok(step_submit_on(pool, &runs->step, A));
    expect(gate_await(runs->step.gate, 1));
    return pool;
}

Test(plan_forecast, events_tell_how_long_a_task_has_run)
{
    struct gate gate;
    struct timed runs = { { .gate = &gate }, HOUR_NS }, behind = { .ns = MS };
    lanepool_snapshot *before, *after;
    lanepool_forecast forecast;
    lanepool_pool *pool = make_traced_pool(&runs);
    lanepool_future *future = submit_timed(pool, &behind, A);

    expect_ok(lanepool_snapshot_take(pool, &before));
    expect_ok(lanepool_snapshot_take(pool, &after));
    uint64_t started_ns = after->tasks[0].started_ns;
    expect(started_ns > 0 && started_ns <= before->time_ns);
    expect_eq(after->tasks[1].started_ns, 0);
    expect_ok(lanepool_snapshot_forecast(after, 1, expect_timed, NULL, &forecast));
    expect_eq(forecast.start_ns, HOUR_NS - (after->time_ns - started_ns));
    expect_eq(forecast.undated, 0);
    runs.ns = 1; /* it has run for longer than that */
    expect_ok(lanepool_snapshot_forecast(after, 1, expect_timed, NULL, &forecast));
    expect_eq(forecast.limit, LANEPOOL_FORECAST_RUNNING);
    expect_eq(forecast.start_ns, 0);
    lanepool_snapshot_release(before);
    lanepool_snapshot_release(after);
    gate_open(&gate, 1);
    future_finish(future);
    pool_end(pool);
    gate_fini(&gate);
}

Test(plan_forecast, a_start_that_was_not_recorded_is_not_known)
{
    struct gate gate;
    struct timed runs = { { .gate = &gate }, HOUR_NS };
    lanepool_snapshot *snapshot;
    lanepool_pool *pool = make_traced_pool(&runs);

    expect_ok(lanepool_trace_choose(pool, 1u << LANEPOOL_EVENT_END, 1));
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_ok(step_submit_on(pool, &runs.step, A));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 1);
    expect_eq(snapshot->tasks[0].state, LANEPOOL_SNAPSHOT_RUNNING);
    expect_eq(snapshot->tasks[0].started_ns, 0);
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(plan_forecast, means_of_tags_are_durations)
{
    struct gate gate;
    struct timed runs = { { .gate = &gate }, 0 };
    lanepool_event events[] = {
        { .time_ns = 1, .task = 1, .detail = 0, .type = LANEPOOL_EVENT_ROUTE },
        { .time_ns = 2, .task = 1, .type = LANEPOOL_EVENT_READY },
        { .time_ns = 10, .task = 1, .type = LANEPOOL_EVENT_START },
        { .time_ns = 20, .task = 1, .type = LANEPOOL_EVENT_END },
        { .time_ns = 31, .task = 2, .detail = 0, .type = LANEPOOL_EVENT_ROUTE },
        { .time_ns = 32, .task = 2, .type = LANEPOOL_EVENT_READY },
        { .time_ns = 40, .task = 2, .type = LANEPOOL_EVENT_START },
        { .time_ns = 70, .task = 2, .type = LANEPOOL_EVENT_END },
    };
    lanepool_expected expected = { 0 };
    lanepool_snapshot *snapshot;
    lanepool_times *times;
    lanepool_pool *pool = make_traced_pool(&runs);

    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_ok(lanepool_times_create(1, &times));
    expect(!lanepool_times_expect(times, snapshot, 0, &expected));
    expect_ok(lanepool_times_add(times, events, sizeof events / sizeof events[0]));
    expect(lanepool_times_expect(times, snapshot, 0, &expected));
    expect_eq(expected.duration_ns, 20);
    expect_eq(expected.visit_ns, 0);
    lanepool_times_destroy(times);
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- arguments --- */

static bool expect_too_much(void *user, const lanepool_snapshot *snapshot, size_t task,
                            lanepool_expected *expected)
{
    (void)user, (void)snapshot, (void)task;
    expected->duration_ns = (uint64_t)INT64_MAX + 1;
    return true;
}

Test(plan_forecast, arguments_are_checked)
{
    struct gate gate;
    struct timed runs = { { .gate = &gate }, MS }, behind = { .ns = MS };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    char text[TEXT_MAX] = "";
    lanepool_snapshot *snapshot;
    lanepool_forecast forecast;

    gate_init(&gate);
    lanepool_future *first = submit_timed(pool, &runs, A);
    lanepool_future *future = submit_timed(pool, &behind, A);
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect(lanepool_snapshot_forecast(NULL, 0, expect_timed, NULL, &forecast) == LANEPOOL_INVALID);
    expect(lanepool_snapshot_forecast(snapshot, 2, expect_timed, NULL, &forecast) ==
           LANEPOOL_INVALID);
    expect(lanepool_snapshot_forecast(snapshot, 1, NULL, NULL, &forecast) == LANEPOOL_INVALID);
    expect(lanepool_snapshot_forecast(snapshot, 1, expect_timed, NULL, NULL) == LANEPOOL_INVALID);
    expect(lanepool_snapshot_forecast(snapshot, 1, expect_too_much, NULL, &forecast) ==
           LANEPOOL_INVALID);
    expect_ok(lanepool_snapshot_forecast(snapshot, 1, expect_timed, NULL, &forecast));
    expect(lanepool_snapshot_write_forecast(NULL, &forecast, text_append, text) ==
           LANEPOOL_INVALID);
    expect(lanepool_snapshot_write_forecast(snapshot, NULL, text_append, text) == LANEPOOL_INVALID);
    expect(lanepool_snapshot_write_forecast(snapshot, &forecast, NULL, text) == LANEPOOL_INVALID);
    forecast.task = 2;
    expect(lanepool_snapshot_write_forecast(snapshot, &forecast, text_append, text) ==
           LANEPOOL_INVALID);
    expect(lanepool_explain_forecast(NULL, expect_timed, NULL, NULL, text_append, text) ==
           LANEPOOL_INVALID);
    expect(lanepool_explain_forecast(future, NULL, NULL, NULL, text_append, text) ==
           LANEPOOL_INVALID);
    expect(lanepool_explain_forecast(future, expect_timed, NULL, NULL, NULL, text) ==
           LANEPOOL_INVALID);
    expect(lanepool_explain_forecast(future, expect_too_much, NULL, NULL, text_append, text) ==
           LANEPOOL_INVALID);
    expect_eq(text[0], '\0');
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    future_finish(first);
    future_finish(future);
    pool_end(pool);
    gate_fini(&gate);
}
