/* Periodic tasks of sequences: ended by themselves, by other threads, with their sequence, or
 * because no timer can be allocated. */
#include "feature/sequence/scenarios_foreign.h"
#include "simulated/scenarios.h"

#include <string.h>

/* All fields except the counters are guarded by the sequence. */
static struct series {
    lanepool_timer *timer;
    uint64_t period_ns;
    lanepool_period period;
    uint32_t stops_at; /* cancels itself in the run of this number; 0: never */
    uint64_t ticket;
    uint64_t run_ended_ns;
    _Atomic uint32_t inside, runs, cancels, releases;
} series;

static void run_series(lanepool_run *run)
{
    uint32_t number = atomic_fetch_add(&series.runs, 1) + 1;
    uint64_t ticket = lanepool_run_ticket(run);

    EXPECT(atomic_load(&series.cancels) == 0);
    EXPECT(number == 1 || ticket > series.ticket);
    if (number > 1 && series.period == LANEPOOL_FIXED_DELAY)
        EXPECT(sim_now() >= series.run_ended_ns + series.period_ns);
    series.ticket = ticket;
    sim_sleep(3);
    if (number == series.stops_at) {
        lanepool_status status = lanepool_timer_cancel(series.timer);
        EXPECT(status == LANEPOOL_RUNNING);
        EXPECT(lanepool_run_is_cancelled(run));
    }
    series.run_ended_ns = sim_now();
}

static int call_series(lanepool_run *run, void *context)
{
    EXPECT(context == &series);
    EXPECT(atomic_fetch_add(&series.inside, 1) == 0);
    run_series(run);
    atomic_fetch_sub(&series.inside, 1);
    return 0;
}

static void cancelled_series(void *context, lanepool_status why)
{
    EXPECT(context == &series);
    EXPECT_STATUS(CANCELLED, why);
    EXPECT(atomic_fetch_add(&series.inside, 1) == 0);
    atomic_fetch_add(&series.cancels, 1);
    atomic_fetch_sub(&series.inside, 1);
}

static void release_series(void *context)
{
    EXPECT(context == &series && atomic_load(&series.cancels) == 1);
    atomic_fetch_add(&series.releases, 1);
}

static lanepool_status submit_series(int64_t delay_ns, uint32_t stops_at)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    memset(&series, 0, sizeof series);
    series.period_ns = 7;
    series.period = (lanepool_period)scene_variant(2);
    series.stops_at = stops_at;
    task.function = call_series;
    task.context = &series;
    task.release = release_series;
    task.cancelled = cancelled_series;
    return lanepool_sequence_submit_every(foreign.sequence, &task, delay_ns, series.period_ns,
                                          series.period, &series.timer);
}

static void expect_over(void)
{
    EXPECT(atomic_load(&series.cancels) == 1);
    EXPECT(atomic_load(&series.releases) == 1);
    EXPECT_STATUS(DONE, lanepool_timer_cancel(series.timer));
    lanepool_timer_release(series.timer);
}

static void submit_others(void *argument)
{
    for (int i = 0; i < 3; i++) {
        struct foreign_step *step = &((struct foreign_step *)argument)[i];
        step->delay_ns = 5 * i;
        EXPECT_STATUS(OK, foreign_submit(step));
    }
}

/* --- ended --- */

static void end_inside_of_a_run(const struct foreign_manner *manner)
{
    foreign_open(manner);
    EXPECT_STATUS(OK, submit_series((int64_t)scene_variant(3) * 4, 3));
    scene_spawn(submit_others, foreign.steps);
    scene_join();
    while (atomic_load(&series.releases) == 0)
        sim_sleep(5);
    EXPECT(atomic_load(&series.runs) == 3);
    expect_over();
    for (int i = 0; i < 3; i++)
        EXPECT_STATUS(OK, lanepool_future_wait(foreign.steps[i].future, LANEPOOL_FOREVER, NULL));
    foreign_end();
}

SCENARIO(scenario_34_sequences_series_on_threads, RANDOM)
{
    end_inside_of_a_run(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 2 });
}

SCENARIO(scenario_34_sequences_series_inside_of_execute, RANDOM)
{
    end_inside_of_a_run(&(struct foreign_manner){ .kind = FOREIGN_INSIDE });
}

SCENARIO(scenario_34_sequences_series_by_the_executors_timer, RANDOM)
{
    end_inside_of_a_run(&(struct foreign_manner){ .kind = FOREIGN_THREADS,
                                                  .threads = 2,
                                                  .times = 1 + scene_variant(2),
                                                  .has_timer = true,
                                                  .early = scene_variant(3),
                                                  .late_ns = scene_variant(7),
                                                  .deaf_for = scene_variant(5) / 4 });
}

static void cancel_series(void *argument)
{
    (void)argument;
    lanepool_status status = lanepool_timer_cancel(series.timer);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

static void cancel_sequence(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_sequence_cancel(foreign.sequence));
}

/* One of the three makes the last call; or a run that is under way makes it after its end. */
SCENARIO(scenario_35_sequences_series_is_cancelled_in_three_ways_at_once, RANDOM)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1 });
    EXPECT_STATUS(OK, submit_series((int64_t)scene_variant(2) * 5, 0));
    sim_sleep(scene_variant(16));
    scene_spawn(cancel_series, NULL);
    scene_spawn(cancel_series, NULL);
    scene_spawn(cancel_sequence, NULL);
    scene_join();
    EXPECT_STATUS(OK, lanepool_sequence_wait(foreign.sequence, LANEPOOL_FOREVER));
    expect_over();
    foreign_end();
}

static void destroy_sequence(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_sequence_destroy(foreign.sequence));
}

/* The handle may be used while the sequence is destroyed, and afterwards. */
SCENARIO(scenario_35_handle_of_a_series_outlives_its_sequence, EXHAUSTIVE)
{
    foreign_open(&(struct foreign_manner){ .kind = FOREIGN_THREADS, .threads = 1 });
    EXPECT_STATUS(OK, submit_series((int64_t)scene_variant(2) * 5, 0));
    sim_sleep(scene_variant(12));
    scene_spawn(destroy_sequence, NULL);
    scene_spawn(cancel_series, NULL);
    scene_join();
    expect_over();
    foreign_close();
}

/* --- with failing allocations --- */

/* If no timer can be allocated for the next run, the periodic task ends. */
SCENARIO(scenario_30_each_failure_of_a_sequences_series, FAULTS)
{
    const struct foreign_manner manner = { .kind = FOREIGN_KEEPS };

    if (!foreign_try_open(&manner))
        return;
    if (lanepool_sequence_create(foreign.executor, &foreign.sequence) == LANEPOOL_OK) {
        lanepool_status status = submit_series((int64_t)scene_variant(2) * 5, 0);
        for (int i = 0; i < 3; i++) {
            sim_sleep(8);
            foreign_run_kept();
        }
        EXPECT_STATUS(OK, lanepool_sequence_destroy(foreign.sequence));
        if (status == LANEPOOL_OK)
            expect_over();
        else
            EXPECT(series.timer == NULL && atomic_load(&series.cancels) == 0);
    }
    foreign_close();
}
