/* Lanes: rollups, claims named twice or not at all, readers and writers, tickets. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

/* The tasks of both lanes end while the rollup over both is submitted. */
SCENARIO(scenario_16_rollup_over_every_lane, EXHAUSTIVE)
{
    scene_open_with(2);
    struct scene_task *one = scene_task("A");
    struct scene_task *other = scene_task("B");
    struct scene_task *rollup = scene_task("AB");
    struct scene_task *later = scene_task("A");
    one->takes = 10;
    other->takes = 10;
    EXPECT_STATUS(OK, scene_submit(one));
    EXPECT_STATUS(OK, scene_submit(other));
    sim_sleep(5);
    EXPECT_STATUS(OK, scene_submit(rollup));
    EXPECT_STATUS(OK, scene_submit(later));
    sim_explore_from_here();
    sim_sleep(100);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(one, rollup) && scene_before(other, rollup));
    EXPECT(scene_before(rollup, later));
}

static void submit_one(void *argument)
{
    EXPECT_STATUS(OK, scene_submit(argument));
}

SCENARIO(scenario_17_two_rollups_in_reverse_order, EXHAUSTIVE)
{
    scene_open_with(1);
    scene_spawn(submit_one, scene_task("AB"));
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(scene_task("BA")));
    scene_join();
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
}

SCENARIO(scenario_18_duplicate_keys, EXHAUSTIVE)
{
    scene_open_with(1);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(scene_task("aAaa")));
    EXPECT_STATUS(OK, scene_submit(scene_task("aa")));
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
}

SCENARIO(scenario_19_no_keys, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *running = scene_task("A");
    struct scene_task *behind = scene_task("A");
    struct scene_task *free_one = scene_task("");
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(running));
    EXPECT_STATUS(OK, scene_submit(behind));
    EXPECT_STATUS(OK, scene_submit(free_one));
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
}

SCENARIO(scenario_23_readers_behind_a_writer_behind_readers, EXHAUSTIVE)
{
    scene_open_with(2);
    struct scene_task *reader = scene_task("a");
    struct scene_task *writer = scene_task("A");
    struct scene_task *behind[2] = { scene_task("a"), scene_task("a") };
    reader->takes = 10;
    EXPECT_STATUS(OK, scene_submit(reader));
    sim_sleep(5);
    EXPECT_STATUS(OK, scene_submit(writer));
    EXPECT_STATUS(OK, scene_submit(behind[0]));
    sim_sleep(5);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(behind[1]));
    sim_sleep(100);
    sim_explore_to_here();
    scene_close();
}

/* In test builds the tickets start shortly before they wrap around. */
static void wait_for_the_last(struct scene_task *self)
{
    struct scene_task *last = &scene.tasks[scene.task_count - 1];

    (void)self;
    scene_wait_at_gate(0);
    EXPECT_STATUS(OK, lanepool_future_wait(last->future, LANEPOOL_FOREVER, NULL));
}

SCENARIO(scenario_41_tickets_wrap_around, RANDOM)
{
    static const char *const claims[] = { "C", "A", "AB", "A", "aB", "A", "b", "AB" };
    scene_open_with(2);
    scene_make_gates(1);
    for (int i = 0; i < 8; i++)
        scene_task(claims[i]);
    struct scene_task *last = &scene.tasks[7];
    last->has_future = true;
    scene.tasks[0].body = wait_for_the_last;
    for (int i = 0; i < 8; i++)
        EXPECT_STATUS(OK, scene_submit(&scene.tasks[i]));
    scene_open_gate(0);
    scene_close();
    EXPECT(atomic_load(&last->ticket) < atomic_load(&scene.tasks[0].ticket));
    for (int i = 1; i < 7; i++)
        EXPECT(!scene_conflict(&scene.tasks[i], last) || scene_before(&scene.tasks[i], last));
}
