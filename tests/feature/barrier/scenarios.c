/* Barriers: a barrier runs alone, after everything accepted before it and before everything
 * accepted behind it. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static struct scene_task *submit_new(const char *claims, uint64_t takes)
{
    struct scene_task *task = scene_task(claims);

    task->has_future = true;
    task->takes = takes;
    EXPECT_STATUS(OK, scene_submit(task));
    return task;
}

static void open_some_pool(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1 + scene_variant(3);
    options.is_compatible = scene_variant(4) == 1 ? scene_rule : NULL;
    options.layout = scene_variant(5) == 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    scene_open(&options);
}

static void cancel(void *argument)
{
    lanepool_status status = scene_cancel(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

/* --- position --- */

/* The task before the barrier ends while the task behind the barrier is submitted. */
SCENARIO(scenario_16_barrier_between_two_tasks, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *before = submit_new("", 5);
    struct scene_task *barrier = submit_new("*", 0);
    sim_sleep(4);
    sim_explore_from_here();
    sim_sleep(1);
    struct scene_task *behind = submit_new("", 0);
    sim_sleep(10);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(before, barrier) && scene_before(barrier, behind));
}

static void submit_five(void *argument)
{
    struct scene_task *first = argument;

    for (int i = 0; i < 5; i++)
        EXPECT_STATUS(OK, scene_submit(first + i));
}

SCENARIO(scenario_16_barriers_of_two_submitters, RANDOM)
{
    static const char *const claims[] = { "A", "aB", "*", "", "A" };

    open_some_pool();
    for (int i = 0; i < 10; i++)
        scene_task(claims[i % 5])->takes = 3;
    scene_spawn(submit_five, &scene.tasks[5]);
    submit_five(&scene.tasks[0]);
    submit_new("*", 0);
    submit_new("*", 2);
    scene_close();
}

static void quiesce(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
}

/* Both wait for everything before them. */
SCENARIO(scenario_16_barrier_and_quiesce, RANDOM)
{
    open_some_pool();
    submit_new("A", 3);
    scene_spawn(quiesce, NULL);
    submit_new("*", 2);
    submit_new("A", 0);
    quiesce(NULL);
    scene_close();
}

/* Submits a task that the submitter may have to run itself. */
static void submit_or_run(void *argument)
{
    EXPECT_STATUS(OK, scene_submit_or_run(argument));
}

SCENARIO(scenario_16_barrier_that_its_submitter_runs, RANDOM)
{
    open_some_pool();
    submit_new("A", 3);
    scene_spawn(submit_or_run, scene_task("*"));
    submit_or_run(scene_task("*"));
    submit_new("B", 0);
    scene_close();
}

/* --- waits --- */

static void submit_and_wait_in_vain(struct scene_task *self)
{
    struct scene_task *behind = self + 1;

    EXPECT_STATUS(OK, scene_submit(behind));
    EXPECT_STATUS(DEADLOCK, lanepool_future_wait(behind->future, LANEPOOL_FOREVER, NULL));
}

/* No task can run in parallel with a barrier: a wait inside it for a task behind it is a
 * deadlock. */
SCENARIO(scenario_16_barrier_that_waits, RANDOM)
{
    open_some_pool();
    struct scene_task *barrier = scene_task("*");
    scene_task("")->has_future = true;
    barrier->body = submit_and_wait_in_vain;
    submit_new("A", 2);
    EXPECT_STATUS(OK, scene_submit(barrier));
    scene_close();
}

static void wait_until_cancelled(struct scene_task *self)
{
    scene_wait_at_gate(0);
    lanepool_status status = lanepool_future_wait((self + 2)->future, LANEPOOL_FOREVER, NULL);

    EXPECT(status == LANEPOOL_DEADLOCK || status == LANEPOOL_OK);
}

/* A task before the barrier waits for one behind it. That one can end only if the barrier is
 * cancelled in time. */
SCENARIO(scenario_16_task_before_a_barrier_waits_for_one_behind, RANDOM)
{
    open_some_pool();
    scene_make_gates(1);
    struct scene_task *waiter = scene_task("A");
    struct scene_task *barrier = scene_task("*");
    struct scene_task *awaited = scene_task("B");
    waiter->body = wait_until_cancelled;
    barrier->has_future = awaited->has_future = true;
    submit_new("A", 2);
    EXPECT_STATUS(OK, scene_submit(waiter));
    EXPECT_STATUS(OK, scene_submit(barrier));
    EXPECT_STATUS(OK, scene_submit(awaited));
    scene_open_gate(0);
    scene_spawn(cancel, barrier);
    scene_close();
}

/* --- cancelled --- */

static void stand_at_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

SCENARIO(scenario_16_barrier_that_is_cancelled, EXHAUSTIVE)
{
    scene_open_with(2);
    scene_make_gates(1);
    struct scene_task *before = scene_task("A");
    before->body = stand_at_gate;
    EXPECT_STATUS(OK, scene_submit(before));
    struct scene_task *barrier = submit_new("*", 0);
    struct scene_task *behind = submit_new("B", 0);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_cancel(barrier));
    EXPECT_STATUS(OK, lanepool_future_wait(behind->future, LANEPOOL_FOREVER, NULL));
    sim_explore_to_here();
    scene_open_gate(0);
    scene_close();
}

SCENARIO(scenario_16_cancels_race_barriers, RANDOM)
{
    static const char *const claims[] = { "A", "*", "AB", "*", "B", "*" };

    open_some_pool();
    for (int i = 0; i < 6; i++)
        submit_new(claims[i], 2);
    scene_spawn(cancel, &scene.tasks[1]);
    scene_spawn(cancel, &scene.tasks[2 + scene_variant(4)]);
    EXPECT_STATUS(OK, scene_cancel_all());
    submit_new("A", 0);
    scene_close();
}

/* --- the end --- */

SCENARIO(scenario_16_barrier_meets_the_end, RANDOM)
{
    static const char *const claims[] = { "A", "*", "AB", "*", "B" };

    open_some_pool();
    for (int i = 0; i < 5; i++)
        submit_new(claims[i], 2);
    scene_spawn(cancel, &scene.tasks[2]);
    if (scene_variant(2) == 1)
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    else
        EXPECT_STATUS(OK, scene_stop(scene_variant(3) == 0));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_join();
    scene_end();
}
