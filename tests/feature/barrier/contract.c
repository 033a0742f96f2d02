/* A task that claims everything runs alone, after all tasks submitted before it and before all
 * tasks submitted later. */
#include <string.h>

#include "support/step.h"
#include "support/test.h"

static bool always(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return true;
}

static lanepool_status submit_barrier(lanepool_pool *pool, struct step *step,
                                      lanepool_future **future)
{
    lanepool_claim all = lanepool_claim_all();
    lanepool_task task = step_task(step, &all, 1);

    task.future = future;
    return lanepool_pool_submit(pool, &task);
}

/* Submits a step, with a claim for some steps if the pool has no rule. */
static lanepool_status submit_plain(lanepool_pool *pool, struct step *step, bool has_rule)
{
    return has_rule || step->id % 3 == 0 ? step_submit(pool, step)
                                         : step_submit_on(pool, step, step->id);
}

static void run_around_barriers(lanepool_layout layout, lanepool_compatible_fn rule)
{
    enum { EACH = 40, BARRIERS = 3 };
    static struct journal journal;
    static struct step steps[(EACH + 1) * BARRIERS + EACH];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    uint32_t count = 0;

    memset(&journal, 0, sizeof journal);
    memset(steps, 0, sizeof steps);
    options.workers = 3;
    options.layout = layout;
    options.is_compatible = rule;
    lanepool_pool *pool = pool_make_with(&options);
    for (uint32_t part = 0; part <= BARRIERS; part++) {
        for (uint32_t i = 0; i < EACH; i++, count++) {
            steps[count] = (struct step){ .id = count, .journal = &journal };
            expect_ok(submit_plain(pool, &steps[count], rule != NULL));
        }
        if (part < BARRIERS) {
            steps[count] = (struct step){ .id = count, .journal = &journal };
            expect_ok(submit_barrier(pool, &steps[count], NULL));
            count++;
        }
    }
    pool_end(pool);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t part = i / (EACH + 1);
        uint32_t place = journal_place(&journal, i);

        expect_eq(steps[i].runs, 1);
        if (i % (EACH + 1) == EACH) {
            expect_eq(place, i);
        } else {
            expect(place >= part * (EACH + 1) && place < part * (EACH + 1) + EACH);
        }
    }
}

Test(barrier, come_after_all_before_and_before_all_after)
{
    run_around_barriers(LANEPOOL_PER_KEY, NULL);
    run_around_barriers(LANEPOOL_PER_KEY, always);
}

Test(barrier, come_after_all_before_and_before_all_after_per_worker)
{
    run_around_barriers(LANEPOOL_PER_WORKER, NULL);
    run_around_barriers(LANEPOOL_PER_WORKER, always);
}

Test(barrier, one_that_is_cancelled_holds_nothing_up)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step barrier = { 0 };
    struct step free = { 0 };
    lanepool_future *future;
    lanepool_future *behind;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(submit_barrier(pool, &barrier, &future));
    lanepool_task task = step_task(&free, NULL, 0);
    task.future = &behind;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(lanepool_future_wait(behind, 0, NULL), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_future_cancel(future));
    expect_ok(lanepool_future_wait(behind, LANEPOOL_FOREVER, NULL));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(barrier.cancels, 1);
    expect_eq(barrier.runs, 0);
    lanepool_future_release(future);
    lanepool_future_release(behind);
    gate_fini(&gate);
}

struct waiting {
    lanepool_future *barrier;
    lanepool_future *behind;
    struct gate *gate;
    lanepool_status for_barrier;
    lanepool_status for_behind;
};

static int wait_for_both(lanepool_run *run, void *context)
{
    struct waiting *waiting = context;

    (void)run;
    gate_pass(waiting->gate);
    waiting->for_barrier = lanepool_future_wait(waiting->barrier, LANEPOOL_FOREVER, NULL);
    waiting->for_behind = lanepool_future_wait(waiting->behind, LANEPOOL_FOREVER, NULL);
    return 0;
}

static void wait_inside(lanepool_layout layout)
{
    struct gate gate;
    struct waiting waiting = { .gate = &gate };
    struct step barrier = { 0 };
    struct step behind = { 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(2, layout);

    gate_init(&gate);
    task.function = wait_for_both;
    task.context = &waiting;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    expect_ok(submit_barrier(pool, &barrier, &waiting.barrier));
    task = step_task(&behind, NULL, 0);
    task.future = &waiting.behind;
    expect_ok(lanepool_pool_submit(pool, &task));
    gate_open(&gate, 1);
    expect_ok(lanepool_future_wait(waiting.behind, LANEPOOL_FOREVER, NULL));
    pool_end(pool);
    expect_status(waiting.for_barrier, LANEPOOL_DEADLOCK);
    expect_status(waiting.for_behind, LANEPOOL_DEADLOCK);
    lanepool_future_release(waiting.barrier);
    lanepool_future_release(waiting.behind);
    gate_fini(&gate);
}

Test(barrier, a_wait_inside_a_task_before_one_for_it_or_what_comes_after_is_a_deadlock)
{
    wait_inside(LANEPOOL_PER_KEY);
    wait_inside(LANEPOOL_PER_WORKER);
}

struct back {
    uint32_t count;
    uint32_t types[4];
    size_t claim_counts[4];
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct back *back = context;

    (void)ticket;
    back->claim_counts[back->count % 4] = task->claim_count;
    back->types[back->count++ % 4] = task->claim_count > 0 ? task->claims[0].key.type : 0;
}

Test(barrier, are_handed_back_in_their_place)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[4] = { { 0 } };
    struct back back = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(submit_barrier(pool, &steps[0], NULL));
    expect_ok(step_submit_on(pool, &steps[1], 7));
    expect_ok(submit_barrier(pool, &steps[2], NULL));
    expect_ok(step_submit(pool, &steps[3]));
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &back));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(back.count, 4);
    expect_eq(back.types[0], LANEPOOL_KEY_ALL);
    expect_eq(back.types[1], LANEPOOL_KEY_ID);
    expect_eq(back.types[2], LANEPOOL_KEY_ALL);
    expect_eq(back.claim_counts[3], 0);
    pool_end(pool);
    gate_fini(&gate);
}

/* The handle is released while tasks that claim its lane are held back. */
Test(barrier, held_lane_may_be_released_behind_one)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step barrier = { 0 };
    struct step claiming = { 0 };
    lanepool_key key = lanepool_key_id(3);
    lanepool_lane *lane;
    size_t count = 0;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(submit_barrier(pool, &barrier, NULL));
    expect_ok(lanepool_lane_acquire(pool, key, &lane));
    lanepool_claim claim = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    for (int i = 0; i < 2; i++) {
        lanepool_task task = step_task(&claiming, &claim, 1);
        expect_ok(lanepool_pool_submit(pool, &task));
        if (i == 0) {
            expect_ok(lanepool_lane_cancel(lane, &count));
            expect_eq(count, 1);
        }
    }
    lanepool_lane_release(lane);
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(barrier.runs, 1);
    expect_eq(claiming.runs, 1);
    expect_eq(claiming.cancels, 1);
    gate_fini(&gate);
}

Test(barrier, must_be_the_only_claim)
{
    struct step step = { 0 };
    lanepool_claim claims[2] = { lanepool_claim_all(), lanepool_exclusive(1) };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&step, claims, 2);

    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    task.claim_count = 1;
    claims[0].mode = LANEPOOL_SHARED;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    pool_end(pool);
    expect_eq(step.runs, 0);
}
