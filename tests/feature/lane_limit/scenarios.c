/* Lane limits: submitters that wait for room while the pool ends, tasks are cancelled, or limits
 * change. */
#include "simulated/scenarios.h"
#include "route/pool.h"
#include "simulated/scene.h"

static void open_limited(unsigned workers, size_t lane_pending_max)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.lane_pending_max = lane_pending_max;
    scene_open(&options);
}

static struct scene_task *running_task(const char *claims)
{
    struct scene_task *task = scene_task(claims);

    task->takes = 10;
    EXPECT_STATUS(OK, scene_submit(task));
    return task;
}

static void stand_at_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

/* Submits a task that ends when the gate is opened. */
static void submit_standing_task(const char *claims)
{
    struct scene_task *task = scene_task(claims);

    task->body = stand_at_gate;
    EXPECT_STATUS(OK, scene_submit(task));
}

static void submit_one(void *argument)
{
    EXPECT_STATUS(OK, scene_submit(argument));
}

static void submit_unless_it_ends(void *argument)
{
    lanepool_status status = scene_submit(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

/* Returns when `blocked` submitters wait in all. */
static void spawn_and_see_it_block(struct scene_task *task, uint32_t blocked)
{
    scene_spawn(submit_one, task);
    while (atomic_load(&scene.pool->admission.waiting) < blocked)
        sim_sleep(1);
}

/* Both submitters find the lane full. A third one submits when the first task ends. */
SCENARIO(lane_limit_two_submitters_blocked_in_turn, EXHAUSTIVE)
{
    open_limited(1, 1);
    scene_make_gates(1);
    submit_standing_task("A");
    struct scene_task *first = scene_task("A");
    struct scene_task *second = scene_task("A");
    struct scene_task *late = scene_task("A");
    spawn_and_see_it_block(first, 1);
    spawn_and_see_it_block(second, 2);
    sim_explore_from_here();
    scene_open_gate(0);
    EXPECT_STATUS(OK, scene_submit(late));
    scene_join();
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(first, second));
    EXPECT(scene_before(second, late));
}

/* The lane's last task ends while a submitter finds the lane full and falls asleep. */
SCENARIO(lane_limit_last_end_beside_a_submitter_that_falls_asleep, EXHAUSTIVE)
{
    open_limited(1, 1);
    scene_make_gates(1);
    submit_standing_task("A");
    sim_explore_from_here();
    scene_spawn(submit_one, scene_task("A"));
    scene_open_gate(0);
    scene_join();
    sim_explore_to_here();
    scene_close();
}

/* The same with a submitter that needs two lanes, while both become free. */
SCENARIO(lane_limit_two_ends_beside_a_rollup_that_falls_asleep, RANDOM)
{
    open_limited(2, 1);
    scene_make_gates(1);
    submit_standing_task("A");
    submit_standing_task("B");
    sim_explore_from_here();
    scene_spawn(submit_one, scene_task("AB"));
    scene_open_gate(0);
    scene_open_gate(0);
    scene_join();
    sim_explore_to_here();
    scene_close();
}

/* Two threads count their tasks in the same two lanes, each in another order. Each lane has room
 * for one of them. */
SCENARIO(lane_limit_two_rollups_and_room_for_one, RANDOM)
{
    open_limited(1, 1);
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    EXPECT_STATUS(OK, scene_submit(scene_task("B")));
    sim_sleep(1);
    sim_explore_from_here();
    scene_spawn(submit_one, scene_task("AB"));
    EXPECT_STATUS(OK, scene_submit(scene_task("BA")));
    scene_join();
    sim_explore_to_here();
    scene_close();
}

/* Idle quotas are removed while a task counts in one of them. */
SCENARIO(lane_limit_trim_beside_submits, RANDOM)
{
    open_limited(1, 1);
    EXPECT_STATUS(OK, scene_submit(scene_task("AB")));
    sim_explore_from_here();
    scene_spawn(submit_one, scene_task("A"));
    EXPECT_STATUS(OK, lanepool_pool_trim(scene.pool));
    EXPECT_STATUS(OK, scene_submit(scene_task("BA")));
    scene_join();
    sim_explore_to_here();
    scene_close();
}

/* Here the pool is full, not a lane. A late submitter found no room, and then, because a task
 * ended, found some: it was admitted before an earlier submitter. */
SCENARIO(regress_full_pool_with_lane_limits_serves_in_turn, EXHAUSTIVE)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.pending_max = 1;
    options.lane_pending_max = LANEPOOL_UNLIMITED;
    scene_open(&options);
    scene_make_gates(1);
    submit_standing_task("B");
    struct scene_task *first = scene_task("A");
    struct scene_task *late = scene_task("A");
    spawn_and_see_it_block(first, 1);
    sim_explore_from_here();
    scene_open_gate(0);
    EXPECT_STATUS(OK, scene_submit(late));
    scene_join();
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(first, late));
}

/* Two lanes become empty at the same moment. The submitter that waits for both is admitted before
 * the one that waits for the second only. A third lane is not affected. */
SCENARIO(lane_limit_blocked_rollup_is_not_overtaken, RANDOM)
{
    open_limited(2, 1);
    scene_make_gates(1);
    submit_standing_task("A");
    submit_standing_task("B");
    struct scene_task *rollup = scene_task("AB");
    struct scene_task *single = scene_task("B");
    spawn_and_see_it_block(rollup, 1);
    spawn_and_see_it_block(single, 2);
    EXPECT_STATUS(OK, scene_submit_within(scene_task("C"), 0));
    sim_explore_from_here();
    scene_open_gate(0);
    scene_open_gate(0);
    scene_join();
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(rollup, single));
}

/* Room for one task appears just when the pool is shut down. */
static void shutdown_beside_a_blocked_rollup(bool now)
{
    open_limited(1, 1);
    (void)running_task("A");
    scene_spawn(submit_unless_it_ends, scene_task("BA"));
    sim_sleep(1);
    scene_spawn(submit_unless_it_ends, scene_task("B"));
    sim_sleep(9);
    sim_explore_from_here();
    if (now)
        EXPECT_STATUS(OK, scene_stop(true));
    else
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    scene_close();
}

SCENARIO(lane_limit_shutdown_beside_a_blocked_rollup, RANDOM)
{
    shutdown_beside_a_blocked_rollup(false);
}

SCENARIO(lane_limit_shutdown_now_beside_a_blocked_rollup, RANDOM)
{
    shutdown_beside_a_blocked_rollup(true);
}

/* The limit is raised while the lane's task ends. The only handle of the lane is the one that sets
 * the limit. */
SCENARIO(lane_limit_raised_beside_blocked_submitters, RANDOM)
{
    open_limited(1, 1);
    (void)running_task("A");
    scene_spawn(submit_one, scene_task("A"));
    sim_sleep(1);
    scene_spawn(submit_one, scene_task("A"));
    sim_sleep(9);
    sim_explore_from_here();
    scene_limit_lane('A', 2);
    scene_join();
    sim_explore_to_here();
    scene_close();
}

/* A task behind the running one is cancelled while that one ends, and its room becomes free. */
SCENARIO(lane_limit_cancel_frees_room, EXHAUSTIVE)
{
    open_limited(1, 2);
    (void)running_task("A");
    struct scene_task *waiting = scene_task("AB");
    struct scene_task *blocked = scene_task("A");
    waiting->has_future = true;
    EXPECT_STATUS(OK, scene_submit(waiting));
    scene_spawn(submit_one, blocked);
    sim_sleep(9);
    sim_explore_from_here();
    (void)scene_cancel(waiting);
    sim_sleep(1);
    scene_join();
    sim_explore_to_here();
    scene_close();
}

/* A submitter that waits for two lanes gives up while one of them becomes empty. The submitter
 * behind it is admitted. */
static void give_up_or_not(void *argument)
{
    lanepool_status status = scene_submit_within(argument, 9);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_TIMED_OUT);
}

SCENARIO(lane_limit_rollup_gives_up_waiting_for_lanes, EXHAUSTIVE)
{
    open_limited(1, 1);
    struct scene_task *running = scene_task("A");
    running->takes = 10;
    EXPECT_STATUS(OK, scene_submit(running));
    sim_sleep(1);
    scene_spawn(give_up_or_not, scene_task("AB"));
    sim_sleep(1);
    scene_spawn(submit_one, scene_task("B"));
    sim_sleep(8);
    sim_explore_from_here();
    scene_join();
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
}

/* A key's last task ends, and its quota may be swept, while other tasks of the key are submitted.
 */
SCENARIO(lane_limit_count_of_a_key_goes_and_comes, RANDOM)
{
    open_limited(1, 2);
    sim_explore_from_here();
    scene_spawn(submit_one, scene_task("A"));
    EXPECT_STATUS(OK, scene_submit(scene_task("AB")));
    EXPECT_STATUS(OK, scene_submit(scene_task("aA")));
    scene_join();
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
}

static void submit_inside_a_full_lane(struct scene_task *self)
{
    EXPECT_STATUS(FULL, scene_submit_within(self + 1, 0));
    EXPECT_STATUS(OK, scene_submit(self + 2));
}

SCENARIO(lane_limit_reached_and_submit_inside, EXHAUSTIVE)
{
    open_limited(1, 1);
    struct scene_task *parent = scene_task("A");
    scene_task("A");
    struct scene_task *over = scene_task("A");
    struct scene_task *from_outside = scene_task("A");
    parent->body = submit_inside_a_full_lane;
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(parent));
    EXPECT_STATUS(OK, scene_submit(from_outside));
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
    EXPECT(scene_before(parent, over));
}

SCENARIO(lane_limit_exceeded_by_or_run, EXHAUSTIVE)
{
    open_limited(1, 1);
    (void)running_task("A");
    struct scene_task *own = scene_task("A");
    struct scene_task *blocked = scene_task("A");
    scene_spawn(submit_one, blocked);
    sim_sleep(9);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit_or_run(own));
    scene_join();
    sim_explore_to_here();
    scene_close();
}

/* --- a periodic task --- */

static _Atomic uint32_t series_runs;

static int run_of_series(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    atomic_fetch_add(&series_runs, 1);
    return 0;
}

/* The periodic task fills its lane from its submit until it is cancelled. That also holds when a
 * run ends during a census, which retains blocks of ended tasks. */
SCENARIO(lane_limit_reached_by_a_series_beside_snapshots, RANDOM)
{
    open_limited(1, 1);
    lanepool_claim claim = lanepool_exclusive('A');
    lanepool_task description = LANEPOOL_TASK_INIT;
    lanepool_timer *timer;
    description.function = run_of_series;
    description.claims = &claim;
    description.claim_count = 1;
    atomic_store(&series_runs, 0);
    sim_explore_from_here();
    EXPECT_STATUS(OK, lanepool_pool_submit_every(scene.pool, &description, 0, 500,
                                                 LANEPOOL_FIXED_DELAY, &timer));
    for (int i = 0; i < 4; i++) {
        lanepool_snapshot *snapshot;
        EXPECT_STATUS(OK, lanepool_snapshot_take(scene.pool, &snapshot));
        lanepool_snapshot_release(snapshot);
        EXPECT_STATUS(FULL, scene_submit_within(scene_task("A"), 0));
        sim_sleep(500);
    }
    (void)lanepool_timer_cancel(timer);
    lanepool_timer_release(timer);
    sim_explore_to_here();
    /* Succeeds as soon as the periodic task has ended. */
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    scene_close();
}
