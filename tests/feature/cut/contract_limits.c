/* Cuts in pools with lane limits: a cut counts in each of its lanes until that lane was visited. */
#include <pthread.h>

#include "support/cut.h"
#include "support/limited.h"
#include "support/step.h"
#include "support/test.h"

#define SHORT_NS INT64_C(100000)

static uint64_t blocked_submitters(lanepool_pool *pool)
{
    lanepool_snapshot *snapshot;

    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    uint64_t blocked = snapshot->blocked;
    lanepool_snapshot_release(snapshot);
    return blocked;
}

/* A call that stops at the gate of its lane. */
struct gated {
    struct cut cut; /* the first member: the context of its calls */
    struct gate gates[2];
};

static int visit_at_gate(lanepool_run *run, void *context, size_t index)
{
    struct gated *gated = context;

    gate_pass(&gated->gates[index]);
    return cut_visit(run, &gated->cut, index);
}

static lanepool_future *submit_gated(lanepool_pool *pool, struct gated *gated)
{
    lanepool_future *future;

    gate_init(&gated->gates[0]);
    gate_init(&gated->gates[1]);
    cut_init(&gated->cut, 2, LANEPOOL_EXCLUSIVE);
    lanepool_task task = cut_task(&gated->cut);
    task.at_lane = visit_at_gate;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static void gated_fini(struct gated *gated)
{
    gate_fini(&gated->gates[0]);
    gate_fini(&gated->gates[1]);
}

Test(cut_limits, a_lane_has_room_again_once_it_was_visited)
{
    struct gated gated;
    struct step behind = { .id = 0 }, last = { .id = 1 };
    lanepool_pool *pool = limited_pool(2, 1);
    lanepool_future *future = submit_gated(pool, &gated);

    expect_status(try_on(pool, &behind, 0), LANEPOOL_FULL);
    expect_status(try_on(pool, &behind, 1), LANEPOOL_FULL);
    gate_open(&gated.gates[0], 1);
    expect_ok(step_submit_on(pool, &behind, 0)); /* blocks until the lane has room */
    expect_eq(gated.cut.visits[0], 1);
    expect_eq(gated.cut.calls, 0);
    expect_status(try_on(pool, &last, 1), LANEPOOL_FULL);
    gate_open(&gated.gates[1], 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_ok(try_on(pool, &last, 1));
    pool_end(pool);
    expect_eq(behind.runs + last.runs, 2);
    gated_fini(&gated);
}

struct submitter {
    lanepool_pool *pool;
    struct step *step;
    struct gate gate; /* where it arrives before its submit */
    lanepool_status status;
};

static void *submit_blocking(void *argument)
{
    struct submitter *submitter = argument;

    gate_arrive(&submitter->gate);
    submitter->status = step_submit_on(submitter->pool, submitter->step, 0);
    return NULL;
}

/* No other task ends, so the visit serves the submitter that waits for the lane. */
Test(cut_limits, a_submitter_that_waits_for_the_lane_is_served_by_its_visit)
{
    struct gated gated;
    struct step behind = { .id = 0 };
    struct submitter submitter = { .step = &behind };
    pthread_t thread;

    submitter.pool = limited_pool(2, 1);
    gate_init(&submitter.gate);
    lanepool_future *future = submit_gated(submitter.pool, &gated);
    expect_eq(pthread_create(&thread, NULL, submit_blocking, &submitter), 0);
    expect(gate_await(&submitter.gate, 1));
    while (blocked_submitters(submitter.pool) == 0)
        ;
    gate_open(&gated.gates[0], 1);
    expect_eq(pthread_join(thread, NULL), 0);
    expect_ok(submitter.status);
    expect_eq(gated.cut.calls, 0);
    gate_open(&gated.gates[1], 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_end(submitter.pool);
    expect_eq(behind.runs, 1);
    gated_fini(&gated);
    gate_fini(&submitter.gate);
}

/* The cut is refused or accepted as a whole. */
Test(cut_limits, a_cut_needs_room_in_all_of_its_lanes)
{
    struct gate gate;
    struct step before = { .gate = &gate }, other = { .id = 1 };
    struct cut cut;
    lanepool_pool *pool = limited_pool(1, 1);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 2));
    cut_init(&cut, 3, LANEPOOL_SHARED);
    lanepool_task task = cut_task(&cut);
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    expect_ok(try_on(pool, &other, 0));
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_ok(lanepool_pool_submit_within(pool, &task, 0));
    pool_settle(pool);
    expect_eq(cut.calls, 1);
    pool_end(pool);
    gate_fini(&gate);
}

/* The claims 1 and 3 name the lanes of the claims 0 and 2; claim 4 names its lane by a handle. */
Test(cut_limits, claims_of_one_lane_count_once)
{
    struct gate gate;
    struct step behind = { .id = 0 };
    struct cut cut;
    lanepool_lane *lane;
    lanepool_pool *pool = limited_pool(2, 1);

    gate_init(&gate);
    cut_init(&cut, 6, LANEPOOL_EXCLUSIVE);
    cut.claims[1] = cut.claims[0];
    cut.claims[3] = cut.claims[2];
    expect_ok(lanepool_lane_acquire(pool, lanepool_key_id(0), &lane));
    cut.claims[4].key = lanepool_key_lane(lane);
    cut.gate = &gate;
    cut.slow = 2;
    lanepool_future *future = cut_submit(pool, &cut);
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &behind, 0));
    expect_ok(step_submit_on(pool, &behind, 5));
    expect_status(try_on(pool, &behind, 2), LANEPOOL_FULL);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_settle(pool);
    for (uint64_t key = 0; key < 6; key++)
        expect_ok(try_on(pool, &behind, key));
    expect_eq(cut.visited, 3);
    lanepool_lane_release(lane);
    pool_end(pool);
    gate_fini(&gate);
}

Test(cut_limits, a_lane_whose_visit_has_failed_stays_full_until_the_cut_ends)
{
    struct cut cut;
    struct step behind = { .id = 0 };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_parked_tasks *parked;
    lanepool_future *future;
    lanepool_pool *pool = limited_pool(2, 1);

    policy.at_end = LANEPOOL_FAILURE_POISON;
    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    cut.codes[1] = 7;
    lanepool_task task = cut_task(&cut);
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle_parked(pool);
    expect_ok(try_on(pool, &behind, 0));
    expect_ok(try_on(pool, &behind, 2));
    expect_status(try_on(pool, &behind, 1), LANEPOOL_FULL);
    cut.codes[1] = 0;
    expect_ok(lanepool_pool_parked(pool, &parked));
    expect_ok(lanepool_pool_resolve(pool, parked->tasks[0].ticket, LANEPOOL_RESOLVE_RETRY));
    lanepool_parked_tasks_release(parked);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_ok(try_on(pool, &behind, 1));
    pool_end(pool);
    expect_eq(behind.runs, 3);
}

Test(cut_limits, a_cancelled_cut_counts_until_it_has_left_the_lane)
{
    struct gate gate;
    struct step before = { .gate = &gate }, behind = { .id = 1 };
    struct cut cut;
    lanepool_pool *pool = limited_pool(1, 2);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = cut_submit(pool, &cut);
    expect_ok(lanepool_future_cancel(future));
    expect_status(cut_end(future, NULL), LANEPOOL_CANCELLED);
    expect_status(try_on(pool, &behind, 0), LANEPOOL_FULL);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_ok(try_on(pool, &behind, 0));
    expect_ok(try_on(pool, &behind, 1));
    expect_eq(cut.visited, 0);
    pool_end(pool);
    gate_fini(&gate);
}

/* As any periodic task. */
Test(cut_limits, a_repeated_cut_counts_until_its_series_has_ended)
{
    struct cut cut;
    lanepool_timer *timer;
    struct step behind = { .id = 1 };
    lanepool_pool *pool = limited_pool(2, 1);

    cut_init(&cut, 2, LANEPOOL_SHARED);
    lanepool_task task = cut_task(&cut);
    expect_ok(lanepool_pool_submit_every(pool, &task, 0, SHORT_NS, LANEPOOL_FIXED_DELAY, &timer));
    while (atomic_load(&cut.calls) < 3)
        ;
    expect_status(try_on(pool, &behind, 0), LANEPOOL_FULL);
    (void)lanepool_timer_cancel(timer);
    lanepool_timer_release(timer);
    expect_ok(step_submit_on(pool, &behind, 0));
    pool_end(pool);
    expect_eq(behind.runs, 1);
}

/* The block of such a cut has memory of its own for what it counts in. */
Test(cut_limits, a_cut_over_many_lanes_leaves_room_in_each)
{
    struct step behind = { .id = 0 };
    struct cut cut;
    lanepool_pool *pool = limited_pool(2, 1);

    cut_init(&cut, CUT_LANES_MAX, LANEPOOL_EXCLUSIVE);
    for (int i = 0; i < 3; i++)
        expect_status(cut_end(cut_submit(pool, &cut), NULL), LANEPOOL_OK);
    pool_settle(pool);
    for (uint64_t key = 0; key < CUT_LANES_MAX; key++)
        expect_ok(try_on(pool, &behind, key));
    pool_end(pool);
    expect_eq(behind.runs, CUT_LANES_MAX);
}
