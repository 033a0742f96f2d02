/* Ends: shutdowns of both kinds, awaiting, destroying, and calls that are too late. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

SCENARIO(scenario_06_shutdown_now_races_a_start, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *task = scene_task("A");
    task->has_future = true;
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, scene_stop(false));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    scene_end();
}

static void submit_or_be_refused(void *argument)
{
    lanepool_status status = scene_submit(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

SCENARIO(scenario_10_drain_races_submits, EXHAUSTIVE)
{
    scene_open_with(1);
    scene_spawn(submit_or_be_refused, scene_task("A"));
    sim_explore_from_here();
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_join();
    sim_explore_to_here();
    scene_end();
}

/* Two tasks run. The tasks behind them have latched some of their lanes, or none. */
SCENARIO(scenario_11_shutdown_now_with_queued_rollups, RANDOM)
{
    static const char *const claims[] = { "A", "B", "ABC", "CD", "aE", "DE", "E" };
    scene_open_with(2);
    for (int i = 0; i < 7; i++) {
        struct scene_task *task = scene_task(claims[i]);
        task->has_future = true;
        task->has_release = i % 2 == 0;
        task->takes = i < 2 ? 10 : 0;
        EXPECT_STATUS(OK, scene_submit(task));
    }
    EXPECT_STATUS(OK, scene_stop(scene_variant(2) != 0));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_end();
}

/* --- several at once --- */

static _Atomic uint32_t stops_decided;

static void drain(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
}

static void stop(void *argument)
{
    lanepool_status status = scene_stop(argument != NULL);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    atomic_fetch_add_explicit(&stops_decided, status == LANEPOOL_OK, memory_order_relaxed);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
}

static uint32_t count_calls(int call)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < scene.task_count; i++)
        count += atomic_load(&scene.tasks[i].call) == call;
    return count;
}

SCENARIO(scenario_12_three_shutdowns_at_once, RANDOM)
{
    static const char *const claims[] = { "A", "AB", "B", "A" };
    scene_open_with(2);
    atomic_store(&stops_decided, 0);
    for (int i = 0; i < 4; i++)
        EXPECT_STATUS(OK, scene_submit(scene_task(claims[i])));
    scene_spawn(drain, NULL);
    scene_spawn(stop, NULL);
    scene_spawn(stop, &scene);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_join();
    EXPECT(atomic_load(&stops_decided) <= 1);
    EXPECT(atomic_load(&stops_decided) == 1 || count_calls(SCENE_RAN) == 4);
    EXPECT(count_calls(SCENE_CANCELLED) == 0 || count_calls(SCENE_HANDED_BACK) == 0);
    scene_end();
}

/* --- awaiting and destroying --- */

static void wait_at_first_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

SCENARIO(scenario_13_await_gives_up_and_is_repeated, RANDOM)
{
    scene_open_with(1);
    scene_make_gates(1);
    struct scene_task *held = scene_task("A");
    held->body = wait_at_first_gate;
    EXPECT_STATUS(OK, scene_submit(held));
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    EXPECT_STATUS(TIMED_OUT, lanepool_pool_await(scene.pool, 10));
    EXPECT(!lanepool_pool_is_shut_down(scene.pool));
    EXPECT_STATUS(OK, scene_submit(scene_task("B")));
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(TIMED_OUT, lanepool_pool_await(scene.pool, 0));
    EXPECT_STATUS(TIMED_OUT, lanepool_pool_await(scene.pool, 10));
    EXPECT(!lanepool_pool_is_terminated(scene.pool));
    scene_open_gate(0);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    EXPECT(lanepool_pool_is_terminated(scene.pool));
    scene_end();
}

static void end_own_pool(struct scene_task *self)
{
    (void)self;
    EXPECT_STATUS(DEADLOCK, lanepool_pool_destroy(scene.pool));
    EXPECT_STATUS(DEADLOCK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(DEADLOCK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT(!lanepool_pool_is_shut_down(scene.pool));
}

SCENARIO(scenario_14_destroy_inside_a_task, RANDOM)
{
    scene_open_with(2);
    struct scene_task *task = scene_task("A");
    task->body = end_own_pool;
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    scene_close();
}

/* --- too late --- */

/* A task may submit while the pool drains, but not after a shutdown now. */
static void submit_before_and_after_a_stop(struct scene_task *self)
{
    scene_wait_at_gate(0);
    EXPECT_STATUS(OK, scene_submit(self + 1));
    EXPECT_STATUS(OK, scene_submit_within(self + 2, 0));
    scene_open_gate(1);
    scene_wait_at_gate(0);
    EXPECT_STATUS(SHUT_DOWN, scene_submit(self + 3));
    EXPECT_STATUS(SHUT_DOWN, scene_submit_or_run(self + 4));
}

SCENARIO(scenario_15_submit_after_shutdown_and_inside_a_drain, RANDOM)
{
    scene_open_with(2);
    scene_make_gates(2);
    struct scene_task *inside = scene_task("A");
    for (int i = 0; i < 4; i++)
        scene_task(i % 2 == 0 ? "A" : "B");
    inside->body = submit_before_and_after_a_stop;
    EXPECT_STATUS(OK, scene_submit(inside));
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(SHUT_DOWN, scene_submit(scene_task("A")));
    EXPECT_STATUS(SHUT_DOWN, scene_submit_within(scene_task("B"), 0));
    EXPECT_STATUS(SHUT_DOWN, scene_submit_or_run(scene_task("C")));
    scene_open_gate(0);
    scene_wait_at_gate(1);
    EXPECT_STATUS(OK, scene_stop(true));
    scene_open_gate(0);
    scene_close();
}
