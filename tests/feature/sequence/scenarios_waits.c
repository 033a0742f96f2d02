/* Waits inside the tasks of sequences. */
#include "feature/sequence/scenarios_foreign.h"
#include "simulated/scenarios.h"

#include <string.h>

static void submit_step(struct foreign_step *step)
{
    EXPECT_STATUS(OK, foreign_submit(step));
}

static void submit_three(struct foreign_step *steps)
{
    for (int i = 0; i < 3; i++)
        submit_step(&steps[i]);
}

static void wait_for_what_is_behind(struct foreign_step *self)
{
    submit_step(self + 1);
    EXPECT_STATUS(DEADLOCK, lanepool_future_wait((self + 1)->future, LANEPOOL_FOREVER, NULL));
    EXPECT_STATUS(TIMED_OUT, lanepool_future_wait((self + 1)->future, 0, NULL));
}

SCENARIO(scenario_04_sequence_waits_for_a_task_behind_it, RANDOM)
{
    foreign_open(&(struct foreign_manner){
        .kind = scene_variant(2) == 0 ? FOREIGN_THREADS : FOREIGN_INSIDE, .threads = 1 });
    foreign.steps[0].body = wait_for_what_is_behind;
    submit_step(&foreign.steps[0]);
    EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[0].future, LANEPOOL_FOREVER, NULL));
    foreign_end();
}

/* A task of another sequence on the same executor, which has one thread. */
static struct other {
    lanepool_sequence *sequence;
    lanepool_future *future;
    void (*body)(void);
} other;

static int run_other(lanepool_run *run, void *context)
{
    (void)run;
    EXPECT(context == &other);
    other.body();
    return 0;
}

static void open_with_another_task(void (*body)(void))
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1 });
    scene_make_gates(1);
    EXPECT_STATUS(OK, lanepool_sequence_create(foreign.executor, &other.sequence));
    other.body = body;
    task.function = run_other;
    task.context = &other;
    task.future = &other.future;
    sim_explore_from_here();
    EXPECT_STATUS(OK, lanepool_sequence_submit(other.sequence, &task));
}

static void end_with_another_task(void)
{
    EXPECT_STATUS(OK, lanepool_future_wait(other.future, LANEPOOL_FOREVER, NULL));
    sim_explore_to_here();
    lanepool_future_release(other.future);
    EXPECT_STATUS(OK, lanepool_sequence_destroy(other.sequence));
    foreign_end();
}

static void wait_for_the_third_of_four(void)
{
    submit_three(foreign.steps);
    submit_step(&foreign.steps[3]);
    EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[2].future, LANEPOOL_FOREVER, NULL));
    EXPECT(foreign_before(&foreign.steps[0], &foreign.steps[1]));
    EXPECT(foreign_before(&foreign.steps[1], &foreign.steps[2]));
    /* The waiting thread ran only the awaited task. */
    EXPECT(atomic_load(&foreign.steps[3].runs) == 0);
}

/* The waiting thread runs the awaited task, because no other thread could. */
SCENARIO(scenario_03_sequence_waits_for_another_on_the_only_thread, EXHAUSTIVE)
{
    open_with_another_task(wait_for_the_third_of_four);
    end_with_another_task();
}

static void wait_for_all_three(void)
{
    submit_three(foreign.steps);
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, LANEPOOL_FOREVER));
    EXPECT(atomic_load(&foreign.steps[2].runs) == 1);
}

SCENARIO(scenario_03_sequence_waits_until_another_is_idle_on_the_only_thread, EXHAUSTIVE)
{
    open_with_another_task(wait_for_all_three);
    end_with_another_task();
}

static void wait_for_what_becomes_due(void)
{
    foreign.steps[1].delay_ns = 5;
    submit_three(foreign.steps);
    EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[1].future, LANEPOOL_FOREVER, NULL));
}

SCENARIO(scenario_03_sequence_waits_for_a_delayed_task_on_the_only_thread, EXHAUSTIVE)
{
    open_with_another_task(wait_for_what_becomes_due);
    end_with_another_task();
}

static void wait_for_what_is_paused(void)
{
    EXPECT_STATUS(OK, lanepool_sequence_pause(foreign.sequence));
    submit_three(foreign.steps);
    scene_open_gate(0);
    EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[1].future, LANEPOOL_FOREVER, NULL));
}

SCENARIO(scenario_03_sequence_waits_for_a_paused_one_on_the_only_thread, EXHAUSTIVE)
{
    open_with_another_task(wait_for_what_is_paused);
    scene_wait_at_gate(0);
    EXPECT_STATUS(OK, lanepool_sequence_resume(foreign.sequence));
    end_with_another_task();
}

static void wait_for_what_is_destroyed(void)
{
    lanepool_result result;

    EXPECT_STATUS(OK, lanepool_sequence_pause(foreign.sequence));
    submit_step(&foreign.steps[0]);
    lanepool_future *future = lanepool_future_retain(foreign.steps[0].future);
    scene_open_gate(0);
    EXPECT_STATUS(OK, lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    EXPECT(result.status == LANEPOOL_CANCELLED);
    lanepool_future_release(future);
}

/* The destroying thread wakes the waiter, and may free the sequence before the waiter has left it.
 */
SCENARIO(regress_sequence_is_destroyed_beside_a_wait_for_its_task, EXHAUSTIVE)
{
    open_with_another_task(wait_for_what_is_destroyed);
    foreign.cancels = true;
    scene_wait_at_gate(0);
    foreign_end_sequence();
    EXPECT_STATUS(OK, lanepool_future_wait(other.future, LANEPOOL_FOREVER, NULL));
    sim_explore_to_here();
    lanepool_future_release(other.future);
    EXPECT_STATUS(OK, lanepool_sequence_destroy(other.sequence));
    foreign_close();
}

static void wait_inside_the_pool(struct scene_task *self)
{
    (void)self;
    wait_for_the_third_of_four();
}

SCENARIO(scenario_03_sequence_is_waited_for_by_the_pools_only_worker, RANDOM)
{
    scene_open_with(1);
    memset(&foreign, 0, sizeof foreign);
    EXPECT_STATUS(OK, lanepool_pool_executor(scene.pool, &foreign.executor));
    EXPECT_STATUS(OK, lanepool_sequence_create(foreign.executor, &foreign.sequence));
    struct scene_task *task = scene_task("A");
    task->body = wait_inside_the_pool;
    task->has_future = true;
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL));
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, LANEPOOL_FOREVER));
    foreign_end_sequence();
    EXPECT_STATUS(OK, lanepool_executor_destroy(foreign.executor));
    scene_close();
}
