/* The counters of a pool. */
#include "support/step.h"
#include "support/test.h"

Test(statistics, counters_of_an_idle_pool_fit_together)
{
    enum { COUNT = 3000, WORKERS = 3 };
    static struct step steps[COUNT];
    lanepool_stats stats;
    lanepool_worker_stats workers[WORKERS + 1];
    uint64_t by_workers = 0;
    uint64_t taken = 0;
    uint64_t woken = 0;
    lanepool_pool *pool = pool_make(WORKERS, LANEPOOL_PER_KEY);

    for (uint32_t i = 0; i < COUNT; i++) {
        expect_ok(step_submit_rollup(pool, &steps[i], i % 10, i % 7 + 10));
    }
    pool_settle(pool);
    expect_ok(lanepool_pool_trim(pool));
    expect_ok(lanepool_pool_stats(pool, &stats, workers, WORKERS));
    expect_eq(stats.accepted, COUNT);
    expect_eq(stats.finished, COUNT);
    expect_eq(stats.pending, 0);
    expect_eq(stats.ready, 0);
    expect_eq(stats.latched_lanes, 0);
    expect_eq(stats.live_lanes, 0);
    for (int i = 0; i < WORKERS; i++) {
        by_workers += workers[i].finished;
        taken += workers[i].taken_from_others;
        woken += workers[i].wake_ups;
        expect_eq(workers[i].ready, 0);
    }
    expect_eq(by_workers, COUNT);
    expect_eq(taken, stats.taken_from_others);
    expect_eq(woken, stats.wake_ups);
    pool_end(pool);
}

Test(statistics, pending_tasks_and_latched_lanes_are_counted)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step rollup = { 0 };
    struct step behind[3] = { { 0 } };
    struct step witness = { .gate = &gate };
    lanepool_stats stats;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_rollup(pool, &rollup, 1, 2));
    for (int i = 0; i < 3; i++) {
        expect_ok(step_submit_on(pool, &behind[i], 2));
    }
    expect_ok(step_submit_on(pool, &witness, 3));
    expect(gate_await(&gate, 1)); /* all tasks before it have been routed */
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.accepted, 6);
    expect_eq(stats.finished, 0);
    expect_eq(stats.pending, 6);
    expect_eq(stats.latched_lanes, 1);
    expect(stats.live_lanes >= 3);
    gate_open(&gate, 2);
    pool_settle(pool);
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.latched_lanes, 0);
    expect_eq(stats.pending, 0);
    pool_end(pool);
    gate_fini(&gate);
}

Test(statistics, refused_and_cancelled_tasks_are_counted_where_they_belong)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[4] = { { 0 } };
    lanepool_stats stats;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < 3; i++) {
        expect_ok(step_submit_on(pool, &steps[i], 1));
    }
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    expect_status(step_submit_on(pool, &steps[3], 1), LANEPOOL_SHUT_DOWN);
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.accepted, 4);
    expect_eq(stats.finished, 4); /* a cancelling call counts as finished */
    expect_eq(stats.pending, 0);
    pool_end(pool);
    gate_fini(&gate);
}

struct inside {
    lanepool_status status;
    lanepool_stats stats;
};

static int look(lanepool_run *run, void *context)
{
    struct inside *inside = context;

    inside->status = lanepool_pool_stats(lanepool_run_pool(run), &inside->stats, NULL, 0);
    return 0;
}

Test(statistics, task_may_look_at_its_own_pool)
{
    struct inside inside = { .status = LANEPOOL_INVALID };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.function = look;
    task.context = &inside;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_ok(inside.status);
    expect_eq(inside.stats.accepted, 1);
    expect_eq(inside.stats.finished, 0);
    expect_eq(inside.stats.pending, 1);
}
