/* Many parked tasks: resolved one by one and all at once; and retries and claims in large numbers,
 * whose cost must not grow with what was before. */
#include <stdlib.h>

#include "support/step.h"
#include "support/test.h"

enum { MANY = 20000, MEMBERS = 16000, RETRIES = 300000 };

static const lanepool_claim none;

static void submit_failing(lanepool_pool *pool, struct step *step, const lanepool_claim *claims,
                           size_t count)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = step_task(step, claims, count);

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.on_failure = &policy;
    step->code = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
}

/* Parks `count` tasks: each second one has a key of its own, the others share one. */
static struct step *park(lanepool_pool *pool, size_t count)
{
    struct step *steps = calloc(count, sizeof *steps);

    for (size_t i = 0; i < count; i++) {
        lanepool_claim claim =
            i % 2 ? lanepool_exclusive(i) : lanepool_claim_of(lanepool_key_id(0), LANEPOOL_SHARED);
        submit_failing(pool, &steps[i], &claim, 1);
    }
    pool_settle_parked(pool);
    return steps;
}

Test(failure_parked_many, oldest_first_one_by_one)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    struct step *steps = park(pool, MANY);

    for (size_t i = 0; i < MANY; i++) {
        expect_ok(lanepool_pool_resolve(pool, steps[i].ticket, LANEPOOL_RESOLVE_SKIP));
    }
    expect_eq(pool_parked_count(pool), 0);
    pool_end(pool);
    free(steps);
}

Test(failure_parked_many, all_are_skipped_at_once)
{
    struct step behind = { 0 };
    size_t count = 1;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, &count));
    expect_eq(count, 0);
    struct step *steps = park(pool, 100);
    expect_ok(step_submit_rollup(pool, &behind, 0, 1));
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, &count));
    expect_eq(count, 100);
    pool_end(pool);
    expect_eq(behind.runs, 1);
    free(steps);
}

Test(failure_parked_many, all_are_retried_at_once)
{
    size_t count;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    struct step *steps = park(pool, 100);

    for (int i = 0; i < 100; i++) {
        steps[i].code = 0;
    }
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_RETRY, &count));
    expect_eq(count, 100);
    pool_end(pool);
    for (int i = 0; i < 100; i++) {
        expect_eq(steps[i].runs, 2);
    }
    free(steps);
}

Test(failure_parked_many, all_are_dropped_with_what_is_behind_any_of_them)
{
    struct step behind = { 0 };
    struct step beside = { 0 };
    size_t count;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    struct step *steps = park(pool, 100);

    expect_ok(step_submit_rollup(pool, &behind, 99, 500));
    expect_ok(step_submit_on(pool, &beside, 501));
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_DROP, &count));
    expect_eq(count, 100);
    expect_eq(behind.cancels, 1);
    pool_end(pool);
    expect_eq(behind.runs, 0);
    expect_eq(beside.runs, 1);
    free(steps);
}

Test(failure_parked_many, resolving_all_answers_about_its_arguments)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_status(lanepool_pool_resolve_all(NULL, LANEPOOL_RESOLVE_SKIP, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_resolve_all(pool, (lanepool_resolution)3, NULL), LANEPOOL_INVALID);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, NULL), LANEPOOL_SHUT_DOWN);
    pool_end(pool);
}

/* --- retries --- */

/* With no delay, a maximum above 0, and a doubling for each attempt before, this took hours. */
Test(failure_parked_many, retries_cost_the_same_however_many)
{
    struct step step = { .code = 1 };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = step_task(&step, &none, 0);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    policy.retries = RETRIES;
    policy.delay_max_ns = 1;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(step.runs, RETRIES + 1);
}

/* --- claims by number --- */

struct rollup {
    size_t count, wrong, missing;
    size_t numbers[4];
    lanepool_status first, beyond;
};

static int ask_for_each(lanepool_run *run, void *context)
{
    struct rollup *rollup = context;
    lanepool_claim claim;

    rollup->count = lanepool_run_claim_count(run);
    for (size_t i = 1; i < rollup->count; i++) {
        lanepool_mode mode = i % 2 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
        rollup->wrong += lanepool_run_claim(run, i, &claim) != LANEPOOL_OK ||
                         claim.key.type != LANEPOOL_KEY_ID || claim.key.id != 2 * i ||
                         claim.mode != mode;
    }
    rollup->first = lanepool_run_claim(run, 0, &claim);
    rollup->beyond = lanepool_run_claim(run, rollup->count, &claim);
    rollup->missing = lanepool_run_missing(run, rollup->numbers, 4);
    return 0;
}

static lanepool_future *submit_rollup(lanepool_pool *pool, struct rollup *rollup,
                                      lanepool_claim *claims, size_t count)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future;

    for (size_t i = 0; i < count; i++) {
        claims[i] =
            lanepool_claim_of(lanepool_key_id(2 * i), i % 2 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE);
    }
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    task.function = ask_for_each;
    task.context = rollup;
    task.claims = claims;
    task.claim_count = count;
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

Test(failure_parked_many, task_asks_for_each_of_its_claims_by_number)
{
    struct rollup rollup = { 0 };
    struct rollup small = { 0 };
    struct step failing = { 0 };
    lanepool_claim first = lanepool_exclusive(0);
    lanepool_claim *claims = calloc(MEMBERS, sizeof *claims);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    future_finish(submit_rollup(pool, &small, claims, 2));
    expect_eq(small.count, 2);
    expect_eq(small.wrong, 0);
    expect_ok(small.first);
    expect_eq(small.missing, 0);
    submit_failing(pool, &failing, &first, 1);
    pool_settle_parked(pool);
    future_finish(submit_rollup(pool, &rollup, claims, MEMBERS));
    expect_eq(rollup.count, MEMBERS);
    expect_eq(rollup.wrong, 0);
    expect_status(rollup.first, LANEPOOL_POISONED);
    expect_status(rollup.beyond, LANEPOOL_INVALID);
    expect_eq(rollup.missing, 1);
    expect_eq(rollup.numbers[0], 0);
    expect_ok(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, NULL));
    pool_end(pool);
    free(claims);
}
