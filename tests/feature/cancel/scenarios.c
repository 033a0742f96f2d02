/* Cancelling: single tasks, rollups that have latched some lanes, several at once. */
#include "simulated/scenarios.h"
#include "property/world.h"
#include "simulated/scene.h"

static struct scene_task *task_with_future(const char *claims, uint64_t takes)
{
    struct scene_task *task = scene_task(claims);

    task->has_future = true;
    task->has_release = true;
    task->takes = takes;
    return task;
}

static void submit(struct scene_task *task)
{
    EXPECT_STATUS(OK, scene_submit(task));
}

static void cancel(void *argument)
{
    lanepool_status status = scene_cancel(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

static void cancel_all(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, scene_cancel_all());
}

static void open_some_pool(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1 + scene_variant(2);
    options.is_compatible = scene_variant(3) == 1 ? scene_rule : NULL;
    options.layout = scene_variant(5) == 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    scene_open(&options);
}

/* --- one task --- */

SCENARIO(scenario_06_cancel_races_a_start, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *task = task_with_future("A", 0);
    sim_explore_from_here();
    submit(task);
    cancel(task);
    EXPECT_STATUS(OK, lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL));
    sim_explore_to_here();
    EXPECT_STATUS(DONE, scene_cancel(task));
    scene_close();
}

SCENARIO(scenario_06_cancel_races_a_start_in_any_pool, RANDOM)
{
    open_some_pool();
    struct scene_task *before = task_with_future("A", 2);
    struct scene_task *task = task_with_future("A", 2);
    submit(before);
    submit(task);
    submit(task_with_future("aB", 0));
    scene_spawn(cancel, before);
    cancel(task);
    scene_close();
}

SCENARIO(scenario_06_cancel_races_an_end, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *task = task_with_future("A", 3);
    submit(task);
    sim_sleep(2);
    sim_explore_from_here();
    scene_spawn(cancel, task);
    sim_sleep(1);
    lanepool_status status = scene_cancel_wait(task, LANEPOOL_FOREVER);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_DONE);
    EXPECT_STATUS(DONE, scene_cancel_wait(task, LANEPOOL_FOREVER));
    sim_explore_to_here();
    scene_close();
}

static void ask_to_end(struct scene_task *self)
{
    EXPECT_STATUS(RUNNING, scene_cancel(self));
    EXPECT_STATUS(DEADLOCK, scene_cancel_wait(self, LANEPOOL_FOREVER));
}

SCENARIO(scenario_06_task_cancels_itself, RANDOM)
{
    scene_open_with(1 + scene_variant(2));
    struct scene_task *task = task_with_future("A", 0);
    task->body = ask_to_end;
    submit(task);
    EXPECT_STATUS(OK, lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL));
    EXPECT_STATUS(DONE, scene_cancel_wait(task, LANEPOOL_FOREVER));
    scene_close();
}

static void cancel_both(struct scene_task *self)
{
    cancel(self + 1);
    EXPECT(scene_cancel_wait(self + 2, LANEPOOL_FOREVER) != LANEPOOL_RUNNING);
}

SCENARIO(scenario_06_task_cancels_others, RANDOM)
{
    open_some_pool();
    struct scene_task *task = task_with_future("A", 0);
    task_with_future("A", 1);
    task_with_future("B", 3);
    task->body = cancel_both;
    submit(task + 1);
    submit(task + 2);
    submit(task);
    scene_close();
}

/* --- waits during a cancel --- */

static void wait_for_the_next(struct scene_task *self)
{
    lanepool_status status = lanepool_future_wait((self + 1)->future, LANEPOOL_FOREVER, NULL);

    /* With lanes per worker the awaited task may be queued behind the waiter. */
    EXPECT(status == LANEPOOL_OK ||
           (status == LANEPOOL_DEADLOCK && scene.options.layout == LANEPOOL_PER_WORKER));
}

SCENARIO(scenario_06_cancelled_task_is_waited_for_inside, RANDOM)
{
    open_some_pool();
    struct scene_task *waiter = task_with_future("A", 0);
    struct scene_task *awaited = task_with_future("B", 2);
    struct scene_task *before = task_with_future("B", 5);
    waiter->body = wait_for_the_next;
    submit(before);
    submit(awaited);
    submit(waiter);
    scene_spawn(cancel, awaited);
    cancel(before);
    scene_close();
}

static void take_a_while(struct scene_task *self)
{
    (void)self;
    sim_sleep(5);
}

/* The cancelling call takes some time; it must have ended when the quiesce returns. */
static void quiesce(void *argument)
{
    const struct scene_task *task = argument;

    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT(scene_has_ended(task));
    EXPECT(atomic_load(&task->releases) == 1);
}

SCENARIO(scenario_06_cancel_races_a_quiesce, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *task = task_with_future("A", 0);
    task->told = take_a_while;
    submit(task);
    scene_spawn(quiesce, task);
    sim_explore_from_here();
    cancel(task);
    scene_join();
    sim_explore_to_here();
    scene_close();
}

static void end_and_await(bool stops)
{
    if (stops)
        EXPECT_STATUS(OK, scene_stop(scene_variant(2) != 0));
    else
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
}

SCENARIO(scenario_06_cancel_races_a_shutdown_now, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *task = task_with_future("A", 0);
    submit(task);
    scene_spawn(cancel, task);
    sim_explore_from_here();
    end_and_await(true);
    EXPECT(scene_has_ended(task));
    scene_join();
    sim_explore_to_here();
    scene_end();
}

SCENARIO(scenario_06_cancel_races_a_drain, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *task = task_with_future("A", 0);
    submit(task);
    scene_spawn(cancel, task);
    sim_explore_from_here();
    end_and_await(false);
    EXPECT(scene_has_ended(task));
    scene_join();
    sim_explore_to_here();
    scene_end();
}

/* --- rollups --- */

static struct scene_task *submit_new(const char *claims)
{
    struct scene_task *task = task_with_future(claims, 0);

    submit(task);
    return task;
}

static void stand_at_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

/* Submits a task that runs until a gate opens. */
static struct scene_task *submit_held(const char *claims)
{
    struct scene_task *task = task_with_future(claims, 0);

    scene_make_gates(1);
    task->body = stand_at_gate;
    submit(task);
    return task;
}

static void expect_end(const struct scene_task *task)
{
    EXPECT_STATUS(OK, lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL));
}

/* Cancels the rollup while the task before it runs. */
static void cancel_rollup(struct scene_task *rollup)
{
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_cancel(rollup));
}

SCENARIO(scenario_07_rollup_that_heads_some_lanes, EXHAUSTIVE)
{
    scene_open_with(2);
    struct scene_task *before = submit_held("A");
    struct scene_task *rollup = submit_new("AB");
    struct scene_task *freed = submit_new("B");
    struct scene_task *held = submit_new("A");
    cancel_rollup(rollup);
    expect_end(freed);
    sim_explore_to_here();
    scene_open_gate(0);
    scene_close();
    EXPECT(scene_before(before, held));
}

SCENARIO(scenario_07_rollup_that_waits_for_several, EXHAUSTIVE)
{
    scene_open_with(3);
    struct scene_task *before[2] = { submit_held("A"), submit_held("B") };
    struct scene_task *rollup = submit_new("ABC");
    struct scene_task *freed = submit_new("C");
    struct scene_task *held[2] = { submit_new("A"), submit_new("B") };
    cancel_rollup(rollup);
    expect_end(freed);
    sim_explore_to_here();
    scene_open_gate(0);
    scene_open_gate(0);
    scene_close();
    EXPECT(scene_before(before[0], held[0]) && scene_before(before[1], held[1]));
}

SCENARIO(scenario_07_rollup_between_readers, EXHAUSTIVE)
{
    scene_open_with(2);
    submit_held("a");
    struct scene_task *rollup = submit_new("AbC");
    struct scene_task *freed[2] = { submit_new("b"), submit_new("BC") };
    struct scene_task *behind = submit_new("a");
    cancel_rollup(rollup);
    expect_end(freed[0]);
    expect_end(freed[1]);
    sim_explore_to_here();
    scene_open_gate(0);
    expect_end(behind);
    scene_close();
}

/* Without futures the rollups are plain tasks. */
SCENARIO(scenario_07_rollups_without_futures, EXHAUSTIVE)
{
    scene_open_with(2);
    submit_held("A");
    submit(scene_task("AB"));
    submit(scene_task("BA"));
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_cancel_all());
    EXPECT(atomic_load(&scene.counted) >= 2);
    expect_end(submit_new("B"));
    sim_explore_to_here();
    scene_open_gate(0);
    scene_close();
}

/* The tombstones meet the end of the task that they wait behind. */
SCENARIO(scenario_07_marks_in_a_row, RANDOM)
{
    static const char *const claims[] = { "AB", "BA", "aB", "ABC" };
    struct scene_task *rollups[4];

    scene_open_with(2);
    submit(task_with_future("A", 5));
    for (int i = 0; i < 4; i++)
        rollups[i] = submit_new(claims[i]);
    submit_new("C");
    submit_new("AB");
    for (uint32_t i = 0; i < 4; i++)
        scene_spawn(cancel, rollups[(i * 3 + scene_variant(4)) % 4]);
    scene_close();
}

/* With a rule, a tombstone lasts as long as the tasks that it waits for. */
SCENARIO(scenario_07_mark_with_a_rule, EXHAUSTIVE)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.is_compatible = scene_rule;
    scene_open(&options);
    struct scene_task *before = submit_held("A");
    struct scene_task *rollup = submit_new("AB");
    struct scene_task *behind = submit_new("B");
    cancel_rollup(rollup);
    expect_end(submit_new("C"));
    sim_explore_to_here();
    EXPECT(!scene_has_begun(behind));
    scene_open_gate(0);
    scene_close();
    EXPECT(scene_before(before, behind));
}

/* --- twice --- */

SCENARIO(scenario_08_cancelled_twice, EXHAUSTIVE)
{
    scene_open_with(1);
    submit_held("A");
    struct scene_task *task = submit_new("AB");
    scene_spawn(cancel, task);
    sim_explore_from_here();
    lanepool_status status = scene_cancel(task);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_DONE);
    scene_join();
    sim_explore_to_here();
    EXPECT(atomic_load(&task->cancels) == 1);
    EXPECT_STATUS(DONE, scene_cancel(task));
    EXPECT_STATUS(DONE, scene_cancel_wait(task, 0));
    scene_open_gate(0);
    scene_close();
}

SCENARIO(scenario_08_cancelled_when_everything_has_ended, RANDOM)
{
    open_some_pool();
    struct scene_task *task = submit_new("A");
    end_and_await(false);
    EXPECT_STATUS(DONE, scene_cancel(task));
    EXPECT_STATUS(SHUT_DOWN, scene_cancel_all());
    scene_end();
}

/* --- several --- */

SCENARIO(scenario_08_everything_cancelled_twice_while_tasks_start, RANDOM)
{
    static const char *const claims[] = { "A", "AB", "B", "aC", "", "CA" };

    open_some_pool();
    for (int i = 0; i < 6; i++) {
        struct scene_task *task =
            i % 2 == 0 ? task_with_future(claims[i], 2) : scene_task(claims[i]);
        submit(task);
    }
    scene_spawn(cancel_all, NULL);
    if (scene.options.is_compatible == NULL)
        EXPECT_STATUS(OK, scene_cancel_lane('A'));
    else
        cancel(&scene.tasks[2]);
    scene_close();
}

SCENARIO(scenario_06_cancel_of_everything_races_a_start, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *task = scene_task("A");
    sim_explore_from_here();
    submit(task);
    EXPECT_STATUS(OK, scene_cancel_all());
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
}

/* --- inside calls --- */

static struct scene_task *told_later;

static void cancel_in_a_callback(struct scene_task *task)
{
    lanepool_status status = scene_cancel_all();

    (void)task;
    /* If the task ended before its continuation was set, the submitter makes this call. */
    EXPECT(status == LANEPOOL_DEADLOCK || status == LANEPOOL_OK);
    cancel(told_later);
}

SCENARIO(scenario_26_continuation_cancels, RANDOM)
{
    scene_open_with(1);
    struct scene_task *first = scene_task("A");
    told_later = task_with_future("A", 0);
    first->takes = 2;
    first->then = cancel_in_a_callback;
    submit(told_later);
    submit(first);
    scene_spawn(cancel, first);
    scene_close();
}

static void submit_and_wait_in_vain(struct scene_task *self)
{
    EXPECT_STATUS(OK, scene_submit(self + 1));
    EXPECT_STATUS(DEADLOCK, lanepool_future_wait((self + 1)->future, LANEPOOL_FOREVER, NULL));
    EXPECT_STATUS(DEADLOCK, scene_cancel_all());
}

SCENARIO(scenario_26_cancelling_call_submits_and_waits, RANDOM)
{
    open_some_pool();
    struct scene_task *before = submit_held("A");
    struct scene_task *task = task_with_future("AB", 0);
    task->told = submit_and_wait_in_vain;
    task_with_future("A", 0);
    submit(task);
    EXPECT_STATUS(OK, scene_cancel(task));
    scene_open_gate(0);
    expect_end(before);
    scene_close();
}

/* --- with failing allocations --- */

static bool is_answered(lanepool_status status)
{
    bool lacks = status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE;

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE ||
           (lacks && world_has_refused()));
    return !lacks;
}

SCENARIO(scenario_30_each_failure_of_cancels_in_turn, FAULTS)
{
    static const char *const claims[] = { "A", "AB", "*", "BC", "aC", "*" };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    size_t counted;

    options.workers = 2;
    options.is_compatible = scene_variant(3) == 1 ? scene_rule : NULL;
    options.layout = scene_variant(3) == 2 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    if (!scene_try_open(&options))
        return;
    for (int i = 0; i < 6; i++)
        (void)is_answered(scene_submit(task_with_future(claims[i], 2)));
    for (int i = 1; i < 6; i += 3)
        if (scene.tasks[i].future != NULL)
            (void)is_answered(scene_cancel(&scene.tasks[i]));
    if (options.is_compatible == NULL)
        (void)is_answered(scene_cancel_lane('A'));
    counted = atomic_load(&scene.counted);
    if (!is_answered(scene_cancel_all()))
        EXPECT(atomic_load(&scene.counted) == counted);
    world_stop_refusing();
    scene_close();
}
