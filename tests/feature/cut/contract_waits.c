/* Waits inside tasks for a task behind a cut: which are deadlocks, and which visits a thread makes
 * while it waits. */
#include <time.h>

#include "support/cut.h"
#include "support/step.h"
#include "support/test.h"

/* A task that stops at a gate, and then waits for another one. */
struct waiter {
    struct gate *gate;
    lanepool_future *awaited;
    lanepool_status answer;
};

static int wait_inside(lanepool_run *run, void *context)
{
    struct waiter *waiter = context;

    (void)run;
    gate_pass(waiter->gate);
    waiter->answer = lanepool_future_wait(waiter->awaited, LANEPOOL_FOREVER, NULL);
    return 0;
}

/* Submits the waiter with one claim of the key, or without a claim; returns when it has started. */
static void start_waiter(lanepool_pool *pool, struct waiter *waiter, const lanepool_claim *claim)
{
    expect_ok(
        lanepool_pool_submit(pool, LANEPOOL_TASK(.function = wait_inside, .context = waiter,
                                                 .claims = claim, .claim_count = claim != NULL)));
    expect(gate_await(waiter->gate, 1));
}

static lanepool_future *submit_step(lanepool_pool *pool, struct step *step, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_future *future;
    lanepool_task task = step_task(step, &claim, 1);

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

/* Other threads have probably acted by then. What the test expects does not depend on it. */
static void rest(void)
{
    (void)nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static void await_visits(struct cut *cut, uint32_t count)
{
    while (atomic_load(&cut->visited) < count)
        (void)nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

/* The visit of lane 0 fails, so that lane waits for lane 1, and lane 1 for the waiter. The visit
 * fails before the wait, or during it. */
Test(cut_waits, a_failed_visit_makes_its_lane_wait_for_the_others)
{
    for (int fails_late = 0; fails_late < 2; fails_late++) {
        struct gate gate, late;
        struct step behind = { .id = 1 };
        struct cut cut;
        struct waiter waiter = { .gate = &gate };
        lanepool_claim one = lanepool_exclusive(1);
        lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

        gate_init(&gate);
        gate_init(&late);
        start_waiter(pool, &waiter, &one);
        cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
        cut.codes[0] = 7;
        cut.gate = fails_late ? &late : NULL;
        lanepool_future *future = cut_submit(pool, &cut);
        if (fails_late)
            expect(gate_await(&late, 1));
        else
            await_visits(&cut, 1);
        waiter.awaited = submit_step(pool, &behind, 0);
        gate_open(&gate, 1);
        if (fails_late) {
            rest();
            gate_open(&late, 1);
        }
        expect_status(cut_end(future, NULL), LANEPOOL_FAILED);
        future_finish(waiter.awaited);
        pool_settle(pool);
        expect_status(waiter.answer, LANEPOOL_DEADLOCK);
        pool_end(pool);
        gate_fini(&gate);
        gate_fini(&late);
    }
}

/* The only worker waits inside a task for one that is behind the cut in lane 1. It must make the
 * cut's visits: lane 1 is granted while the visitor is queued. */
Test(cut_waits, a_worker_that_waits_inside_a_task_makes_visits)
{
    struct gate gate;
    struct step before = { .id = 0 };
    struct step behind = { .id = 1 };
    struct cut cut;
    struct waiter waiter = { .gate = &gate };
    lanepool_pump *pump;
    size_t ran;
    lanepool_claim one = lanepool_exclusive(1);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(lanepool_pump_create(pool, &pump));
    lanepool_task pumped = step_task(&before, &one, 1);
    pumped.pump = pump;
    expect_ok(lanepool_pool_submit(pool, &pumped));
    start_waiter(pool, &waiter, NULL);
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = cut_submit(pool, &cut);
    waiter.awaited = submit_step(pool, &behind, 1);
    gate_open(&gate, 1);
    rest();
    expect_ok(lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, &ran));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    future_finish(waiter.awaited);
    pool_settle(pool);
    expect_ok(waiter.answer);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
    gate_fini(&gate);
}

/* The cut is parked, and the only worker waits for a task behind it. When the cut is to be retried,
 * that worker must do it. */
Test(cut_waits, a_worker_that_waits_inside_a_task_retries_a_parked_cut)
{
    struct gate gate;
    struct step behind = { .id = 1 };
    struct cut cut;
    struct waiter waiter = { .gate = &gate };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_parked_tasks *parked;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    policy.at_end = LANEPOOL_FAILURE_POISON;
    cut_init(&cut, 1, LANEPOOL_EXCLUSIVE);
    cut.codes[0] = 7;
    lanepool_task task = cut_task(&cut);
    task.at_lane = cut_fail_once;
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle_parked(pool);
    start_waiter(pool, &waiter, NULL);
    waiter.awaited = submit_step(pool, &behind, 0);
    gate_open(&gate, 1);
    rest();
    expect_ok(lanepool_pool_parked(pool, &parked));
    uint64_t ticket = parked->tasks[0].ticket;
    lanepool_parked_tasks_release(parked);
    expect_ok(lanepool_pool_resolve(pool, ticket, LANEPOOL_RESOLVE_RETRY));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    future_finish(waiter.awaited);
    pool_settle(pool);
    expect_ok(waiter.answer);
    expect_eq(cut.visits[0], 2);
    pool_end(pool);
    gate_fini(&gate);
}
