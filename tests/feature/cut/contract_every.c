/* Repeated cuts: periodic tasks with visits. */
#include "support/cut.h"
#include "support/step.h"
#include "support/test.h"

#define SHORT_NS INT64_C(100000)
#define HOUR_NS  INT64_C(3600000000000)

/* A repeated cut stops at the gate in its function. */
struct repeated {
    struct cut cut;
    struct gate *gate;
    uint32_t seen[CUT_LANES_MAX]; /* visits of each lane before the last call of the function */
};

static int sum_up_at_gate(lanepool_run *run, void *context)
{
    struct repeated *self = context;

    expect_eq(lanepool_run_claim_count(run), 0);
    for (size_t i = 0; i < self->cut.claim_count; i++)
        self->seen[i] = atomic_load(&self->cut.visits[i]);
    atomic_fetch_add(&self->cut.calls, 1);
    gate_pass(self->gate);
    return 0;
}

static lanepool_timer *repeat(lanepool_pool *pool, struct repeated *self, int64_t delay_ns,
                              uint64_t period_ns)
{
    lanepool_timer *timer;
    lanepool_task task = cut_task(&self->cut);

    if (self->gate != NULL)
        task.function = sum_up_at_gate;
    expect_ok(
        lanepool_pool_submit_every(pool, &task, delay_ns, period_ns, LANEPOOL_FIXED_DELAY, &timer));
    return timer;
}

static void end_repeated(lanepool_pool *pool, lanepool_timer *timer)
{
    lanepool_status status = lanepool_timer_cancel(timer);

    expect(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
    lanepool_timer_release(timer);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
}

/* The claims keep their numbers, although one of them names its lane by a handle. */
Test(cut_every, each_run_visits_each_lane_once)
{
    struct gate gate;
    struct repeated self = { .gate = &gate };
    lanepool_lane *lane;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    cut_init(&self.cut, 5, LANEPOOL_SHARED);
    expect_ok(lanepool_lane_acquire(pool, lanepool_key_id(77), &lane));
    self.cut.claims[1].key = lanepool_key_lane(lane);
    self.cut.claims[4].key = lanepool_key_id(0);
    lanepool_timer *timer = repeat(pool, &self, 0, SHORT_NS);
    for (uint32_t run = 1; run <= 4; run++) {
        expect(gate_await(&gate, 1));
        expect_eq(self.cut.calls, run);
        for (size_t i = 0; i < 4; i++)
            expect_eq(self.seen[i], run);
        expect_eq(self.seen[4], 0);
        gate_open(&gate, run == 4 ? 100000 : 1);
    }
    end_repeated(pool, timer);
    expect_eq(self.cut.cancels, 1);
    expect_status(self.cut.why, LANEPOOL_CANCELLED);
    expect_eq(self.cut.releases, 1);
    lanepool_lane_release(lane);
    pool_end(pool);
    gate_fini(&gate);
}

/* The visits are made, and the series ends behind the function. */
Test(cut_every, a_cancel_during_a_run_lets_the_run_end)
{
    struct gate gate;
    struct repeated self = { .gate = NULL };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    cut_init(&self.cut, 3, LANEPOOL_EXCLUSIVE);
    self.cut.gate = &gate;
    self.cut.slow = 2;
    lanepool_timer *timer = repeat(pool, &self, 0, SHORT_NS);
    expect(gate_await(&gate, 1));
    expect_status(lanepool_timer_cancel(timer), LANEPOOL_RUNNING);
    gate_open(&gate, 1);
    pool_settle(pool);
    lanepool_timer_release(timer);
    pool_end(pool);
    expect_eq(self.cut.visited, 3);
    expect_eq(self.cut.calls, 1);
    expect_eq(self.cut.cancels, 1);
    expect_eq(self.cut.releases, 1);
    gate_fini(&gate);
}

Test(cut_every, a_cancel_before_the_first_visit_makes_none)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct repeated self = { .gate = NULL };
    lanepool_stats stats = { .delayed = 1 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    cut_init(&self.cut, 2, LANEPOOL_EXCLUSIVE);
    lanepool_timer *timer = repeat(pool, &self, 0, HOUR_NS);
    while (stats.delayed > 0)
        expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_ok(lanepool_timer_cancel(timer));
    gate_open(&gate, 1);
    pool_settle(pool);
    lanepool_timer_release(timer);
    pool_end(pool);
    expect_eq(self.cut.visited + self.cut.calls, 0);
    expect_eq(self.cut.cancels, 1);
    expect_eq(self.cut.releases, 1);
    gate_fini(&gate);
}

static void count_error(void *user, const lanepool_error *error)
{
    expect_status(error->status, LANEPOOL_FAILED);
    expect_eq(error->code, 5);
    gate_pass(user);
}

/* Each run is reported, and `cancelled` is called at the end only. */
Test(cut_every, a_run_with_a_failed_visit_is_followed_by_the_next)
{
    struct gate gate;
    struct repeated self = { .gate = NULL };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    gate_init(&gate);
    options.workers = 2;
    options.user = &gate;
    options.on_error = count_error;
    lanepool_pool *pool = pool_make_with(&options);
    cut_init(&self.cut, 3, LANEPOOL_EXCLUSIVE);
    self.cut.codes[1] = 5;
    lanepool_timer *timer = repeat(pool, &self, 0, SHORT_NS);
    for (uint32_t run = 1; run <= 3; run++) {
        expect(gate_await(&gate, 1));
        expect_eq(self.cut.visited, 3 * run);
        expect_eq(self.cut.calls + self.cut.cancels, 0);
        gate_open(&gate, run == 3 ? 100000 : 1);
    }
    end_repeated(pool, timer);
    expect_eq(self.cut.cancels, 1);
    expect_eq(self.cut.releases, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(cut_every, a_shutdown_now_ends_a_begun_run_in_parts)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct repeated self = { .gate = NULL };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 2));
    expect(gate_await(&gate, 1));
    cut_init(&self.cut, 3, LANEPOOL_EXCLUSIVE);
    self.cut.gate = &gate;
    self.cut.slow = 0;
    lanepool_timer *timer = repeat(pool, &self, 0, SHORT_NS);
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    gate_open(&gate, 2);
    lanepool_timer_release(timer);
    pool_end(pool);
    expect_eq(self.cut.visits[0], 1);
    expect_eq(self.cut.calls, 0);
    expect_eq(self.cut.cancels, 1);
    expect_status(self.cut.why, LANEPOOL_IN_PARTS);
    expect_eq(self.cut.releases, 1);
    gate_fini(&gate);
}
