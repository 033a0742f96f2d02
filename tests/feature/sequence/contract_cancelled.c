/* Waits in the `cancelled` of a sequence's task; works that are cancelled late. */
#include "support/step.h"
#include "support/test.h"

struct refusal {
    lanepool_sequence *sequence;
    lanepool_future *future;
    lanepool_status answers[3];
};

static int never_run(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

static void wait_when_cancelled(void *context, lanepool_status why)
{
    struct refusal *self = context;

    (void)why;
    self->answers[0] = lanepool_future_wait(self->future, LANEPOOL_FOREVER, NULL);
    self->answers[1] = lanepool_sequence_wait(self->sequence, LANEPOOL_FOREVER);
    self->answers[2] = lanepool_sequence_destroy(self->sequence);
}

/* The executor does not run the sequence's task. */
static void cancel_and_wait_inside(lanepool_executor *executor)
{
    struct refusal self;
    lanepool_task task = LANEPOOL_TASK_INIT;

    expect_ok(lanepool_sequence_create(executor, &self.sequence));
    task.function = never_run;
    task.context = &self;
    task.cancelled = wait_when_cancelled;
    task.future = &self.future;
    expect_ok(lanepool_sequence_submit(self.sequence, &task));
    expect_ok(lanepool_sequence_cancel(self.sequence));
    for (int i = 0; i < 3; i++) {
        expect_status(self.answers[i], LANEPOOL_DEADLOCK);
    }
    lanepool_future_release(self.future);
    expect_ok(lanepool_sequence_destroy(self.sequence));
}

Test(sequence_cancelled, wait_is_a_deadlock_on_a_pool)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    lanepool_executor *executor;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_executor(pool, &executor));
    cancel_and_wait_inside(executor);
    expect_ok(lanepool_executor_destroy(executor));
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

static lanepool_status keep(void *context, lanepool_work *work)
{
    *(lanepool_work **)context = work;
    return LANEPOOL_OK;
}

Test(sequence_cancelled, wait_is_a_deadlock_on_another_executor)
{
    lanepool_work *kept = NULL;
    lanepool_executor *executor;
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;

    functions.execute = keep;
    expect_ok(lanepool_executor_create(&functions, &kept, &executor));
    cancel_and_wait_inside(executor);
    lanepool_work_run(kept);
    expect_ok(lanepool_executor_destroy(executor));
}

/* The pool cancels a work whose sequence is gone. */
Test(sequence_cancelled, pool_may_stop_after_a_sequence_was_destroyed)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step step = { 0 };
    lanepool_sequence *sequence;
    lanepool_executor *executor;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&step, NULL, 0);

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_executor(pool, &executor));
    expect_ok(lanepool_sequence_create(executor, &sequence));
    expect_ok(lanepool_sequence_submit(sequence, &task));
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_eq(step.cancels, 1);
    expect_ok(lanepool_executor_destroy(executor));
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_ok(lanepool_pool_destroy(pool));
    expect_eq(step.runs, 0);
    gate_fini(&gate);
}
