/* Deadlines: a task starts, ends or is cancelled just when its deadline passes. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static struct scene_task *with_deadline(const char *claims, uint64_t start_within)
{
    struct scene_task *task = scene_task(claims);

    task->start_within = start_within;
    task->may_be_cancelled = true;
    task->has_future = true;
    task->has_release = true;
    return task;
}

/* The task before it ends at the very moment of the deadline. */
SCENARIO(scenario_71_start_races_its_deadline, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *holder = scene_task("A");
    struct scene_task *task = with_deadline("A", 5);
    struct scene_task *last = scene_task("A");
    holder->takes = 5;
    EXPECT_STATUS(OK, scene_submit(holder));
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, scene_submit(last));
    EXPECT_STATUS(OK, lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL));
    sim_explore_to_here();
    scene_close();
}

/* Two threads cancel the task: the program's and the clock's. */
SCENARIO(scenario_72_cancel_races_a_deadline, EXHAUSTIVE)
{
    scene_open_with(1);
    struct scene_task *holder = scene_task("A");
    struct scene_task *task = with_deadline("AB", 5);
    holder->takes = 10;
    EXPECT_STATUS(OK, scene_submit(holder));
    EXPECT_STATUS(OK, scene_submit(task));
    sim_explore_from_here();
    sim_sleep(5);
    lanepool_status status = lanepool_future_cancel(task->future);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_DONE || status == LANEPOOL_RUNNING);
    sim_explore_to_here();
    scene_close();
}

/* Of many tasks in several lanes some expire: rollups, members of a batch, a barrier. */
SCENARIO(scenario_73_tasks_of_all_sorts_expire, RANDOM)
{
    static const char *const claims[] = { "A", "AB", "B", "aC", "*", "C", "ABC", "b", "" };

    scene_open_with(2);
    for (int i = 0; i < 9; i++) {
        struct scene_task *task = with_deadline(claims[i], (uint64_t)(3 * i) % 8);
        task->takes = (uint64_t)i % 4;
        EXPECT_STATUS(OK, scene_submit(task));
    }
    scene_close();
}

/* A retry is not a start: the task has started in time. */
SCENARIO(scenario_74_deadline_counts_for_the_first_start_only, RANDOM)
{
    static lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    scene_open_with(1);
    struct scene_task *task = with_deadline("A", 2);
    struct scene_task *behind = scene_task("A");
    policy.retries = 2;
    policy.delay_ns = 3;
    task->policy = &policy;
    task->fails_first = 2;
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, scene_submit(behind));
    scene_close();
    EXPECT(atomic_load(&task->call) == SCENE_CANCELLED || atomic_load(&task->attempts) == 3);
}

/* The pool stops when the deadlines pass: each task is cancelled or handed back, once. */
SCENARIO(scenario_75_shutdown_now_beside_deadlines, RANDOM)
{
    scene_open_with(1);
    struct scene_task *holder = scene_task("A");
    holder->takes = 5;
    EXPECT_STATUS(OK, scene_submit(holder));
    for (int i = 0; i < 4; i++)
        EXPECT_STATUS(OK, scene_submit(with_deadline(i % 2 == 0 ? "A" : "AB", 4 + (uint64_t)i)));
    sim_sleep(5);
    EXPECT_STATUS(OK, scene_stop(scene_variant(2) != 0));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_end();
}

/* The pool is paused; the clock is not. */
SCENARIO(scenario_76_deadline_passes_in_a_pause, RANDOM)
{
    scene_open_with(1);
    struct scene_task *task = with_deadline("A", 5);
    EXPECT_STATUS(OK, lanepool_pool_pause(scene.pool));
    atomic_store(&scene.paused, true);
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL));
    EXPECT(atomic_load(&task->call) == SCENE_CANCELLED);
    atomic_store(&scene.paused, false);
    EXPECT_STATUS(OK, lanepool_pool_resume(scene.pool));
    scene_close();
}

/* --- detached tasks --- */

static _Atomic(lanepool_detached *) handle;
static _Atomic lanepool_status detach_answer; /* RUNNING: it has not answered yet */

static int detach_and_return(lanepool_run *run, void *context)
{
    lanepool_detached *detached;

    (void)context;
    lanepool_status answer = lanepool_run_detach(run, &detached);
    atomic_store(&handle, detached);
    atomic_store(&detach_answer, answer);
    return 0;
}

static lanepool_future *submit_detaching(uint64_t run_within)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_claim claim = lanepool_exclusive('A');
    lanepool_future *future;

    atomic_store(&handle, NULL);
    atomic_store(&detach_answer, LANEPOOL_RUNNING);
    task.function = detach_and_return;
    task.claims = &claim;
    task.claim_count = 1;
    task.future = &future;
    task.run_within_ns = run_within;
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
    return future;
}

/* Returns false if the task's time was over before it could detach. */
static bool await_detach(void)
{
    while (atomic_load(&detach_answer) == LANEPOOL_RUNNING)
        sim_sleep(1);
    EXPECT(atomic_load(&detach_answer) == LANEPOOL_OK ||
           atomic_load(&detach_answer) == LANEPOOL_TIMED_OUT);
    return atomic_load(&handle) != NULL;
}

static void check_end_of_detached(lanepool_future *future, lanepool_status completed,
                                  lanepool_status otherwise)
{
    lanepool_result result;

    EXPECT_STATUS(OK, lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    EXPECT(completed == LANEPOOL_OK || completed == LANEPOOL_DONE);
    EXPECT(result.status == (completed == LANEPOOL_OK ? LANEPOOL_OK : otherwise));
    lanepool_future_release(future);
}

/* The program completes the task at the very moment of its deadline. */
SCENARIO(scenario_77_completion_races_a_deadline, EXHAUSTIVE)
{
    scene_open_with(1);
    lanepool_future *future = submit_detaching(5);
    if (await_detach()) {
        sim_explore_from_here();
        sim_sleep(scene_variant(2) != 0 ? 4 : 3);
        lanepool_status status = lanepool_task_complete(atomic_load(&handle), 0, NULL);
        sim_explore_to_here();
        check_end_of_detached(future, status, LANEPOOL_TIMED_OUT);
    } else {
        EXPECT_STATUS(OK, lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
        lanepool_future_release(future);
    }
    scene_close();
}

static lanepool_status completed;

static void complete(void *argument)
{
    (void)argument;
    completed = lanepool_task_complete(atomic_load(&handle), 0, NULL);
}

/* A shutdown now ends the task while the program completes it. */
SCENARIO(scenario_78_completion_races_a_shutdown_now, EXHAUSTIVE)
{
    scene_open_with(1);
    lanepool_future *future = submit_detaching(0);
    EXPECT(await_detach());
    sim_explore_from_here();
    scene_spawn(complete, NULL);
    EXPECT_STATUS(OK, scene_stop(false));
    scene_join();
    sim_explore_to_here();
    check_end_of_detached(future, completed, LANEPOOL_ABANDONED);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_end();
}
