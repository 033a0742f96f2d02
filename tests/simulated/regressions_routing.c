/*
 * Regression tests for routing. Each comment describes the former error. A message of a wait inside
 * a task is in the inbox, and must be routed although every worker is inside a task or has ended. A
 * lane advances while a pause is put before its waiting entries.
 */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { TASKS = 4 };

static void submit_some(void *argument)
{
    struct scene_task *first = argument;

    for (int i = 0; i < TASKS; i++) {
        lanepool_status status = scene_submit(first + i);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    }
}

static struct scene_task *make_some(const char *claims)
{
    struct scene_task *first = scene_task(claims);

    for (int i = 1; i < TASKS; i++)
        scene_task(claims);
    return first;
}

static void wait_for_itself(struct scene_task *self)
{
    lanepool_status status = lanepool_future_wait(self->future, LANEPOOL_FOREVER, NULL);

    EXPECT(status == LANEPOOL_DEADLOCK || status == LANEPOOL_SHUT_DOWN);
}

/* A link was made while a worker searched, and its appender left the routing to that worker. The
 * worker was then stopped, and the wait behind the link was never routed. */
SCENARIO(regress_stop_leaves_no_wait_behind_a_missing_link, RANDOM)
{
    scene_open_with(2);
    struct scene_task *waiter = scene_task("A");
    waiter->has_future = true;
    waiter->body = wait_for_itself;
    EXPECT_STATUS(OK, scene_submit(waiter));
    for (int i = 0; i < 3; i++)
        scene_spawn(submit_some, make_some("B"));
    lanepool_status status = scene_stop(false);
    EXPECT(status == LANEPOOL_OK);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_close();
}

static void wait_for_the_third(struct scene_task *self)
{
    (void)self;
    EXPECT_STATUS(OK, lanepool_future_wait(scene.tasks[2].future, LANEPOOL_FOREVER, NULL));
}

/* Two workers wait inside tasks, the second for a task behind the first. One of them had routed,
 * and checked for more messages while the other held the role. It could not see the messages that
 * the other had taken, and slept although its own was among them. */
SCENARIO(regress_wait_is_routed_whoever_holds_the_role, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.routing = scene_variant(2) ? LANEPOOL_ROUTING_SUBMITTER : LANEPOOL_ROUTING_AUTO;
    scene_open(&options);
    struct scene_task *first = scene_task("A");
    struct scene_task *second = scene_task("B");
    struct scene_task *third = scene_task("A");
    first->has_future = true;
    first->body = wait_for_itself;
    second->body = wait_for_the_third;
    third->has_future = true;
    for (int i = 0; i < 2; i++)
        scene_spawn(submit_some, make_some(i == 0 ? "C" : "D"));
    EXPECT_STATUS(OK, scene_submit(first));
    EXPECT_STATUS(OK, scene_submit(third));
    EXPECT_STATUS(OK, scene_submit(second));
    scene_close();
}

/* The thread that advanced the lane saw the pause's gate at the head, and read its entry without an
 * acquire: a data race, which ThreadSanitizer finds. */
SCENARIO(regress_lane_moves_on_as_a_pause_comes_to_its_head, RANDOM)
{
    lanepool_key key = lanepool_key_id('A');
    lanepool_lane *lane;

    scene_open_with(1);
    EXPECT_STATUS(OK, lanepool_lane_acquire(scene.pool, key, &lane));
    scene_spawn(submit_some, make_some("A"));
    for (int i = 0; i < TASKS; i++) {
        EXPECT_STATUS(OK, lanepool_lane_pause(lane));
        EXPECT_STATUS(OK, lanepool_lane_resume(lane));
    }
    scene_join();
    lanepool_lane_release(lane);
    scene_close();
}
