/* Priorities: inherited levels while workers choose tasks, and while lanes advance. */
#include "simulated/scenarios.h"
#include "property/world.h"
#include "simulated/notes.h"
#include "simulated/scene.h"

static void open_with_priorities(unsigned workers, uint64_t age_ns)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.priorities = true;
    options.priority_age_ns = age_ns;
    scene_open(&options);
}

static struct scene_task *task_of(const char *claims, uint32_t priority, uint64_t takes)
{
    struct scene_task *task = scene_task(claims);

    task->priority = priority;
    task->takes = takes;
    return task;
}

static void submit_one(void *argument)
{
    EXPECT_STATUS(OK, scene_submit(argument));
}

/* A low task and one of middle priority are ready. A high task is queued behind the low one just
 * when the worker chooses. If the high task's submit had returned before the choice, its priority
 * counts. */
SCENARIO(scenario_priorities_lending_meets_a_choice, EXHAUSTIVE)
{
    open_with_priorities(1, LANEPOOL_FOREVER);
    struct scene_task *running = task_of("C", 7, 5);
    struct scene_task *middle = task_of("B", 3, 5);
    struct scene_task *low = task_of("A", 0, 5);
    struct scene_task *high = task_of("A", 5, 5);

    EXPECT_STATUS(OK, scene_submit(running));
    EXPECT_STATUS(OK, scene_submit(middle));
    EXPECT_STATUS(OK, scene_submit(low));
    sim_sleep(5);
    sim_explore_from_here();
    scene_spawn(submit_one, high);
    sim_sleep(30);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(low, high));
    if (sim_is_strict() && noted_at(&high->submit_end) < noted_at(&running->call_end))
        EXPECT(scene_before(high, middle));
}

/* A task had waited for long, and had risen to the top, before its first attempt. Its next attempt
 * also ran before all tasks of a higher priority. */
SCENARIO(regress_retry_waits_anew, RANDOM)
{
    static const lanepool_failure_policy once_more = { .struct_size = sizeof once_more,
                                                       .retries = 1 };
    open_with_priorities(1, 1000);
    struct scene_task *low = task_of("A", 0, 50);
    struct scene_task *high = task_of("B", 6, 5);

    low->policy = &once_more;
    low->has_release = true;
    low->fails_first = 1;
    EXPECT_STATUS(OK, scene_submit(task_of("C", 7, 1100)));
    EXPECT_STATUS(OK, scene_submit(low));
    for (int i = 1; i < 8; i++)
        EXPECT_STATUS(OK, scene_submit(task_of("C", 7, 1100)));
    sim_sleep(8 * 1100 + 20);
    EXPECT_STATUS(OK, scene_submit(high));
    scene_close();
    EXPECT(atomic_load(&low->attempts) == 2);
    if (sim_is_strict())
        EXPECT(noted_at(&high->call_end) < noted_at(&low->attempt_end));
}

/* A submit is delayed between the two steps of its append while the worker routes, and leaves later
 * messages unrouted. When the submit continues, a high task behind it counts at the next choice. */
SCENARIO(scenario_priorities_count_behind_a_link_that_was_missing, EXHAUSTIVE)
{
    open_with_priorities(1, LANEPOOL_FOREVER);
    struct scene_task *first = task_of("A", 1, 5);
    struct scene_task *low = task_of("B", 0, 5);
    struct scene_task *missing = task_of("C", 0, 5);
    struct scene_task *high = task_of("D", 1, 5);

    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(first));
    EXPECT_STATUS(OK, scene_submit(low));
    EXPECT_STATUS(OK, scene_submit(missing));
    EXPECT_STATUS(OK, scene_submit(high));
    sim_sleep(30);
    sim_explore_to_here();
    scene_close();
    if (sim_is_strict() && scene_before(first, low))
        EXPECT(scene_before(high, low));
}

enum { LOWS = 4 };

/* Submits tasks of level 1. Returns when the worker is about to make them ready, and to run one
 * after the other. */
static void run_lows(struct scene_task **lows)
{
    static const char *const claims[LOWS] = { "A", "B", "C", "D" };

    EXPECT_STATUS(OK, scene_submit(task_of("G", 7, 5)));
    for (int i = 0; i < LOWS; i++) {
        lows[i] = task_of(claims[i], 1, 0);
        EXPECT_STATUS(OK, scene_submit(lows[i]));
    }
    sim_sleep(5);
}

/* Each choice after both submits had returned has chosen the high task, if it had not run yet. */
static void expect_at_next_choice(struct scene_task **lows, struct scene_task *high,
                                  struct scene_task *other)
{
    for (int i = 0; i + 1 < LOWS && sim_is_strict(); i++)
        if (noted_at(&high->submit_end) < noted_at(&lows[i]->call_end) &&
            noted_at(&other->submit_end) < noted_at(&lows[i]->call_end))
            EXPECT(scene_before(high, lows[i + 1]));
}

/* A high task is submitted while the worker runs one of several ready tasks, or chooses. */
SCENARIO(scenario_priorities_count_at_the_next_choice, EXHAUSTIVE)
{
    struct scene_task *lows[LOWS];

    open_with_priorities(1, LANEPOOL_FOREVER);
    struct scene_task *high = task_of("H", 3, 5);
    run_lows(lows);
    sim_explore_from_here();
    scene_spawn(submit_one, high);
    sim_sleep(30);
    sim_explore_to_here();
    scene_close();
    expect_at_next_choice(lows, high, high);
}

/* A submit without a priority is delayed between the two steps of its append, while a high task is
 * submitted behind it and the worker chooses. */
SCENARIO(scenario_priorities_count_once_a_missing_link_is_made, EXHAUSTIVE)
{
    struct scene_task *lows[LOWS];

    open_with_priorities(1, LANEPOOL_FOREVER);
    struct scene_task *missing = task_of("I", 0, 5);
    struct scene_task *high = task_of("H", 3, 5);
    run_lows(lows);
    sim_explore_from_here();
    scene_spawn(submit_one, missing);
    scene_spawn(submit_one, high);
    sim_sleep(30);
    sim_explore_to_here();
    scene_close();
    expect_at_next_choice(lows, high, missing);
}

/* A high task waits through a rollup for another task. That task leaves its lane just when it
 * inherits the priority. */
SCENARIO(scenario_priorities_lending_meets_a_release, EXHAUSTIVE)
{
    open_with_priorities(2, LANEPOOL_FOREVER);
    struct scene_task *one = task_of("A", 0, 5);
    struct scene_task *other = task_of("B", 0, 5);
    struct scene_task *rollup = task_of("AB", 0, 0);
    struct scene_task *high = task_of("A", 6, 0);

    EXPECT_STATUS(OK, scene_submit(one));
    EXPECT_STATUS(OK, scene_submit(other));
    EXPECT_STATUS(OK, scene_submit(rollup));
    sim_sleep(5);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(high));
    sim_sleep(30);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(rollup, high));
}

/* A rollup that blocks a high task is cancelled while the high task is submitted, and while the
 * rollup's lanes advance. */
SCENARIO(scenario_priorities_lending_meets_a_cancel, RANDOM)
{
    open_with_priorities(1 + scene_variant(2), 1 + scene_variant(8));
    struct scene_task *one = task_of("A", 0, 3);
    struct scene_task *rollup = task_of("AB", 1, 0);
    struct scene_task *behind = task_of("Ba", 0, 0);
    struct scene_task *high = task_of("aC", 6, 0);

    rollup->has_future = true;
    EXPECT_STATUS(OK, scene_submit(one));
    EXPECT_STATUS(OK, scene_submit(rollup));
    EXPECT_STATUS(OK, scene_submit(behind));
    scene_spawn(submit_one, high);
    sim_sleep(scene_variant(4));
    (void)scene_cancel(rollup);
    scene_close();
}

static struct scene_task *awaited;

static void wait_for_awaited(struct scene_task *self)
{
    (void)self;
    EXPECT_STATUS(OK, lanepool_future_wait(awaited->future, LANEPOOL_FOREVER, NULL));
}

/* A task waits inside for one that is queued behind others. A task of higher priority is queued
 * behind the waiting one. All tasks that it waits for, through the wait, run before the one of
 * middle priority. */
SCENARIO(scenario_priorities_are_lent_through_a_wait, RANDOM)
{
    open_with_priorities(2, LANEPOOL_FOREVER);
    struct scene_task *one = task_of("A", 0, 10);
    struct scene_task *two = task_of("A", 0, 10);
    struct scene_task *middle = task_of("C", 3, 10);
    struct scene_task *waiting = task_of("B", 2, 0);
    struct scene_task *high = task_of("B", 5, 0);

    awaited = two;
    two->has_future = true;
    waiting->body = wait_for_awaited;
    EXPECT_STATUS(OK, scene_submit(one));
    EXPECT_STATUS(OK, scene_submit(two));
    EXPECT_STATUS(OK, scene_submit(waiting));
    sim_sleep(5);
    EXPECT_STATUS(OK, scene_submit(middle));
    EXPECT_STATUS(OK, scene_submit(high));
    scene_close();
    EXPECT(scene_before(waiting, high));
}

static lanepool_pump *pump;

static void run_pump(void *argument)
{
    size_t count = 0;

    (void)argument;
    EXPECT_STATUS(OK, lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, &count));
}

/* A pump's task and a caller's own task block a high task, and run on the threads where they must
 * run. */
SCENARIO(scenario_priorities_meet_pumps_and_callers, RANDOM)
{
    open_with_priorities(1, LANEPOOL_FOREVER);
    EXPECT_STATUS(OK, lanepool_pump_create(scene.pool, &pump));
    struct scene_task *one = task_of("A", 0, 2);
    struct scene_task *pumped = task_of("AB", 0, 2);
    struct scene_task *high = task_of("B", 7, 2);

    pumped->pump = pump;
    EXPECT_STATUS(OK, scene_submit(one));
    EXPECT_STATUS(OK, scene_submit(pumped));
    scene_spawn(run_pump, NULL);
    EXPECT_STATUS(OK, scene_submit_or_run(high));
    scene_join();
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, lanepool_pump_destroy(pump));
    scene_close();
}

SCENARIO(scenario_priorities_each_failure_in_turn, FAULTS)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.priorities = true;
    if (!scene_try_open(&options))
        return;
    for (uint32_t i = 0; i < 6; i++) {
        struct scene_task *task = task_of(i % 2 == 0 ? "AB" : "bC", i, 1);
        task->has_future = i % 3 == 0;
        (void)scene_submit(task);
    }
    world_stop_refusing();
    scene_close();
}
