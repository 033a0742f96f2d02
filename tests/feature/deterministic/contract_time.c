/* The virtual time of pools without threads: what waits for a clock, and how the clock advances. */
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { SEEDS = 50, MS = 1000000 };

static lanepool_pool *stepped_pool(uint64_t seed)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.step_seed = seed;
    return pool_make_with(&options);
}

/* --- delays --- */

/* Records when its task starts. */
struct moment {
    uint64_t ns;
    uint32_t runs;
};

static int note_moment(lanepool_run *run, void *context)
{
    struct moment *moment = context;

    moment->ns = lanepool_pool_time(lanepool_run_pool(run));
    moment->runs++;
    return 0;
}

static lanepool_task moment_task(struct moment *moment)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    *moment = (struct moment){ 0 };
    task.function = note_moment;
    task.context = moment;
    return task;
}

Test(deterministic_time, delayed_tasks_start_when_they_are_due_and_no_time_is_lost)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static const int64_t delays[] = { 7 * MS, 0, 3 * MS, INT64_C(3600000) * MS };
        struct moment moments[4];
        lanepool_pool *pool = stepped_pool(seed);
        uint64_t began = lanepool_pool_time(pool);

        for (int i = 0; i < 4; i++) {
            lanepool_task task = moment_task(&moments[i]);

            expect_ok(lanepool_pool_submit_after(pool, &task, delays[i]));
        }
        while (lanepool_pool_step(pool) == LANEPOOL_OK) {
        }
        for (int i = 0; i < 4; i++) {
            expect_eq(moments[i].runs, 1);
            expect_eq(moments[i].ns, began + (uint64_t)delays[i]);
        }
        expect_eq(lanepool_pool_time(pool), began + (uint64_t)delays[3]);
        pool_end(pool);
    }
}

Test(deterministic_time, time_stands_while_a_task_is_ready)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct step steps[6] = { { 0 } };
        struct moment moment;
        lanepool_task delayed = moment_task(&moment);
        lanepool_pool *pool = stepped_pool(seed);

        expect_ok(lanepool_pool_submit_after(pool, &delayed, 1));
        for (int i = 0; i < 6; i++) {
            expect_ok(step_submit_on(pool, &steps[i], 1));
        }
        for (int i = 0; i < 6; i++) {
            expect_ok(lanepool_pool_step(pool));
            expect_eq(steps[i].runs, 1);
        }
        expect_eq(moment.runs, 0);
        pool_end(pool);
    }
}

Test(deterministic_time, an_advance_makes_tasks_due_at_once)
{
    struct moment moment;
    lanepool_task task = moment_task(&moment);
    lanepool_pool *pool = stepped_pool(1);
    lanepool_pool *threaded = pool_make(1, LANEPOOL_PER_KEY);
    uint64_t began = lanepool_pool_time(pool);

    expect_ok(lanepool_pool_submit_after(pool, &task, MS));
    expect_ok(lanepool_pool_advance(pool, 5 * MS));
    expect_eq(lanepool_pool_time(pool), began + 5 * MS);
    while (lanepool_pool_step(pool) == LANEPOOL_OK) {
    }
    expect_eq(moment.ns, began + 5 * MS);
    expect_status(lanepool_pool_advance(pool, UINT64_MAX), LANEPOOL_INVALID);
    expect_status(lanepool_pool_advance(NULL, 1), LANEPOOL_INVALID);
    expect_status(lanepool_pool_advance(threaded, 1), LANEPOOL_UNSUPPORTED);
    began = lanepool_pool_time(threaded);
    expect(lanepool_pool_time(threaded) >= began && began > 0);
    pool_end(threaded);
    pool_end(pool);
}

struct series {
    lanepool_timer *timer;
    uint64_t at[8];
    uint32_t runs;
    uint64_t takes;
};

static int note_run(lanepool_run *run, void *context)
{
    struct series *series = context;
    lanepool_pool *pool = lanepool_run_pool(run);

    series->at[series->runs++ % 8] = lanepool_pool_time(pool);
    if (series->runs == 4) {
        (void)lanepool_timer_cancel(series->timer);
    }
    return lanepool_pool_advance(pool, series->takes) != LANEPOOL_OK;
}

static void expect_periods(lanepool_period period, uint64_t gap)
{
    struct series series = { .takes = 2 * MS };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = stepped_pool(3);
    uint64_t began = lanepool_pool_time(pool);

    task.function = note_run;
    task.context = &series;
    expect_ok(lanepool_pool_submit_every(pool, &task, MS, 10 * MS, period, &series.timer));
    while (lanepool_pool_step(pool) == LANEPOOL_OK) {
    }
    expect_eq(series.runs, 4);
    for (uint32_t i = 0; i < 4; i++) {
        expect_eq(series.at[i], began + MS + i * gap);
    }
    lanepool_timer_release(series.timer);
    pool_end(pool);
}

Test(deterministic_time, periodic_tasks_keep_their_period_exactly)
{
    expect_periods(LANEPOOL_FIXED_RATE, 10 * MS);
    expect_periods(LANEPOOL_FIXED_DELAY, 12 * MS);
}

/* --- retries and deadlines --- */

struct attempts {
    uint64_t at[4];
    uint32_t count;
};

static int fail_and_note(lanepool_run *run, void *context)
{
    struct attempts *attempts = context;

    attempts->at[attempts->count++ % 4] = lanepool_pool_time(lanepool_run_pool(run));
    return 1;
}

Test(deterministic_time, retries_wait_for_their_delays)
{
    struct attempts attempts = { .count = 0 };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = stepped_pool(4);
    uint64_t began = lanepool_pool_time(pool);

    policy.retries = 3;
    policy.delay_ns = MS;
    policy.delay_max_ns = 4 * MS;
    task.function = fail_and_note;
    task.context = &attempts;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_eq(attempts.count, 4);
    expect_eq(attempts.at[0], began);
    expect_eq(attempts.at[1], began + 1 * MS);
    expect_eq(attempts.at[2], began + 3 * MS);
    expect_eq(attempts.at[3], began + 7 * MS);
    pool_end(pool);
}

static int take_long(lanepool_run *run, void *context)
{
    return lanepool_pool_advance(lanepool_run_pool(run), *(const uint64_t *)context) != LANEPOOL_OK;
}

Test(deterministic_time, a_task_that_cannot_start_in_time_is_cancelled)
{
    uint32_t cancelled = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct step step = { 0 };
        uint64_t takes = 10 * MS;
        lanepool_claim claim = lanepool_exclusive(1);
        lanepool_task task = step_task(&step, &claim, 1);
        lanepool_pool *pool = stepped_pool(seed);

        expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), take_long, &takes));
        task.start_within_ns = MS;
        expect_ok(lanepool_pool_submit(pool, &task));
        pool_settle(pool);
        expect_eq(step.runs + step.cancels, 1);
        cancelled += step.cancels;
        if (step.cancels == 1) {
            expect_status(step.why, LANEPOOL_TIMED_OUT);
        }
        pool_end(pool);
    }
    /* The task and its deadline race: some seeds let the task win. */
    expect(cancelled > 0 && cancelled < SEEDS);
}

struct patience {
    bool was_asked;
    lanepool_status waited;
    struct step delayed;
};

static int work_until_asked(lanepool_run *run, void *context)
{
    struct patience *patience = context;
    lanepool_pool *pool = lanepool_run_pool(run);
    lanepool_task task = step_task(&patience->delayed, NULL, 0);
    lanepool_future *future;

    task.future = &future;
    if (lanepool_pool_submit_after(pool, &task, 5 * MS) != LANEPOOL_OK) {
        return 1;
    }
    patience->waited = lanepool_future_wait(future, 2 * MS, NULL);
    patience->was_asked = lanepool_run_is_cancelled(run);
    lanepool_future_release(future);
    return 0;
}

Test(deterministic_time, a_task_that_takes_too_long_is_asked_to_end)
{
    struct patience patience = { .waited = LANEPOOL_OK };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = stepped_pool(2);
    uint64_t began = lanepool_pool_time(pool);

    task.function = work_until_asked;
    task.context = &patience;
    task.run_within_ns = MS;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_step(pool));
    expect_status(patience.waited, LANEPOOL_TIMED_OUT);
    expect(patience.was_asked);
    expect_eq(lanepool_pool_time(pool), began + 2 * MS);
    pool_settle(pool);
    pool_end(pool);
}

/* --- calls that wait --- */

static int wait_for_delayed(lanepool_run *run, void *context)
{
    struct patience *patience = context;
    lanepool_task task = step_task(&patience->delayed, NULL, 0);
    lanepool_future *future;

    task.future = &future;
    if (lanepool_pool_submit_after(lanepool_run_pool(run), &task, 5 * MS) != LANEPOOL_OK) {
        return 1;
    }
    patience->waited = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL);
    lanepool_future_release(future);
    return 0;
}

Test(deterministic_time, a_wait_inside_a_task_lets_the_time_pass_that_it_needs)
{
    struct patience patience = { .waited = LANEPOOL_INVALID };
    lanepool_pool *pool = stepped_pool(2);
    uint64_t began = lanepool_pool_time(pool);

    expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), wait_for_delayed, &patience));
    expect_ok(lanepool_pool_step(pool));
    expect_ok(patience.waited);
    expect_eq(patience.delayed.runs, 1);
    expect_eq(lanepool_pool_time(pool), began + 5 * MS);
    pool_end(pool);
}

Test(deterministic_time, waits_end_at_their_limits_in_virtual_time)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_pool *pool = stepped_pool(2);
    lanepool_future *future;
    uint64_t began = lanepool_pool_time(pool);
    size_t index;

    task.future = &future;
    expect_ok(lanepool_pool_submit_after(pool, &task, 10 * MS));
    expect_status(lanepool_future_wait(future, MS, NULL), LANEPOOL_TIMED_OUT);
    expect_eq(lanepool_pool_time(pool), began + 1 * MS);
    expect_status(lanepool_future_wait_any(&future, 1, MS, &index), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_wait_all(&future, 1, MS), LANEPOOL_TIMED_OUT);
    expect_eq(lanepool_pool_time(pool), began + 3 * MS);
    /* Also a wait for the end of a pool that runs: it makes the steps of that time. */
    expect_status(lanepool_pool_await(pool, MS), LANEPOOL_TIMED_OUT);
    expect_eq(lanepool_pool_time(pool), began + 4 * MS);
    expect_eq(step.runs, 0);
    expect_status(lanepool_pool_await(pool, 6 * MS), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    expect_eq(lanepool_pool_time(pool), began + 10 * MS);
    lanepool_future_release(future);
    pool_end(pool);
}

Test(deterministic_time, waits_for_groups_and_claims_end_at_their_limits)
{
    struct step step = { .code = 1 };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_pool *pool = stepped_pool(2);
    lanepool_group *group = group_make(true);
    lanepool_task task = member_task(group, &step, &claim);
    lanepool_completion completion;
    uint64_t began = lanepool_pool_time(pool);

    policy.retries = 1;
    policy.delay_ns = 10 * MS;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(lanepool_group_wait(group, MS), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_group_next(group, MS, &completion), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_pool_wait_claims(pool, &claim, 1, MS), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_pool_quiesce(pool, MS), LANEPOOL_TIMED_OUT);
    expect_eq(lanepool_pool_time(pool), began + 4 * MS);
    expect_ok(lanepool_group_next(group, LANEPOOL_FOREVER, &completion));
    expect_eq(step.runs, 2);
    expect_eq(lanepool_pool_time(pool), began + 10 * MS);
    pool_end(pool);
    lanepool_group_destroy(group);
}

Test(deterministic_time, a_drain_cancels_delayed_tasks_or_waits_for_them)
{
    for (int waits = 0; waits < 2; waits++) {
        struct step step = { 0 };
        lanepool_task task = step_task(&step, NULL, 0);
        lanepool_options options = LANEPOOL_OPTIONS_INIT;
        lanepool_pool *pool;

        options.step_seed = 1;
        options.drain_waits_for_delayed = waits;
        pool = pool_make_with(&options);
        expect_ok(lanepool_pool_submit_after(pool, &task, 10 * MS));
        pool_end(pool);
        expect_eq(step.runs, waits);
        expect_eq(step.cancels, !waits);
    }
}

/* --- contexts --- */

struct keeper {
    uint32_t opened;
    uint32_t closed;
    uint64_t closed_at;
    lanepool_pool *pool;
};

static int open_context(void *user, lanepool_key key, void **context)
{
    struct keeper *keeper = user;

    (void)key;
    keeper->opened++;
    *context = keeper;
    return 0;
}

static void close_context(void *user, lanepool_key key, void *context)
{
    struct keeper *keeper = user;

    (void)key, (void)context;
    keeper->closed++;
    keeper->closed_at = lanepool_pool_time(keeper->pool);
}

static int use_context(lanepool_run *run, void *argument)
{
    void *context;

    (void)argument;
    return lanepool_run_context_at(run, 0, &context, NULL) != LANEPOOL_OK;
}

static lanepool_pool *pool_with_contexts(struct keeper *keeper)
{
    lanepool_context_options contexts = LANEPOOL_CONTEXT_OPTIONS_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    contexts.open = open_context;
    contexts.close = close_context;
    contexts.linger_min_ns = 50 * MS;
    contexts.linger_max_ns = 50 * MS;
    options.contexts = &contexts;
    options.user = keeper;
    options.step_seed = 1;
    *keeper = (struct keeper){ 0 };
    keeper->pool = pool_make_with(&options);
    return keeper->pool;
}

Test(deterministic_time, an_idle_context_is_closed_after_its_idle_time)
{
    struct keeper keeper;
    lanepool_pool *pool = pool_with_contexts(&keeper);
    uint64_t began = lanepool_pool_time(pool);

    expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), use_context, NULL));
    pool_settle(pool);
    expect_eq(keeper.opened, 1);
    expect_eq(keeper.closed, 0);
    expect_ok(lanepool_pool_advance(pool, 20 * MS));
    expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), use_context, NULL));
    while (lanepool_pool_step(pool) == LANEPOOL_OK) {
    }
    expect_eq(keeper.opened, 1);
    expect_eq(keeper.closed, 1);
    expect_eq(keeper.closed_at, began + 70 * MS);
    pool_end(pool);
}

Test(deterministic_time, open_contexts_are_closed_by_the_step_that_ends_the_pool)
{
    struct keeper keeper;
    lanepool_pool *pool = pool_with_contexts(&keeper);

    expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), use_context, NULL));
    expect_ok(lanepool_pool_shutdown(pool));
    while (lanepool_pool_step(pool) == LANEPOOL_OK) {
    }
    expect(lanepool_pool_is_terminated(pool));
    expect_eq(keeper.opened, 1);
    expect_eq(keeper.closed, 1);
    expect(keeper.closed_at < UINT64_C(1000000000) + 50 * MS);
    pool_end(pool);
}
