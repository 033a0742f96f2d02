/* Repeated progressive rollups: each run gathers anew, and has all lanes in its function. */
#include "support/cut.h"
#include "support/step.h"
#include "support/test.h"

#define SHORT_NS INT64_C(100000)
#define HOUR_NS  INT64_C(3600000000000)

enum { LANES = 3 };

/* A repeated rollup over the lanes 0 to 2, whose function changes each account. Calls and functions
 * change plain memory that the lanes guard. */
struct repeated {
    struct cut cut;    /* the first member: the context of its calls */
    struct gate *gate; /* of the function, or NULL */
    uint64_t accounts[LANES];
    uint64_t gathered[LANES];
    uint32_t wrong; /* runs whose function has found another state than its calls */
    bool gives_lane_up;
    lanepool_status given;
};

static int gather(lanepool_run *run, void *context, size_t index)
{
    struct repeated *self = context;

    self->gathered[index] = self->accounts[index];
    return cut_visit(run, &self->cut, index);
}

static int settle(lanepool_run *run, void *context)
{
    struct repeated *self = context;
    uint32_t calls = atomic_fetch_add(&self->cut.calls, 1) + 1;

    self->wrong += lanepool_run_claim_count(run) != LANES;
    for (size_t i = 0; i < LANES; i++) {
        self->wrong += self->accounts[i] != self->gathered[i];
        self->wrong += atomic_load(&self->cut.visits[i]) != calls;
        self->accounts[i] += 100;
    }
    if (self->gives_lane_up)
        self->given = lanepool_run_release(run, lanepool_key_id(1));
    if (self->gate != NULL)
        gate_pass(self->gate);
    return self->cut.code;
}

static lanepool_timer *repeat(lanepool_pool *pool, struct repeated *self, uint64_t period_ns)
{
    lanepool_timer *timer;
    cut_init(&self->cut, LANES, LANEPOOL_EXCLUSIVE);
    lanepool_task task = cut_task(&self->cut);

    task.function = settle;
    task.at_lane = NULL;
    task.at_grant = gather;
    expect_ok(lanepool_pool_submit_every(pool, &task, 0, period_ns, LANEPOOL_FIXED_DELAY, &timer));
    return timer;
}

static void end_repeated(lanepool_pool *pool, const struct repeated *self, lanepool_timer *timer)
{
    lanepool_status status = lanepool_timer_cancel(timer);

    expect(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
    lanepool_timer_release(timer);
    pool_settle(pool);
    pool_end(pool);
    expect_eq(self->cut.cancels, 1);
    expect_status(self->cut.why, LANEPOOL_CANCELLED);
    expect_eq(self->cut.releases, 1);
}

/* Everything that was accepted before is in its lanes afterwards. */
static void look(lanepool_pool *pool)
{
    lanepool_snapshot *snapshot;

    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    lanepool_snapshot_release(snapshot);
}

struct posting {
    uint64_t *account;
};

static int post(lanepool_run *run, void *context)
{
    const struct posting *posting = context;

    (void)run;
    ++*posting->account;
    return 0;
}

static void submit_postings(lanepool_pool *pool, struct posting *postings, struct repeated *self)
{
    for (size_t i = 0; i < LANES; i++) {
        lanepool_claim claim = lanepool_exclusive(i);
        postings[i].account = &self->accounts[i];
        expect_ok(
            lanepool_pool_submit(pool, LANEPOOL_TASK(.function = post, .context = &postings[i],
                                                     .claims = &claim, .claim_count = 1)));
    }
}

/* --- runs --- */

Test(cut_progressive_every, each_run_gathers_each_lane_once_and_has_all_in_its_function)
{
    struct gate gate;
    struct repeated self = { .gate = &gate };
    struct posting postings[4][LANES];
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_timer *timer = repeat(pool, &self, SHORT_NS);
    for (uint32_t run = 0; run < 4; run++) {
        expect(gate_await(&gate, 1));
        expect_eq(self.cut.calls, run + 1);
        submit_postings(pool, postings[run], &self);
        gate_open(&gate, run == 3 ? 100000 : 1);
    }
    end_repeated(pool, &self, timer);
    expect_eq(self.wrong, 0);
    for (size_t i = 0; i < LANES; i++)
        expect_eq(self.accounts[i], 4 + 100 * self.cut.calls);
    gate_fini(&gate);
}

/* While a lane is slow, the run has the others, and keeps them. */
Test(cut_progressive_every, a_run_keeps_its_lanes_while_it_waits_for_others)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct step behind = { .id = 1 };
    struct repeated self = { .gate = NULL };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 2));
    expect(gate_await(&gate, 1));
    lanepool_timer *timer = repeat(pool, &self, HOUR_NS);
    while (atomic_load(&self.cut.visited) < 2)
        look(pool);
    expect_ok(step_submit_on(pool, &behind, 0));
    look(pool);
    expect_eq(behind.runs, 0);
    gate_open(&gate, 1);
    while (!step_was_called(&behind))
        look(pool);
    expect_eq(self.cut.calls, 1);
    expect_eq(self.wrong, 0);
    end_repeated(pool, &self, timer);
    gate_fini(&gate);
}

/* A lane that a run has released early is the next run's like all others. */
Test(cut_progressive_every, a_run_may_release_a_lane_early)
{
    struct gate gate;
    struct step behind = { .id = 1 };
    struct repeated self = { .gate = &gate, .gives_lane_up = true };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_timer *timer = repeat(pool, &self, SHORT_NS);
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &behind, 1));
    while (!step_was_called(&behind))
        look(pool);
    for (uint32_t run = 1; run <= 3; run++) {
        expect_eq(self.cut.calls, run);
        expect_status(self.given, LANEPOOL_OK);
        gate_open(&gate, run == 3 ? 100000 : 1);
        if (run < 3)
            expect(gate_await(&gate, 1));
    }
    end_repeated(pool, &self, timer);
    expect_eq(self.wrong, 0);
    gate_fini(&gate);
}

/* --- failures --- */

static void count_error(void *user, const lanepool_error *error)
{
    expect_status(error->status, LANEPOOL_FAILED);
    expect_eq(error->code, 5);
    gate_pass(user);
}

static lanepool_pool *pool_with_errors(struct gate *gate)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.user = gate;
    options.on_error = count_error;
    return pool_make_with(&options);
}

/* A run that fails has gathered in all lanes, is reported, and lets all lanes go on. */
static void check_failures(bool in_call)
{
    struct gate gate;
    struct step behind[3] = { { .id = 0 }, { .id = 1 }, { .id = 2 } };
    struct repeated self = { .gate = NULL };

    gate_init(&gate);
    lanepool_pool *pool = pool_with_errors(&gate);
    struct step first = { .gate = &gate };
    expect_ok(step_submit_on(pool, &first, 1));
    expect(gate_await(&gate, 1));
    lanepool_timer *timer = repeat(pool, &self, SHORT_NS);
    self.cut.codes[1] = in_call ? 5 : 0;
    self.cut.code = in_call ? 0 : 5;
    gate_open(&gate, 1);
    for (uint32_t run = 1; run <= 3; run++) {
        expect(gate_await(&gate, 1));
        expect_eq(self.cut.visited, LANES * run);
        expect_eq(self.cut.calls, in_call ? 0 : run);
        expect_eq(self.cut.cancels, 0);
        expect_ok(step_submit_on(pool, &behind[run - 1], run - 1));
        gate_open(&gate, run == 3 ? 100000 : 1);
    }
    end_repeated(pool, &self, timer);
    for (size_t i = 0; i < 3; i++)
        expect_eq(behind[i].runs, 1);
    gate_fini(&gate);
}

Test(cut_progressive_every, a_run_with_a_failed_call_is_followed_by_the_next)
{
    check_failures(true);
}

Test(cut_progressive_every, a_run_with_a_failed_function_is_followed_by_the_next)
{
    check_failures(false);
}

/* --- ends --- */

Test(cut_progressive_every, a_cancel_before_the_first_call_makes_none)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct step behind = { .id = 1 };
    struct repeated self = { .gate = NULL };
    lanepool_stats stats = { .delayed = 1 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    lanepool_timer *timer = repeat(pool, &self, HOUR_NS);
    while (stats.delayed > 0)
        expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_ok(lanepool_timer_cancel(timer));
    expect_ok(step_submit_on(pool, &behind, 2));
    gate_open(&gate, 1);
    end_repeated(pool, &self, timer);
    expect_eq(self.cut.visited + self.cut.calls, 0);
    expect_eq(behind.runs, 1);
    gate_fini(&gate);
}

/* A run whose third lane is another task's, which waits at the gate. */
struct begun_run {
    struct gate gate;
    struct step before;
    struct repeated self;
    lanepool_pool *pool;
    lanepool_timer *timer;
};

/* Returns when the run has its first two lanes. */
static void begin_run(struct begun_run *run)
{
    *run = (struct begun_run){ .before = { .gate = &run->gate } };
    run->pool = pool_make(2, LANEPOOL_PER_KEY);
    gate_init(&run->gate);
    expect_ok(step_submit_on(run->pool, &run->before, 2));
    expect(gate_await(&run->gate, 1));
    run->timer = repeat(run->pool, &run->self, SHORT_NS);
    while (atomic_load(&run->self.cut.visited) < 2)
        look(run->pool);
}

Test(cut_progressive_every, a_cancel_during_a_run_lets_the_run_end)
{
    struct begun_run run;

    begin_run(&run);
    expect_status(lanepool_timer_cancel(run.timer), LANEPOOL_RUNNING);
    gate_open(&run.gate, 1);
    end_repeated(run.pool, &run.self, run.timer);
    expect_eq(run.self.cut.visited, LANES);
    expect_eq(run.self.cut.calls, 1);
    gate_fini(&run.gate);
}

Test(cut_progressive_every, a_shutdown_now_ends_a_begun_run_in_parts)
{
    struct begun_run run;

    begin_run(&run);
    expect_ok(lanepool_pool_shutdown_now(run.pool, NULL, NULL));
    gate_open(&run.gate, 1);
    lanepool_timer_release(run.timer);
    pool_end(run.pool);
    expect_eq(run.self.cut.visited, 2);
    expect_eq(run.self.cut.calls, 0);
    expect_eq(run.self.cut.cancels, 1);
    expect_status(run.self.cut.why, LANEPOOL_IN_PARTS);
    expect_eq(run.self.cut.releases, 1);
    gate_fini(&run.gate);
}

/* A shutdown that drains lets the run end that has begun, and no other follows. */
Test(cut_progressive_every, a_shutdown_lets_a_begun_run_end)
{
    struct begun_run run;

    begin_run(&run);
    expect_ok(lanepool_pool_shutdown(run.pool));
    gate_open(&run.gate, 1);
    expect_ok(lanepool_pool_await(run.pool, LANEPOOL_FOREVER));
    lanepool_timer_release(run.timer);
    pool_end(run.pool);
    expect_eq(run.self.cut.visited, LANES);
    expect_eq(run.self.cut.calls, 1);
    expect_eq(run.self.cut.cancels, 1);
    expect_status(run.self.cut.why, LANEPOOL_SHUT_DOWN);
    expect_eq(run.self.cut.releases, 1);
    gate_fini(&run.gate);
}

/* --- pauses --- */

/* A paused lane holds up its own call and the function. The run has the other lanes meanwhile. */
Test(cut_progressive_every, a_paused_lane_holds_a_run_up)
{
    struct step behind = { .id = 1 };
    struct repeated self = { .gate = NULL };
    lanepool_lane *lane;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    expect_ok(lanepool_lane_acquire(pool, lanepool_key_id(1), &lane));
    expect_ok(lanepool_lane_pause(lane));
    lanepool_timer *timer = repeat(pool, &self, HOUR_NS);
    while (atomic_load(&self.cut.visited) < 2)
        look(pool);
    expect_ok(step_submit_on(pool, &behind, 0));
    look(pool);
    expect_eq(behind.runs, 0);
    expect_eq(self.cut.visits[1] + self.cut.calls, 0);
    expect_ok(lanepool_lane_resume(lane));
    lanepool_lane_release(lane);
    while (!step_was_called(&behind))
        look(pool);
    expect_eq(self.cut.calls, 1);
    end_repeated(pool, &self, timer);
}

/* While the pool is paused no run begins, and none that is due is lost. */
Test(cut_progressive_every, no_run_begins_in_a_paused_pool)
{
    struct gate gate;
    struct repeated self = { .gate = &gate };
    lanepool_stats stats = { .delayed = 1 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(lanepool_pool_pause(pool));
    lanepool_timer *timer = repeat(pool, &self, SHORT_NS);
    while (stats.delayed > 0)
        expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    look(pool);
    expect_eq(self.cut.visited, 0);
    expect_ok(lanepool_pool_resume(pool));
    expect(gate_await(&gate, 1));
    gate_open(&gate, 100000);
    end_repeated(pool, &self, timer);
    expect_eq(self.wrong, 0);
    gate_fini(&gate);
}
