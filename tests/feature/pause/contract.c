/* Pausing: a pool, or one lane, accepts tasks and starts none until it is resumed. */
#include <stdlib.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

static lanepool_future *submit_on_key(lanepool_pool *pool, struct step *step, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_future *future;
    lanepool_task task = step_task(step, &claim, 1);

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static lanepool_lane *lane_of(lanepool_pool *pool, uint64_t key)
{
    lanepool_key wanted = lanepool_key_id(key);
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, wanted, &lane));
    return lane;
}

static void pause_the_pool(lanepool_layout layout)
{
    enum { TASKS = 200 };
    struct gate gate;
    struct step holder = { .gate = &gate };
    static struct step steps[TASKS];
    lanepool_pool *pool = pool_make(2, layout);

    memset(steps, 0, sizeof steps);
    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 0));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_pause(pool));
    expect_ok(lanepool_pool_pause(pool));
    expect(lanepool_pool_is_paused(pool));
    for (uint32_t i = 0; i < TASKS; i++) {
        expect_ok(i % 2 == 0 ? step_submit(pool, &steps[i]) : step_submit_on(pool, &steps[i], 0));
    }
    gate_open(&gate, 1);
    expect_status(lanepool_pool_quiesce(pool, 1000000), LANEPOOL_TIMED_OUT);
    for (uint32_t i = 0; i < TASKS; i++) {
        expect(!step_was_called(&steps[i]));
    }
    expect_ok(lanepool_pool_resume(pool));
    expect(!lanepool_pool_is_paused(pool));
    pool_settle(pool);
    for (uint32_t i = 0; i < TASKS; i++) {
        expect_eq(steps[i].runs, 1);
    }
    pool_end(pool);
    gate_fini(&gate);
}

Test(pause, pool_starts_nothing_until_it_is_resumed)
{
    pause_the_pool(LANEPOOL_PER_KEY);
}

Test(pause, pool_starts_nothing_until_it_is_resumed_per_worker)
{
    pause_the_pool(LANEPOOL_PER_WORKER);
}

Test(pause, lane_starts_nothing_until_it_is_resumed_and_others_go_on)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step queued = { 0 };
    struct step later = { 0 };
    struct step other = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_lane *lane = lane_of(pool, 0);

    gate_init(&gate);
    lanepool_future *first = submit_on_key(pool, &holder, 0);
    expect(gate_await(&gate, 1));
    lanepool_future *second = submit_on_key(pool, &queued, 0);
    expect_ok(lanepool_lane_pause(lane));
    expect_ok(lanepool_lane_pause(lane));
    lanepool_future *third = submit_on_key(pool, &later, 0);
    gate_open(&gate, 1);
    future_finish(first);
    future_finish(submit_on_key(pool, &other, 1));
    expect_status(lanepool_future_wait(second, 0, NULL), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_lane_resume(lane));
    future_finish(second);
    future_finish(third);
    expect_ok(lanepool_lane_resume(lane));
    lanepool_lane_release(lane);
    pool_end(pool);
    expect_eq(queued.runs, 1);
    expect_eq(later.runs, 1);
    gate_fini(&gate);
}

/* The lane is paused while idle, through one handle, and resumed through another. */
Test(pause, idle_lane_can_be_paused_and_the_pause_stays_without_the_handle)
{
    struct step step = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_lane *lane = lane_of(pool, 5);

    expect_ok(lanepool_lane_pause(lane));
    lanepool_lane_release(lane);
    pool_settle(pool);
    lanepool_future *future = submit_on_key(pool, &step, 5);
    expect_status(lanepool_future_wait(future, 1000000, NULL), LANEPOOL_TIMED_OUT);
    lane = lane_of(pool, 5);
    expect_ok(lanepool_lane_resume(lane));
    future_finish(future);
    lanepool_lane_release(lane);
    pool_end(pool);
}

/* The lane is resumed while the pause's gate still waits behind a running task, and paused
 * again. */
Test(pause, pause_that_was_not_reached_is_taken_back)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step step = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_lane *lane = lane_of(pool, 0);

    gate_init(&gate);
    lanepool_future *first = submit_on_key(pool, &holder, 0);
    expect(gate_await(&gate, 1));
    lanepool_future *second = submit_on_key(pool, &step, 0);
    for (int i = 0; i < 3; i++) {
        expect_ok(lanepool_lane_pause(lane));
        expect_ok(lanepool_lane_resume(lane));
    }
    expect_ok(lanepool_lane_pause(lane));
    gate_open(&gate, 1);
    future_finish(first);
    expect_status(lanepool_future_wait(second, 0, NULL), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_lane_resume(lane));
    future_finish(second);
    lanepool_lane_release(lane);
    pool_end(pool);
    gate_fini(&gate);
}

/* The rollup is held back behind a barrier when the lane is paused behind a running task. */
Test(pause, lane_stays_its_tasks_when_a_rollup_behind_the_pause_is_cancelled)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[4] = { { 0 } };
    lanepool_claim all = lanepool_claim_all();
    lanepool_claim both[2] = { lanepool_exclusive(0), lanepool_exclusive(1) };
    lanepool_future *barrier;
    lanepool_future *rollup;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_lane *lane = lane_of(pool, 0);

    gate_init(&gate);
    lanepool_future *first = submit_on_key(pool, &holder, 0);
    expect(gate_await(&gate, 1));
    lanepool_task task = step_task(&steps[0], &all, 1);
    task.future = &barrier;
    expect_ok(lanepool_pool_submit(pool, &task));
    task = step_task(&steps[1], both, 2);
    task.future = &rollup;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_lane_pause(lane));
    expect_ok(lanepool_future_cancel(barrier));
    expect_ok(lanepool_future_cancel(rollup));
    expect_ok(lanepool_lane_resume(lane));
    lanepool_future *second = submit_on_key(pool, &steps[2], 0);
    future_finish(submit_on_key(pool, &steps[3], 1));
    expect(!step_was_called(&steps[2]));
    gate_open(&gate, 1);
    future_finish(first);
    future_finish(second);
    lanepool_future_release(barrier);
    lanepool_future_release(rollup);
    lanepool_lane_release(lane);
    pool_end(pool);
    expect_eq(steps[0].cancels, 1);
    expect_eq(steps[1].cancels, 1);
    gate_fini(&gate);
}

struct text {
    char bytes[4096];
    size_t size;
};

static void write_text(void *context, const char *bytes, size_t size)
{
    struct text *text = context;

    if (size > sizeof text->bytes - 1 - text->size) {
        size = sizeof text->bytes - 1 - text->size;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

Test(pause, task_in_a_paused_lane_says_so)
{
    struct step step = { 0 };
    struct text text = { .size = 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_lane *lane = lane_of(pool, 5);

    expect_ok(lanepool_lane_pause(lane));
    lanepool_future *future = submit_on_key(pool, &step, 5);
    expect_ok(lanepool_explain(future, write_text, &text));
    expect(strstr(text.bytes, "the lane is paused") != NULL);
    expect_ok(lanepool_lane_resume(lane));
    future_finish(future);
    lanepool_lane_release(lane);
    pool_end(pool);
}

/* The pause waits behind the running task, and is no task itself. */
Test(pause, snapshot_counts_the_task_before_a_pause_and_not_the_pause)
{
    struct gate gate;
    struct step step = { .gate = &gate };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_lane *lane = lane_of(pool, 5);
    lanepool_snapshot *snapshot;

    gate_init(&gate);
    lanepool_future *future = submit_on_key(pool, &step, 5);
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_lane_pause(lane));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->lane_count, 1);
    expect(snapshot->lanes[0].paused);
    expect_eq(snapshot->lanes[0].granted, 1);
    expect_eq(snapshot->lanes[0].unknown, 0);
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    expect_ok(lanepool_lane_resume(lane));
    future_finish(future);
    lanepool_lane_release(lane);
    pool_end(pool);
    gate_fini(&gate);
}

/* A task that waits for a future while it has the lane. */
struct waiting {
    struct gate gate;
    lanepool_future *awaited;
    lanepool_status status;
};

static int wait_inside(lanepool_run *run, void *context)
{
    struct waiting *waiting = context;

    (void)run;
    gate_pass(&waiting->gate);
    waiting->status = lanepool_future_wait(waiting->awaited, UINT64_C(5000000000), NULL);
    return 0;
}

/* Fills the memory that the pause is about to get. */
static void spoil_free_memory(void)
{
    enum { PIECES = 64 };
    void *pieces[PIECES];

    for (int i = 0; i < PIECES; i++) {
        pieces[i] = aligned_alloc(128, (size_t)(1 + i % 4) * 128);
        expect(pieces[i] != NULL);
        memset(pieces[i], 0xff, (size_t)(1 + i % 4) * 128);
    }
    for (int i = 0; i < PIECES; i++) {
        free(pieces[i]);
    }
}

/* The last task waits behind the rollup, which waits for the lane of the first. The pause stands
 * between these two, and changes nothing about the deadlock. */
Test(pause, deadlock_through_a_paused_lane_is_found)
{
    struct waiting waiting = { .status = LANEPOOL_OK };
    struct step steps[2] = { { 0 } };
    lanepool_claim claim = lanepool_shared(2);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_lane *lane = lane_of(pool, 2);

    gate_init(&waiting.gate);
    task.function = wait_inside;
    task.context = &waiting;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&waiting.gate, 1));
    spoil_free_memory();
    expect_ok(lanepool_lane_pause(lane));
    expect_ok(step_submit_rollup(pool, &steps[0], 1, 2));
    waiting.awaited = submit_on_key(pool, &steps[1], 1);
    gate_open(&waiting.gate, 1);
    expect_status(lanepool_pool_quiesce(pool, 100000000), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_lane_resume(lane));
    pool_settle(pool);
    expect_status(waiting.status, LANEPOOL_DEADLOCK);
    expect_eq(steps[0].runs + steps[1].runs, 2);
    lanepool_future_release(waiting.awaited);
    lanepool_lane_release(lane);
    pool_end(pool);
    gate_fini(&waiting.gate);
}

Test(pause, shutdowns_resume)
{
    struct step steps[2] = { { 0 } };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_lane *lane = lane_of(pool, 5);

    expect_ok(lanepool_lane_pause(lane));
    expect_ok(lanepool_pool_pause(pool));
    expect_ok(step_submit_on(pool, &steps[0], 5));
    expect_ok(step_submit_on(pool, &steps[1], 6));
    lanepool_lane_release(lane);
    pool_end(pool);
    expect_eq(steps[0].runs, 1);
    expect_eq(steps[1].runs, 1);

    pool = pool_make(1, LANEPOOL_PER_KEY);
    lane = lane_of(pool, 5);
    expect_ok(lanepool_lane_pause(lane));
    expect_ok(step_submit_on(pool, &steps[0], 5));
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(lanepool_pool_pause(pool), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_lane_pause(lane), LANEPOOL_SHUT_DOWN);
    lanepool_lane_release(lane);
    pool_end(pool);
    expect_eq(steps[0].runs, 1);
    expect_eq(steps[0].cancels, 1);
}

Test(pause, bad_arguments)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_WORKER);
    lanepool_lane *lane = lane_of(pool, 1);

    expect_status(lanepool_pool_pause(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_resume(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_lane_pause(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_lane_resume(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_lane_pause(lane), LANEPOOL_UNSUPPORTED);
    lanepool_lane_release(lane);
    pool_end(pool);
}
