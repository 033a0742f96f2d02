/* How cuts end: cancelled, after failed visits, with the pool. */
#include <pthread.h>

#include "support/cut.h"
#include "support/step.h"
#include "support/test.h"

/* --- cancelling --- */

Test(cut_ends, a_cut_is_cancelled_until_its_first_visit)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct cut cut;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = cut_submit(pool, &cut);
    expect_ok(lanepool_future_cancel(future));
    expect_eq(cut.cancels, 1);
    expect_status(cut.why, LANEPOOL_CANCELLED);
    expect_status(cut_end(future, NULL), LANEPOOL_CANCELLED);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_eq(cut.visited + cut.calls, 0);
    expect_eq(cut.releases, 1);
    pool_end(pool);
    gate_fini(&gate);
}

/* A cut that stops in a visit of lane 1, and one behind it. A task in lane 0 is in front of both.
 */
struct two_cuts {
    struct gate gate;
    struct step before;
    struct cut begun, waiting;
};

static lanepool_pool *begin_two(struct two_cuts *two, size_t lane_count, lanepool_future **first,
                                lanepool_future **second)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&two->gate);
    two->before = (struct step){ .gate = &two->gate };
    expect_ok(step_submit_on(pool, &two->before, 0));
    expect(gate_await(&two->gate, 1));
    cut_init(&two->begun, lane_count, LANEPOOL_EXCLUSIVE);
    two->begun.gate = &two->gate;
    two->begun.slow = 1;
    cut_init(&two->waiting, 2, LANEPOOL_EXCLUSIVE);
    *first = cut_submit(pool, &two->begun);
    expect(gate_await(&two->gate, 1));
    *second = cut_submit(pool, &two->waiting);
    return pool;
}

Test(cut_ends, a_cancel_of_many_spares_a_cut_that_has_begun)
{
    struct two_cuts two;
    lanepool_future *first, *second;
    size_t count;
    lanepool_pool *pool = begin_two(&two, 2, &first, &second);

    expect_status(lanepool_future_cancel(first), LANEPOOL_RUNNING);
    expect_ok(lanepool_pool_cancel(pool, &count));
    expect_eq(count, 1);
    expect_status(cut_end(second, NULL), LANEPOOL_CANCELLED);
    gate_open(&two.gate, 2);
    expect_status(cut_end(first, NULL), LANEPOOL_OK);
    expect_eq(two.begun.visited, 2);
    expect_eq(two.waiting.visited, 0);
    pool_end(pool);
    gate_fini(&two.gate);
}

/* --- failed visits --- */

Test(cut_ends, a_failed_visit_ends_the_cut_in_parts)
{
    struct step behind = { .id = 1 };
    struct cut cut;
    int code;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    cut_init(&cut, 5, LANEPOOL_EXCLUSIVE);
    cut.codes[3] = 42;
    lanepool_future *future = cut_submit(pool, &cut);
    expect_ok(step_submit_on(pool, &behind, 3));
    expect_status(cut_end(future, &code), LANEPOOL_FAILED);
    expect_eq(code, 42);
    pool_settle(pool);
    expect_eq(cut.visited, 5);
    expect_eq(cut.calls, 0);
    expect_eq(cut.cancels, 1);
    expect_status(cut.why, LANEPOOL_IN_PARTS);
    expect_eq(cut.releases, 1);
    expect_eq(behind.runs, 1);
    pool_end(pool);
}

Test(cut_ends, a_retry_visits_only_the_lanes_that_have_failed)
{
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.retries = 2;
    cut_init(&cut, 6, LANEPOOL_EXCLUSIVE);
    cut.codes[1] = 1;
    cut.codes[4] = 1;
    lanepool_task task = cut_task(&cut);
    task.at_lane = cut_fail_once;
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    for (size_t i = 0; i < 6; i++)
        expect_eq(cut.visits[i], i == 1 || i == 4 ? 2 : 1);
    expect_eq(cut.calls, 1);
    expect_eq(cut.visited_at_call, 8);
    expect_eq(cut.cancels, 0);
    pool_end(pool);
}

/* The request comes during the second attempt, which goes on. */
Test(cut_ends, a_cancel_during_a_retry_does_not_keep_the_function_from_its_call)
{
    struct gate gate;
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    policy.retries = 2;
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    cut.codes[1] = 1;
    cut.gate = &gate;
    cut.slow = 1;
    lanepool_task task = cut_task(&cut);
    task.at_lane = cut_fail_once;
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    gate_open(&gate, 1);
    expect(gate_await(&gate, 1));
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(cut.visits[1], 2);
    expect_eq(cut.calls, 1);
    expect_eq(cut.cancels, 0);
    pool_end(pool);
    gate_fini(&gate);
}

Test(cut_ends, a_parked_cut_poisons_only_the_lanes_that_have_failed)
{
    struct step behind[2] = { { .id = 0 }, { .id = 1 } };
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_parked_tasks *parked;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.at_end = LANEPOOL_FAILURE_POISON;
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    cut.codes[1] = 9;
    lanepool_task task = cut_task(&cut);
    task.at_lane = cut_fail_once;
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &behind[0], 0));
    expect_ok(step_submit_on(pool, &behind[1], 1));
    pool_settle_parked(pool);
    expect_eq(behind[0].runs, 1);
    expect_eq(behind[1].runs, 0);
    expect_ok(lanepool_pool_parked(pool, &parked));
    expect_eq(parked->count, 1);
    expect_eq(parked->tasks[0].code, 9);
    expect_eq(parked->tasks[0].claim_count, 1);
    expect_eq(parked->tasks[0].claims[0].key.id, 1);
    uint64_t ticket = parked->tasks[0].ticket;
    lanepool_parked_tasks_release(parked);
    expect_ok(lanepool_pool_resolve(pool, ticket, LANEPOOL_RESOLVE_RETRY));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_eq(cut.visits[0], 1);
    expect_eq(cut.visits[1], 2);
    expect_eq(behind[1].runs, 1);
    pool_end(pool);
}

Test(cut_ends, a_function_that_fails_is_retried_without_visits)
{
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.retries = 2;
    cut_init(&cut, 3, LANEPOOL_SHARED);
    cut.code = 5;
    lanepool_task task = cut_task(&cut);
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(cut_end(future, NULL), LANEPOOL_FAILED);
    expect_eq(cut.calls, 3);
    expect_eq(cut.visited, 3);
    expect_eq(cut.cancels, 0);
    pool_end(pool);
}

/* Takes snapshots until the only task is in this state. */
static void await_state(lanepool_pool *pool, lanepool_snapshot_state state)
{
    bool reached = false;

    while (!reached) {
        lanepool_snapshot *snapshot;
        expect_ok(lanepool_snapshot_take(pool, &snapshot));
        reached = snapshot->task_count == 1 && snapshot->tasks[0].state == state;
        lanepool_snapshot_release(snapshot);
    }
}

/* A cut with a failed visit waits for its retry, or is parked, when the pool stops. */
Test(cut_ends, a_shutdown_now_ends_a_failed_cut_in_parts)
{
    for (int parks = 0; parks < 2; parks++) {
        struct cut cut;
        lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
        lanepool_future *future;
        lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

        policy.retries = !parks;
        policy.delay_ns = UINT64_MAX / 4;
        policy.at_end = parks ? LANEPOOL_FAILURE_POISON : LANEPOOL_FAILURE_CONTINUE;
        cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
        cut.codes[0] = 5;
        lanepool_task task = cut_task(&cut);
        task.on_failure = &policy;
        task.future = &future;
        expect_ok(lanepool_pool_submit(pool, &task));
        await_state(pool, parks ? LANEPOOL_SNAPSHOT_PARKED : LANEPOOL_SNAPSHOT_RETRYING);
        expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
        expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
        expect_eq(cut.visited, 2);
        expect_status(cut_end(future, NULL), parks ? LANEPOOL_FAILED : LANEPOOL_CANCELLED);
        expect_eq(cut.cancels, 1);
        expect_status(cut.why, LANEPOOL_IN_PARTS);
        expect_eq(cut.releases, 1);
        pool_end(pool);
    }
}

static int leave_thread(lanepool_run *run, void *context, size_t index)
{
    (void)cut_visit(run, context, index);
    if (index == 1)
        pthread_exit(NULL);
    return 0;
}

Test(cut_ends, a_visit_that_ends_its_thread_has_failed)
{
    struct step behind = { .id = 1 };
    struct cut cut;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    lanepool_task task = cut_task(&cut);
    task.at_lane = leave_thread;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &behind, 1));
    expect_status(cut_end(future, NULL), LANEPOOL_ABANDONED);
    pool_settle(pool);
    expect_eq(cut.visited, 3);
    expect_status(cut.why, LANEPOOL_IN_PARTS);
    expect_eq(behind.runs, 1);
    pool_end(pool);
}

/* --- the pool's end --- */

struct handed_back {
    lanepool_at_lane_fn at_lane;
    size_t claim_count;
    uint32_t count;
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct handed_back *back = context;

    (void)ticket;
    back->at_lane = task->at_lane;
    back->claim_count = task->claim_count;
    back->count++;
}

Test(cut_ends, a_shutdown_now_ends_a_begun_cut_in_parts_and_hands_others_back)
{
    struct two_cuts two;
    lanepool_future *first, *second;
    struct handed_back back = { .count = 0 };
    lanepool_pool *pool = begin_two(&two, 3, &first, &second);

    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &back));
    gate_open(&two.gate, 2);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(cut_end(first, NULL), LANEPOOL_IN_PARTS);
    expect_status(cut_end(second, NULL), LANEPOOL_CANCELLED);
    expect_eq(two.begun.cancels, 1);
    expect_status(two.begun.why, LANEPOOL_IN_PARTS);
    expect_eq(two.begun.calls, 0);
    expect_eq(two.begun.releases, 1);
    expect_eq(two.begun.visits[1], 1);
    expect_eq(two.begun.visits[0], 0);
    expect_eq(two.waiting.visited + two.waiting.calls + two.waiting.cancels + two.waiting.releases,
              0);
    expect_eq(back.count, 1);
    expect(back.at_lane == cut_visit);
    expect_eq(back.claim_count, 2);
    pool_end(pool);
    gate_fini(&two.gate);
}
