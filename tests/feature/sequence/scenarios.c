/* Sequences on executors of every kind. */
#include "simulated/scenarios.h"
#include "feature/sequence/scenarios_foreign.h"

#include <string.h>

static void submit_step(void *argument)
{
    EXPECT_STATUS(OK, foreign_submit(argument));
}

static void submit_three(void *argument)
{
    struct foreign_step *steps = argument;

    for (int i = 0; i < 3; i++)
        submit_step(&steps[i]);
}

static void submit_the_tenth(struct foreign_step *self)
{
    (void)self;
    submit_step(&foreign.steps[10]);
}

/* Two threads submit three tasks each; one of these submits another. */
static void submit_from_two_threads(const struct foreign_manner *manner)
{
    foreign_open(manner);
    foreign.steps[1].body = submit_the_tenth;
    scene_spawn(submit_three, &foreign.steps[0]);
    scene_spawn(submit_three, &foreign.steps[5]);
    scene_join();
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, LANEPOOL_FOREVER));
    EXPECT(foreign_before(&foreign.steps[0], &foreign.steps[1]));
    EXPECT(foreign_before(&foreign.steps[1], &foreign.steps[2]));
    EXPECT(foreign_before(&foreign.steps[1], &foreign.steps[10]));
    EXPECT(foreign_before(&foreign.steps[5], &foreign.steps[6]));
    EXPECT(foreign_before(&foreign.steps[6], &foreign.steps[7]));
    foreign_end();
}

SCENARIO(scenario_38_executor_that_runs_inside_of_execute, RANDOM)
{
    submit_from_two_threads(&(struct foreign_manner){ .kind = FOREIGN_INSIDE });
}

SCENARIO(scenario_38_executor_that_runs_inside_and_twice, RANDOM)
{
    submit_from_two_threads(&(struct foreign_manner){ .kind = FOREIGN_INSIDE, .times = 2 });
}

SCENARIO(scenario_38_executor_of_threads, RANDOM)
{
    submit_from_two_threads(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 2 });
}

SCENARIO(scenario_38_executor_that_runs_everything_twice, RANDOM)
{
    submit_from_two_threads(
        &(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 3, .times = 2 });
}

/* --- under every schedule --- */

SCENARIO(scenario_38_second_task_meets_the_end_of_the_first, EXHAUSTIVE)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1 });
    sim_explore_from_here();
    submit_step(&foreign.steps[0]);
    submit_step(&foreign.steps[1]);
    sim_sleep(1);
    sim_explore_to_here();
    foreign_end();
}

static void run_first(void *argument)
{
    (void)argument;
    foreign_run_first();
}

/* The work has been run. Two threads run it again while the sequence is in use. */
SCENARIO(scenario_38_work_on_many_threads_at_once, EXHAUSTIVE)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_KEEPS, .times = 2 });
    submit_step(&foreign.steps[0]);
    sim_explore_from_here();
    scene_spawn(run_first, NULL);
    scene_spawn(run_first, NULL);
    submit_step(&foreign.steps[1]);
    scene_join();
    sim_explore_to_here();
    foreign_run_kept();
    foreign_end();
}

/* --- executors that run works never or late --- */

SCENARIO(scenario_38_executor_that_does_not_run_its_work, RANDOM)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_KEEPS });
    foreign.cancels = true;
    submit_three(foreign.steps);
    EXPECT_STATUS(TIMED_OUT, lanepool_sequence_wait(foreign.sequence, 100));
    EXPECT_STATUS(TIMED_OUT, lanepool_future_wait(foreign.steps[0].future, 100, NULL));
    EXPECT_STATUS(OK, lanepool_future_cancel(foreign.steps[1].future));
    EXPECT(atomic_load(&foreign.steps[1].releases) == 1);
    EXPECT_STATUS(BUSY, lanepool_executor_destroy(foreign.executor));
    EXPECT_STATUS(OK, lanepool_sequence_cancel(foreign.sequence));
    EXPECT(atomic_load(&foreign.steps[0].releases) == 1);
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, 0));
    foreign_end();
}

static void run_kept(void *argument)
{
    (void)argument;
    foreign_run_kept();
}

/* The sequence is destroyed while its work is being run; the next sequence reuses the work. */
SCENARIO(scenario_38_work_that_comes_after_its_sequence, EXHAUSTIVE)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_KEEPS });
    foreign.cancels = true;
    submit_step(&foreign.steps[0]);
    sim_explore_from_here();
    scene_spawn(run_kept, NULL);
    foreign_end_sequence();
    EXPECT_STATUS(OK, lanepool_sequence_create(foreign.executor, &foreign.sequence));
    submit_step(&foreign.steps[1]);
    scene_join();
    sim_explore_to_here();
    foreign_run_kept();
    foreign_end();
}

/* Works are run while the sequence and then the executor are destroyed, and afterwards. */
SCENARIO(scenario_38_work_that_comes_after_the_executor, EXHAUSTIVE)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1 });
    foreign.cancels = true;
    sim_explore_from_here();
    submit_step(&foreign.steps[0]);
    foreign_end_sequence();
    sim_explore_to_here();
    foreign_close();
}

/* --- executors that refuse --- */

static void submit_or_be_refused(void *argument)
{
    lanepool_status status = foreign_submit(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_FULL);
}

/* A task that is submitted behind one whose work is then refused was accepted, and runs. */
SCENARIO(scenario_38_executor_that_refuses, EXHAUSTIVE)
{
    foreign_open(&(struct foreign_manner){
        .kind = FOREIGN_THREADS, .threads = 1, .refuses = scene_variant(16) + 1 });
    sim_explore_from_here();
    scene_spawn(submit_or_be_refused, &foreign.steps[0]);
    submit_or_be_refused(&foreign.steps[1]);
    submit_or_be_refused(&foreign.steps[2]);
    scene_join();
    sim_explore_to_here();
    foreign_end();
}

/* The executor refuses to continue a drain on another thread: the drain continues on this
 * thread. */
SCENARIO(scenario_38_executor_that_refuses_more_than_one_batch, RANDOM)
{
    foreign_open(&(struct foreign_manner){
        .kind = FOREIGN_THREADS, .threads = 1, .refuses = ~(uint64_t)1 << scene_variant(2) });
    for (int i = 0; i < 7; i++)
        submit_or_be_refused(&foreign.steps[i]);
    EXPECT(foreign.steps[0].accepted);
    foreign_end();
}

/* A task that runs was accepted, even if the executor answers that it was not. */
SCENARIO(scenario_38_executor_that_refuses_and_runs_all_the_same, RANDOM)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_THREADS,
                                           .threads = 1 + scene_variant(2),
                                           .refuses = UINT64_MAX,
                                           .lies = true });
    scene_spawn(submit_or_be_refused, &foreign.steps[0]);
    for (int i = 1; i < 5; i++)
        submit_or_be_refused(&foreign.steps[i]);
    scene_join();
    foreign_end();
}

SCENARIO(scenario_38_resume_that_is_refused, RANDOM)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1, .refuses = 1 });
    EXPECT_STATUS(OK, lanepool_sequence_pause(foreign.sequence));
    submit_step(&foreign.steps[0]);
    EXPECT_STATUS(FULL, lanepool_sequence_resume(foreign.sequence));
    EXPECT_STATUS(TIMED_OUT, lanepool_sequence_wait(foreign.sequence, 10));
    EXPECT_STATUS(OK, lanepool_sequence_resume(foreign.sequence));
    foreign_end();
}

/* --- cancelling --- */

static _Atomic uint32_t cancelled, running, done;

static void cancel_step(void *argument)
{
    const struct foreign_step *step = argument;

    switch (lanepool_future_cancel(step->future)) {
    case LANEPOOL_OK:
        atomic_fetch_add(&cancelled, 1);
        EXPECT(atomic_load(&step->cancels) == 1 && atomic_load(&step->releases) == 1);
        break;
    case LANEPOOL_RUNNING:
        atomic_fetch_add(&running, 1);
        EXPECT(atomic_load(&step->cancels) == 0);
        break;
    case LANEPOOL_DONE:
        atomic_fetch_add(&done, 1);
        break;
    default:
        sim_fail("cancelling has an unknown answer");
    }
}

static void open_to_cancel(const struct foreign_manner *manner)
{
    foreign_open(manner);
    foreign.cancels = true;
    atomic_store(&cancelled, 0);
    atomic_store(&running, 0);
    atomic_store(&done, 0);
}

/* One cancelling call succeeds at most, and the answers agree with the task's history. */
static void expect_exact(const struct foreign_step *step)
{
    EXPECT(atomic_load(&step->cancels) == atomic_load(&cancelled));
    EXPECT(atomic_load(&cancelled) <= 1);
    EXPECT(atomic_load(&running) == 0 || atomic_load(&step->runs) == 1);
}

SCENARIO(scenario_06_sequence_cancels_a_task_that_is_about_to_start, EXHAUSTIVE)
{
    open_to_cancel(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1 });
    submit_step(&foreign.steps[0]);
    sim_explore_from_here();
    scene_spawn(cancel_step, &foreign.steps[0]);
    cancel_step(&foreign.steps[0]);
    scene_join();
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, LANEPOOL_FOREVER));
    expect_exact(&foreign.steps[0]);
    foreign_end();
}

/* With the library's timer, or with the executor's. */
static void cancel_when_due(bool has_timer)
{
    open_to_cancel(
        &(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1, .has_timer = has_timer });
    foreign.steps[0].delay_ns = 10;
    uint64_t due_ns = sim_now() + 10 + has_timer; /* setting an alarm reads the clock once more */
    submit_step(&foreign.steps[0]);
    sim_sleep(due_ns - 1 - sim_now());
    sim_explore_from_here();
    sim_sleep(1);
    cancel_step(&foreign.steps[0]);
    if (atomic_load(&done) == 1) /* no other thread cancels */
        EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[0].future, 0, NULL));
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, LANEPOOL_FOREVER));
    expect_exact(&foreign.steps[0]);
    foreign_end();
}

SCENARIO(scenario_35_sequence_cancels_a_task_that_is_just_due, EXHAUSTIVE)
{
    cancel_when_due(false);
}

SCENARIO(scenario_35_executors_timer_meets_a_cancel, EXHAUSTIVE)
{
    cancel_when_due(true);
}

static void cancel_sequence(void *argument)
{
    EXPECT_STATUS(OK, lanepool_sequence_cancel(argument));
}

/* A submit, a start and a due time coincide with the cancel of the whole sequence. */
SCENARIO(scenario_38_sequence_is_cancelled_beside_submits_and_timers, RANDOM)
{
    foreign_open(&(struct foreign_manner){
        .kind = FOREIGN_THREADS, .threads = 2, .has_timer = scene_variant(2) == 1 });
    foreign.cancels = true;
    foreign.steps[1].delay_ns = 5;
    foreign.steps[2].delay_ns = 1000000;
    submit_three(foreign.steps);
    sim_sleep(4);
    scene_spawn(cancel_sequence, foreign.sequence);
    sim_sleep(1);
    lanepool_status status = foreign_submit(&foreign.steps[3]);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_CANCELLED);
    scene_join();
    EXPECT_STATUS(CANCELLED, foreign_submit(&foreign.steps[4]));
    EXPECT(atomic_load(&foreign.steps[2].releases) == 1);
    foreign_end();
}

static void destroy_inside(struct foreign_step *self)
{
    EXPECT_STATUS(DEADLOCK, lanepool_sequence_destroy(foreign.sequence));
    EXPECT_STATUS(DEADLOCK, lanepool_sequence_wait(foreign.sequence, LANEPOOL_FOREVER));
    EXPECT_STATUS(BUSY, lanepool_executor_destroy(foreign.executor));
    EXPECT_STATUS(DEADLOCK, lanepool_future_wait(self->future, LANEPOOL_FOREVER, NULL));
}

/* While the sequence's task runs, only that task prevents the destruction. */
SCENARIO(scenario_38_sequence_is_destroyed_while_it_drains, EXHAUSTIVE)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1 });
    foreign.cancels = true;
    foreign.steps[0].body = destroy_inside;
    sim_explore_from_here();
    submit_step(&foreign.steps[0]);
    submit_step(&foreign.steps[1]);
    foreign_end_sequence();
    sim_explore_to_here();
    foreign_close();
}

/* --- delays --- */

static void delay_steps(const struct foreign_manner *manner)
{
    static const int64_t delays[] = { 30, 10, 20, 10, INT64_MAX };

    foreign_open(manner);
    foreign.cancels = true;
    for (int i = 0; i < 5; i++) {
        foreign.steps[i].delay_ns = delays[i];
        submit_step(&foreign.steps[i]);
    }
    for (int i = 0; i < 4; i++)
        EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[i].future, LANEPOOL_FOREVER, NULL));
    lanepool_status status = lanepool_future_cancel(foreign.steps[4].future);
    /* In eager runs the clock may get that far. */
    EXPECT(status == LANEPOOL_OK || sim_now() >= INT64_MAX);
    EXPECT(foreign.steps[1].started_ns >= 10 && foreign.steps[2].started_ns >= 20 &&
           foreign.steps[0].started_ns >= 30);
    if (foreign.steps[0].started_ns == 30) { /* no time had passed between the submits */
        EXPECT(foreign_before(&foreign.steps[1], &foreign.steps[3]));
        EXPECT(foreign_before(&foreign.steps[3], &foreign.steps[2]));
        EXPECT(foreign_before(&foreign.steps[2], &foreign.steps[0]));
    }
    foreign_end();
}

SCENARIO(scenario_34_sequences_tasks_are_due_in_order, RANDOM)
{
    delay_steps(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1 });
}

SCENARIO(scenario_34_executors_timer_keeps_the_order, RANDOM)
{
    delay_steps(
        &(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1, .has_timer = true });
}

SCENARIO(scenario_38_timer_that_rings_early_twice_or_late, RANDOM)
{
    delay_steps(&(struct foreign_manner){ .kind = FOREIGN_THREADS,
                                          .threads = 2,
                                          .times = 1 + scene_variant(2),
                                          .has_timer = true,
                                          .early = scene_variant(3),
                                          .late_ns = scene_variant(7) });
}

SCENARIO(scenario_38_timer_that_refuses, RANDOM)
{
    delay_steps(&(struct foreign_manner){
        .kind = FOREIGN_THREADS, .threads = 1, .has_timer = true, .deaf_for = 1 });
}

/* The executor refuses a task that has become due: the clock thread runs it. */
SCENARIO(scenario_38_executor_that_refuses_what_is_due, RANDOM)
{
    foreign_open(
        &(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1, .refuses = UINT64_MAX });
    foreign.steps[0].delay_ns = 10;
    submit_step(&foreign.steps[0]);
    EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[0].future, LANEPOOL_FOREVER, NULL));
    foreign_end();
}

/* The executor refuses a task that has become due, but runs it nevertheless, perhaps at once. */
SCENARIO(scenario_38_executor_that_refuses_what_is_due_and_runs_it, RANDOM)
{
    foreign_open(&(struct foreign_manner){
        .kind = FOREIGN_THREADS, .threads = 1, .refuses = UINT64_MAX, .lies = true });
    foreign.steps[0].delay_ns = 10;
    submit_step(&foreign.steps[0]);
    EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[0].future, LANEPOOL_FOREVER, NULL));
    submit_or_be_refused(&foreign.steps[1]);
    foreign_end();
}

/* --- a pool as the executor --- */

SCENARIO(scenario_38_pool_stops_beneath_a_sequence, RANDOM)
{
    scene_open_with(1);
    memset(&foreign, 0, sizeof foreign);
    foreign.cancels = true;
    EXPECT_STATUS(OK, lanepool_pool_executor(scene.pool, &foreign.executor));
    EXPECT_STATUS(OK, lanepool_sequence_create(foreign.executor, &foreign.sequence));
    for (int i = 0; i < 4; i++)
        submit_step(&foreign.steps[i]);
    EXPECT_STATUS(OK, scene_stop(false));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    lanepool_status status = foreign_submit(&foreign.steps[4]);
    EXPECT(status == LANEPOOL_CANCELLED || status == LANEPOOL_SHUT_DOWN);
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, 0));
    foreign_end_sequence();
    EXPECT_STATUS(OK, lanepool_executor_destroy(foreign.executor));
    scene_end();
}

SCENARIO(scenario_38_pool_drains_what_its_sequence_has_accepted, RANDOM)
{
    scene_open_with(1 + scene_variant(2));
    memset(&foreign, 0, sizeof foreign);
    EXPECT_STATUS(OK, lanepool_pool_executor(scene.pool, &foreign.executor));
    EXPECT_STATUS(OK, lanepool_sequence_create(foreign.executor, &foreign.sequence));
    for (int i = 0; i < 5; i++)
        submit_step(&foreign.steps[i]);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(SHUT_DOWN, foreign_submit(&foreign.steps[5]));
    foreign_end_sequence();
    EXPECT_STATUS(OK, lanepool_executor_destroy(foreign.executor));
    scene_end();
}

/* --- with failing allocations --- */

SCENARIO(scenario_30_each_failure_of_a_sequence, FAULTS)
{
    const struct foreign_manner manner = { .kind = FOREIGN_KEEPS };

    if (!foreign_try_open(&manner))
        return;
    foreign.cancels = true;
    if (lanepool_sequence_create(foreign.executor, &foreign.sequence) == LANEPOOL_OK) {
        foreign.steps[1].delay_ns = 5;
        foreign.steps[2].delay_ns = 1000;
        for (int i = 0; i < 4; i++)
            (void)foreign_submit(&foreign.steps[i]);
        foreign_run_kept();
        sim_sleep(10);
        foreign_run_kept();
        lanepool_status status = lanepool_sequence_wait(foreign.sequence, 10);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_NO_RESOURCE ||
               status == LANEPOOL_TIMED_OUT);
        foreign_end_sequence();
    }
    foreign_close();
}

static bool is_pending(const struct foreign_step *step)
{
    return step->accepted && lanepool_future_wait(step->future, 0, NULL) == LANEPOOL_TIMED_OUT;
}

/* The executor refuses every alarm, so the library's clock thread fires the timers. If that thread
 * cannot be started, the delayed submit is refused, and the sequence works on. */
SCENARIO(scenario_30_each_failure_of_a_clock_thread_for_a_sequence, FAULTS)
{
    const struct foreign_manner manner = { .kind = FOREIGN_INSIDE,
                                           .has_timer = true,
                                           .deaf_for = UINT32_MAX };

    if (!foreign_try_open(&manner))
        return;
    if (lanepool_sequence_create(foreign.executor, &foreign.sequence) == LANEPOOL_OK) {
        foreign.steps[0].delay_ns = 1000;
        lanepool_status status = foreign_submit(&foreign.steps[0]);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
        (void)foreign_submit(&foreign.steps[1]);
        while (is_pending(&foreign.steps[0]) || is_pending(&foreign.steps[1]) ||
               lanepool_sequence_wait(foreign.sequence, 0) != LANEPOOL_OK)
            sim_sleep(1000);
        foreign_end_sequence();
    }
    foreign_close();
}
