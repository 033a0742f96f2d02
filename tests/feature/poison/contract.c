/* Tasks with an entry in a poisoned lane. */
#include <sched.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { BAD = 1, GOOD = 2 };

struct rollup {
    unsigned runs;
    unsigned cancels;
    lanepool_status why;
    bool holds_bad;
    bool holds_good;
};

static int roll_up(lanepool_run *run, void *context)
{
    lanepool_key bad = lanepool_key_id(BAD);
    lanepool_key good = lanepool_key_id(GOOD);
    struct rollup *rollup = context;

    rollup->runs++;
    rollup->holds_bad = lanepool_run_holds(run, bad);
    rollup->holds_good = lanepool_run_holds(run, good);
    return 0;
}

static void count_cancelled(void *context, lanepool_status why)
{
    struct rollup *rollup = context;

    rollup->why = why;
    rollup->cancels++;
}

static lanepool_future *submit_rollup(lanepool_pool *pool, struct rollup *rollup,
                                      size_t claim_count, lanepool_at_poison at_poison)
{
    lanepool_claim claims[] = { lanepool_exclusive(BAD), lanepool_exclusive(GOOD) };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    policy.at_poison = at_poison;
    task.function = roll_up;
    task.cancelled = count_cancelled;
    task.context = rollup;
    task.claims = claims;
    task.claim_count = claim_count;
    task.future = &future;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static lanepool_status await(lanepool_future *future)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    lanepool_future_release(future);
    return result.status;
}

/* The step fails in the bad lane, and is parked. */
static void submit_bad_as(lanepool_pool *pool, struct step *bad, lanepool_mode mode)
{
    lanepool_claim claim = lanepool_claim_of(lanepool_key_id(BAD), mode);
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = step_task(bad, &claim, 1);

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.on_failure = &policy;
    bad->code = 5;
    expect_ok(lanepool_pool_submit(pool, &task));
}

static void submit_bad(lanepool_pool *pool, struct step *bad)
{
    submit_bad_as(pool, bad, LANEPOOL_EXCLUSIVE);
}

static void skip_and_end(lanepool_pool *pool, const struct step *bad)
{
    expect_ok(lanepool_pool_resolve(pool, bad->ticket, LANEPOOL_RESOLVE_SKIP));
    pool_end(pool);
}

/* One rollup already waits when the lane is poisoned, the second one is submitted afterwards. */
static void meet_poison(lanepool_at_poison at_poison, size_t claim_count)
{
    bool fails = at_poison == LANEPOOL_AT_POISON_FAIL;
    struct gate gate;
    struct step bad = { .gate = &gate };
    struct step behind[2] = { { 0 } };
    struct rollup rollups[2] = { { 0 } };
    lanepool_future *futures[2];
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    submit_bad(pool, &bad);
    expect(gate_await(&gate, 1));
    futures[0] = submit_rollup(pool, &rollups[0], claim_count, at_poison);
    expect_ok(step_submit_on(pool, &behind[0], BAD));
    expect_ok(step_submit_on(pool, &behind[1], GOOD));
    gate_open(&gate, 1);
    pool_settle_parked(pool);
    futures[1] = submit_rollup(pool, &rollups[1], claim_count, at_poison);
    for (int i = 0; i < 2; i++) {
        expect_status(await(futures[i]), fails ? LANEPOOL_POISONED : LANEPOOL_OK);
        expect_eq(rollups[i].runs, !fails);
        expect_eq(rollups[i].cancels, fails);
        expect(!rollups[i].holds_bad);
        expect_eq(rollups[i].holds_good, !fails && claim_count > 1);
    }
    expect(!step_was_called(&behind[0]));
    pool_settle_parked(pool);
    expect_eq(behind[1].runs, 1);
    skip_and_end(pool, &bad);
    expect_eq(behind[0].runs, 1);
    gate_fini(&gate);
}

Test(poison, rollup_goes_without_the_poisoned_lane)
{
    meet_poison(LANEPOOL_AT_POISON_RUN_WITHOUT, 2);
    meet_poison(LANEPOOL_AT_POISON_RUN_WITHOUT, 1);
}

Test(poison, rollup_fails_at_the_poisoned_lane)
{
    meet_poison(LANEPOOL_AT_POISON_FAIL, 2);
    meet_poison(LANEPOOL_AT_POISON_FAIL, 1);
}

/* The tasks have no future and no policy of their own, so they have no record when they leave the
 * lane. */
Test(poison, rollups_go_without_by_the_pools_policy)
{
    struct gate gate;
    struct step bad = { .gate = &gate, .code = 5 };
    struct rollup rollups[2] = { { 0 } };
    struct step failing = { .code = 1 };
    lanepool_claim claims[] = { lanepool_exclusive(BAD), lanepool_exclusive(GOOD) };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = step_task(&failing, claims, 2);

    policy.at_end = LANEPOOL_FAILURE_POISON;
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    options.workers = 2;
    options.on_failure = &policy;
    lanepool_pool *pool = pool_make_with(&options);
    gate_init(&gate);
    expect_ok(step_submit_on(pool, &bad, BAD));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < 2; i++) {
        expect_ok(
            lanepool_pool_submit(pool, LANEPOOL_TASK(.function = roll_up, .context = &rollups[i],
                                                     .claims = claims, .claim_count = 2)));
        if (i == 0) {
            gate_open(&gate, 1);
            pool_settle_parked(pool);
        }
    }
    pool_settle_parked(pool);
    for (int i = 0; i < 2; i++) {
        expect_eq(rollups[i].runs, 1);
        expect(!rollups[i].holds_bad);
        expect(rollups[i].holds_good);
    }
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle_parked(pool);
    expect_eq(failing.runs, 1);
    expect_eq(pool_parked_count(pool), 2);
    failing.code = 0;
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_RETRY));
    pool_settle_parked(pool);
    expect_eq(failing.runs, 2);
    skip_and_end(pool, &bad);
    gate_fini(&gate);
}

/* The parked task is a reader. Once the rollup has left the lane, other readers conflict with
 * nothing there. */
Test(poison, readers_behind_a_rollup_that_left_run_beside_a_kept_reader)
{
    struct gate gate;
    struct step bad = { .gate = &gate };
    struct step readers[2] = { { 0 } };
    struct step writer = { 0 };
    struct rollup rollup = { 0 };
    lanepool_claim reads = lanepool_shared(BAD);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.routing = LANEPOOL_ROUTING_SUBMITTER; /* all tasks wait before the reader fails */
    lanepool_pool *pool = pool_make_with(&options);
    gate_init(&gate);
    submit_bad_as(pool, &bad, LANEPOOL_SHARED);
    expect(gate_await(&gate, 1));
    lanepool_future *future = submit_rollup(pool, &rollup, 2, LANEPOOL_AT_POISON_RUN_WITHOUT);
    for (int i = 0; i < 2; i++) {
        lanepool_task task = step_task(&readers[i], &reads, 1);
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(step_submit_on(pool, &writer, BAD));
    gate_open(&gate, 1);
    pool_settle_parked(pool);
    expect_status(await(future), LANEPOOL_OK);
    expect_eq(readers[0].runs, 1);
    expect_eq(readers[1].runs, 1);
    expect(!step_was_called(&writer));
    skip_and_end(pool, &bad);
    expect_eq(writer.runs, 1);
    gate_fini(&gate);
}

Test(poison, who_goes_without_a_lane_is_shown_and_explained)
{
    struct gate gate;
    struct step bad = { 0 };
    struct step holder = { .gate = &gate };
    struct rollup rollup = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_snapshot *snapshot;
    char text[1000] = "";

    gate_init(&gate);
    submit_bad(pool, &bad);
    pool_settle_parked(pool);
    expect_ok(step_submit_on(pool, &holder, GOOD));
    lanepool_future *future = submit_rollup(pool, &rollup, 2, LANEPOOL_AT_POISON_RUN_WITHOUT);
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 3);
    expect_eq(snapshot->tasks[2].missing, 1);
    expect_eq(snapshot->tasks[2].entry_count, 1);
    lanepool_snapshot_release(snapshot);
    expect_ok(lanepool_explain(future, text_append, text));
    expect(strstr(text, " waits, without 1 poisoned lane\n") != NULL);
    gate_open(&gate, 1);
    expect_status(await(future), LANEPOOL_OK);
    skip_and_end(pool, &bad);
    gate_fini(&gate);
}

Test(poison, rollup_waits_if_nothing_else_was_asked_for)
{
    struct step bad = { 0 };
    struct rollup rollup = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    submit_bad(pool, &bad);
    pool_settle_parked(pool);
    lanepool_future *future = submit_rollup(pool, &rollup, 2, LANEPOOL_AT_POISON_WAIT);
    pool_settle_parked(pool);
    expect_status(lanepool_future_wait(future, 0, NULL), LANEPOOL_TIMED_OUT);
    skip_and_end(pool, &bad);
    expect_status(await(future), LANEPOOL_OK);
    expect(rollup.holds_bad && rollup.holds_good);
}

static void await_due(lanepool_pool *pool)
{
    lanepool_stats stats;

    do {
        sched_yield();
        expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    } while (stats.delayed > 0);
}

/* The tasks behind the barrier get their entries although the parked task precedes it. */
Test(poison, rollup_leaves_the_lane_when_a_barrier_before_it_is_cancelled)
{
    lanepool_claim all = lanepool_claim_all();
    struct step bad = { 0 };
    struct step barrier = { 0 };
    struct rollup rollup = { 0 };
    lanepool_task task = step_task(&barrier, &all, 1);
    lanepool_future *future;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    task.future = &future;
    submit_bad(pool, &bad);
    expect_ok(lanepool_pool_submit(pool, &task));
    lanepool_future *behind = submit_rollup(pool, &rollup, 2, LANEPOOL_AT_POISON_RUN_WITHOUT);
    pool_settle_parked(pool);
    expect_eq(rollup.runs, 0);
    expect_ok(lanepool_future_cancel(future));
    expect_status(await(future), LANEPOOL_CANCELLED);
    pool_settle_parked(pool);
    expect_status(lanepool_future_wait(behind, 0, NULL), LANEPOOL_OK);
    lanepool_future_release(behind);
    expect(!rollup.holds_bad && rollup.holds_good);
    skip_and_end(pool, &bad);
}

Test(poison, periodic_tasks_wait_whatever_the_pools_policy_says)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim claim = lanepool_exclusive(BAD);
    struct gate gate;
    struct step bad = { 0 };
    struct step again = { .gate = &gate };
    lanepool_task task = step_task(&again, &claim, 1);
    lanepool_timer *timer;

    gate_init(&gate);
    policy.at_poison = LANEPOOL_AT_POISON_FAIL;
    options.workers = 2;
    options.on_failure = &policy;
    lanepool_pool *pool = pool_make_with(&options);
    submit_bad(pool, &bad);
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_submit_every(pool, &task, 0, 1, LANEPOOL_FIXED_DELAY, &timer));
    await_due(pool);
    pool_settle_parked(pool);
    expect(!step_was_called(&again));
    expect_ok(lanepool_pool_resolve(pool, bad.ticket, LANEPOOL_RESOLVE_SKIP));
    expect(gate_await(&gate, 1));
    expect_status(lanepool_timer_cancel(timer), LANEPOOL_RUNNING);
    gate_open(&gate, 1);
    pool_end(pool);
    lanepool_timer_release(timer);
    expect_eq(again.runs, 1);
    expect_eq(again.cancels, 1);
    gate_fini(&gate);
}

Test(poison, cancel_comes_before_poison)
{
    struct gate gate;
    struct step bad = { 0 };
    struct step good = { .gate = &gate };
    struct rollup rollup = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    submit_bad(pool, &bad);
    pool_settle_parked(pool);
    expect_ok(step_submit_on(pool, &good, GOOD));
    expect(gate_await(&gate, 1));
    lanepool_future *future = submit_rollup(pool, &rollup, 2, LANEPOOL_AT_POISON_FAIL);
    expect_ok(lanepool_future_cancel(future));
    expect_status(await(future), LANEPOOL_CANCELLED);
    expect_eq(rollup.cancels, 1);
    expect_eq(rollup.why, LANEPOOL_CANCELLED);
    gate_open(&gate, 1);
    skip_and_end(pool, &bad);
    expect_eq(rollup.cancels, 1);
    gate_fini(&gate);
}

static bool always_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a, (void)b, (void)user;
    return true;
}

Test(poison, is_avoided_only_with_lanes_per_key)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    policy.at_poison = LANEPOOL_AT_POISON_FAIL;
    options.on_failure = &policy;
    options.is_compatible = always_compatible;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_UNSUPPORTED);
    options.is_compatible = NULL;
    options.layout = LANEPOOL_PER_WORKER;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_UNSUPPORTED);
}

/* --- paused lanes --- */

static lanepool_lane *acquire(lanepool_pool *pool, uint64_t key)
{
    lanepool_key wanted = lanepool_key_id(key);
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, wanted, &lane));
    return lane;
}

static lanepool_future *submit_pausing(lanepool_pool *pool, struct step *bad)
{
    lanepool_claim claims[2] = { lanepool_exclusive(BAD), lanepool_exclusive(GOOD) };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = step_task(bad, claims, 2);
    lanepool_future *future;

    policy.at_end = LANEPOOL_FAILURE_PAUSE;
    task.on_failure = &policy;
    task.future = &future;
    bad->code = 5;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

Test(poison, failure_can_pause_its_lanes)
{
    struct step bad = { 0 };
    struct step behind[2] = { { 0 } };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_lane *lanes[] = { acquire(pool, BAD), acquire(pool, GOOD) };

    lanepool_future *future = submit_pausing(pool, &bad);
    expect_ok(step_submit_on(pool, &behind[0], BAD));
    expect_ok(step_submit_on(pool, &behind[1], GOOD));
    expect_status(await(future), LANEPOOL_FAILED);
    pool_settle_parked(pool);
    expect(!step_was_called(&behind[0]) && !step_was_called(&behind[1]));
    expect_ok(lanepool_lane_resume(lanes[0]));
    pool_settle_parked(pool);
    expect_eq(behind[0].runs, 1);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_await(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect(!step_was_called(&behind[1]));
    expect_ok(lanepool_lane_resume(lanes[1]));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(behind[1].runs, 1);
    lanepool_lane_release(lanes[0]);
    lanepool_lane_release(lanes[1]);
    pool_end(pool);
}

Test(poison, paused_lanes_in_which_nothing_waits_hold_nothing_up)
{
    struct step bad = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    expect_status(await(submit_pausing(pool, &bad)), LANEPOOL_FAILED);
    pool_settle(pool);
    pool_end(pool);
}

Test(poison, failure_keeps_a_lane_paused_that_was_paused_before)
{
    lanepool_claim claim = lanepool_exclusive(BAD);
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    struct gate gate;
    struct step bad = { .gate = &gate, .code = 5 };
    struct step behind = { 0 };
    lanepool_task task = step_task(&bad, &claim, 1);
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_lane *lane;

    gate_init(&gate);
    policy.at_end = LANEPOOL_FAILURE_PAUSE;
    task.on_failure = &policy;
    expect_ok(lanepool_lane_acquire(pool, claim.key, &lane));
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_lane_pause(lane));
    expect_ok(step_submit_on(pool, &behind, BAD));
    gate_open(&gate, 1);
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_await(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect(!step_was_called(&behind));
    expect_ok(lanepool_lane_resume(lane));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    lanepool_lane_release(lane);
    pool_end(pool);
    expect_eq(behind.runs, 1);
    gate_fini(&gate);
}
