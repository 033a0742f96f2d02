/* A task that waits for a running one does not start after the pool is stopped or paused. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static void wait_at_first_gate(struct scene_task *self)
{
    (void)self;
    scene_open_gate(1);
    scene_wait_at_gate(0);
}

/* Opens a pool in any layout, with any of the ways in which workers find ready tasks. */
static void open_with(unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    uint32_t variant = scene_variant(4);

    options.workers = workers;
    options.layout = variant == 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    options.priorities = variant == 2;
    options.is_compatible = variant == 3 ? scene_rule : NULL;
    scene_open(&options);
    scene_make_gates(2);
}

static struct scene_task *run_one_before_the_others(void)
{
    struct scene_task *holder = scene_task("A");

    holder->body = wait_at_first_gate;
    holder->has_future = true;
    EXPECT_STATUS(OK, scene_submit(holder));
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    EXPECT_STATUS(OK, scene_submit(scene_task("AB")));
    scene_wait_at_gate(1);
    return holder;
}

static void expect_that_only(const struct scene_task *holder)
{
    for (uint32_t i = 0; i < scene.task_count; i++)
        EXPECT(&scene.tasks[i] == holder || !scene_has_begun(&scene.tasks[i]));
}

/* The final judgement finds tasks that started after the stop. */
static void stop_before_the_end_of_what_runs(void)
{
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_stop(scene_variant(2) != 0));
    scene_open_gate(0);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    scene_end();
}

SCENARIO(scenario_65_what_waits_when_the_pool_stops_never_starts, EXHAUSTIVE)
{
    open_with(2);
    run_one_before_the_others();
    stop_before_the_end_of_what_runs();
}

SCENARIO(scenario_65_what_waits_when_the_pool_pauses_starts_after_the_resume, EXHAUSTIVE)
{
    open_with(2);
    const struct scene_task *holder = run_one_before_the_others();
    sim_explore_from_here();
    atomic_store(&scene.paused, true);
    EXPECT_STATUS(OK, lanepool_pool_pause(scene.pool));
    scene_open_gate(0);
    EXPECT_STATUS(OK, lanepool_future_wait(holder->future, LANEPOOL_FOREVER, NULL));
    sim_sleep(100);
    expect_that_only(holder);
    atomic_store(&scene.paused, false);
    EXPECT_STATUS(OK, lanepool_pool_resume(scene.pool));
    sim_explore_to_here();
    scene_close();
}

/* --- a thread that waits inside a task runs the tasks that it needs --- */

static void wait_for_second(struct scene_task *self)
{
    (void)self;
    scene_open_gate(1);
    EXPECT_STATUS(SHUT_DOWN, lanepool_future_wait(scene.tasks[1].future, LANEPOOL_FOREVER, NULL));
}

SCENARIO(scenario_65_wait_inside_runs_nothing_that_waits_when_the_pool_stops, EXHAUSTIVE)
{
    scene_open_with(2);
    scene_make_gates(2);
    struct scene_task *holder = scene_task("A");
    struct scene_task *awaited = scene_task("A");
    struct scene_task *waiter = scene_task("B");
    holder->body = wait_at_first_gate;
    awaited->has_future = true;
    waiter->body = wait_for_second;
    for (struct scene_task *task = holder; task <= waiter; task++)
        EXPECT_STATUS(OK, scene_submit(task));
    scene_wait_at_gate(1);
    scene_wait_at_gate(1);
    stop_before_the_end_of_what_runs();
}
