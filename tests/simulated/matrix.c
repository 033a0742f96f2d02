/*
 * Each way of ending a pool combined with each situation: a row ends the pool; a column has
 * prepared something, and does something at the same time. The seed chooses claims or a rule, and
 * lanes per key or per worker.
 */
#include "simulated/scenarios.h"

#include <stdio.h>
#include <string.h>

#include "simulated/scene.h"

static void expect_end(lanepool_status status)
{
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

/* --- rows: ways to end the pool --- */

struct row {
    const char *name;
    void (*end)(void);
    void (*await)(void);
};

static void drain(void)
{
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
}

static void stop(void)
{
    expect_end(scene_stop(false));
}

/* The pool is blocked until a parked task is resolved: then awaits again. */
static void await_for_ever(void)
{
    lanepool_status status;

    while ((status = lanepool_pool_await(scene.pool, LANEPOOL_FOREVER)) == LANEPOOL_PARKED)
        sim_sleep(1);
    EXPECT_STATUS(OK, status);
}

static void await_again_and_again(void)
{
    lanepool_status status = LANEPOOL_TIMED_OUT;

    for (uint64_t limit = 0; status == LANEPOOL_TIMED_OUT || status == LANEPOOL_PARKED;
         limit += 2) {
        if (status == LANEPOOL_PARKED)
            sim_sleep(1);
        status = lanepool_pool_await(scene.pool, limit);
    }
    EXPECT_STATUS(OK, status);
}

static const struct row rows[] = {
    { "drain", drain, await_for_ever },
    { "now", stop, await_for_ever },
    { "await", drain, await_again_and_again },
};

/* --- columns: situations --- */

struct column {
    const char *name;
    size_t pending_max;
    void (*prepare)(void);
    void (*meet)(void *argument); /* called on its own thread; or NULL */
    bool destroys;                /* the pool ends by being destroyed */
    void (*check)(void);          /* called at the end; or NULL */
};

static struct scene_task *make(const char *claims, uint64_t takes)
{
    struct scene_task *task = scene_task(claims);

    task->takes = takes;
    task->has_future = scene.task_count % 2 == 0;
    return task;
}

static void have_one_running(void)
{
    EXPECT_STATUS(OK, scene_submit(make("A", 5)));
}

static void have_some_waiting(void)
{
    static const char *const claims[] = { "AB", "B", "BC", "A" };

    have_one_running();
    for (int i = 0; i < 4; i++)
        EXPECT_STATUS(OK, scene_submit(make(claims[i], 0)));
}

static void submit_three(void *argument)
{
    static const char *const claims[] = { "B", "AB", "A" };

    (void)argument;
    for (int i = 0; i < 3; i++)
        expect_end(scene_submit(make(claims[i], 0)));
}

static void submit_and_wait(struct scene_task *self)
{
    struct scene_task *awaited = self + 1;
    lanepool_status status = scene_submit(awaited);

    expect_end(status);
    if (status != LANEPOOL_OK)
        return;
    status = lanepool_future_wait(awaited->future, LANEPOOL_FOREVER, NULL);
    /* With lanes per worker the awaited task may be queued behind the waiter. */
    if (status != LANEPOOL_DEADLOCK || scene.options.layout != LANEPOOL_PER_WORKER)
        expect_end(status);
}

static void have_one_that_waits(void)
{
    struct scene_task *waiter = make("A", 0);
    struct scene_task *awaited = make("B", 2);

    waiter->body = submit_and_wait;
    awaited->has_future = true;
    EXPECT_STATUS(OK, scene_submit(waiter));
}

static void submit_rollup(void *argument)
{
    (void)argument;
    expect_end(scene_submit(make("CBA", 0)));
}

static void quiesce(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
}

static void submit_or_run(void *argument)
{
    (void)argument;
    expect_end(scene_submit_or_run(make("A", 1)));
    expect_end(scene_submit_or_run(make("B", 1)));
}

static void stop_with_hand_back(void *argument)
{
    (void)argument;
    expect_end(scene_stop(true));
}

/* Cancels every second task, which is one with a future. */
static void cancel_some(void *argument)
{
    (void)argument;
    for (int i = 1; i < 4; i += 2) {
        lanepool_status status = scene_cancel(&scene.tasks[i]);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
    }
    expect_end(scene_cancel_all());
}

static void submit_barrier_and_cancel_it(void *argument)
{
    struct scene_task *barrier = scene_task("*");
    lanepool_status status;

    (void)argument;
    barrier->has_future = true;
    status = scene_submit(barrier);
    expect_end(status);
    expect_end(scene_submit(make("A", 0)));
    if (status == LANEPOOL_OK)
        (void)scene_cancel(barrier);
}

static void have_barriers_waiting(void)
{
    have_some_waiting();
    EXPECT_STATUS(OK, scene_submit(make("*", 1)));
    EXPECT_STATUS(OK, scene_submit(make("C", 0)));
}

/* --- delayed and periodic tasks --- */

/* Tasks that the scene does not judge. The context of each is a scene task, from which the
 * scene's rule reads its claims. */
static struct {
    _Atomic uint32_t accepted, calls; /* of delayed tasks */
    _Atomic uint32_t series, ends;
    lanepool_future *future;
    lanepool_timer *timer;
} later;

static int be_called_later(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    atomic_fetch_add(&later.calls, 1);
    return 0;
}

static int run_once_more(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

static void series_ended(void *context, lanepool_status why)
{
    (void)context, (void)why, atomic_fetch_add(&later.ends, 1);
}

static void not_called_later(void *context, lanepool_status why)
{
    (void)context, (void)why, atomic_fetch_add(&later.calls, 1);
}

static lanepool_task describe(lanepool_task_fn function, const lanepool_claim *claim)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = function;
    task.context = scene_task("A");
    if (scene.options.is_compatible == NULL) {
        task.claims = claim;
        task.claim_count = 1;
    }
    return task;
}

static void submit_later(int64_t delay_ns, lanepool_future **future)
{
    lanepool_claim claim = lanepool_exclusive('A');
    lanepool_task task = describe(be_called_later, &claim);

    task.cancelled = not_called_later;
    task.future = future;
    lanepool_status status = lanepool_pool_submit_after(scene.pool, &task, delay_ns);
    expect_end(status);
    atomic_fetch_add(&later.accepted, status == LANEPOOL_OK);
}

/* Reading the clock takes time here. The period is longer than what a run and the worker's search
 * take, so that runs do not follow one another without end. */
static void submit_again_and_again(void)
{
    lanepool_claim claim = lanepool_exclusive('A');
    lanepool_task task = describe(run_once_more, &claim);

    task.cancelled = series_ended;
    EXPECT_STATUS(OK, lanepool_pool_submit_every(scene.pool, &task, 2, 300, LANEPOOL_FIXED_RATE,
                                                 &later.timer));
    atomic_fetch_add(&later.series, 1);
}

static void have_some_delayed(void)
{
    memset(&later, 0, sizeof later);
    have_one_running();
    submit_later(1, NULL);
    submit_later(4, &later.future);
    submit_later(1000, NULL);
    submit_again_and_again();
}

static void wait_for_the_delayed(struct scene_task *self)
{
    lanepool_status status = lanepool_future_wait(later.future, LANEPOOL_FOREVER, NULL);

    (void)self;
    if (status != LANEPOOL_DEADLOCK || scene.options.layout != LANEPOOL_PER_WORKER)
        expect_end(status);
}

static void have_one_that_waits_for_a_delayed(void)
{
    have_some_delayed();
    struct scene_task *waiter = make("B", 0);
    waiter->body = wait_for_the_delayed;
    EXPECT_STATUS(OK, scene_submit(waiter));
}

static void expect_cancel(lanepool_status status)
{
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

static void delay_more_and_cancel(void *argument)
{
    (void)argument;
    submit_later(2, NULL);
    expect_cancel(lanepool_future_cancel(later.future));
    expect_cancel(lanepool_timer_cancel(later.timer));
    submit_later(0, NULL);
}

static void expect_each_was_called(void)
{
    EXPECT(atomic_load(&later.calls) == atomic_load(&later.accepted));
    EXPECT(atomic_load(&later.ends) == atomic_load(&later.series));
    lanepool_future_release(later.future);
    lanepool_timer_release(later.timer);
}

/* --- parked tasks --- */

static void fail_with(unsigned retries, uint64_t delay_ns)
{
    static lanepool_failure_policy policy;
    struct scene_task *task = make("A", 1);

    policy = (lanepool_failure_policy)LANEPOOL_FAILURE_POLICY_INIT;
    policy.retries = retries;
    policy.delay_ns = delay_ns;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    task->fails = true;
    if (scene.options.layout == LANEPOOL_PER_KEY) {
        task->policy = &policy;
        task->has_release = true;
        task->fails_first = 9;
    }
    EXPECT_STATUS(OK, scene_submit(task));
}

static void have_some_that_fail(void)
{
    fail_with(0, 0);
    have_some_waiting();
    fail_with(2, 3);
}

static bool resolve_one(lanepool_resolution how)
{
    lanepool_parked_tasks *failures;

    EXPECT_STATUS(OK, lanepool_pool_parked(scene.pool, &failures));
    bool found = failures->count > 0;
    if (found) {
        lanepool_status status = lanepool_pool_resolve(scene.pool, failures->tasks[0].ticket, how);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    }
    lanepool_parked_tasks_release(failures);
    return found;
}

static void resolve_until_the_end(void *argument)
{
    lanepool_resolution how = LANEPOOL_RESOLVE_RETRY;

    (void)argument;
    while (!lanepool_pool_is_terminated(scene.pool)) {
        if (resolve_one(how))
            how = LANEPOOL_RESOLVE_SKIP;
        sim_sleep(1);
    }
}

static const struct column columns[] = {
    { "submit", 0, have_one_running, submit_three, false, NULL },
    { "wait", 0, have_one_that_waits, NULL, false, NULL },
    { "rollup", 0, have_some_waiting, submit_rollup, false, NULL },
    { "destroy", 0, have_some_waiting, NULL, true, NULL },
    { "blocked_submitter", 1, have_one_running, submit_three, false, NULL },
    { "quiesce", 0, have_some_waiting, quiesce, false, NULL },
    { "submit_or_run", 1, have_one_running, submit_or_run, false, NULL },
    { "hand_back", 0, have_some_waiting, stop_with_hand_back, false, NULL },
    { "cancel", 0, have_some_waiting, cancel_some, false, NULL },
    { "barrier", 0, have_barriers_waiting, submit_barrier_and_cancel_it, false, NULL },
    { "cancelled_barrier", 0, have_barriers_waiting, cancel_some, false, NULL },
    { "delay", 0, have_some_delayed, delay_more_and_cancel, false, expect_each_was_called },
    { "delayed_wait", 0, have_one_that_waits_for_a_delayed, delay_more_and_cancel, false,
      expect_each_was_called },
    { "delayed_destroy", 0, have_some_delayed, NULL, true, expect_each_was_called },
    { "poison", 0, have_some_that_fail, resolve_until_the_end, false, NULL },
};

enum { ROWS = sizeof rows / sizeof rows[0], COLUMNS = sizeof columns / sizeof columns[0] };

/* --- cells --- */

static void play_cell(size_t cell)
{
    const struct row *row = &rows[cell / COLUMNS];
    const struct column *column = &columns[cell % COLUMNS];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1 + scene_variant(2);
    options.is_compatible = scene_variant(3) == 1 ? scene_rule : NULL;
    options.layout = scene_variant(5) == 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    options.pending_max = column->pending_max;
    options.drain_waits_for_delayed = scene_variant(7) == 1;
    scene_open(&options);
    column->prepare();
    if (column->meet != NULL)
        scene_spawn(column->meet, NULL);
    row->end();
    if (!column->destroys)
        row->await();
    scene_join();
    if (column->destroys)
        scene_destroy();
    else
        scene_end();
    if (column->check != NULL)
        column->check();
}

/* Names the cells `matrix_<row>_<column>`. */
__attribute__((constructor)) static void enrol_cells(void)
{
    static struct scenario cells[ROWS * COLUMNS];
    static char names[ROWS * COLUMNS][48];

    for (size_t cell = 0; cell < ROWS * COLUMNS; cell++) {
        snprintf(names[cell], sizeof names[cell], "matrix_%s_%s", rows[cell / COLUMNS].name,
                 columns[cell % COLUMNS].name);
        cells[cell] = (struct scenario){
            .name = names[cell], .play_cell = play_cell, .cell = cell, .kind = SCENARIO_RANDOM
        };
        scenario_register(&cells[cell]);
    }
}
