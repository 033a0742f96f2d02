/* Waits inside tasks that begin while the pool is stopped or resumed: no wake-up is lost. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static void submit_or_be_refused(struct scene_task *task)
{
    lanepool_status status = scene_submit(task);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

static lanepool_status wait_for(const struct scene_task *task)
{
    return lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL);
}

static void wait_for_itself(struct scene_task *self)
{
    scene_open_gate(1);
    scene_wait_at_gate(0);
    EXPECT_STATUS(DEADLOCK, wait_for(self));
}

static void stop_and_open_gate(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, scene_stop(true));
    scene_open_gate(0);
}

/* The stop wakes the other worker. The submitter has left the routing to that worker, which leaves
 * without routing. Behind the submitted task is the message of the wait. */
SCENARIO(scenario_halted_wait_begins_as_a_worker_leaves, EXHAUSTIVE)
{
    scene_open_with(2);
    scene_make_gates(2);
    struct scene_task *waiter = scene_task("A");
    waiter->has_future = true;
    waiter->body = wait_for_itself;
    EXPECT_STATUS(OK, scene_submit(waiter));
    scene_wait_at_gate(1);
    sim_explore_from_here();
    scene_spawn(stop_and_open_gate, NULL);
    submit_or_be_refused(scene_task("B"));
    scene_join();
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    scene_end();
}

static void wait_at_gate(struct scene_task *self)
{
    (void)self;
    scene_open_gate(1);
    scene_wait_at_gate(0);
}

static void wait_for_first(struct scene_task *self)
{
    (void)self;
    scene_open_gate(1);
    scene_wait_at_gate(2);
    scene_open_gate(3);
    EXPECT_STATUS(OK, wait_for(&scene.tasks[0]));
}

static void open_first_gate(struct scene_task *self)
{
    (void)self;
    scene_open_gate(0);
}

/* The waiting thread takes the ready task out, does not need it, and puts it back. Meanwhile the
 * resumed worker finds nothing and sleeps. The awaited task ends only if the ready task runs. */
SCENARIO(scenario_halted_wait_puts_a_task_back_as_the_pool_resumes, EXHAUSTIVE)
{
    scene_open_with(3);
    scene_make_gates(4);
    struct scene_task *awaited = scene_task("A");
    struct scene_task *waiter = scene_task("B");
    struct scene_task *ready = scene_task("C");
    awaited->has_future = true;
    awaited->body = wait_at_gate;
    waiter->body = wait_for_first;
    ready->body = open_first_gate;
    EXPECT_STATUS(OK, scene_submit(awaited));
    EXPECT_STATUS(OK, scene_submit(waiter));
    scene_wait_at_gate(1);
    scene_wait_at_gate(1);
    atomic_store(&scene.paused, true);
    EXPECT_STATUS(OK, lanepool_pool_pause(scene.pool));
    EXPECT_STATUS(OK, scene_submit(ready));
    sim_sleep(1);
    sim_explore_from_here();
    scene_open_gate(2);
    scene_wait_at_gate(3);
    atomic_store(&scene.paused, false);
    EXPECT_STATUS(OK, lanepool_pool_resume(scene.pool));
    EXPECT_STATUS(OK, wait_for(awaited));
    sim_explore_to_here();
    scene_close();
}
