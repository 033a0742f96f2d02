/* Crowded lanes: rollups wait behind a task that does not end, and the inbox has more tasks.
 * Workers put routing off then, and nap. Still no task waits that could run: time passes only when
 * all cold tasks have ended. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static void submit_more_and_stand(struct scene_task *self)
{
    EXPECT_STATUS(OK, scene_submit(self + 1));
    scene_wait_at_gate(0);
}

static void stand_at_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

static void submit_all_of(const char *const *claims, size_t count, struct scene_task **tasks)
{
    for (size_t i = 0; i < count; i++) {
        tasks[i] = scene_task(claims[i]);
        EXPECT_STATUS(OK, scene_submit(tasks[i]));
    }
}

/* If time may pass while threads are ready, the judgement of the quiet moments must do. */
static void expect_ended(struct scene_task *const *tasks, size_t count)
{
    sim_sleep(1);
    for (size_t i = 0; i < count && sim_is_strict(); i++)
        EXPECT(scene_has_ended(tasks[i]));
}

/* The other worker routes all tasks but the first, a batch for each nap. */
SCENARIO(scenario_79_cold_tasks_beside_crowded_lanes, EXHAUSTIVE)
{
    static const char *const waiting[] = { "AB", "BC", "AC" };
    static const char *const cold[] = { "E", "F" };
    struct scene_task *tasks[3];

    scene_open_with(2);
    scene_make_gates(1);
    struct scene_task *first = scene_task("ABC");
    first->body = stand_at_gate;
    EXPECT_STATUS(OK, scene_submit(first));
    while (!scene_has_begun(first))
        sim_sleep(1);
    sim_explore_from_here();
    submit_all_of(waiting, 3, tasks);
    submit_all_of(cold, 2, tasks);
    expect_ended(tasks, 2);
    sim_explore_to_here();
    scene_open_gate(0);
    scene_close();
}

static void submit_late(void *argument)
{
    EXPECT_STATUS(OK, scene_submit(argument));
}

/* Tasks become ready while a worker naps: by another thread's submit, by one inside the task, and
 * by the end of a task. One more worker may sleep meanwhile. */
SCENARIO(scenario_79_tasks_become_ready_beside_naps, RANDOM)
{
    static const char *const waiting[] = { "AB", "AC", "BC", "ABC", "AB", "AC" };
    static const char *const cold[] = { "E", "E", "F", "E" };
    struct scene_task *tasks[6];
    struct scene_task *blocked[6];

    scene_open_with(2 + scene_variant(2));
    scene_make_gates(1);
    struct scene_task *first = scene_task("ABC");
    struct scene_task *inside = scene_task("D");
    first->body = submit_more_and_stand;
    EXPECT_STATUS(OK, scene_submit(first));
    scene_spawn(submit_late, scene_task("G"));
    scene_spawn(submit_late, scene_task("DG"));
    submit_all_of(waiting, 6, blocked);
    submit_all_of(cold, 4, tasks);
    scene_join();
    while (!scene_has_begun(first))
        sim_sleep(1);
    expect_ended(tasks, 4);
    expect_ended(&inside, 1);
    for (int i = 0; i < 6; i++)
        EXPECT(!scene_has_begun(blocked[i]));
    scene_open_gate(0);
    scene_close();
}

/* The pool stops while a worker naps. */
SCENARIO(scenario_79_shutdown_now_beside_a_nap, EXHAUSTIVE)
{
    static const char *const waiting[] = { "AB", "AB", "AB", "E" };
    struct scene_task *tasks[4];

    scene_open_with(2);
    scene_make_gates(1);
    struct scene_task *first = scene_task("AB");
    first->body = stand_at_gate;
    EXPECT_STATUS(OK, scene_submit(first));
    while (!scene_has_begun(first))
        sim_sleep(1);
    submit_all_of(waiting, 4, tasks);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_stop(true));
    sim_explore_to_here();
    scene_open_gate(0);
    scene_close();
}
