/* Failing tasks, the error callback, and tasks that end their thread. */
#include <pthread.h>

#include "support/step.h"
#include "support/test.h"

struct errors {
    struct gate gate;
    lanepool_error last;
    _Atomic uint32_t count;
};

static void note_error(void *user, const lanepool_error *error)
{
    struct errors *errors = user;

    errors->last = *error;
    atomic_fetch_add(&errors->count, 1);
}

static void note_error_and_stop(void *user, const lanepool_error *error)
{
    struct errors *errors = user;

    note_error(user, error);
    gate_pass(&errors->gate);
}

static lanepool_pool *pool_with_errors(unsigned workers, lanepool_error_fn on_error,
                                       struct errors *errors)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.on_error = on_error;
    options.user = errors;
    return pool_make_with(&options);
}

Test(errors, error_callback_describes_the_failed_task)
{
    struct errors errors = { .count = 0 };
    struct step good = { 0 };
    struct step bad = { .code = 77 };
    lanepool_pool *pool = pool_with_errors(2, note_error, &errors);

    expect_ok(step_submit_on(pool, &good, 1));
    expect_ok(step_submit_on(pool, &bad, 1));
    pool_end(pool);
    expect_eq(errors.count, 1);
    expect(errors.last.function == step_body);
    expect(errors.last.context == &bad);
    expect_eq(errors.last.ticket, bad.ticket);
    expect_status(errors.last.status, LANEPOOL_FAILED);
    expect_eq(errors.last.code, 77);
}

Test(errors, error_callback_comes_before_the_lanes_move_on)
{
    struct errors errors = { .count = 0 };
    struct step bad = { .code = 1 };
    struct step next = { 0 };
    struct gate done;
    struct step witness = { .gate = &done };
    lanepool_pool *pool = pool_with_errors(2, note_error_and_stop, &errors);

    gate_init(&errors.gate);
    gate_init(&done);
    expect_ok(step_submit_on(pool, &bad, 1));
    expect(gate_await(&errors.gate, 1));
    expect_ok(step_submit_on(pool, &next, 1));
    expect_ok(step_submit_on(pool, &witness, 2));
    expect(gate_await(&done, 1)); /* submitted later, and started */
    expect(!step_was_called(&next));
    gate_open(&done, 1);
    gate_open(&errors.gate, 1);
    pool_end(pool);
    expect_eq(next.runs, 1);
    gate_fini(&errors.gate);
    gate_fini(&done);
}

/* Ends its thread instead of returning. */
static int end_thread(lanepool_run *run, void *context)
{
    (void)run;
    gate_arrive(context);
    pthread_exit(NULL);
}

Test(errors, task_that_ends_its_thread_is_abandoned_and_its_lane_goes_on)
{
    struct errors errors = { .count = 0 };
    struct gate gate;
    struct step next[20] = { { 0 } };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future;
    lanepool_result result;
    lanepool_pool *pool = pool_with_errors(1, note_error, &errors);

    gate_init(&gate);
    task.function = end_thread;
    task.context = &gate;
    task.claims = &claim;
    task.claim_count = 1;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    for (int i = 0; i < 20; i++) {
        expect_ok(step_submit_on(pool, &next[i], 1));
    }
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_ABANDONED);
    expect_eq(result.code, 0);
    pool_settle(pool);
    for (int i = 0; i < 20; i++) {
        expect_eq(next[i].runs, 1); /* the only worker still runs tasks */
    }
    lanepool_future_release(future);
    pool_end(pool);
    expect_eq(errors.count, 1);
    expect_status(errors.last.status, LANEPOOL_ABANDONED);
    gate_fini(&gate);
}

/* Waits inside for a task that ends the thread, on which both tasks run. */
static int wait_for_end(lanepool_run *run, void *context)
{
    lanepool_pool *pool = lanepool_run_pool(run);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future **future = context;

    task.function = end_thread;
    task.context = future + 1; /* the gate after the future */
    task.future = future;
    if (lanepool_pool_submit(pool, &task) == LANEPOOL_OK) {
        (void)!lanepool_future_wait(*future, LANEPOOL_FOREVER, NULL);
    }
    return 0;
}

/* Submits a step and waits for it. */
static int wait_for_step(lanepool_run *run, void *context)
{
    lanepool_pool *pool = lanepool_run_pool(run);
    struct step *step = context;
    lanepool_task task = step_task(step, NULL, 0);
    lanepool_future *future;

    task.future = &future;
    if (lanepool_pool_submit(pool, &task)) {
        return 1;
    }
    lanepool_status status = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL);
    lanepool_future_release(future);
    return (int)status;
}

/* More often than waits may be nested: waits of ended threads must not count, nor be read. */
Test(errors, waits_under_a_task_that_ends_its_thread_are_over)
{
    enum { ROUNDS = 70 };
    struct helped {
        lanepool_future *future;
        struct gate gate;
    } helped[ROUNDS];
    struct errors errors = { .count = 0 };
    struct step step = { 0 };
    lanepool_pool *pool = pool_with_errors(1, note_error, &errors);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = wait_for_end;
    for (int i = 0; i < ROUNDS; i++) {
        gate_init(&helped[i].gate);
        task.context = &helped[i];
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_settle(pool);
    for (int i = 0; i < ROUNDS; i++) {
        lanepool_future_release(helped[i].future);
        gate_fini(&helped[i].gate);
    }
    task.function = wait_for_step;
    task.context = &step;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(step.runs, 1);
    expect_eq(errors.count, 2 * ROUNDS); /* each helped task, and the one that waited for it */
}
