/*
 * Cancelling while the program's allocator refuses all memory: only the cancel of a task that has
 * not started, and has nothing but a future, may answer NOMEM. Then nothing has changed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/step.h"
#include "support/store.h"
#include "support/test.h"

#define A_MOMENT UINT64_C(1000000)

struct stage {
    struct store store;
    lanepool_allocator allocator;
    lanepool_pool *pool;
    struct gate gate;
    struct step first; /* holds key 1 at the gate */
    struct step step;  /* behind it */
    lanepool_claim claim;
    lanepool_task task; /* of `step` */
    lanepool_future *future;
};

static void stage_open(struct stage *stage, const lanepool_failure_policy *policy)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    memset(stage, 0, sizeof *stage);
    gate_init(&stage->gate);
    stage->allocator = store_open(&stage->store);
    options.workers = 1;
    options.allocator = &stage->allocator;
    options.on_failure = policy;
    stage->pool = pool_make_with(&options);
    stage->first.gate = &stage->gate;
    expect_ok(step_submit_on(stage->pool, &stage->first, 1));
    expect(gate_await(&stage->gate, 1));
    stage->claim = lanepool_exclusive(1);
    stage->task = step_task(&stage->step, &stage->claim, 1);
    stage->task.future = &stage->future;
}

static void refuse_memory(struct stage *stage, bool refuses)
{
    pthread_mutex_lock(&stage->store.lock);
    stage->store.refused_from = refuses ? 1 : 0;
    pthread_mutex_unlock(&stage->store.lock);
}

static void stage_close(struct stage *stage)
{
    refuse_memory(stage, false);
    gate_open(&stage->gate, 1);
    pool_end(stage->pool);
    lanepool_future_release(stage->future);
    store_close(&stage->store);
    gate_fini(&stage->gate);
}

static void expect_cancelled(struct stage *stage)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(stage->future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_CANCELLED);
    expect_eq(stage->step.cancels, 1);
    expect_eq(stage->step.runs, 0);
}

Test(cancel_memory, a_task_that_has_not_started_stays_as_it_was)
{
    struct stage stage;

    stage_open(&stage, NULL);
    expect_ok(lanepool_pool_submit(stage.pool, &stage.task));
    refuse_memory(&stage, true);
    for (int i = 0; i < 3; i++) {
        expect_status(lanepool_future_cancel(stage.future), LANEPOOL_NOMEM);
        expect_status(lanepool_future_cancel_wait(stage.future, 0), LANEPOOL_NOMEM);
        expect_status(lanepool_future_wait(stage.future, 0, NULL), LANEPOOL_TIMED_OUT);
        expect_eq(stage.step.cancels, 0);
    }
    refuse_memory(&stage, false);
    expect_ok(lanepool_future_cancel(stage.future));
    expect_cancelled(&stage);
    expect_status(lanepool_future_cancel(stage.future), LANEPOOL_DONE);
    stage_close(&stage);
}

Test(cancel_memory, a_task_whose_cancel_was_refused_runs)
{
    struct stage stage;

    stage_open(&stage, NULL);
    expect_ok(lanepool_pool_submit(stage.pool, &stage.task));
    refuse_memory(&stage, true);
    expect_status(lanepool_future_cancel(stage.future), LANEPOOL_NOMEM);
    gate_open(&stage.gate, 1);
    expect_ok(lanepool_future_wait(stage.future, LANEPOOL_FOREVER, NULL));
    expect_eq(stage.step.runs, 1);
    expect_status(lanepool_future_cancel(stage.future), LANEPOOL_DONE);
    stage_close(&stage);
}

/* A thread that has never used the pool. */
static void *cancel_future(void *argument)
{
    struct stage *stage = argument;

    stage->step.code = (int)lanepool_future_cancel(stage->future);
    return NULL;
}

static lanepool_status cancel_on_new_thread(struct stage *stage)
{
    pthread_t thread;

    expect_eq(pthread_create(&thread, NULL, cancel_future, stage), 0);
    expect_eq(pthread_join(thread, NULL), 0);
    return (lanepool_status)stage->step.code;
}

struct runner {
    struct gate gate;
    bool was_asked;
};

static int look_for_request(lanepool_run *run, void *context)
{
    struct runner *runner = context;

    gate_pass(&runner->gate);
    runner->was_asked = lanepool_run_is_cancelled(run);
    return 0;
}

Test(cancel_memory, a_running_task_is_asked_to_end)
{
    struct stage stage;
    struct runner runner = { .was_asked = false };

    stage_open(&stage, NULL);
    gate_init(&runner.gate);
    stage.task.function = look_for_request;
    stage.task.context = &runner;
    stage.task.cancelled = NULL;
    expect_ok(lanepool_pool_submit(stage.pool, &stage.task));
    gate_open(&stage.gate, 1);
    expect(gate_await(&runner.gate, 1));
    refuse_memory(&stage, true);
    expect_status(cancel_on_new_thread(&stage), LANEPOOL_RUNNING);
    gate_open(&runner.gate, 1);
    expect_ok(lanepool_future_wait(stage.future, LANEPOOL_FOREVER, NULL));
    expect(runner.was_asked);
    gate_fini(&runner.gate);
    stage_close(&stage);
}

static void tell_of_failure(void *user, const lanepool_error *error)
{
    (void)error;
    gate_arrive(user);
}

/* The task waits for a retry that would come after an hour. */
Test(cancel_memory, a_task_between_two_attempts_ends)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct stage stage;
    lanepool_result result;

    memset(&stage, 0, sizeof stage);
    gate_init(&stage.gate);
    stage.allocator = store_open(&stage.store);
    policy.retries = 1;
    policy.delay_ns = UINT64_C(3600000000000);
    options.allocator = &stage.allocator;
    options.on_failure = &policy;
    options.on_error = tell_of_failure;
    options.user = &stage.gate;
    stage.pool = pool_make_with(&options);
    stage.step.code = 1;
    stage.task = step_task(&stage.step, NULL, 0);
    stage.task.future = &stage.future;
    expect_ok(lanepool_pool_submit(stage.pool, &stage.task));
    expect(gate_await(&stage.gate, 1));
    refuse_memory(&stage, true);
    expect_status(lanepool_future_cancel(stage.future), LANEPOOL_RUNNING);
    expect_ok(lanepool_future_wait(stage.future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_CANCELLED);
    expect_eq(stage.step.runs, 1);
    stage_close(&stage);
}

Test(cancel_memory, a_task_with_a_policy_is_cancelled)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    struct stage stage;

    policy.retries = 2;
    stage_open(&stage, &policy);
    expect_ok(lanepool_pool_submit(stage.pool, &stage.task));
    refuse_memory(&stage, true);
    expect_ok(lanepool_future_cancel(stage.future));
    expect_cancelled(&stage);
    stage_close(&stage);
}

Test(cancel_memory, the_members_of_a_group_are_cancelled)
{
    struct stage stage;
    lanepool_group *group = group_make(false);
    size_t count;

    stage_open(&stage, NULL);
    stage.task.group = group;
    expect_ok(lanepool_pool_submit(stage.pool, &stage.task));
    refuse_memory(&stage, true);
    expect_ok(lanepool_group_cancel(group, &count));
    expect_eq(count, 1);
    expect_cancelled(&stage);
    stage_close(&stage);
    lanepool_group_destroy(group);
}

Test(cancel_memory, a_delayed_task_is_cancelled)
{
    struct stage stage;

    stage_open(&stage, NULL);
    expect_ok(lanepool_pool_submit_after(stage.pool, &stage.task, INT64_C(3600000000000)));
    refuse_memory(&stage, true);
    expect_ok(lanepool_future_cancel(stage.future));
    expect_cancelled(&stage);
    stage_close(&stage);
}

Test(cancel_memory, a_task_that_starts_too_late_is_cancelled)
{
    struct stage stage;
    lanepool_result result;

    stage_open(&stage, NULL);
    stage.task.start_within_ns = A_MOMENT;
    expect_ok(lanepool_pool_submit(stage.pool, &stage.task));
    refuse_memory(&stage, true);
    expect_ok(lanepool_future_wait(stage.future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_TIMED_OUT);
    expect_eq(stage.step.runs, 0);
    stage_close(&stage);
}

/* A wait for claims gives up its place, or does not begin. */
Test(cancel_memory, a_wait_for_claims_leaves_nothing_behind)
{
    struct stage stage;

    stage_open(&stage, NULL);
    expect_status(lanepool_pool_wait_claims(stage.pool, &stage.claim, 1, A_MOMENT),
                  LANEPOOL_TIMED_OUT);
    refuse_memory(&stage, true);
    expect_status(lanepool_pool_wait_claims(stage.pool, &stage.claim, 1, A_MOMENT), LANEPOOL_NOMEM);
    stage_close(&stage);
}

Test(cancel_memory, a_task_of_a_sequence_is_cancelled)
{
    struct stage stage;
    lanepool_executor *executor;
    lanepool_sequence *sequence;

    stage_open(&stage, NULL);
    expect_ok(lanepool_pool_executor(stage.pool, &executor));
    expect_ok(lanepool_sequence_create(executor, &sequence));
    stage.task.claims = NULL;
    stage.task.claim_count = 0;
    expect_ok(lanepool_sequence_submit(sequence, &stage.task));
    refuse_memory(&stage, true);
    expect_ok(lanepool_future_cancel(stage.future));
    expect_cancelled(&stage);
    refuse_memory(&stage, false);
    gate_open(&stage.gate, 1);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(executor));
    stage_close(&stage);
}

/* --- a task that starts while its cancel asks for memory --- */

struct starting {
    struct gate holder_gate;
    struct gate gate;
    bool lets_it_start; /* written while no other thread allocates */
};

/* Refuses memory, but lets the task start before. */
static void *start_the_task(void *user, size_t size, size_t alignment)
{
    struct starting *starting = user;

    if (!starting->lets_it_start) {
        return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    starting->lets_it_start = false;
    gate_open(&starting->holder_gate, 1);
    expect(gate_await(&starting->gate, 1));
    return NULL;
}

static void give_back(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

Test(cancel_memory, a_task_that_starts_meanwhile_is_asked_to_end)
{
    struct starting starting = { .lets_it_start = false };
    struct step holder = { .gate = &starting.holder_gate };
    struct step step = { .gate = &starting.gate };
    lanepool_allocator allocator = { sizeof allocator, start_the_task, give_back, &starting };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&step, &claim, 1);
    lanepool_future *future;

    gate_init(&starting.holder_gate);
    gate_init(&starting.gate);
    options.workers = 1;
    options.allocator = &allocator;
    lanepool_pool *pool = pool_make_with(&options);
    task.future = &future;
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&starting.holder_gate, 1));
    expect_ok(lanepool_pool_submit(pool, &task));
    starting.lets_it_start = true;
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    gate_open(&starting.gate, 1);
    future_finish(future);
    expect_eq(step.runs, 1);
    expect_eq(step.cancels, 0);
    pool_end(pool);
    gate_fini(&starting.holder_gate);
    gate_fini(&starting.gate);
}
