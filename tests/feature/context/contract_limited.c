/* Contexts: the limit on open ones, and the end of a use before the task ends. */
#include <sched.h>

#include "support/shop.h"
#include "support/step.h"
#include "support/test.h"

/* A task that uses the contexts of its claims, one after the other, and records the answers. */
struct visitor {
    size_t count;
    lanepool_status opened[3];
    lanepool_status ended;
    bool releases, drops; /* the use of its first claim, before it asks for the second */
    struct gate *gate;
};

static int visit(lanepool_run *run, void *context)
{
    struct visitor *visitor = context;
    void *value;

    for (size_t i = 0; i < visitor->count; i++) {
        visitor->opened[i] = lanepool_run_context_at(run, i, &value, NULL);
        if (i == 0 && visitor->releases) {
            visitor->ended = lanepool_run_context_release(run, lanepool_key_id(1));
        }
        if (i == 0 && visitor->drops) {
            visitor->ended = lanepool_run_context_drop(run, lanepool_key_id(1));
        }
    }
    if (visitor->gate) {
        gate_pass(visitor->gate);
    }
    return 0;
}

static lanepool_future *submit(lanepool_pool *pool, struct visitor *visitor, uint64_t first_key)
{
    lanepool_claim claims[3];
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    for (size_t i = 0; i < visitor->count; i++) {
        claims[i] = lanepool_exclusive(first_key + i);
    }
    task.function = visit;
    task.context = visitor;
    task.claims = claims;
    task.claim_count = visitor->count;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static void visit_key(lanepool_pool *pool, uint64_t key)
{
    struct visitor visitor = { .count = 1 };

    future_finish(submit(pool, &visitor, key));
    expect_ok(visitor.opened[0]);
}

static lanepool_pool *limited_pool(struct shop *shop, size_t contexts_max)
{
    lanepool_context_options contexts = shop_options();

    contexts.linger_min_ns = LANEPOOL_FOREVER;
    contexts.linger_max_ns = LANEPOOL_FOREVER;
    contexts.contexts_max = contexts_max;
    return shop_pool(shop, &contexts);
}

static uint64_t open_count(lanepool_pool *pool)
{
    lanepool_stats stats;

    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    return stats.contexts;
}

Test(context_limited, at_the_limit_the_longest_idle_one_is_closed_first)
{
    struct shop shop = { 0 };
    lanepool_pool *pool = limited_pool(&shop, 2);

    visit_key(pool, 1);
    visit_key(pool, 2);
    visit_key(pool, 1);
    visit_key(pool, 3);
    expect_eq(shop.closes[1], 0);
    expect_eq(shop.closes[2], 1);
    expect_eq(open_count(pool), 2);
    visit_key(pool, 2);
    expect_eq(shop.closes[1], 1);
    expect_eq(shop.opens[2], 2);
    expect_eq(open_count(pool), 2);
    pool_end(pool);
    expect_eq(shop.faults, 0);
    for (int key = 1; key <= 3; key++) {
        expect_eq(shop.opens[key], shop.closes[key]);
    }
}

Test(context_limited, task_is_told_if_all_are_in_use)
{
    struct shop shop = { 0 };
    struct gate gate;
    struct visitor holder = { .count = 1, .gate = &gate };
    struct visitor other = { .count = 2 };
    lanepool_pool *pool = limited_pool(&shop, 2);

    gate_init(&gate);
    lanepool_future *held = submit(pool, &holder, 1);
    expect(gate_await(&gate, 1));
    future_finish(submit(pool, &other, 2));
    expect_ok(other.opened[0]);
    expect_status(other.opened[1], LANEPOOL_FULL);
    gate_open(&gate, 1);
    future_finish(held);
    future_finish(submit(pool, &other, 2));
    expect_ok(other.opened[1]); /* the first one is idle by now */
    expect_eq(shop.closes[1], 1);
    pool_end(pool);
    expect_eq(shop.faults, 0);
    gate_fini(&gate);
}

Test(context_limited, use_may_end_before_the_task)
{
    struct shop shop = { 0 };
    struct visitor visitor = { .count = 2, .releases = true };
    lanepool_pool *pool = limited_pool(&shop, 1);

    future_finish(submit(pool, &visitor, 1));
    expect_ok(visitor.ended);
    expect_ok(visitor.opened[1]); /* the released one was closed for it */
    expect_eq(shop.closes[1], 1);
    expect_eq(open_count(pool), 1);
    pool_end(pool);
    expect_eq(shop.faults, 0);
}

Test(context_limited, dropped_one_is_closed_and_opened_anew)
{
    struct shop shop = { 0 };
    struct visitor dropper = { .count = 1, .drops = true };
    lanepool_pool *pool = limited_pool(&shop, 0);

    visit_key(pool, 1);
    future_finish(submit(pool, &dropper, 1));
    expect_ok(dropper.ended);
    visit_key(pool, 1);
    expect_eq(shop.opens[1], 2);
    expect_eq(shop.closes[1], 1);
    expect_eq(shop.uses[1], 1); /* not about the dropped one */
    future_finish(submit(pool, &dropper, 1));
    while (open_count(pool) > 0) { /* no task comes: the pool's thread closes it */
        sched_yield();
    }
    pool_end(pool);
    expect_eq(shop.closes[1], 2);
    expect_eq(shop.faults, 0);
}

static int end_unused(lanepool_run *run, void *context)
{
    lanepool_status *answers = context;

    answers[0] = lanepool_run_context_release(run, lanepool_key_id(1));
    answers[1] = lanepool_run_context_drop(run, lanepool_key_id(2));
    return 0;
}

Test(context_limited, only_what_is_used_can_be_released_or_dropped)
{
    struct shop shop = { 0 };
    lanepool_status answers[2] = { LANEPOOL_OK, LANEPOOL_OK };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = limited_pool(&shop, 0);

    task.function = end_unused;
    task.context = answers;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_status(answers[0], LANEPOOL_INVALID);
    expect_status(answers[1], LANEPOOL_INVALID);
}
