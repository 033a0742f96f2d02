/* Delayed and periodic tasks: when they get their tickets, in which order, and how they end. */
#include <stdlib.h>

#include "support/memory.h"
#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { MANY = 100000 };

#define HOUR_NS  INT64_C(3600000000000)
#define SHORT_NS INT64_C(1000000)
/* How many bytes of a cancelled delayed task may remain, in caches and half-empty pages. */
#define LEFT_BYTES 40

static lanepool_future *submit_after(lanepool_pool *pool, struct step *step, uint64_t key,
                                     int64_t delay_ns)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = step_task(step, &claim, 1);
    lanepool_future *future = NULL;

    task.future = &future;
    task.release = step_release;
    expect_ok(lanepool_pool_submit_after(pool, &task, delay_ns));
    return future;
}

static uint64_t delayed_count(lanepool_pool *pool)
{
    lanepool_stats stats;

    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    return stats.delayed;
}

Test(delay, task_takes_its_place_when_it_is_due)
{
    struct journal *journal = memory_get(1, sizeof *journal);
    struct step early = { .id = 0, .journal = journal };
    struct step late = { .id = 1, .journal = journal };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_future *future = submit_after(pool, &late, 1, 20 * SHORT_NS);

    expect_ok(step_submit_on(pool, &early, 1));
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    expect_eq(journal_place(journal, 0), 0);
    expect_eq(journal_place(journal, 1), 1);
    expect(early.ticket < late.ticket);
    lanepool_future_release(future);
    pool_end(pool);
    expect_eq(late.releases, 1);
    free(journal);
}

Test(delay, none_and_less_than_none_mean_now)
{
    struct step steps[3] = { { .id = 0 }, { .id = 1 }, { .id = 2 } };
    static const int64_t delays[3] = { 0, -1, INT64_MIN };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    for (int i = 0; i < 3; i++) {
        lanepool_future_release(submit_after(pool, &steps[i], 1, delays[i]));
    }
    expect_eq(delayed_count(pool), 0);
    pool_settle(pool);
    for (uint64_t i = 0; i < 3; i++) {
        expect_eq(steps[i].runs, 1);
        expect_eq(steps[i].ticket, i);
    }
    pool_end(pool);
}

/* The task's number is its context. The counters are plain, because the key guards them. */
static struct {
    uint64_t next;
    uint64_t out_of_turn;
    uint64_t cancelled;
} many;

static int count_in_turn(lanepool_run *run, void *context)
{
    (void)run;
    many.out_of_turn += many.next != (uint64_t)(uintptr_t)context;
    many.next++;
    return 0;
}

static void count_cancelled(void *context, lanepool_status why)
{
    (void)why;
    many.cancelled++;
    (void)count_in_turn(NULL, context);
}

static void submit_many(lanepool_pool *pool, int64_t delay_ns, lanepool_future **futures)
{
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;

    many.next = many.out_of_turn = 0;
    task.function = count_in_turn;
    task.cancelled = count_cancelled;
    task.claims = &claim;
    task.claim_count = 1;
    for (uint64_t i = 0; i < MANY; i++) {
        task.context = (void *)(uintptr_t)i;
        task.future = futures != NULL ? &futures[i] : NULL;
        expect_ok(lanepool_pool_submit_after(pool, &task, delay_ns));
    }
}

Test(delay, a_hundred_thousand_become_due_in_order)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    many.cancelled = 0;
    options.workers = 2;
    options.drain_waits_for_delayed = true;
    pool = pool_make_with(&options);
    submit_many(pool, 100 * SHORT_NS, NULL);
    pool_end(pool);
    expect_eq(many.next, MANY);
    expect_eq(many.out_of_turn, 0);
    expect_eq(many.cancelled, 0);
}

Test(delay, drain_cancels_what_is_not_due_in_order)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    many.cancelled = 0;
    submit_many(pool, HOUR_NS, NULL);
    expect_eq(delayed_count(pool), MANY);
    pool_end(pool);
    expect_eq(many.cancelled, MANY);
    expect_eq(many.out_of_turn, 0);
}

Test(delay, cancelling_far_ones_gives_their_memory_back)
{
    lanepool_future **futures = memory_get(MANY, sizeof(lanepool_future *));
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    unsigned long long before;
    unsigned long long after;

    many.cancelled = 0;
    for (int round = 0; round < 2; round++) {
        before = process_resident_bytes();
        submit_many(pool, INT64_MAX, futures);
        for (uint64_t i = 0; i < MANY; i++) {
            expect_ok(lanepool_future_cancel(futures[i]));
            lanepool_future_release(futures[i]);
        }
        expect_eq(delayed_count(pool), 0);
        after = process_resident_bytes();
    }
    expect(PROCESS_IS_SANITIZED || after < before + (unsigned long long)MANY * LEFT_BYTES);
    expect_eq(many.cancelled, 2 * MANY);
    pool_end(pool);
    free(futures);
}

Test(delay, quiesce_does_not_wait_for_what_is_not_due)
{
    struct step step = { .id = 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future = submit_after(pool, &step, 1, HOUR_NS);
    lanepool_result result;

    pool_settle(pool);
    expect_status(lanepool_future_wait(future, 0, NULL), LANEPOOL_TIMED_OUT);
    pool_end(pool);
    expect_ok(lanepool_future_wait(future, 0, &result));
    expect_status(result.status, LANEPOOL_CANCELLED);
    expect_eq(step.runs, 0);
    expect_eq(step.cancels, 1);
    expect_eq(step.releases, 1);
    lanepool_future_release(future);
}

static struct {
    const struct step *steps[4];
    uint64_t tickets[4];
    size_t count;
} handed;

static void hand_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    (void)context;
    handed.steps[handed.count] = task->context;
    handed.tickets[handed.count++] = ticket;
}

Test(delay, shutdown_now_hands_them_back_behind_all_others_by_moment)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[3] = { { .id = 0 }, { .id = 1 }, { .id = 2 } };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    lanepool_future_release(submit_after(pool, &steps[0], 2, 2 * HOUR_NS));
    lanepool_future_release(submit_after(pool, &steps[1], 1, HOUR_NS));
    expect_ok(step_submit_on(pool, &steps[2], 1));
    expect_ok(lanepool_pool_shutdown_now(pool, hand_back, NULL));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(handed.count, 3);
    expect(handed.steps[0] == &steps[2] && handed.steps[1] == &steps[1]);
    expect(handed.steps[2] == &steps[0]);
    expect(handed.tickets[0] < handed.tickets[1] && handed.tickets[1] < handed.tickets[2]);
    gate_fini(&gate);
}

Test(delay, count_against_the_limit_until_they_end)
{
    struct step step = { .id = 0 };
    struct step other = { .id = 1 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = step_task(&other, NULL, 0);
    lanepool_future *future;
    lanepool_pool *pool;

    options.workers = 1;
    options.pending_max = 1;
    pool = pool_make_with(&options);
    future = submit_after(pool, &step, 1, HOUR_NS);
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    expect_ok(lanepool_future_cancel(future));
    expect_eq(step.cancels, 1);
    expect_ok(lanepool_pool_submit_within(pool, &task, 0));
    expect_status(lanepool_future_cancel(future), LANEPOOL_DONE);
    lanepool_future_release(future);
    pool_end(pool);
}

/* --- periodic tasks --- */

static lanepool_timer *submit_every(lanepool_pool *pool, struct step *step, lanepool_period period)
{
    lanepool_claim claims[2] = {
        lanepool_exclusive(1), lanepool_claim_of(lanepool_key_bytes("a key", 5), LANEPOOL_SHARED)
    };
    lanepool_task task = step_task(step, claims, 2);
    lanepool_timer *timer = NULL;

    task.release = step_release;
    expect_ok(lanepool_pool_submit_every(pool, &task, 0, (uint64_t)SHORT_NS, period, &timer));
    expect(timer != NULL);
    return timer;
}

static void run_three_times(lanepool_period period)
{
    struct gate gate;
    struct step step = { .gate = &gate };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_timer *timer;

    gate_init(&gate);
    timer = submit_every(pool, &step, period);
    for (uint64_t i = 0; i < 3; i++) {
        expect(gate_await(&gate, 1));
        expect_eq(step.ticket, i);
        if (i == 2) {
            expect_status(lanepool_timer_cancel(timer), LANEPOOL_RUNNING);
        }
        gate_open(&gate, 1);
    }
    pool_end(pool);
    expect_eq(step.runs, 3);
    expect_eq(step.cancels, 1);
    expect_eq(step.releases, 1);
    expect_status(lanepool_timer_cancel(timer), LANEPOOL_DONE);
    lanepool_timer_release(timer);
    gate_fini(&gate);
}

Test(delay, periodic_task_runs_until_it_is_cancelled)
{
    run_three_times(LANEPOOL_FIXED_RATE);
}

Test(delay, periodic_task_with_a_fixed_delay_runs_until_it_is_cancelled)
{
    run_three_times(LANEPOOL_FIXED_DELAY);
}

Test(delay, wrong_arguments_of_periodic_tasks_are_refused)
{
    struct step step = { .id = 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_timer *timer;
    lanepool_future *future;

    expect_status(lanepool_pool_submit_every(pool, &task, 0, 0, LANEPOOL_FIXED_RATE, &timer),
                  LANEPOOL_INVALID);
    expect_status(lanepool_pool_submit_every(pool, &task, 0, 1, (lanepool_period)2, &timer),
                  LANEPOOL_INVALID);
    expect_status(lanepool_pool_submit_every(pool, &task, 0, 1, LANEPOOL_FIXED_RATE, NULL),
                  LANEPOOL_INVALID);
    task.future = &future;
    expect_status(lanepool_pool_submit_every(pool, &task, 0, 1, LANEPOOL_FIXED_RATE, &timer),
                  LANEPOOL_UNSUPPORTED);
    expect(timer == NULL);
    expect_status(lanepool_timer_cancel(NULL), LANEPOOL_INVALID);
    lanepool_timer_release(NULL);
    pool_end(pool);
}

Test(delay, cancelling_everything_cancels_what_is_not_due_and_ends_series)
{
    struct step once = { 0 };
    struct step again = { 0 };
    struct step later = { 0 };
    lanepool_future *future;
    lanepool_timer *timer;
    size_t count = 0;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&once, NULL, 0);

    task.future = &future;
    task.release = step_release;
    expect_ok(lanepool_pool_submit_after(pool, &task, INT64_MAX));
    task = step_task(&again, NULL, 0);
    task.release = step_release;
    expect_ok(
        lanepool_pool_submit_every(pool, &task, INT64_MAX, 1000, LANEPOOL_FIXED_RATE, &timer));
    expect_ok(lanepool_pool_cancel(pool, &count));
    expect_eq(count, 2);
    expect_eq(once.cancels, 1);
    expect_eq(again.cancels, 1);
    expect_eq(once.releases, 1);
    expect_eq(again.releases, 1);
    expect_status(lanepool_future_cancel(future), LANEPOOL_DONE);
    expect_status(lanepool_timer_cancel(timer), LANEPOOL_DONE);
    expect_ok(step_submit(pool, &later));
    lanepool_future_release(future);
    lanepool_timer_release(timer);
    pool_end(pool);
    expect_eq(later.runs, 1);
}
