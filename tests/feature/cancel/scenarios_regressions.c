/* Regression tests for cancels and barriers. Each comment describes the former error. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static struct scene_task *submit_new(const char *claims, uint64_t takes)
{
    struct scene_task *task = scene_task(claims);

    task->has_future = true;
    task->has_release = true;
    task->takes = takes;
    EXPECT_STATUS(OK, scene_submit(task));
    return task;
}

static void open_with_rule(lanepool_layout layout, unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.layout = layout;
    options.is_compatible = scene_rule;
    scene_open(&options);
}

static void stand_at_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

/* Submits a task that runs until a gate opens. */
static void submit_held(const char *claims)
{
    struct scene_task *task = scene_task(claims);

    scene_make_gates(1);
    task->body = stand_at_gate;
    EXPECT_STATUS(OK, scene_submit(task));
}

static void cancel(void *argument)
{
    lanepool_status status = scene_cancel(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

/* --- snapshots --- */

static void look(void *argument)
{
    lanepool_snapshot *snapshot;
    lanepool_status status = lanepool_snapshot_take(scene.pool, &snapshot);

    (void)argument;
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    lanepool_snapshot_release(snapshot);
}

/* A thread that waited for a control call was taken for a caller that runs its own task; it had no
 * task. */
SCENARIO(regress_look_beside_a_cancel_of_everything, EXHAUSTIVE)
{
    scene_open_with(1);
    submit_new("A", 5);
    sim_explore_from_here();
    scene_spawn(look, NULL);
    EXPECT_STATUS(OK, scene_cancel_all());
    scene_join();
    sim_explore_to_here();
    scene_close();
}

static void take_a_while(struct scene_task *self)
{
    (void)self;
    sim_sleep(5);
}

/* A cancelling call delayed the end of the pool. The lanes led to blocks that had been handed
 * back. */
SCENARIO(regress_look_when_tasks_have_been_handed_back, RANDOM)
{
    scene_open_with(1);
    submit_new("A", 3);
    for (int i = 0; i < 3; i++)
        submit_new("A", 5)->told = take_a_while;
    scene_spawn(cancel, &scene.tasks[2]);
    sim_sleep(2);
    EXPECT_STATUS(OK, scene_stop(true));
    scene_spawn(look, NULL);
    sim_sleep(1);
    look(NULL);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_join();
    scene_end();
}

/* --- handing back --- */

/* The cancel answered RUNNING for a task that never started. */
SCENARIO(regress_cancel_of_what_is_handed_back, EXHAUSTIVE)
{
    scene_open_with(1);
    submit_new("A", 3);
    struct scene_task *task = submit_new("A", 5);
    scene_spawn(cancel, task);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_stop(false));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_join();
    sim_explore_to_here();
    scene_end();
}

/* --- barriers --- */

static void say_so_and_stand(struct scene_task *self)
{
    (void)self;
    scene_open_gate(2);
    scene_wait_at_gate(0);
}

static void let_go_and_stand(struct scene_task *self)
{
    (void)self;
    scene_open_gate(0);
    scene_wait_at_gate(1);
}

/* Tasks behind a barrier waited for a cancelling call of an unrelated task. */
SCENARIO(regress_held_tasks_do_not_wait_for_cancels, RANDOM)
{
    scene_open_with(1);
    scene_make_gates(3);
    struct scene_task *barrier = scene_task("*");
    barrier->body = say_so_and_stand;
    EXPECT_STATUS(OK, scene_submit(barrier));
    struct scene_task *behind = submit_new("A", 0);
    struct scene_task *last = submit_new("B", 0);
    last->told = let_go_and_stand;
    scene_wait_at_gate(2);
    scene_spawn(cancel, last);
    EXPECT_STATUS(OK, lanepool_future_wait(behind->future, LANEPOOL_FOREVER, NULL));
    scene_open_gate(1);
    scene_close();
}

/* Behind the barrier, claims by a handle that had never been used were not found. */
SCENARIO(regress_lane_cancel_finds_handles_behind_a_barrier, RANDOM)
{
    lanepool_key key = lanepool_key_id('A');
    lanepool_lane *lane;

    scene_open_with(1);
    submit_held("*");
    EXPECT_STATUS(OK, lanepool_lane_acquire(scene.pool, key, &lane));
    struct scene_task *task = scene_task("A");
    task->lane = lane;
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, scene_cancel_lane('A'));
    EXPECT(atomic_load(&scene.counted) == 1);
    lanepool_lane_release(lane);
    scene_open_gate(0);
    scene_close();
}

/* The rule was called for a task that had been cancelled behind the barrier, and released. */
SCENARIO(regress_rule_is_not_asked_about_marks_per_worker, RANDOM)
{
    open_with_rule(LANEPOOL_PER_WORKER, 2);
    submit_held("A");
    submit_new("*", 3);
    submit_new("A", 3);
    struct scene_task *task = submit_new("AB", 0);
    submit_new("B", 0);
    if (scene_variant(2) == 1)
        EXPECT_STATUS(OK, scene_cancel(task));
    else
        EXPECT_STATUS(OK, scene_cancel_all());
    EXPECT(scene_has_ended(task));
    scene_open_gate(0);
    scene_close();
}

/* The rule was called for a task that was cancelled during the hand-back, and got its entries after
 * that. */
SCENARIO(regress_rule_is_not_asked_about_marks_at_the_end, RANDOM)
{
    open_with_rule(LANEPOOL_PER_KEY, 1);
    submit_new("A", 3);
    submit_new("*", 3);
    submit_new("A", 3);
    struct scene_task *task = submit_new("AB", 0);
    submit_new("B", 0);
    scene_spawn(cancel, task);
    EXPECT_STATUS(OK, scene_stop(true));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_join();
    scene_end();
}

/* --- starting --- */

/* A task got a cancelling call after it had run: it had ended, but not left its lane yet. */
SCENARIO(regress_task_that_has_ended_is_not_cancelled, EXHAUSTIVE)
{
    open_with_rule(scene_variant(2) == 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY, 1);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    EXPECT_STATUS(OK, scene_cancel_all());
    sim_sleep(1);
    sim_explore_to_here();
    scene_close();
}

enum { CALLED_OFF_NS = 1000 };

static lanepool_future *called_off;

static int run_in_time(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    EXPECT(sim_now() >= CALLED_OFF_NS);
    return 0;
}

static void take_long_to_be_told(void *context, lanepool_status why)
{
    (void)context, (void)why;
    sim_sleep(5);
}

static void wait_for_what_is_called_off(struct scene_task *self)
{
    (void)self;
    scene_open_gate(0);
    sim_sleep(2);
    lanepool_status status = lanepool_future_wait(called_off, LANEPOOL_FOREVER, NULL);
    EXPECT(status == LANEPOOL_OK || sim_now() >= CALLED_OFF_NS);
}

/* A drain was just making the cancelling call of a task that was not due, and a barrier waited for
 * that task. The wait was judged as a wait for a task behind the barrier, although the task would
 * get no entries any more. */
SCENARIO(regress_wait_for_a_task_that_a_drain_calls_off_is_no_deadlock, RANDOM)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    scene_open_with(1);
    scene_make_gates(1);
    task.function = run_in_time;
    task.cancelled = take_long_to_be_told;
    task.future = &called_off;
    EXPECT_STATUS(OK, lanepool_pool_submit_after(scene.pool, &task, CALLED_OFF_NS));
    struct scene_task *barrier = scene_task("*");
    barrier->body = wait_for_what_is_called_off;
    EXPECT_STATUS(OK, scene_submit(barrier));
    scene_wait_at_gate(0);
    scene_close();
    lanepool_future_release(called_off);
}

static _Atomic uint32_t series_ends, series_releases;

static int run_again(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

static void series_ended(void *context, lanepool_status why)
{
    (void)context, (void)why;
    atomic_fetch_add(&series_ends, 1);
}

static void release_series(void *context)
{
    (void)context;
    atomic_fetch_add(&series_releases, 1);
}

/* A worker took a run of a periodic task, found it cancelled, and forgot the timer. A thread that
 * cancels all tasks had set the tombstone, and had not read the timer's release callback yet, so
 * that the callback was not called. */
SCENARIO(regress_cancelled_series_is_released, RANDOM)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_timer *timer;

    scene_open_with(2);
    atomic_store(&series_ends, 0);
    atomic_store(&series_releases, 0);
    task.function = run_again;
    task.cancelled = series_ended;
    task.context = scene_task("A");
    task.release = release_series;
    EXPECT_STATUS(
        OK, lanepool_pool_submit_every(scene.pool, &task, 0, 50, LANEPOOL_FIXED_RATE, &timer));
    for (int i = 0; i < 2; i++) {
        sim_sleep(40 * scene_variant(3));
        EXPECT_STATUS(OK, lanepool_pool_cancel(scene.pool, NULL));
    }
    scene_close();
    EXPECT(atomic_load(&series_ends) == 1);
    EXPECT(atomic_load(&series_releases) == 1);
    lanepool_timer_release(timer);
}

static void cancel_series(void *argument)
{
    lanepool_timer *timer = argument;

    EXPECT(lanepool_timer_cancel(timer) != LANEPOOL_INVALID);
}

/* A thread that cancels a periodic task between two runs takes it out of the heap for a moment. A
 * hand-back did not find it there at that moment, so that its last call was never made. */
SCENARIO(regress_series_is_told_of_its_end_in_a_hand_back, EXHAUSTIVE)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_timer *timer;

    scene_open_with(1);
    atomic_store(&series_ends, 0);
    task.function = run_again;
    task.cancelled = series_ended;
    EXPECT_STATUS(OK, lanepool_pool_submit_every(scene.pool, &task, 1000, 1000,
                                                 LANEPOOL_FIXED_DELAY, &timer));
    sim_explore_from_here();
    scene_spawn(cancel_series, timer);
    EXPECT_STATUS(OK, scene_stop(false));
    scene_join();
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_end();
    EXPECT(atomic_load(&series_ends) == 1);
    lanepool_timer_release(timer);
}

static void cancel_all(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, scene_cancel_all());
}

/* A thread that cancels all tasks set the tombstone of a task that had just started, and cleared it
 * again. Between these two steps the task's future had cancelled the task, and the tombstone that
 * its worker had set was lost. */
SCENARIO(regress_mark_of_a_cancelled_task_stays, RANDOM)
{
    open_with_rule(LANEPOOL_PER_KEY, 1);
    struct scene_task *task = submit_new("A", 0);
    scene_spawn(cancel_all, NULL);
    scene_spawn(cancel, task);
    scene_close();
}

static void occupy_the_worker(struct scene_task *self)
{
    (void)self;
    scene_open_gate(0);
    scene_wait_at_gate(1);
}

/* A cancel of all tasks did not reach a task whose retry was due while the only worker ran another
 * task. */
SCENARIO(regress_cancel_of_everything_calls_off_a_retry_that_is_due, RANDOM)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    policy.retries = 3;
    policy.delay_ns = 10;
    scene_open_with(1);
    scene_make_gates(2);
    struct scene_task *task = scene_task("A");
    struct scene_task *other = scene_task("B");
    task->policy = &policy;
    task->has_release = true;
    task->fails_first = 9;
    other->body = occupy_the_worker;
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, scene_submit(other));
    scene_wait_at_gate(0);
    uint32_t attempts = atomic_load(&task->attempts);
    sim_sleep(5 * scene_variant(4));
    EXPECT_STATUS(OK, scene_cancel_all());
    scene_open_gate(1);
    scene_close();
    EXPECT(atomic_load(&task->attempts) == attempts);
}
