/* Waiting for several tasks: for all of them, for any, and for tasks that conflict with claims. */
#include "support/step.h"
#include "support/test.h"

enum { COUNT = 4 };

/* Steps that each stop at their own gate. */
struct held {
    lanepool_pool *pool;
    struct step steps[COUNT];
    struct gate gates[COUNT];
    lanepool_future *futures[COUNT];
};

static void hold(struct held *held, uint32_t count)
{
    *held = (struct held){ .pool = pool_make(COUNT, LANEPOOL_PER_KEY) };
    for (uint32_t i = 0; i < count; i++) {
        lanepool_claim claim = lanepool_exclusive(i);
        lanepool_task task = step_task(&held->steps[i], &claim, 1);

        gate_init(&held->gates[i]);
        held->steps[i].gate = &held->gates[i];
        held->steps[i].code = (int)i;
        task.future = &held->futures[i];
        expect_ok(lanepool_pool_submit(held->pool, &task));
        expect(gate_await(&held->gates[i], 1));
    }
}

static void let_go(struct held *held, uint32_t count)
{
    pool_end(held->pool);
    for (uint32_t i = 0; i < count; i++) {
        lanepool_future_release(held->futures[i]);
        gate_fini(&held->gates[i]);
    }
}

/* --- all --- */

Test(wait_many, all_have_ended_when_the_wait_for_all_answers_ok)
{
    struct held held;
    lanepool_result result;

    hold(&held, COUNT);
    expect_status(lanepool_future_wait_all(held.futures, COUNT, 0), LANEPOOL_TIMED_OUT);
    for (uint32_t i = COUNT; i-- > 0;) {
        expect_status(lanepool_future_wait_all(held.futures, COUNT, 1000), LANEPOOL_TIMED_OUT);
        gate_open(&held.gates[i], 1);
    }
    expect_ok(lanepool_future_wait_all(held.futures, COUNT, LANEPOOL_FOREVER));
    for (uint32_t i = 0; i < COUNT; i++) {
        expect_ok(lanepool_future_wait(held.futures[i], 0, &result));
        expect_eq(result.code, i);
    }
    let_go(&held, COUNT);
}

Test(wait_many, all_of_none_is_ok_and_one_may_be_named_twice)
{
    struct held held;

    hold(&held, 1);
    expect_ok(lanepool_future_wait_all(NULL, 0, 0));
    gate_open(&held.gates[0], 1);
    held.futures[1] = held.futures[0];
    expect_ok(lanepool_future_wait_all(held.futures, 2, LANEPOOL_FOREVER));
    let_go(&held, 1);
}

/* A task on key 1 that submits others and waits for them. */
struct inside {
    struct step steps[3];
    lanepool_status all_that_can_end;
    lanepool_status with_one_behind;
    lanepool_status any_ended;
    size_t index;
    lanepool_status any_not_ended;
    lanepool_status any_polled;
};

static int wait_inside(lanepool_run *run, void *context)
{
    struct inside *inside = context;
    lanepool_future *futures[3];

    for (uint64_t i = 0; i < 3; i++) {
        lanepool_claim claim = lanepool_exclusive(3 - i);
        lanepool_task task = step_task(&inside->steps[i], &claim, 1);

        task.future = &futures[i];
        if (lanepool_pool_submit(lanepool_run_pool(run), &task) != LANEPOOL_OK) {
            return 1;
        }
    }
    inside->any_not_ended =
        lanepool_future_wait_any(&futures[2], 1, LANEPOOL_FOREVER, &(size_t){ 0 });
    inside->any_polled = lanepool_future_wait_any(&futures[2], 1, 0, &(size_t){ 0 });
    inside->all_that_can_end = lanepool_future_wait_all(futures, 2, LANEPOOL_FOREVER);
    inside->with_one_behind = lanepool_future_wait_all(futures, 3, LANEPOOL_FOREVER);
    inside->any_ended = lanepool_future_wait_any(&futures[1], 2, LANEPOOL_FOREVER, &inside->index);
    for (int i = 0; i < 3; i++) {
        lanepool_future_release(futures[i]);
    }
    return 0;
}

Test(wait_many, inside_a_task_each_wait_is_judged_and_any_only_looks)
{
    struct inside inside = { .index = 7 };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.function = wait_inside;
    task.context = &inside;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_ok(inside.all_that_can_end);
    expect_status(inside.with_one_behind, LANEPOOL_DEADLOCK);
    expect_ok(inside.any_ended);
    expect_eq(inside.index, 0);
    expect_status(inside.any_not_ended, LANEPOOL_DEADLOCK);
    expect_status(inside.any_polled, LANEPOOL_TIMED_OUT);
}

/* --- any --- */

Test(wait_many, any_answers_the_one_that_has_ended)
{
    struct held held;
    size_t index = 7;

    hold(&held, COUNT);
    expect_status(lanepool_future_wait_any(held.futures, COUNT, 0, &index), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_wait_any(held.futures, COUNT, 1000, &index), LANEPOOL_TIMED_OUT);
    gate_open(&held.gates[2], 1);
    expect_ok(lanepool_future_wait_any(held.futures, COUNT, LANEPOOL_FOREVER, &index));
    expect_eq(index, 2);
    gate_open(&held.gates[0], 1);
    expect_ok(lanepool_future_wait(held.futures[0], LANEPOOL_FOREVER, NULL));
    expect_ok(lanepool_future_wait_any(held.futures, COUNT, 0, &index));
    expect_eq(index, 0);
    gate_open(&held.gates[1], 1);
    gate_open(&held.gates[3], 1);
    let_go(&held, COUNT);
}

/* --- tasks that conflict with claims --- */

static lanepool_status wait_claim(lanepool_pool *pool, uint64_t key, lanepool_mode mode,
                                  uint64_t wait_max_ns)
{
    lanepool_claim claim = lanepool_claim_of(lanepool_key_id(key), mode);

    return lanepool_pool_wait_claims(pool, &claim, 1, wait_max_ns);
}

Test(wait_many, wait_for_claims_waits_for_what_conflicts_and_nothing_else)
{
    struct held held;
    struct step reader = { 0 };
    lanepool_claim claim = lanepool_shared(9);
    lanepool_task task;

    hold(&held, 2);
    gate_init(&held.gates[2]);
    reader.gate = &held.gates[2];
    task = step_task(&reader, &claim, 1);
    expect_ok(lanepool_pool_submit(held.pool, &task));
    expect(gate_await(&held.gates[2], 1));

    expect_ok(wait_claim(held.pool, 5, LANEPOOL_EXCLUSIVE, LANEPOOL_FOREVER));
    expect_ok(wait_claim(held.pool, 9, LANEPOOL_SHARED, LANEPOOL_FOREVER));
    expect_status(wait_claim(held.pool, 9, LANEPOOL_EXCLUSIVE, 1000), LANEPOOL_TIMED_OUT);
    expect_status(wait_claim(held.pool, 0, LANEPOOL_EXCLUSIVE, 1000), LANEPOOL_TIMED_OUT);
    gate_open(&held.gates[0], 1);
    expect_ok(wait_claim(held.pool, 0, LANEPOOL_EXCLUSIVE, LANEPOOL_FOREVER));
    expect_ok(lanepool_future_wait(held.futures[0], 0, NULL));
    gate_open(&held.gates[1], 1);
    gate_open(&held.gates[2], 1);
    pool_settle(held.pool);
    gate_fini(&held.gates[2]);
    let_go(&held, 2);
}

struct canceller {
    lanepool_pool *pool;
    struct gate *gate;
};

static int cancel_all(lanepool_run *run, void *context)
{
    struct canceller *canceller = context;

    (void)run;
    if (lanepool_pool_cancel(canceller->pool, NULL) != LANEPOOL_OK) {
        return 1;
    }
    gate_open(canceller->gate, 1);
    return 0;
}

/* The running task has not ended when the wait behind it is cancelled. */
Test(wait_many, wait_for_claims_outlives_the_cancelling_of_all_tasks)
{
    struct held held;
    struct canceller canceller;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *cancelled;

    hold(&held, 1);
    canceller = (struct canceller){ .pool = held.pool, .gate = &held.gates[0] };
    task.function = cancel_all;
    task.context = &canceller;
    task.future = &cancelled;
    expect_ok(lanepool_pool_submit(held.pool, &task));
    expect_ok(wait_claim(held.pool, 0, LANEPOOL_EXCLUSIVE, LANEPOOL_FOREVER));
    expect_ok(lanepool_future_wait(held.futures[0], 0, NULL));
    expect_ok(lanepool_future_wait(cancelled, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(cancelled);
    let_go(&held, 1);
}

struct own_key {
    lanepool_status own;
    lanepool_status other;
};

static int wait_for_claims_inside(lanepool_run *run, void *context)
{
    struct own_key *waits = context;

    waits->own = wait_claim(lanepool_run_pool(run), 1, LANEPOOL_EXCLUSIVE, LANEPOOL_FOREVER);
    waits->other = wait_claim(lanepool_run_pool(run), 2, LANEPOOL_EXCLUSIVE, LANEPOOL_FOREVER);
    return 0;
}

static void wait_for_own_key(lanepool_layout layout)
{
    struct own_key waits;
    struct step step = { 0 };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(layout == LANEPOOL_PER_KEY ? 1 : 2, layout);

    task.function = wait_for_claims_inside;
    task.context = &waits;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(step_submit_on(pool, &step, 2));
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_status(waits.own, LANEPOOL_DEADLOCK);
    if (layout == LANEPOOL_PER_KEY) {
        expect_ok(waits.other);
    }
}

Test(wait_many, wait_for_a_claim_of_the_task_itself_is_a_deadlock)
{
    wait_for_own_key(LANEPOOL_PER_KEY);
}

Test(wait_many, wait_for_a_claim_of_the_task_itself_is_a_deadlock_per_worker)
{
    wait_for_own_key(LANEPOOL_PER_WORKER);
}

static void count_handed_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    (void)task;
    (void)ticket;
    ++*(uint32_t *)context;
}

Test(wait_many, shutdown_now_hands_no_wait_for_claims_back)
{
    struct held held;
    uint32_t handed_back = 0;

    hold(&held, 1);
    expect_status(wait_claim(held.pool, 0, LANEPOOL_EXCLUSIVE, 1000), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_pool_shutdown_now(held.pool, count_handed_back, &handed_back));
    expect_status(wait_claim(held.pool, 0, LANEPOOL_EXCLUSIVE, 1000), LANEPOOL_SHUT_DOWN);
    gate_open(&held.gates[0], 1);
    let_go(&held, 1);
    expect_eq(handed_back, 0);
}

/* --- arguments --- */

static bool never(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return false;
}

Test(wait_many, bad_arguments_are_invalid)
{
    struct held held;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    size_t index;

    hold(&held, 1);
    expect_status(lanepool_future_wait_all(NULL, 1, 0), LANEPOOL_INVALID);
    expect_status(lanepool_future_wait_all(held.futures, 2, 0), LANEPOOL_INVALID);
    expect_status(lanepool_future_wait_any(NULL, 0, 0, &index), LANEPOOL_INVALID);
    expect_status(lanepool_future_wait_any(held.futures, 0, 0, &index), LANEPOOL_INVALID);
    expect_status(lanepool_future_wait_any(held.futures, 2, 0, &index), LANEPOOL_INVALID);
    expect_status(lanepool_future_wait_any(held.futures, 1, 0, NULL), LANEPOOL_INVALID);
    expect_status(wait_claim(NULL, 1, LANEPOOL_SHARED, 1), LANEPOOL_INVALID);
    expect_status(wait_claim(held.pool, 1, LANEPOOL_SHARED, 0), LANEPOOL_INVALID);
    expect_status(lanepool_pool_wait_claims(held.pool, NULL, 0, 1), LANEPOOL_INVALID);
    expect_status(lanepool_pool_wait_claims(held.pool, NULL, 1, 1), LANEPOOL_INVALID);
    gate_open(&held.gates[0], 1);
    let_go(&held, 1);

    options.is_compatible = never;
    options.layout = LANEPOOL_PER_WORKER;
    held.pool = pool_make_with(&options);
    expect_status(wait_claim(held.pool, 1, LANEPOOL_SHARED, 1), LANEPOOL_UNSUPPORTED);
    pool_end(held.pool);
}
