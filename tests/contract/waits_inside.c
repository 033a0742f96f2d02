/*
 * Waiting inside a task: the waiting thread runs the awaited task if necessary. A wait that could
 * never end is answered at once.
 */
#include "support/step.h"
#include "support/test.h"

/* A task that submits steps in turn and then waits for the last one. */
struct waiter {
    struct step *steps; /* submitted inside the task, in this order */
    const uint64_t (*keys)[2];
    uint32_t step_count;
    uint64_t wait_ns;
    bool shut_down_first;
    struct step *unrelated;
    lanepool_status status;
    lanepool_result result;
    bool unrelated_was_called;
};

/* Submits a step with claims on the keys that are not 0. */
static lanepool_status submit_inside(lanepool_pool *pool, struct step *step, const uint64_t keys[2],
                                     lanepool_future **future)
{
    lanepool_claim claims[2];
    lanepool_task task;
    size_t count = 0;

    for (int i = 0; i < 2; i++) {
        if (keys[i]) {
            claims[count++] = lanepool_exclusive(keys[i]);
        }
    }
    task = step_task(step, claims, count);
    task.future = future;
    return lanepool_pool_submit(pool, &task);
}

static int wait_for_last(lanepool_run *run, void *context)
{
    struct waiter *waiter = context;
    lanepool_pool *pool = lanepool_run_pool(run);
    lanepool_future *future = NULL;

    for (uint32_t i = 0; i < waiter->step_count && waiter->status == LANEPOOL_OK; i++) {
        bool last = i + 1 == waiter->step_count;

        waiter->status =
            submit_inside(pool, &waiter->steps[i], waiter->keys[i], last ? &future : NULL);
    }
    if (waiter->shut_down_first) {
        waiter->status = lanepool_pool_shutdown_now(pool, NULL, NULL);
    }
    if (waiter->status == LANEPOOL_OK) {
        waiter->status = lanepool_future_wait(future, waiter->wait_ns, &waiter->result);
    }
    if (waiter->unrelated) {
        waiter->unrelated_was_called = step_was_called(waiter->unrelated);
    }
    lanepool_future_release(future);
    return 0;
}

static lanepool_status submit_waiter(lanepool_pool *pool, struct waiter *waiter)
{
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = wait_for_last;
    task.context = waiter;
    task.claims = &claim;
    task.claim_count = 1;
    return lanepool_pool_submit(pool, &task);
}

/* Runs the waiter, which holds key 1, alone on one worker. */
static void run_waiter(struct waiter *waiter)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(submit_waiter(pool, waiter));
    pool_end(pool);
}

Test(waits_inside, compatible_task_is_run_by_the_waiter_itself)
{
    static const uint64_t keys[1][2] = { { 2, 0 } };
    struct step child = { .value = &child };
    struct waiter waiter = { &child, keys, 1, LANEPOOL_FOREVER, false, NULL, 0, { 0 }, false };

    run_waiter(&waiter);
    expect_ok(waiter.status);
    expect(waiter.result.value == &child);
    expect_eq(child.runs, 1);
}

Test(waits_inside, what_the_awaited_task_waits_for_is_run_too)
{
    static const uint64_t keys[4][2] = { { 2, 0 }, { 2, 3 }, { 3, 0 }, { 3, 4 } };
    struct journal journal = { 0 };
    struct step steps[4] = { { .id = 0 }, { .id = 1 }, { .id = 2 }, { .id = 3 } };
    struct waiter waiter = { steps, keys, 4, LANEPOOL_FOREVER, false, NULL, 0, { 0 }, false };

    for (int i = 0; i < 4; i++) {
        steps[i].journal = &journal;
    }
    run_waiter(&waiter);
    expect_ok(waiter.status);
    for (uint32_t i = 0; i < 4; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
}

Test(waits_inside, nothing_else_is_run_meanwhile)
{
    static const uint64_t keys[2][2] = { { 9, 0 }, { 2, 0 } };
    struct step steps[2] = { { 0 } };
    struct waiter waiter = { steps, keys, 2, LANEPOOL_FOREVER, false, &steps[0], 0, { 0 }, false };

    run_waiter(&waiter);
    expect_ok(waiter.status);
    expect_eq(steps[1].runs, 1);
    expect(!waiter.unrelated_was_called);
    expect_eq(steps[0].runs, 1); /* it runs afterwards */
}

Test(waits_inside, wait_for_a_task_behind_the_waiters_own_key_is_a_deadlock)
{
    static const uint64_t keys[1][2] = { { 1, 0 } };
    struct step child = { 0 };
    struct waiter waiter = { &child, keys, 1, LANEPOOL_FOREVER, false, NULL, 0, { 0 }, false };

    run_waiter(&waiter);
    expect_status(waiter.status, LANEPOOL_DEADLOCK);
    expect_eq(child.runs, 1); /* after the waiter has returned */
}

Test(waits_inside, wait_for_a_task_behind_a_rollup_over_the_waiters_key_is_a_deadlock)
{
    static const uint64_t keys[2][2] = { { 1, 2 }, { 2, 0 } };
    struct step steps[2] = { { 0 } };
    struct waiter waiter = { steps, keys, 2, LANEPOOL_FOREVER, false, NULL, 0, { 0 }, false };

    run_waiter(&waiter);
    expect_status(waiter.status, LANEPOOL_DEADLOCK);
    expect_eq(steps[1].runs, 1);
}

Test(waits_inside, limited_wait_that_could_never_end_is_a_deadlock_too)
{
    static const uint64_t keys[1][2] = { { 1, 0 } };
    struct step child = { 0 };
    struct waiter waiter = {
        &child, keys, 1, UINT64_C(3600000000000), false, NULL, 0, { 0 }, false
    };

    run_waiter(&waiter);
    expect_status(waiter.status, LANEPOOL_DEADLOCK);
}

Test(waits_inside, wait_after_shutdown_now_is_refused)
{
    static const uint64_t keys[1][2] = { { 2, 0 } };
    struct step child = { 0 };
    struct waiter waiter = { &child, keys, 1, LANEPOOL_FOREVER, true, NULL, 0, { 0 }, false };

    run_waiter(&waiter);
    expect_status(waiter.status, LANEPOOL_SHUT_DOWN);
    expect_eq(child.cancels, 1);
    expect_eq(child.runs, 0);
}

/* One of two tasks that wait for one another, or a task that waits for itself. */
struct mutual {
    struct gate *gate;
    lanepool_future *own;
    lanepool_future **other;
    lanepool_status status;
};

static int wait_for_other(lanepool_run *run, void *context)
{
    struct mutual *mutual = context;

    (void)run;
    gate_pass(mutual->gate);
    mutual->status = lanepool_future_wait(*mutual->other, LANEPOOL_FOREVER, NULL);
    return 0;
}

static void submit_mutual(lanepool_pool *pool, struct mutual *mutual)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = wait_for_other;
    task.context = mutual;
    task.future = &mutual->own;
    expect_ok(lanepool_pool_submit(pool, &task));
}

Test(waits_inside, one_of_two_tasks_that_wait_for_one_another_gets_deadlock)
{
    struct gate gate;
    struct mutual tasks[2] = { { .gate = &gate, .other = &tasks[1].own },
                               { .gate = &gate, .other = &tasks[0].own } };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    for (int round = 0; round < 50; round++) {
        submit_mutual(pool, &tasks[0]);
        submit_mutual(pool, &tasks[1]);
        expect(gate_await(&gate, 2));
        gate_open(&gate, 2);
        pool_settle(pool);
        expect((tasks[0].status == LANEPOOL_DEADLOCK) != (tasks[1].status == LANEPOOL_DEADLOCK));
        expect((tasks[0].status == LANEPOOL_OK) != (tasks[1].status == LANEPOOL_OK));
        lanepool_future_release(tasks[0].own);
        lanepool_future_release(tasks[1].own);
    }
    pool_end(pool);
    gate_fini(&gate);
}

Test(waits_inside, wait_for_oneself_is_a_deadlock)
{
    struct gate gate;
    struct mutual task = { .gate = &gate, .other = &task.own };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    submit_mutual(pool, &task);
    expect(gate_await(&gate, 1));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_status(task.status, LANEPOOL_DEADLOCK);
    lanepool_future_release(task.own);
    gate_fini(&gate);
}

/* Tasks that each submit the next one and wait for it: the waits nest on one worker. */
enum { CHAIN = 70, NESTED_MAX = 64 };

struct link {
    struct link *next; /* or NULL at the end */
    lanepool_status status;
};

static int wait_for_next(lanepool_run *run, void *context)
{
    struct link *link = context;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future = NULL;

    if (link->next) {
        task.function = wait_for_next;
        task.context = link->next;
        task.future = &future;
        link->status = lanepool_pool_submit(lanepool_run_pool(run), &task);
        if (link->status == LANEPOOL_OK) {
            link->status = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL);
        }
        lanepool_future_release(future);
    }
    return 0;
}

Test(waits_inside, waits_nested_too_deeply_are_refused)
{
    struct link links[CHAIN] = { { NULL, 0 } };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    for (int i = 0; i + 1 < CHAIN; i++) {
        links[i].next = &links[i + 1];
    }
    task.function = wait_for_next;
    task.context = &links[0];
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    for (int i = 0; i + 1 < CHAIN; i++) {
        expect_status(links[i].status, i == NESTED_MAX ? LANEPOOL_DEADLOCK : LANEPOOL_OK);
    }
}

/* Calls that wait for the whole pool. */
struct whole_pool {
    lanepool_status destroy;
    lanepool_status await;
    lanepool_status quiesce;
};

static int wait_for_whole_pool(lanepool_run *run, void *context)
{
    struct whole_pool *answers = context;
    lanepool_pool *pool = lanepool_run_pool(run);

    answers->destroy = lanepool_pool_destroy(pool);
    answers->await = lanepool_pool_await(pool, LANEPOOL_FOREVER);
    answers->quiesce = lanepool_pool_quiesce(pool, LANEPOOL_FOREVER);
    return 0;
}

Test(waits_inside, waiting_for_the_whole_pool_is_a_deadlock_and_changes_nothing)
{
    struct whole_pool answers = { 0 };
    struct step later = { 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    task.function = wait_for_whole_pool;
    task.context = &answers;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_status(answers.destroy, LANEPOOL_DEADLOCK);
    expect_status(answers.await, LANEPOOL_DEADLOCK);
    expect_status(answers.quiesce, LANEPOOL_DEADLOCK);
    expect(!lanepool_pool_is_shut_down(pool));
    expect_ok(step_submit(pool, &later));
    pool_end(pool);
    expect_eq(later.runs, 1);
}

/* A callback that waits for a task that has not finished, and for the pool. */
struct callback_wait {
    struct gate done;
    lanepool_pool *pool;
    lanepool_future *pending;
    lanepool_status status;
    lanepool_status quiesce;
};

static void wait_in_callback(struct callback_wait *wait)
{
    wait->status = lanepool_future_wait(wait->pending, LANEPOOL_FOREVER, NULL);
    wait->quiesce = lanepool_pool_quiesce(wait->pool, LANEPOOL_FOREVER);
    gate_arrive(&wait->done);
}

static void wait_in_then(void *context, const lanepool_result *result)
{
    (void)result;
    wait_in_callback(context);
}

static void wait_in_on_error(void *user, const lanepool_error *error)
{
    (void)error;
    wait_in_callback(user);
}

static void wait_in_release(void *context)
{
    struct step *step = context;

    wait_in_callback(step->value);
}

enum callback { IN_THEN, IN_ON_ERROR, IN_RELEASE };

static void wait_in(enum callback where)
{
    struct gate gate;
    struct gate first_gate;
    struct callback_wait wait = { .status = LANEPOOL_OK };
    struct step pending = { .gate = &gate };
    struct step first = { .gate = &first_gate, .value = &wait };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task pending_task = step_task(&pending, NULL, 0);
    lanepool_task task = step_task(&first, NULL, 0);
    lanepool_future *future;

    gate_init(&gate);
    gate_init(&first_gate);
    gate_init(&wait.done);
    options.workers = 2;
    options.on_error = where == IN_ON_ERROR ? wait_in_on_error : NULL;
    options.user = &wait;
    wait.pool = pool_make_with(&options);
    pending_task.future = &wait.pending;
    expect_ok(lanepool_pool_submit(wait.pool, &pending_task));
    expect(gate_await(&gate, 1));
    first.code = where == IN_ON_ERROR;
    task.release = where == IN_RELEASE ? wait_in_release : NULL;
    task.future = &future;
    expect_ok(lanepool_pool_submit(wait.pool, &task));
    if (where == IN_THEN) {
        expect_ok(lanepool_future_then(future, wait_in_then, &wait));
    }
    gate_open(&first_gate, 1);
    expect(gate_await(&wait.done, 1)); /* the other task has not finished */
    lanepool_future_release(future);
    gate_open(&gate, 1);
    pool_end(wait.pool);
    expect_status(wait.status, LANEPOOL_DEADLOCK);
    expect_status(wait.quiesce, LANEPOOL_DEADLOCK);
    lanepool_future_release(wait.pending);
    gate_fini(&gate);
    gate_fini(&first_gate);
    gate_fini(&wait.done);
}

Test(waits_inside, wait_in_a_continuation_is_a_deadlock)
{
    wait_in(IN_THEN);
}

Test(waits_inside, wait_in_the_error_callback_is_a_deadlock)
{
    wait_in(IN_ON_ERROR);
}

Test(waits_inside, wait_in_a_release_is_a_deadlock)
{
    wait_in(IN_RELEASE);
}

Test(waits_inside, task_may_wait_for_a_task_of_another_pool)
{
    struct gate gate;
    struct step elsewhere = { .value = &elsewhere };
    lanepool_task task = step_task(&elsewhere, NULL, 0);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pool *other = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future;
    struct mutual waiting = { .gate = &gate, .other = &future };

    gate_init(&gate);
    gate_open(&gate, 1);
    task.future = &future;
    expect_ok(lanepool_pool_submit(other, &task));
    submit_mutual(pool, &waiting);
    pool_end(pool);
    pool_end(other);
    expect_ok(waiting.status);
    lanepool_future_release(future);
    lanepool_future_release(waiting.own);
    gate_fini(&gate);
}
