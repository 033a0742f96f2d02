/* Waits inside tasks, and futures. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static lanepool_status wait_for(const struct scene_task *task, uint64_t wait_max_ns)
{
    return lanepool_future_wait(task->future, wait_max_ns, NULL);
}

static uint32_t thread_of(const struct scene_task *task)
{
    return atomic_load_explicit(&task->thread, memory_order_relaxed);
}

/* --- the waiting thread runs the tasks that it waits for --- */

static void wait_for_compatible(struct scene_task *self)
{
    struct scene_task *unrelated = self + 1;
    struct scene_task *before = self + 2;
    struct scene_task *awaited = self + 3;

    EXPECT_STATUS(OK, scene_submit(unrelated));
    EXPECT_STATUS(OK, scene_submit(before));
    EXPECT_STATUS(OK, scene_submit(awaited));
    EXPECT_STATUS(OK, wait_for(awaited, LANEPOOL_FOREVER));
    EXPECT(scene_has_ended(before) && scene_has_ended(awaited));
    EXPECT(!scene_has_begun(unrelated));
    EXPECT(thread_of(awaited) == sim_self() && thread_of(before) == sim_self());
}

static void submit_to_scene(void *argument)
{
    EXPECT_STATUS(OK, scene_submit(argument));
}

SCENARIO(scenario_03_wait_inside_for_a_compatible_task, RANDOM)
{
    scene_open_with(1);
    struct scene_task *waiter = scene_task("A");
    scene_task("C");
    scene_task("B");
    struct scene_task *awaited = scene_task("B");
    waiter->body = wait_for_compatible;
    awaited->has_future = true;
    scene_spawn(submit_to_scene, scene_task("D"));
    EXPECT_STATUS(OK, scene_submit(waiter));
    scene_close();
}

/* --- waits that could never end --- */

static void wait_for_those_behind(struct scene_task *self)
{
    struct scene_task *behind = self + 1;
    struct scene_task *rollup = self + 2;
    struct scene_task *behind_rollup = self + 3;

    EXPECT_STATUS(OK, scene_submit(behind));
    EXPECT_STATUS(DEADLOCK, wait_for(behind, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, scene_submit(rollup));
    EXPECT_STATUS(OK, scene_submit(behind_rollup));
    EXPECT_STATUS(DEADLOCK, wait_for(behind_rollup, LANEPOOL_FOREVER));
    EXPECT_STATUS(DEADLOCK, wait_for(self, LANEPOOL_FOREVER));
    uint64_t begun = sim_now();
    lanepool_status limited = wait_for(behind, 1000);
    EXPECT(limited == LANEPOOL_DEADLOCK ||
           (limited == LANEPOOL_TIMED_OUT && sim_now() >= begun + 1000));
}

SCENARIO(scenario_04_wait_inside_for_a_task_behind_oneself, RANDOM)
{
    scene_open_with(2);
    struct scene_task *waiter = scene_task("A");
    struct scene_task *behind = scene_task("A");
    scene_task("AB");
    struct scene_task *behind_rollup = scene_task("B");
    waiter->body = wait_for_those_behind;
    waiter->has_future = behind->has_future = behind_rollup->has_future = true;
    scene_spawn(submit_to_scene, scene_task("B"));
    EXPECT_STATUS(OK, scene_submit(waiter));
    scene_close();
}

static _Atomic uint32_t deadlocks;

/* The first two tasks wait for one another. */
static void wait_for_the_other(struct scene_task *self)
{
    const struct scene_task *other = &scene.tasks[self == &scene.tasks[0]];

    scene_wait_at_gate(0);
    lanepool_status status = wait_for(other, LANEPOOL_FOREVER);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_DEADLOCK);
    atomic_fetch_add_explicit(&deadlocks, status == LANEPOOL_DEADLOCK, memory_order_relaxed);
}

SCENARIO(scenario_05_two_tasks_wait_for_one_another, RANDOM)
{
    scene_open_with(2);
    scene_make_gates(1);
    atomic_store(&deadlocks, 0);
    for (int i = 0; i < 2; i++) {
        struct scene_task *task = scene_task(i == 0 ? "A" : "B");
        task->body = wait_for_the_other;
        task->has_future = true;
    }
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[0]));
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[1]));
    scene_open_gate(0);
    scene_open_gate(0);
    scene_close();
    EXPECT(atomic_load(&deadlocks) == 1);
}

/* --- futures --- */

static void wait_and_release(void *argument)
{
    EXPECT_STATUS(OK, lanepool_future_wait(argument, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(argument);
}

static void look_and_release(void *argument)
{
    lanepool_status status = lanepool_future_wait(argument, 0, NULL);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_TIMED_OUT);
    lanepool_future_release(argument);
}

SCENARIO(scenario_09_future_released_while_it_completes, RANDOM)
{
    scene_open_with(1);
    struct scene_task *task = scene_task("A");
    task->has_future = true;
    EXPECT_STATUS(OK, scene_submit(task));
    lanepool_future *future = task->future;
    task->future = NULL;
    scene_spawn(wait_and_release, lanepool_future_retain(future));
    scene_spawn(look_and_release, lanepool_future_retain(future));
    lanepool_future_release(future);
    scene_close();
}

/* --- two pools --- */

static void wait_across_pools(struct scene_task *self)
{
    const struct scene_task *other = &scene.tasks[self == &scene.tasks[0]];

    scene_wait_at_gate(0);
    lanepool_status status = wait_for(other, 100);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_TIMED_OUT);
    atomic_fetch_add_explicit(&deadlocks, status == LANEPOOL_TIMED_OUT, memory_order_relaxed);
}

static void wait_for_the_third(struct scene_task *self)
{
    (void)self;
    EXPECT_STATUS(OK, wait_for(&scene.tasks[2], LANEPOOL_FOREVER));
}

/* A cycle of waits across pools is not found; only its time limits end it. A wait outside of the
 * cycle ends. */
SCENARIO(scenario_42_two_pools_wait_for_one_another, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *second;

    scene_open_with(1);
    scene_make_gates(1);
    options.workers = 1;
    EXPECT_STATUS(OK, lanepool_pool_create(&options, &second));
    atomic_store(&deadlocks, 0);
    for (int i = 0; i < 4; i++) {
        struct scene_task *task = scene_task(i % 2 == 0 ? "A" : "B");
        task->has_future = true;
        task->pool = i % 2 == 0 ? NULL : second;
        task->body = i < 2 ? wait_across_pools : NULL;
    }
    scene.tasks[3].body = wait_for_the_third;
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[0]));
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[1]));
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[2]));
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[3]));
    scene_open_gate(0);
    scene_open_gate(0);
    EXPECT_STATUS(OK, wait_for(&scene.tasks[3], LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, lanepool_pool_destroy(second));
    scene_close();
    EXPECT(atomic_load(&deadlocks) >= 1);
}
