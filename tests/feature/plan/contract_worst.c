/* The rollups and keys that cost the most time. */
#include <stdlib.h>

#include "feature/plan/plans.h"
#include "support/memory.h"
#include "support/random.h"
#include "support/test.h"

enum { CLIENTS = 40, ROWS = 2 * LANEPOOL_PLAN_TRIES };
#define MS UINT64_C(1000000)

/* Over consecutive keys, and perhaps one more. */
static void add_rollup(lanepool_plan *plan, uint64_t first, size_t count, uint64_t last,
                       uint64_t duration_ns)
{
    lanepool_claim claims[CLIENTS + 1];
    lanepool_plan_task task = { .claims = claims,
                                .claim_count = count + 1,
                                .duration_ns = duration_ns };

    for (size_t i = 0; i < count; i++) {
        claims[i] = lanepool_shared(first + i);
    }
    claims[count] = lanepool_shared(last);
    expect_ok(lanepool_plan_add(plan, &task));
}

/* Each day all clients post, and one of them starts something slow, which no other day needs. A
 * rollup over all waits for that, and everybody waits for the rollup. */
static void add_day(lanepool_plan *plan, uint64_t day, uint64_t slow_ns)
{
    lanepool_claim started = lanepool_exclusive(2000 + day);

    for (uint64_t client = 0; client < CLIENTS; client++) {
        plan_add(plan, MS, client == day ? 2 : 1, lanepool_exclusive(client), started);
    }
    plan_add(plan, slow_ns, 2, started, lanepool_exclusive(1000 + day));
    add_rollup(plan, 0, CLIENTS, 1000 + day, CLIENTS * 1000);
}

/* Keeps the rollups of `rows`, in their order. Returns how many there are. */
static size_t keep_rollups(lanepool_plan_row *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].change == LANEPOOL_PLAN_CUT_TASK) {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static size_t rollup_of_day(size_t day)
{
    return day * (CLIENTS + 2) - 1;
}

Test(plan_worst, three_planted_rollups_come_in_the_order_of_their_costs)
{
    lanepool_plan *plan = plan_make();
    lanepool_plan_pool pool = { .workers = 4 };
    lanepool_plan_row rows[ROWS];
    size_t count;

    add_day(plan, 1, 40 * MS);
    add_day(plan, 2, MS);
    add_day(plan, 3, 90 * MS);
    add_day(plan, 4, MS);
    add_day(plan, 5, 60 * MS);
    for (uint64_t client = 0; client < CLIENTS; client++) {
        plan_add(plan, 10 * MS, 1, lanepool_exclusive(client));
    }
    expect_ok(lanepool_plan_worst(plan, &pool, rows, ROWS, &count));
    expect_eq(keep_rollups(rows, count), 5);
    expect_eq(rows[0].task, rollup_of_day(3));
    expect_eq(rows[1].task, rollup_of_day(5));
    expect_eq(rows[2].task, rollup_of_day(1));
    expect(rows[2].saved_ns > 2 * rows[3].saved_ns);
    lanepool_plan_destroy(plan);
}

/* Every posting also changes the bank's account. */
Test(plan_worst, the_hot_key_comes_first)
{
    lanepool_plan *plan = plan_make();
    lanepool_plan_pool pool = { .workers = 4 };
    lanepool_plan_row rows[2];
    size_t count;

    for (uint64_t i = 0; i < 400; i++) {
        plan_add(plan, 1000, 2, lanepool_exclusive(i % CLIENTS), lanepool_exclusive(999));
    }
    expect_ok(lanepool_plan_worst(plan, &pool, rows, 2, &count));
    expect_eq(count, 2);
    expect(rows[0].change == LANEPOOL_PLAN_COMMUTE && rows[0].task == 0 && rows[0].claim == 1);
    expect_eq(rows[0].held_ns, 400000);
    expect_eq(rows[0].makespan_ns, 100000);
    expect_eq(rows[0].saved_ns, 300000);
    lanepool_plan_destroy(plan);
}

/* --- beside a computation that tries everything --- */

static lanepool_plan *draw_plan(uint64_t seed, unsigned *workers)
{
    uint64_t random = seed;
    uint32_t keys = 2 + random_below(&random, 12);
    lanepool_plan *plan = plan_make();

    *workers = 1 + random_below(&random, 5);
    for (size_t i = 0; i < 150; i++) {
        if (i % 10 == 9) {
            add_rollup(plan, random_below(&random, keys), 2 + random_below(&random, 6), 999,
                       1 + random_below(&random, 1000));
        } else {
            plan_add(plan, 1 + random_below(&random, 1000), 1,
                     lanepool_exclusive(random_below(&random, keys)));
        }
    }
    return plan;
}

static void expect_row_of(const lanepool_plan *plan, unsigned workers, const lanepool_plan_row *row,
                          uint64_t makespan_ns)
{
    lanepool_plan_pool pool = {
        .workers = workers, .change = row->change, .task = row->task, .claim = row->claim
    };
    lanepool_plan_result result;

    expect_ok(lanepool_plan_run(plan, &pool, &result, NULL));
    expect_eq(row->makespan_ns, result.makespan_ns);
    expect_eq(row->saved_ns,
              result.makespan_ns < makespan_ns ? makespan_ns - result.makespan_ns : 0);
}

/* Fewer rollups and keys than are tried: nothing that saves more is missing. */
Test(plan_worst, nothing_that_saves_more_is_missing)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        unsigned workers;
        lanepool_plan *plan = draw_plan(seed, &workers);
        uint64_t makespan_ns = plan_run_by(plan, workers).makespan_ns;
        lanepool_plan_pool pool = { .workers = workers };
        lanepool_plan_row rows[ROWS];
        size_t count;
        uint64_t most_ns = 0;

        expect_ok(lanepool_plan_worst(plan, &pool, rows, ROWS, &count));
        for (size_t i = 0; i < count; i++) {
            expect_row_of(plan, workers, &rows[i], makespan_ns);
            expect(i == 0 || rows[i - 1].saved_ns >= rows[i].saved_ns);
        }
        for (size_t task = 0; task < lanepool_plan_count(plan); task++) {
            lanepool_plan_result result;

            pool.change = LANEPOOL_PLAN_CUT_TASK;
            pool.task = task;
            if (lanepool_plan_run(plan, &pool, &result, NULL) == LANEPOOL_OK &&
                makespan_ns > result.makespan_ns + most_ns) {
                most_ns = makespan_ns - result.makespan_ns;
            }
        }
        expect(most_ns == 0 || (count > 0 && rows[0].saved_ns >= most_ns));
        lanepool_plan_destroy(plan);
    }
}

Test(plan_worst, a_pool_with_a_change_is_refused)
{
    lanepool_plan *plan = plan_make();
    lanepool_plan_pool pool = { .workers = 1, .change = LANEPOOL_PLAN_CUT_TAG };
    size_t count;

    expect(lanepool_plan_worst(plan, &pool, NULL, 0, &count) == LANEPOOL_INVALID);
    lanepool_plan_destroy(plan);
}
