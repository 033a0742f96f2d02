/*
 * Every way of ending a pool against everything that it can meet, as a product: a row ends the
 * pool, a column has prepared something and does something at the same time. Each cell is played
 * with claims and with a rule, with lanes per key and per worker, as the seed says.
 */
#include "simulated/matrix.h"

#include <stdio.h>

#include "simulated/scene.h"

static void expect_end(lanepool_status status)
{
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

/* --- rows: what ends the pool --- */

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

static void await_for_ever(void)
{
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
}

static void await_again_and_again(void)
{
    lanepool_status status = LANEPOOL_TIMED_OUT;

    for (uint64_t limit = 0; status == LANEPOOL_TIMED_OUT; limit += 2)
        status = lanepool_pool_await(scene.pool, limit);
    EXPECT_STATUS(OK, status);
}

static const struct row rows[] = {
    { "drain", drain, await_for_ever },
    { "now", stop, await_for_ever },
    { "await", drain, await_again_and_again },
};

/* --- columns: what it meets --- */

struct column {
    const char *name;
    size_t pending_max;
    void (*prepare)(void);
    void (*meet)(void *argument); /* on a thread of its own; NULL: nothing */
    bool destroys;                /* the end is left to destroying */
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
    /* With lanes per worker the awaited task may stand behind the waiter. */
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

/* Every second task has a future. */
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

static const struct column columns[] = {
    { "submit", 0, have_one_running, submit_three, false },
    { "wait", 0, have_one_that_waits, NULL, false },
    { "rollup", 0, have_some_waiting, submit_rollup, false },
    { "destroy", 0, have_some_waiting, NULL, true },
    { "blocked_submitter", 1, have_one_running, submit_three, false },
    { "quiesce", 0, have_some_waiting, quiesce, false },
    { "submit_or_run", 1, have_one_running, submit_or_run, false },
    { "hand_back", 0, have_some_waiting, stop_with_hand_back, false },
    { "cancel", 0, have_some_waiting, cancel_some, false },
    { "barrier", 0, have_barriers_waiting, submit_barrier_and_cancel_it, false },
    { "cancelled_barrier", 0, have_barriers_waiting, cancel_some, false },
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
}

size_t matrix_scenarios(struct scenario *list, size_t most)
{
    static char names[ROWS * COLUMNS][48];
    size_t count = 0;

    for (; count < ROWS * COLUMNS && count < most; count++) {
        snprintf(names[count], sizeof names[count], "matrix_%s_%s", rows[count / COLUMNS].name,
                 columns[count % COLUMNS].name);
        list[count] = (struct scenario){
            .name = names[count], .play_cell = play_cell, .cell = count, .kind = SCENARIO_RANDOM
        };
    }
    return count;
}
