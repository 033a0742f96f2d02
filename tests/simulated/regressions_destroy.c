/* Regression tests for threads that use a future, a timer or a detached task while another thread
 * destroys the pool. Each comment describes the former error. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static _Atomic(lanepool_detached *) detached_task;

static int detach_and_return(lanepool_run *run, void *context)
{
    lanepool_detached *detached;

    (void)context;
    EXPECT_STATUS(OK, lanepool_run_detach(run, &detached));
    atomic_store(&detached_task, detached);
    return 0;
}

static int run_at_once(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

/* Submits a task that the scene does not judge. */
static lanepool_future *submit_unjudged(lanepool_task_fn function)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_claim claim = lanepool_exclusive('A');
    lanepool_future *future;

    task.function = function;
    task.claims = &claim;
    task.claim_count = 1;
    task.future = &future;
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
    return future;
}

static void complete(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_task_complete(atomic_load(&detached_task), 0, NULL));
}

/* The thread that completed the pool's last task checked the pool's counters afterwards, when the
 * pool could be gone. */
SCENARIO(regress_destroy_waits_for_the_thread_that_completes_the_last_task, EXHAUSTIVE)
{
    scene_open_with(1);
    atomic_store(&detached_task, NULL);
    lanepool_future *future = submit_unjudged(detach_and_return);
    while (atomic_load(&detached_task) == NULL)
        sim_sleep(1);
    sim_explore_from_here();
    scene_spawn(complete, NULL);
    scene_destroy();
    scene_join();
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(future);
}

static void cancel(void *argument)
{
    lanepool_status status = lanepool_future_cancel(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

/* A thread found the task pending, and used the pool after it was gone. */
SCENARIO(regress_destroy_waits_for_a_thread_that_cancels, EXHAUSTIVE)
{
    scene_open_with(1);
    lanepool_future *future = submit_unjudged(run_at_once);
    sim_explore_from_here();
    scene_spawn(cancel, future);
    scene_destroy();
    scene_join();
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(future);
}

static void wait_for_future(void *argument)
{
    EXPECT_STATUS(OK, lanepool_future_wait(argument, LANEPOOL_FOREVER, NULL));
}

/* A thread found the task pending, and then read from the pool whether the process was forked. */
SCENARIO(regress_wait_does_not_use_a_pool_that_is_gone, EXHAUSTIVE)
{
    scene_open_with(1);
    lanepool_future *future = submit_unjudged(run_at_once);
    sim_explore_from_here();
    scene_spawn(wait_for_future, future);
    scene_destroy();
    scene_join();
    sim_explore_to_here();
    lanepool_future_release(future);
}

static void cancel_timer(void *argument)
{
    lanepool_status status = lanepool_timer_cancel(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

/* A thread found that a series had not ended, and used the pool after it was gone. */
SCENARIO(regress_destroy_waits_for_a_thread_that_cancels_a_timer, EXHAUSTIVE)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_timer *timer;

    scene_open_with(1);
    task.function = run_at_once;
    EXPECT_STATUS(OK, lanepool_pool_submit_every(scene.pool, &task, 1000, 1000,
                                                 LANEPOOL_FIXED_DELAY, &timer));
    sim_explore_from_here();
    scene_spawn(cancel_timer, timer);
    scene_destroy();
    scene_join();
    sim_explore_to_here();
    EXPECT_STATUS(DONE, lanepool_timer_cancel(timer));
    lanepool_timer_release(timer);
}
