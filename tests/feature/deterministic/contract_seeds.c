/*
 * The examples of the seeds (docs/seeds.md) as a program's own unit tests: no thread, no gate, and
 * many orders.
 */
#include <stdio.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { SEEDS = 200, KEYS = 4, EACH = 6 };

static lanepool_pool *stepped_pool(uint64_t seed, lanepool_compatible_fn rule)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.step_seed = seed;
    options.is_compatible = rule;
    return pool_make_with(&options);
}

Test(deterministic_seeds, s0_tasks_of_one_key_run_in_order)
{
    static struct journal journal;
    struct step steps[KEYS * EACH];

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        lanepool_pool *pool = stepped_pool(seed, NULL);

        memset(&journal, 0, sizeof journal);
        for (uint32_t i = 0; i < KEYS * EACH; i++) {
            steps[i] = (struct step){ .id = i, .journal = &journal };
            expect_ok(step_submit_on(pool, &steps[i], i % KEYS));
        }
        pool_end(pool);
        expect_eq(journal.count, KEYS * EACH);
        expect_eq(journal.most_running, 1);
        for (uint32_t i = KEYS; i < KEYS * EACH; i++) {
            expect(journal_place(&journal, i - KEYS) < journal_place(&journal, i));
        }
    }
}

/* Each client is one letter; a task involves the clients in its text. */
struct client_task {
    struct step step;
    const char *clients;
};

static bool share_no_client(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct client_task *first = a->context;
    const struct client_task *second = b->context;

    (void)user;
    return strpbrk(first->clients, second->clients) == NULL;
}

Test(deterministic_seeds, s1_a_rollup_comes_between_the_tasks_of_its_clients)
{
    static const char *const clients[] = { "a", "b", "c", "ab", "a", "b", "c" };
    static struct journal journal;
    struct client_task tasks[7];
    uint32_t before_rollup = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        lanepool_pool *pool = stepped_pool(seed, share_no_client);

        memset(&journal, 0, sizeof journal);
        for (uint32_t i = 0; i < 7; i++) {
            tasks[i] = (struct client_task){ { .id = i, .journal = &journal }, clients[i] };
            expect_ok(step_submit(pool, &tasks[i].step));
        }
        pool_end(pool);
        uint32_t rollup = journal_place(&journal, 3);
        expect(journal_place(&journal, 0) < rollup && journal_place(&journal, 1) < rollup);
        expect(rollup < journal_place(&journal, 4) && rollup < journal_place(&journal, 5));
        before_rollup += journal_place(&journal, 6) < rollup;
    }
    /* Client c is free to run on either side. */
    expect(before_rollup > 0 && before_rollup < SEEDS);
}

/* Two workers of the third seed: sequences that share an executor. A delayed task of each. */
Test(deterministic_seeds, s2_sequences_share_an_executor_and_keep_their_orders)
{
    static struct journal journal;
    struct step steps[2 * EACH];
    bool swapped[2] = { false };

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        lanepool_pool *pool = stepped_pool(seed, NULL);
        lanepool_sequence *sequences[2];
        lanepool_executor *executor;

        memset(&journal, 0, sizeof journal);
        expect_ok(lanepool_pool_executor(pool, &executor));
        for (int s = 0; s < 2; s++) {
            expect_ok(lanepool_sequence_create(executor, &sequences[s]));
        }
        for (uint32_t i = 0; i < 2 * EACH; i++) {
            steps[i] = (struct step){ .id = i, .journal = &journal };
            lanepool_task task = step_task(&steps[i], NULL, 0);

            expect_ok(lanepool_sequence_submit_after(sequences[i % 2], &task, i < 2 ? 1000 : 0));
        }
        while (lanepool_pool_step(pool) == LANEPOOL_OK) {
        }
        expect_eq(journal.count, 2 * EACH);
        expect_eq(journal.most_running, 1);
        for (uint32_t i = 4; i < 2 * EACH; i++) {
            expect(journal_place(&journal, i - 2) < journal_place(&journal, i));
        }
        expect(journal_place(&journal, 0) >= 2 * EACH - 2);
        expect(journal_place(&journal, 1) >= 2 * EACH - 2);
        swapped[journal_place(&journal, 2) < journal_place(&journal, 3)] = true;
        for (int s = 0; s < 2; s++) {
            expect_ok(lanepool_sequence_destroy(sequences[s]));
        }
        expect_ok(lanepool_executor_destroy(executor));
        pool_end(pool);
    }
    expect(swapped[false] && swapped[true]);
}

Test(deterministic_seeds, s3_a_full_pool_refuses_or_lets_the_caller_run)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct step steps[4] = { { 0 } };
        lanepool_options options = LANEPOOL_OPTIONS_INIT;
        lanepool_claim claim = lanepool_claim_of(lanepool_key_string("client"), LANEPOOL_EXCLUSIVE);
        lanepool_task tasks[4];
        lanepool_future *future;
        lanepool_pool *pool;

        options.step_seed = seed;
        options.pending_max = 2;
        pool = pool_make_with(&options);
        for (int i = 0; i < 4; i++) {
            tasks[i] = step_task(&steps[i], &claim, 1);
        }
        tasks[0].future = &future;
        expect_ok(lanepool_pool_submit(pool, &tasks[0]));
        expect_ok(lanepool_pool_submit(pool, &tasks[1]));
        expect_status(lanepool_pool_submit_within(pool, &tasks[2], 0), LANEPOOL_FULL);
        expect_ok(lanepool_pool_submit_or_run(pool, &tasks[3]));
        expect_eq(steps[1].runs, 1);
        expect_eq(steps[3].runs, 1);
        expect_ok(lanepool_future_wait(future, 0, NULL));
        lanepool_future_release(future);
        pool_end(pool);
    }
}
