/* Pumps: tasks that wait for a thread of the scenario, and pools that end before these run. */
#include "simulated/scenarios.h"
#include "property/world.h"
#include "simulated/scene.h"

static lanepool_pump *pump;
static _Atomic uint32_t pumping; /* the thread that may run the pump's tasks */

static void runs_where_it_may(struct scene_task *self)
{
    (void)self;
    EXPECT(sim_self() == atomic_load_explicit(&pumping, memory_order_relaxed));
}

static struct scene_task *pumped(const char *claims)
{
    struct scene_task *task = scene_task(claims);

    task->pump = pump;
    task->body = runs_where_it_may;
    return task;
}

static void make_pump(void)
{
    int fd;

    EXPECT_STATUS(OK, lanepool_pump_create(scene.pool, &pump));
    EXPECT_STATUS(OK, lanepool_pump_fd(pump, &fd));
}

/* Pumps until the pool has ended; then no thread needs the pump. */
static void pump_to_the_end(void *argument)
{
    lanepool_status status = LANEPOOL_OK;
    size_t count;

    (void)argument;
    atomic_store_explicit(&pumping, sim_self(), memory_order_relaxed);
    while (status == LANEPOOL_OK) {
        status = lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, &count);
        EXPECT(count == (status == LANEPOOL_OK));
    }
    EXPECT_STATUS(SHUT_DOWN, status);
}

static void end_pool(void)
{
    scene_join();
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, lanepool_pump_destroy(pump));
    scene_end();
}

SCENARIO(scenario_49_pump_meets_a_drain, EXHAUSTIVE)
{
    scene_open_with(1);
    make_pump();
    struct scene_task *task = pumped("A");
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    EXPECT_STATUS(OK, scene_submit(task));
    sim_explore_from_here();
    scene_spawn(pump_to_the_end, NULL);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    scene_join();
    sim_explore_to_here();
    EXPECT(scene_has_ended(task));
    end_pool();
}

SCENARIO(scenario_50_pump_meets_a_shutdown_now, EXHAUSTIVE)
{
    scene_open_with(1);
    make_pump();
    EXPECT_STATUS(OK, scene_submit(pumped("A")));
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    sim_explore_from_here();
    scene_spawn(pump_to_the_end, NULL);
    EXPECT_STATUS(OK, scene_stop(scene_variant(2) != 0));
    scene_join();
    sim_explore_to_here();
    end_pool();
}

static lanepool_detached *detached;

static int detach_and_return(lanepool_run *run, void *context)
{
    (void)context;
    scene_open_gate(0);
    sim_explore_from_here();
    lanepool_status status = lanepool_run_detach(run, &detached);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    return 0;
}

/* The task may detach itself when the workers have left and the shutdown has looked for detached
 * tasks. Then no thread but the pumping one can end the task. */
SCENARIO(scenario_50_pumps_task_detaches_as_the_pool_stops, EXHAUSTIVE)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future;
    lanepool_result result;

    detached = NULL;
    scene_open_with(1);
    scene_make_gates(1);
    make_pump();
    task.function = detach_and_return;
    task.pump = pump;
    task.future = &future;
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
    scene_spawn(pump_to_the_end, NULL);
    scene_wait_at_gate(0);
    EXPECT_STATUS(OK, scene_stop(false));
    scene_join();
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, lanepool_future_wait(future, 0, &result));
    if (detached != NULL) {
        EXPECT_STATUS(ABANDONED, result.status);
        EXPECT_STATUS(DONE, lanepool_task_complete(detached, 0, NULL));
    }
    lanepool_future_release(future);
    end_pool();
}

/* --- everything at once --- */

static void submit_or_be_refused(void *argument)
{
    lanepool_status status = scene_submit(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

static void open_any(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1 + scene_variant(2);
    options.layout = scene_variant(4) < 2 ? LANEPOOL_PER_KEY : LANEPOOL_PER_WORKER;
    options.is_compatible = scene_variant(8) < 4 ? NULL : scene_rule;
    scene_open(&options);
    make_pump();
}

/* Rollups over lanes that workers and the pumping thread share, in every layout and with a rule;
 * some are submitted while the pool ends. */
SCENARIO(scenario_56_pump_and_workers_share_lanes_to_the_end, RANDOM)
{
    static const char *const claims[] = { "A", "AB", "B", "aB", "A", "BC", "C", "AC" };

    open_any();
    scene_spawn(pump_to_the_end, NULL);
    for (int i = 0; i < 8; i++) {
        struct scene_task *task = i % 2 == 0 ? scene_task(claims[i]) : pumped(claims[i]);
        task->has_future = i % 3 == 0;
        task->has_release = i % 3 == 1;
        task->takes = (uint64_t)(i % 4);
        if (i == 6)
            scene_spawn(submit_or_be_refused, task);
        else if (i < 6)
            EXPECT_STATUS(OK, scene_submit(task));
    }
    if (scene_variant(16) < 8)
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    else
        EXPECT_STATUS(OK, scene_stop(scene_variant(32) < 16));
    submit_or_be_refused(&scene.tasks[7]);
    end_pool();
}

/* --- waiting inside --- */

static void wait_for_the_next_but_one(struct scene_task *self)
{
    runs_where_it_may(self);
    EXPECT_STATUS(OK, scene_submit(self + 1));
    EXPECT_STATUS(OK, scene_submit(self + 2));
    lanepool_status status = lanepool_future_wait(self[2].future, LANEPOOL_FOREVER, NULL);
    if (scene.options.layout == LANEPOOL_PER_WORKER && status == LANEPOOL_DEADLOCK)
        return; /* with lanes per worker it may be queued behind the waiting task */
    EXPECT_STATUS(OK, status);
    EXPECT(scene_has_ended(self + 1));
}

/* The wait needs a task of the same pump, which runs on the waiting thread. A worker's task may
 * precede it. */
SCENARIO(scenario_58_wait_inside_a_pumps_task, RANDOM)
{
    open_any();
    struct scene_task *waiter = pumped("A");
    struct scene_task *second = pumped("B");
    struct scene_task *third = scene_variant(16) < 8 ? pumped("B") : scene_task("B");
    waiter->body = wait_for_the_next_but_one;
    second->takes = 2;
    third->has_future = true;
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    EXPECT_STATUS(OK, scene_submit(waiter));
    EXPECT_STATUS(OK, scene_submit(scene_task("AC")));
    scene_spawn(pump_to_the_end, NULL);
    scene_spawn(submit_or_be_refused, scene_task("B"));
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    end_pool();
}

static void wait_for_the_next(struct scene_task *self)
{
    sim_sleep(self->pump == NULL ? 2 : 0);
    EXPECT_STATUS(OK, lanepool_future_wait(self[1].future, LANEPOOL_FOREVER, NULL));
}

/* A pump's task waits for a worker's task, which later waits for another task of the pump that has
 * long been ready. The waiting thread had found no task to run, and did not learn that this had
 * changed. */
SCENARIO(regress_wait_inside_a_pumps_task_learns_what_it_needs, RANDOM)
{
    scene_open_with(1);
    make_pump();
    struct scene_task *first = pumped("A");
    struct scene_task *second = scene_task("B");
    struct scene_task *third = pumped("C");
    first->body = wait_for_the_next;
    second->body = wait_for_the_next;
    second->has_future = third->has_future = true;
    EXPECT_STATUS(OK, scene_submit(first));
    EXPECT_STATUS(OK, scene_submit(third));
    EXPECT_STATUS(OK, scene_submit(second));
    scene_spawn(pump_to_the_end, NULL);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    end_pool();
}

/* The only worker waits inside a task for one behind a pump's task. That one is cancelled while it
 * is in the pump. Its tombstone became ready for a worker, and the wait was not woken to run it. */
SCENARIO(regress_cancel_in_a_pump_wakes_a_wait_inside, EXHAUSTIVE)
{
    scene_open_with(1);
    make_pump();
    struct scene_task *waiter = scene_task("B");
    struct scene_task *behind = scene_task("A");
    struct scene_task *cancelled = pumped("A");
    waiter->body = wait_for_the_next;
    behind->has_future = cancelled->has_future = true;
    EXPECT_STATUS(OK, scene_submit(cancelled));
    EXPECT_STATUS(OK, scene_submit(behind));
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(waiter));
    EXPECT_STATUS(OK, scene_cancel(cancelled));
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_pump_destroy(pump));
    scene_close();
}

/* --- cancelling --- */

/* A cancel of all tasks may miss a task that is just being put into the pump. The waits are long
 * enough for other threads to run, also if this thread comes first in the schedule. */
static void cancel_all_and_pump(lanepool_group *group)
{
    atomic_store_explicit(&pumping, sim_self(), memory_order_relaxed);
    EXPECT_STATUS(OK, lanepool_pool_cancel(scene.pool, NULL));
    while (lanepool_group_wait(group, 0) == LANEPOOL_TIMED_OUT) {
        lanepool_status status = lanepool_pump_run(pump, 1, 300, NULL);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_TIMED_OUT);
    }
}

/* Only tombstones are left of cancelled tasks, in lanes or in the pump. They prevent the end of
 * neither the pump nor the pool. */
SCENARIO(scenario_57_pump_is_destroyed_when_its_tasks_were_cancelled, RANDOM)
{
    lanepool_group *group;

    open_any();
    EXPECT_STATUS(OK, lanepool_group_create(NULL, &group));
    for (int i = 0; i < 4; i++) {
        struct scene_task *task =
            i % 3 == 0 ? scene_task(i == 0 ? "A" : "B") : pumped(i == 1 ? "AB" : "A");
        task->group = task->pump != NULL ? group : NULL;
        task->may_be_cancelled = true;
        task->takes = 2;
        EXPECT_STATUS(OK, scene_submit(task));
    }
    if (scene_variant(16) < 8)
        EXPECT_STATUS(OK, lanepool_group_cancel(group, NULL));
    else
        cancel_all_and_pump(group);
    EXPECT_STATUS(OK, lanepool_group_wait(group, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, lanepool_pump_destroy(pump));
    scene_close();
    lanepool_group_destroy(group);
}

/* --- each failure in turn --- */

/* Returns true if the status is OK; otherwise a resource must have been refused. */
static bool is_done(lanepool_status status)
{
    bool is_for_want = status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE;

    if (status != LANEPOOL_OK && !(is_for_want && world_has_refused()))
        sim_fail("a call answers %s", lanepool_status_name(status));
    return status == LANEPOOL_OK;
}

static void submit_two(lanepool_group *group)
{
    for (int i = 0; i < 2; i++) {
        struct scene_task *task = i == 0 ? scene_task("A") : pumped("A");
        task->group = group;
        task->may_be_cancelled = true;
        (void)is_done(scene_submit(task));
    }
}

/* A failed call has changed nothing: it can be repeated when no resource is refused any more. */
static void use_both(lanepool_group *group)
{
    lanepool_claim claim = lanepool_exclusive('A');
    lanepool_completion completion;
    int fd;

    (void)is_done(lanepool_group_fd(group, &fd));
    (void)is_done(lanepool_pump_fd(pump, &fd));
    submit_two(group);
    if (scene_has_begun(&scene.tasks[0]) || scene_variant(2))
        (void)is_done(lanepool_group_cancel(group, NULL));
    while (lanepool_group_wait(group, 0) == LANEPOOL_TIMED_OUT) {
        lanepool_status status = lanepool_pump_run(pump, 1, 300, NULL);
        if (status != LANEPOOL_TIMED_OUT)
            (void)is_done(status);
        sim_sleep(1);
    }
    (void)is_done(lanepool_pool_wait_claims(scene.pool, &claim, 1, LANEPOOL_FOREVER));
    world_stop_refusing();
    EXPECT_STATUS(OK, lanepool_pool_wait_claims(scene.pool, &claim, 1, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, lanepool_group_close(group));
    while (lanepool_group_next(group, LANEPOOL_FOREVER, &completion) == LANEPOOL_OK)
        EXPECT(scene_has_ended(completion.context));
}

SCENARIO(scenario_30_each_failure_of_groups_and_pumps, FAULTS)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_group_options keeps = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_group *group;

    options.workers = 1;
    keeps.keeps_completions = true;
    if (!scene_try_open(&options))
        return;
    atomic_store_explicit(&pumping, sim_self(), memory_order_relaxed);
    bool has_group = is_done(lanepool_group_create(&keeps, &group));
    bool has_pump = is_done(lanepool_pump_create(scene.pool, &pump));
    if (has_group && has_pump)
        use_both(group);
    world_stop_refusing();
    if (has_pump)
        EXPECT_STATUS(OK, lanepool_pump_destroy(pump));
    scene_close();
    if (has_group)
        lanepool_group_destroy(group);
}
