/* Times of tasks by lane and by tag, and times of workers, computed from events. */
#include "support/step.h"
#include "support/test.h"

enum { ROWS_MAX = 8, LANES_MAX = 64 };

static lanepool_times *times_make(void)
{
    lanepool_times *times;

    expect_ok(lanepool_times_create(LANES_MAX, &times));
    return times;
}

/* Worker 0 runs all tasks. It sleeps while another thread routes. */
static lanepool_event event_of(lanepool_event_type type, uint64_t task, uint64_t time_ns)
{
    bool routes = type >= LANEPOOL_EVENT_SUBMIT && type <= LANEPOOL_EVENT_READY;
    lanepool_event event = { .time_ns = time_ns,
                             .task = task,
                             .thread = routes ? LANEPOOL_EVENT_OUTSIDE : 0,
                             .type = (uint8_t)type };

    return event;
}

static lanepool_event event_at(lanepool_event_type type, uint64_t task, uint64_t time_ns,
                               uint64_t lane, uint32_t detail)
{
    lanepool_event event = event_of(type, task, time_ns);

    event.object = lane;
    event.object_type = LANEPOOL_EVENT_LANE_ID;
    event.detail = detail;
    return event;
}

static const lanepool_times_row *row_of(const lanepool_times_row *rows, size_t count,
                                        uint64_t object, uint8_t type)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].object == object && rows[i].object_type == type) {
            return &rows[i];
        }
    }
    return NULL;
}

static void expect_durations(const lanepool_durations *durations, uint64_t count, uint64_t max_ns)
{
    expect_eq(durations->count, count);
    expect_eq(durations->max_ns, max_ns);
}

Test(times, wrong_arguments_are_refused)
{
    lanepool_times *times;

    expect_status(lanepool_times_create(0, &times), LANEPOOL_INVALID);
    expect(times == NULL);
    expect_status(lanepool_times_create(1, NULL), LANEPOOL_INVALID);
    times = times_make();
    expect_status(lanepool_times_add(NULL, NULL, 0), LANEPOOL_INVALID);
    expect_status(lanepool_times_add(times, NULL, 1), LANEPOOL_INVALID);
    expect_ok(lanepool_times_add(times, NULL, 0));
    expect_eq(lanepool_times_rows(times, NULL, 0), 0);
    lanepool_times_destroy(times);
    lanepool_times_destroy(NULL);
}

/* A rollup over lanes 1 and 2: it waits 30 ns in lane 1, and is latched in lane 2 during that
 * time. */
Test(times, a_rollups_times_are_told_apart_by_lane)
{
    lanepool_event events[] = {
        event_of(LANEPOOL_EVENT_ROUTE, 5, 100),
        event_at(LANEPOOL_EVENT_ENTER, 5, 100, 1, 0),
        event_at(LANEPOOL_EVENT_ENTER, 5, 100, 2, LANEPOOL_EVENT_GRANTED),
        event_at(LANEPOOL_EVENT_ARRIVE, 5, 130, 1, 0),
        event_of(LANEPOOL_EVENT_READY, 5, 130),
        event_of(LANEPOOL_EVENT_START, 5, 135),
        event_of(LANEPOOL_EVENT_END, 5, 155),
        event_at(LANEPOOL_EVENT_RELEASE, 5, 155, 1, 0),
        event_at(LANEPOOL_EVENT_RELEASE, 5, 155, 2, 0),
    };
    lanepool_times_row rows[ROWS_MAX];
    lanepool_times *times = times_make();

    events[0].detail = 9; /* the tag */
    expect_ok(lanepool_times_add(times, events, sizeof events / sizeof events[0]));
    size_t count = lanepool_times_rows(times, rows, ROWS_MAX);
    expect_eq(count, 3);
    const lanepool_times_row *first = row_of(rows, count, 1, LANEPOOL_EVENT_LANE_ID);
    const lanepool_times_row *second = row_of(rows, count, 2, LANEPOOL_EVENT_LANE_ID);
    const lanepool_times_row *tag = row_of(rows, count, 9, 0);
    expect_durations(&first->waiting, 1, 30);
    expect_durations(&first->latched, 1, 0);
    expect_durations(&second->waiting, 1, 0);
    expect_durations(&second->latched, 1, 30);
    expect_durations(&second->running, 1, 20);
    expect_durations(&tag->waiting, 1, 30);
    expect_durations(&tag->latched, 1, 30);
    expect_durations(&tag->ready, 1, 5);
    expect_durations(&tag->running, 1, 20);
    lanepool_times_destroy(times);
}

Test(times, percentiles_are_a_little_too_large_at_most)
{
    enum { TASKS = 1000 };
    lanepool_times_row row;
    lanepool_times *times = times_make();
    uint64_t now_ns = 1;

    for (uint64_t i = 1; i <= TASKS; i++) {
        lanepool_event events[] = {
            event_of(LANEPOOL_EVENT_ROUTE, i, now_ns),
            event_of(LANEPOOL_EVENT_READY, i, now_ns),
            event_of(LANEPOOL_EVENT_START, i, now_ns),
            event_of(LANEPOOL_EVENT_END, i, now_ns + 1000 * i),
        };
        expect_ok(lanepool_times_add(times, events, 4));
        now_ns += 1000 * i;
    }
    expect_eq(lanepool_times_rows(times, &row, 1), 1);
    expect_eq(row.running.count, TASKS);
    expect(row.running.p50_ns >= 500000 && row.running.p50_ns <= 535000);
    expect(row.running.p99_ns >= 990000 && row.running.p99_ns <= 1000000);
    expect_eq(row.running.max_ns, 1000000);
    lanepool_times_destroy(times);
}

Test(times, what_is_not_known_is_left_out)
{
    lanepool_event events[] = {
        event_of(LANEPOOL_EVENT_END, 1, 10),           /* a task without earlier events */
        event_at(LANEPOOL_EVENT_ARRIVE, 2, 20, 1, 0),  /* a task without earlier events */
        event_of(LANEPOOL_EVENT_ROUTE, 3, 30),         /* its end is missing */
        event_of(LANEPOOL_EVENT_READY, 3, 30),         /* */
        event_of(LANEPOOL_EVENT_END, 3, 40),           /* without a start */
        event_at(LANEPOOL_EVENT_RELEASE, 3, 40, 1, 0), /* */
    };
    lanepool_event again[] = {
        event_of(LANEPOOL_EVENT_ROUTE, 3, 50),
        event_of(LANEPOOL_EVENT_READY, 3, 50),
        event_of(LANEPOOL_EVENT_START, 3, 50),
        event_of(LANEPOOL_EVENT_END, 3, 57),
    };
    lanepool_times_row row;
    lanepool_times *times = times_make();

    expect_ok(lanepool_times_add(times, events, sizeof events / sizeof events[0]));
    expect_eq(lanepool_times_rows(times, &row, 1), 1);
    expect_eq(row.running.count, 0);
    lanepool_times_forget_pending(times);
    expect_ok(lanepool_times_add(times, again, 4));
    lanepool_times_rows(times, &row, 1);
    expect_durations(&row.running, 1, 7);
    lanepool_times_destroy(times);
}

Test(times, lanes_beyond_the_limit_share_a_row)
{
    lanepool_times_row rows[ROWS_MAX];
    lanepool_times *times;

    expect_ok(lanepool_times_create(2, &times));
    for (uint64_t lane = 1; lane <= 5; lane++) {
        lanepool_event events[] = {
            event_of(LANEPOOL_EVENT_ROUTE, lane, 0),
            event_at(LANEPOOL_EVENT_ENTER, lane, 0, lane, LANEPOOL_EVENT_GRANTED),
            event_of(LANEPOOL_EVENT_READY, lane, 0),
        };
        expect_ok(lanepool_times_add(times, events, 3));
    }
    expect_eq(lanepool_times_rows(times, rows, ROWS_MAX), 4);
    const lanepool_times_row *others = row_of(rows, 4, 0, LANEPOOL_TIMES_OTHERS);
    expect_eq(others->waiting.count, 3);
    expect(row_of(rows, 4, 2, LANEPOOL_EVENT_LANE_ID) != NULL);
    lanepool_times_destroy(times);
}

/* Two workers: both are idle, then one runs while a task is blocked, then both are idle again. */
Test(times, idle_time_is_told_apart_by_its_cause)
{
    lanepool_event events[] = {
        event_of(LANEPOOL_EVENT_SLEEP, 0, 1000), event_of(LANEPOOL_EVENT_SLEEP, 0, 1000),
        event_of(LANEPOOL_EVENT_ROUTE, 1, 1100), event_of(LANEPOOL_EVENT_READY, 1, 1100),
        event_of(LANEPOOL_EVENT_WAKE, 0, 1110),  event_of(LANEPOOL_EVENT_START, 1, 1110),
        event_of(LANEPOOL_EVENT_ROUTE, 2, 1110), event_of(LANEPOOL_EVENT_END, 1, 1160),
        event_of(LANEPOOL_EVENT_READY, 2, 1160), event_of(LANEPOOL_EVENT_START, 2, 1160),
        event_of(LANEPOOL_EVENT_END, 2, 1165),   event_of(LANEPOOL_EVENT_SLEEP, 0, 1165),
        event_of(LANEPOOL_EVENT_WAKE, 0, 1265),
    };
    lanepool_times_workers workers;
    lanepool_times *times = times_make();

    events[1].thread = 1;
    expect_ok(lanepool_times_add(times, events, sizeof events / sizeof events[0]));
    lanepool_times_of_workers(times, &workers);
    expect_eq(workers.running_ns, 50 + 5);
    expect_eq(workers.idle_ready_ns, 2 * 10);
    expect_eq(workers.idle_blocked_ns, 50);
    expect_eq(workers.idle_ns, 2 * 100 + 5 + 2 * 100);
    lanepool_times_destroy(times);
}

/* --- retried tasks --- */

/* Two attempts, of 20 ns and 5 ns, with 70 ns between them; another task waits in the lane. Between
 * the attempts no task runs. */
Test(times, time_between_attempts_is_not_running)
{
    lanepool_event events[] = {
        event_of(LANEPOOL_EVENT_SLEEP, 0, 1000),
        event_of(LANEPOOL_EVENT_ROUTE, 5, 1000),
        event_at(LANEPOOL_EVENT_ENTER, 5, 1000, 1, LANEPOOL_EVENT_GRANTED),
        event_of(LANEPOOL_EVENT_READY, 5, 1000),
        event_of(LANEPOOL_EVENT_WAKE, 0, 1010),
        event_of(LANEPOOL_EVENT_START, 5, 1010),
        event_of(LANEPOOL_EVENT_ROUTE, 6, 1015),
        event_at(LANEPOOL_EVENT_ENTER, 6, 1015, 1, 0),
        event_of(LANEPOOL_EVENT_RETRY, 5, 1030),
        event_of(LANEPOOL_EVENT_SLEEP, 0, 1030),
        event_of(LANEPOOL_EVENT_READY, 5, 1097),
        event_of(LANEPOOL_EVENT_WAKE, 0, 1100),
        event_of(LANEPOOL_EVENT_START, 5, 1100),
        event_of(LANEPOOL_EVENT_END, 5, 1105),
    };
    lanepool_times_row rows[ROWS_MAX];
    lanepool_times_workers workers;
    lanepool_times *times = times_make();

    expect_ok(lanepool_times_add(times, events, sizeof events / sizeof events[0]));
    size_t count = lanepool_times_rows(times, rows, ROWS_MAX);
    const lanepool_times_row *lane = row_of(rows, count, 1, LANEPOOL_EVENT_LANE_ID);
    const lanepool_times_row *tag = row_of(rows, count, 0, 0);
    expect_durations(&lane->running, 1, 25);
    expect_durations(&tag->running, 1, 25);
    expect_durations(&lane->ready, 2, 10);
    expect_durations(&tag->ready, 2, 10);
    expect_durations(&tag->waiting, 1, 0);
    lanepool_times_of_workers(times, &workers);
    expect_eq(workers.running_ns, 20 + 5);
    expect_eq(workers.idle_ready_ns, 10 + 3);
    expect_eq(workers.idle_blocked_ns, 67);
    expect_eq(workers.idle_ns, 0);
    lanepool_times_destroy(times);
}

/* A parked task ends when it is resolved, without another attempt. A task that waits for a retry
 * may be cancelled before that, or asked to end when it is ready. */
Test(times, time_of_a_kept_task_is_that_of_its_attempts)
{
    lanepool_event events[] = {
        event_of(LANEPOOL_EVENT_ROUTE, 5, 100),   event_of(LANEPOOL_EVENT_READY, 5, 100),
        event_of(LANEPOOL_EVENT_START, 5, 100),   event_of(LANEPOOL_EVENT_RETRY, 5, 110),
        event_of(LANEPOOL_EVENT_READY, 5, 150),   event_of(LANEPOOL_EVENT_START, 5, 150),
        event_of(LANEPOOL_EVENT_PARK, 5, 153),    event_of(LANEPOOL_EVENT_END, 5, 1000),
        event_of(LANEPOOL_EVENT_ROUTE, 6, 1000),  event_of(LANEPOOL_EVENT_READY, 6, 1000),
        event_of(LANEPOOL_EVENT_START, 6, 1000),  event_of(LANEPOOL_EVENT_RETRY, 6, 1001),
        event_of(LANEPOOL_EVENT_CANCEL, 6, 1500), event_of(LANEPOOL_EVENT_ROUTE, 7, 1500),
        event_of(LANEPOOL_EVENT_READY, 7, 1500),  event_of(LANEPOOL_EVENT_START, 7, 1500),
        event_of(LANEPOOL_EVENT_RETRY, 7, 1500),  event_of(LANEPOOL_EVENT_READY, 7, 1500),
        event_of(LANEPOOL_EVENT_PARK, 7, 1500),   event_of(LANEPOOL_EVENT_READY, 7, 1500),
        event_of(LANEPOOL_EVENT_END, 7, 1500),    event_of(LANEPOOL_EVENT_SLEEP, 0, 1500),
        event_of(LANEPOOL_EVENT_WAKE, 0, 1600),
    };
    lanepool_times_row row;
    lanepool_times_workers workers;
    lanepool_times *times = times_make();

    expect_ok(lanepool_times_add(times, events, sizeof events / sizeof events[0]));
    expect_eq(lanepool_times_rows(times, &row, 1), 1);
    expect_durations(&row.running, 2, 13);
    lanepool_times_of_workers(times, &workers);
    expect_eq(workers.running_ns, 10 + 3 + 1);
    expect_eq(workers.idle_ns, 100);
    lanepool_times_destroy(times);
}

static int fail_twice(lanepool_run *run, void *context)
{
    (void)context;
    return lanepool_run_attempt(run) < 3 ? 1 : 0;
}

Test(times, a_task_that_is_tried_again_counts_once)
{
    enum { EVENTS = 256 };
    static lanepool_event events[EVENTS];
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_times_row rows[ROWS_MAX];
    lanepool_trace_reader *reader;
    size_t count;

    options.workers = 2;
    options.trace_events = EVENTS;
    lanepool_pool *pool = pool_make_with(&options);
    lanepool_times *times = times_make();
    expect_ok(lanepool_trace_open(pool, &reader));
    policy.retries = 2;
    task.function = fail_twice;
    task.claims = &claim;
    task.claim_count = 1;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_ok(lanepool_trace_read(reader, events, EVENTS, &count));
    expect_ok(lanepool_times_add(times, events, count));
    count = lanepool_times_rows(times, rows, ROWS_MAX);
    expect_eq(count, 2);
    for (size_t i = 0; i < count; i++) {
        expect_eq(rows[i].waiting.count, 1);
        expect_eq(rows[i].ready.count, 3);
        expect_eq(rows[i].running.count, 1);
    }
    lanepool_trace_close(reader);
    lanepool_times_destroy(times);
    pool_end(pool);
}

/* --- all times of a pool --- */

Test(times, a_pools_tasks_are_all_counted)
{
    enum { TASKS = 3000, KEYS = 40 };
    static struct step steps[TASKS];
    static lanepool_event events[1 << 12];
    lanepool_times_row rows[KEYS + 1];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_trace_reader *reader;
    uint64_t visits = 0;
    size_t count;

    options.workers = 2;
    options.trace_events = 1 << 16;
    lanepool_pool *pool = pool_make_with(&options);
    lanepool_times *times = times_make();
    expect_ok(lanepool_trace_open(pool, &reader));
    for (uint32_t i = 0; i < TASKS; i++) {
        expect_ok(step_submit_rollup(pool, &steps[i], i % KEYS, (i * 7 + 1) % KEYS));
    }
    pool_settle(pool);
    do {
        expect_ok(lanepool_trace_read(reader, events, 1 << 12, &count));
        expect_ok(lanepool_times_add(times, events, count));
    } while (count > 0);
    expect_eq(lanepool_trace_missed(reader), 0);
    count = lanepool_times_rows(times, rows, KEYS + 1);
    expect_eq(count, KEYS + 1);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].object_type == 0) {
            expect_eq(rows[i].running.count, TASKS);
        } else {
            visits += rows[i].running.count;
            expect_eq(rows[i].waiting.count, rows[i].running.count);
        }
    }
    expect(visits > TASKS && visits <= 2 * TASKS);
    lanepool_trace_close(reader);
    lanepool_times_destroy(times);
    pool_end(pool);
}
