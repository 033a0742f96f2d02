/* Futures: waiting, results, continuations, references. */
#include "support/step.h"
#include "support/test.h"

static lanepool_future *submit_with_future(lanepool_pool *pool, struct step *step, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = step_task(step, &claim, 1);
    lanepool_future *future = NULL;

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(future != NULL);
    return future;
}

Test(futures, result_carries_value_and_success)
{
    struct step step = { .value = &step };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_future *future = submit_with_future(pool, &step, 1);
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_OK);
    expect_eq(result.code, 0);
    expect(result.value == &step);
    expect_ok(lanepool_future_wait(future, 0, NULL)); /* again, and without a result */
    lanepool_future_release(future);
    pool_end(pool);
}

Test(futures, result_carries_failure_code_and_value)
{
    struct step step = { .code = -42, .value = &step };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_future *future = submit_with_future(pool, &step, 1);
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_FAILED);
    expect_eq(result.code, -42);
    expect(result.value == &step);
    lanepool_future_release(future);
    pool_end(pool);
}

Test(futures, wait_times_out_while_the_task_runs_and_can_be_repeated)
{
    struct gate gate;
    struct step step = { .gate = &gate };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future;
    lanepool_result result;

    gate_init(&gate);
    future = submit_with_future(pool, &step, 1);
    expect(gate_await(&gate, 1));
    expect_status(lanepool_future_wait(future, 0, &result), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_wait(future, 1000000, &result), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_OK);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&gate);
}

Test(futures, future_outlives_its_pool)
{
    struct step step = { .value = &step };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future = submit_with_future(pool, &step, 1);
    lanepool_future *second = lanepool_future_retain(future);
    lanepool_result result;

    expect(second == future);
    pool_end(pool);
    lanepool_future_release(future);
    expect_ok(lanepool_future_wait(second, 0, &result));
    expect(result.value == &step);
    lanepool_future_release(second);
    lanepool_future_release(NULL);
}

Test(futures, future_can_be_released_before_its_task_has_started)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step step = { .value = &step };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    lanepool_future_release(submit_with_future(pool, &step, 1));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(step.runs, 1);
    gate_fini(&gate);
}

/* The records of continuations. */
struct calls {
    struct gate gate;
    _Atomic uint32_t count;
    _Atomic uint32_t order[8];
    lanepool_result result;
};

struct one_call {
    struct calls *calls;
    uint32_t id;
};

static void note_call(void *context, const lanepool_result *result)
{
    struct one_call *call = context;

    call->calls->result = *result;
    atomic_store(&call->calls->order[atomic_fetch_add(&call->calls->count, 1)], call->id);
    gate_arrive(&call->calls->gate);
}

Test(futures, continuations_are_called_once_in_the_order_of_asking)
{
    struct calls calls = { .count = 0 };
    struct one_call asked[4];
    struct gate gate;
    struct step step = { .gate = &gate, .code = 9 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future;

    gate_init(&gate);
    gate_init(&calls.gate);
    future = submit_with_future(pool, &step, 1);
    for (uint32_t i = 0; i < 4; i++) {
        asked[i] = (struct one_call){ &calls, i };
        expect_ok(lanepool_future_then(future, note_call, &asked[i]));
    }
    lanepool_future_release(future);
    expect_eq(calls.count, 0);
    gate_open(&gate, 1);
    expect(gate_await(&calls.gate, 4));
    pool_end(pool);
    expect_eq(calls.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        expect_eq(calls.order[i], i);
    }
    expect_status(calls.result.status, LANEPOOL_FAILED);
    expect_eq(calls.result.code, 9);
    gate_fini(&gate);
    gate_fini(&calls.gate);
}

Test(futures, continuation_of_a_finished_task_is_called_at_once)
{
    struct calls calls = { .count = 0 };
    struct one_call asked = { &calls, 3 };
    struct step step = { .value = &step };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future = submit_with_future(pool, &step, 1);

    gate_init(&calls.gate);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    expect_ok(lanepool_future_then(future, note_call, &asked));
    expect_eq(calls.count, 1); /* this thread made the call */
    expect(calls.result.value == &step);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&calls.gate);
}

static void stop_at_gate(void *context, const lanepool_result *result)
{
    (void)result;
    gate_pass(context);
}

Test(futures, lanes_have_moved_on_before_a_continuation_is_called)
{
    struct gate first_gate;
    struct gate in_callback;
    struct gate next_gate;
    struct step first = { .gate = &first_gate };
    struct step next = { .gate = &next_gate };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_future *future;

    gate_init(&first_gate);
    gate_init(&in_callback);
    gate_init(&next_gate);
    future = submit_with_future(pool, &first, 1);
    expect_ok(lanepool_future_then(future, stop_at_gate, &in_callback));
    expect_ok(step_submit_on(pool, &next, 1));
    gate_open(&first_gate, 1);
    expect(gate_await(&in_callback, 1));
    expect(gate_await(&next_gate, 1)); /* the next task starts while the callback still runs */
    gate_open(&next_gate, 1);
    gate_open(&in_callback, 1);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&first_gate);
    gate_fini(&in_callback);
    gate_fini(&next_gate);
}

struct resubmit {
    lanepool_pool *pool;
    struct step step;
    _Atomic int status;
};

static void submit_again(void *context, const lanepool_result *result)
{
    struct resubmit *again = context;

    (void)result;
    atomic_store(&again->status, (int)step_submit_on(again->pool, &again->step, 1));
}

Test(futures, continuation_may_submit)
{
    struct step first = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    struct resubmit again = { .pool = pool, .status = -1 };
    lanepool_future *future = submit_with_future(pool, &first, 1);

    expect_ok(lanepool_future_then(future, submit_again, &again));
    lanepool_future_release(future);
    pool_end(pool); /* callbacks may still submit during a drain */
    expect_eq(again.status, LANEPOOL_OK);
    expect_eq(again.step.runs, 1);
}
