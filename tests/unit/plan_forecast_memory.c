/* Forecasts whose memory is refused: nothing is lost. */
#include "inspect_memory.h"

#include "lanepool/plan.h"
#include "support/test.h"

enum { TASKS = 4, ENTRIES = 5, LANES = 2, BEHIND = 1 };
#define NONE LANEPOOL_SNAPSHOT_NONE

/* Task 0 runs in lane 0, task 1 waits there, task 2 waits in lane 1, which is paused, and task 3 is
 * behind task 1. */
static const lanepool_snapshot_task tasks[TASKS] = {
    { .ticket = 0, .state = LANEPOOL_SNAPSHOT_RUNNING, .entry_count = 1, .arrived = 1 },
    { .ticket = 1, .worker = NONE, .first_entry = 1, .entry_count = 1 },
    { .ticket = 2, .worker = NONE, .first_entry = 2, .entry_count = 1 },
    { .ticket = 3, .worker = NONE, .first_entry = 3, .entry_count = 2 },
};

static const lanepool_snapshot_entry entries[ENTRIES] = {
    { .task = 0, .lane = 0, .behind = NONE, .granted = true },
    { .task = 1, .lane = 0, .behind = NONE, .ahead = 1 },
    { .task = 2, .lane = 1, .behind = NONE },
    { .task = 3, .lane = NONE, .behind = BEHIND },
    { .task = 3, .lane = 0, .behind = NONE, .mode = LANEPOOL_SHARED, .ahead = 2 },
};

static const size_t order[] = { 0, 1, 4, 2 };

static const lanepool_snapshot_lane lanes[LANES] = {
    { .name = "", .granted = 1, .waiting = 2 },
    { .name = "", .first = 3, .waiting = 1, .paused = true },
};

static const lanepool_snapshot_worker workers[] = { { .task = 0 } };

static const lanepool_snapshot snapshot = { .time_ns = 1000,
                                            .tasks = tasks,
                                            .task_count = TASKS,
                                            .entries = entries,
                                            .entry_count = ENTRIES,
                                            .lanes = lanes,
                                            .lane_count = LANES,
                                            .order = order,
                                            .workers = workers,
                                            .worker_count = 1 };

static bool expect_ten(void *user, const lanepool_snapshot *seen, size_t task,
                       lanepool_expected *expected)
{
    (void)user, (void)seen, (void)task;
    expected->duration_ns = 10;
    return true;
}

/* Forecasts with each request refused once, and then with none. */
static lanepool_forecast forecast_with_refusals(size_t task)
{
    size_t live = pieces_in_use();
    lanepool_status status = LANEPOOL_NOMEM;
    lanepool_forecast forecast;
    size_t refused = 0;

    while (status == LANEPOOL_NOMEM) {
        refuse_request(++refused);
        status = lanepool_snapshot_forecast(&snapshot, task, expect_ten, NULL, &forecast);
        expect_eq(pieces_in_use(), live);
    }
    refuse_request(0);
    expect_ok(status);
    expect(refused > 10);
    return forecast;
}

Test(plan_forecast_memory, calls_answer_nomem)
{
    lanepool_forecast forecast = forecast_with_refusals(1);

    expect_eq(forecast.limit, LANEPOOL_FORECAST_RUNNING);
    expect_eq(forecast.start_ns, 10);
    expect_eq(forecast.before, 1);
    expect_eq(forecast.task, 0);
    expect_eq(forecast.lane, 0);
    forecast = forecast_with_refusals(2);
    expect_eq(forecast.limit, LANEPOOL_FORECAST_PAUSED);
    expect_eq(forecast.start_ns, LANEPOOL_FOREVER);
    expect_eq(forecast.before, 0);
    expect_eq(forecast.lane, 1);
    forecast = forecast_with_refusals(3);
    expect_eq(forecast.limit, LANEPOOL_FORECAST_LANE);
    expect_eq(forecast.start_ns, 20);
    expect_eq(forecast.before, 2);
    expect_eq(forecast.task, BEHIND);
}
