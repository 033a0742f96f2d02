/* Priorities and sequences in pools without threads. */
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { SEEDS = 50, MS = 1000000 };

static lanepool_pool *stepped_pool(uint64_t seed)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.step_seed = seed;
    return pool_make_with(&options);
}

static int take_long(lanepool_run *run, void *context)
{
    return lanepool_pool_advance(lanepool_run_pool(run), *(const uint64_t *)context) != LANEPOOL_OK;
}

/* --- priorities --- */

Test(deterministic_levels, a_task_of_the_highest_level_starts_first)
{
    bool orders[2] = { false };

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct journal journal;
        struct step steps[4];
        lanepool_options options = LANEPOOL_OPTIONS_INIT;
        lanepool_pool *pool;

        memset(&journal, 0, sizeof journal);
        options.step_seed = seed;
        options.priorities = true;
        pool = pool_make_with(&options);
        for (uint32_t i = 0; i < 4; i++) {
            steps[i] = (struct step){ .id = i, .journal = &journal };
            lanepool_task task = step_task(&steps[i], NULL, 0);

            task.priority = i / 2;
            expect_ok(lanepool_pool_submit(pool, &task));
        }
        pool_end(pool);
        expect(journal_place(&journal, 2) < 2);
        expect(journal_place(&journal, 3) < 2);
        orders[journal_place(&journal, 2)] = true;
    }
    expect(orders[0] && orders[1]);
}

/* Each choice raises a task that has waited for the age by one level. */
Test(deterministic_levels, a_task_rises_by_waiting_in_virtual_time)
{
    static struct journal journal;
    struct step low = { .id = 0, .journal = &journal };
    struct step high = { .id = 1, .journal = &journal };
    uint64_t takes = 100 * MS;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool;

    memset(&journal, 0, sizeof journal);
    options.step_seed = 1;
    options.priorities = true;
    options.priority_age_ns = 10 * MS;
    pool = pool_make_with(&options);
    expect_ok(step_submit(pool, &low));
    task.function = take_long;
    task.context = &takes;
    task.priority = 5;
    for (int i = 0; i < 3; i++) {
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    for (int i = 0; i < 3; i++) {
        expect_ok(lanepool_pool_step(pool));
        expect_eq(low.runs, 0);
    }
    task = step_task(&high, NULL, 0);
    task.priority = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(journal_place(&journal, 0), 0);
    expect_eq(journal_place(&journal, 1), 1);
}

/* --- sequences --- */

Test(deterministic_levels, sequences_run_on_the_pools_executor)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct journal journal;
        struct step steps[6];
        lanepool_pool *pool = stepped_pool(seed);
        lanepool_sequence *sequence;
        lanepool_executor *executor;
        lanepool_future *future;
        uint64_t began = lanepool_pool_time(pool);
        size_t index;

        memset(&journal, 0, sizeof journal);
        expect_ok(lanepool_pool_executor(pool, &executor));
        expect_ok(lanepool_sequence_create(executor, &sequence));
        for (uint32_t i = 0; i < 6; i++) {
            steps[i] = (struct step){ .id = i, .journal = &journal };
            lanepool_task task = step_task(&steps[i], NULL, 0);

            task.future = i == 5 ? &future : NULL;
            expect_ok(lanepool_sequence_submit_after(sequence, &task, i < 3 ? 0 : (9 - i) * MS));
        }
        expect_ok(lanepool_sequence_wait(sequence, LANEPOOL_FOREVER));
        expect_eq(journal.count, 3);
        expect_eq(lanepool_pool_time(pool), began);
        expect_status(lanepool_future_wait(future, MS, NULL), LANEPOOL_TIMED_OUT);
        expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
        expect_eq(lanepool_pool_time(pool), began + 4 * MS);
        expect_eq(journal.count, 4);
        lanepool_future_release(future);
        lanepool_task task = step_task(&steps[5], NULL, 0);
        task.future = &future;
        expect_ok(lanepool_sequence_submit_after(sequence, &task, 10 * MS));
        expect_ok(lanepool_future_wait_any(&future, 1, LANEPOOL_FOREVER, &index));
        lanepool_future_release(future);
        for (uint32_t i = 0; i < 3; i++) {
            expect_eq(journal_place(&journal, i), i);
            expect_eq(journal_place(&journal, 5 - i), 3 + i);
        }
        expect_ok(lanepool_sequence_destroy(sequence));
        expect_ok(lanepool_executor_destroy(executor));
        pool_end(pool);
    }
}

static int count_run(lanepool_run *run, void *context)
{
    (void)run;
    ++*(uint32_t *)context;
    return 0;
}

Test(deterministic_levels, periodic_tasks_of_sequences_keep_their_period)
{
    uint32_t runs = 0;
    lanepool_pool *pool = stepped_pool(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_executor *executor;
    lanepool_sequence *sequence;
    lanepool_timer *timer;

    task.function = count_run;
    task.context = &runs;
    expect_ok(lanepool_pool_executor(pool, &executor));
    expect_ok(lanepool_sequence_create(executor, &sequence));
    expect_ok(
        lanepool_sequence_submit_every(sequence, &task, MS, 10 * MS, LANEPOOL_FIXED_RATE, &timer));
    expect_status(lanepool_pool_await(pool, 35 * MS), LANEPOOL_TIMED_OUT);
    expect_eq(runs, 4);
    expect_ok(lanepool_timer_cancel(timer));
    lanepool_timer_release(timer);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(executor));
    pool_end(pool);
}
