/* Submits: from inside tasks, to a full pool, to a pool whose worker is about to sleep or is
 * blocked. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static void submit_next(struct scene_task *self)
{
    EXPECT_STATUS(OK, scene_submit(self + 1));
}

/* The submit inside a task runs at the same time as another one from outside. */
static void submit_inside(const char *outer, const char *inner)
{
    scene_open_with(1);
    struct scene_task *parent = scene_task(outer);
    struct scene_task *child = scene_task(inner);
    struct scene_task *other = scene_task(inner);
    parent->body = submit_next;
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(parent));
    EXPECT_STATUS(OK, scene_submit(other));
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(parent, child));
}

SCENARIO(scenario_01_submit_inside_without_a_shared_key, EXHAUSTIVE)
{
    submit_inside("A", "B");
}

SCENARIO(scenario_02_submit_inside_with_the_same_key, EXHAUSTIVE)
{
    submit_inside("A", "A");
}

/* A worker has just run one task and is about to sleep when the next one is submitted. */
SCENARIO(lost_wake_up, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *first = scene_task("A");
    struct scene_task *second = scene_task("A");
    first->takes = 10;
    EXPECT_STATUS(OK, scene_submit(first));
    sim_sleep(10);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(second));
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
}

/* --- a full pool --- */

static void submit_two_to_a_full_pool(struct scene_task *self)
{
    EXPECT_STATUS(FULL, scene_submit_within(self + 1, 0));
    EXPECT_STATUS(OK, scene_submit(self + 2));
}

static void open_small(unsigned workers, size_t pending_max)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.pending_max = pending_max;
    scene_open(&options);
}

SCENARIO(scenario_36_full_pool_and_submit_inside, EXHAUSTIVE)
{
    open_small(1, 1);
    struct scene_task *parent = scene_task("A");
    scene_task("B");
    struct scene_task *over = scene_task("A");
    struct scene_task *from_outside = scene_task("A");
    parent->body = submit_two_to_a_full_pool;
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(parent));
    EXPECT_STATUS(OK, scene_submit(from_outside));
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(parent, over));
}

/* The end of a task makes room just when the pool is shut down. */
static void submit_to_a_closing_pool(void *argument)
{
    lanepool_status status = scene_submit(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

SCENARIO(scenario_37_blocked_submitter_and_shutdown, EXHAUSTIVE)
{
    open_small(1, 1);
    struct scene_task *running = scene_task("A");
    struct scene_task *blocked = scene_task("B");
    running->takes = 10;
    EXPECT_STATUS(OK, scene_submit(running));
    scene_spawn(submit_to_a_closing_pool, blocked);
    sim_sleep(10);
    sim_explore_from_here();
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    scene_close();
}
