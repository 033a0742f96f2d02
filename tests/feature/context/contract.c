/* Contexts of keys: opened at the first use, open while they are used and for a while afterwards,
 * then closed. */

#include "support/shop.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_future *submit(lanepool_pool *pool, lanepool_task_fn function, void *context,
                               const lanepool_claim *claims, size_t count)
{
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = function;
    task.context = context;
    task.claims = claims;
    task.claim_count = count;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static lanepool_claim on(uint64_t key)
{
    return lanepool_exclusive(key);
}

static void visit_and_finish(lanepool_pool *pool, struct visit *visit)
{
    future_finish(submit(pool, visit_body, visit, &visit->claim, 1));
    expect_eq(visit->status, LANEPOOL_OK);
    expect(visit->was_open);
}

static uint64_t open_count(lanepool_pool *pool)
{
    lanepool_stats stats;

    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    return stats.contexts;
}

static void expect_counts(const struct shop *shop, size_t key, int opens, int closes)
{
    expect_eq(shop->opens[key], opens);
    expect_eq(shop->closes[key], closes);
    expect_eq(shop->faults, 0);
}

Test(context, is_opened_once_used_by_all_that_follow_and_closed_at_the_end)
{
    struct shop shop = { 0 };
    struct visit visit = { .shop = &shop, .claim = on(1) };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);

    for (int i = 0; i < 5; i++) {
        visit_and_finish(pool, &visit);
        expect(visit.context == &shop.opens[1]);
    }
    pool_settle(pool); /* does not wait for idle contexts */
    expect_eq(open_count(pool), 1);
    expect_counts(&shop, 1, 1, 0);
    expect_eq(shop.uses[1], 4);
    pool_end(pool);
    expect_counts(&shop, 1, 1, 1);
}

Test(context, is_closed_when_it_has_lingered_and_opened_anew)
{
    struct gate closed;
    struct shop shop = { .closed = &closed };
    struct visit visit = { .shop = &shop, .claim = on(2) };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool;

    gate_init(&closed);
    contexts.linger_min_ns = 1;
    contexts.linger_max_ns = 1;
    pool = shop_pool(&shop, &contexts);
    for (int i = 1; i <= 3; i++) {
        visit_and_finish(pool, &visit);
        expect(gate_await(&closed, 1));
        expect_counts(&shop, 2, i, i);
    }
    pool_end(pool);
    expect_counts(&shop, 2, 3, 3);
    gate_fini(&closed);
}

Test(context, is_not_closed_while_a_task_uses_it)
{
    struct gate gate, closed;
    struct shop shop = { .closed = &closed };
    struct visit holder = { .shop = &shop, .claim = on(1), .gate = &gate };
    struct visit other = { .shop = &shop, .claim = on(2) };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool;

    gate_init(&gate);
    gate_init(&closed);
    contexts.linger_min_ns = contexts.linger_max_ns = 1;
    pool = shop_pool(&shop, &contexts);
    lanepool_future *held = submit(pool, visit_body, &holder, &holder.claim, 1);
    expect(gate_await(&gate, 1));
    visit_and_finish(pool, &other);
    /* The other key's context: contexts that were due before are closed. */
    expect(gate_await(&closed, 1));
    expect_counts(&shop, 1, 1, 0);
    gate_open(&gate, 1);
    future_finish(held);
    expect(holder.was_open);
    expect(gate_await(&closed, 1));
    pool_end(pool);
    expect_counts(&shop, 1, 1, 1);
    gate_fini(&gate);
    gate_fini(&closed);
}

Test(context, failing_open_is_told_and_tried_again_by_the_next)
{
    struct shop shop = { .opens_to_fail = 1 };
    struct visit visit = { .shop = &shop, .claim = on(1) };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);

    future_finish(submit(pool, visit_body, &visit, &visit.claim, 1));
    expect_eq(visit.status, LANEPOOL_NO_CONTEXT);
    expect_eq(visit.code, 7);
    expect(!visit.context);
    visit_and_finish(pool, &visit);
    expect_eq(visit.code, 0);
    pool_end(pool);
    expect_counts(&shop, 1, 1, 1);
}

Test(context, what_is_no_good_any_more_is_closed_and_opened_by_the_same_task)
{
    struct shop shop = { 0 };
    struct visit visit = { .shop = &shop, .claim = on(3) };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);

    visit_and_finish(pool, &visit);
    atomic_store(&shop.is_stale, true);
    visit_and_finish(pool, &visit);
    expect_counts(&shop, 3, 2, 1);
    atomic_store(&shop.opens_to_fail, 1);
    future_finish(submit(pool, visit_body, &visit, &visit.claim, 1));
    expect_eq(visit.status, LANEPOOL_NO_CONTEXT);
    expect_counts(&shop, 3, 2, 2);
    pool_end(pool);
    expect_counts(&shop, 3, 2, 2);
}

Test(context, beyond_the_most_that_may_linger_the_longest_idle_one_is_closed)
{
    struct gate closed;
    struct shop shop = { .closed = &closed };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool;

    gate_init(&closed);
    contexts.lingering_max = 2;
    pool = shop_pool(&shop, &contexts);
    for (uint64_t key = 0; key < 6; key++) {
        struct visit visit = { .shop = &shop, .claim = on(key) };
        visit_and_finish(pool, &visit);
        pool_settle(pool);
        if (key >= 2) {
            expect(gate_await(&closed, 1));
            expect_counts(&shop, key - 2, 1, 1);
            expect_eq(open_count(pool) <= 3, 1); /* the third one may not be subtracted yet */
        }
    }
    pool_end(pool);
    gate_fini(&closed);
}

Test(context, readers_use_one_side_by_side)
{
    struct gate gate, opening;
    struct shop shop = { .opening = &opening };
    lanepool_claim shared = lanepool_shared(1);
    struct visit first = { .shop = &shop, .claim = shared, .gate = &gate };
    struct visit second = first;
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);

    gate_init(&gate);
    gate_init(&opening);
    lanepool_future *one = submit(pool, visit_body, &first, &shared, 1);
    lanepool_future *other = submit(pool, visit_body, &second, &shared, 1);
    expect(gate_await(&opening, 1));
    gate_open(&opening, 1);
    expect(gate_await(&gate, 2));
    expect(!gate_has_arrival(&opening));
    expect(first.context == second.context);
    gate_open(&gate, 2);
    future_finish(one);
    future_finish(other);
    pool_end(pool);
    expect_counts(&shop, 1, 1, 1);
    expect_eq(shop.uses[1], 0);
    gate_fini(&gate);
    gate_fini(&opening);
}

/* --- other ends of a use --- */

struct holding {
    struct visit visit;
    lanepool_detached *detached;
    struct gate *returning; /* or NULL: the task arrives there before it returns */
    struct visit heir;
    bool hands_over;
    bool gives_up;
};

static int hold_body(lanepool_run *run, void *context)
{
    struct holding *holding = context;
    lanepool_task heir = LANEPOOL_TASK_INIT;

    holding->visit.status = lanepool_run_context(run, lanepool_key_none(), &holding->visit.context,
                                                 &holding->visit.code);
    heir.function = visit_body;
    heir.context = &holding->heir;
    if (holding->hands_over && lanepool_run_hand_over(run, &heir)) {
        holding->visit.status = LANEPOOL_INVALID;
    }
    if (holding->gives_up) {
        lanepool_status released = lanepool_run_release(run, holding->visit.claim.key);
        gate_pass(holding->visit.gate);
        if (released || lanepool_run_context(run, holding->visit.claim.key, &holding->visit.context,
                                             NULL) != LANEPOOL_INVALID) {
            holding->visit.status = LANEPOOL_BUSY;
        }
    } else if (lanepool_run_detach(run, &holding->detached)) {
        holding->visit.status = LANEPOOL_INVALID;
    }
    if (holding->returning != NULL) {
        gate_arrive(holding->returning);
    }
    return 0;
}

Test(context, detached_task_uses_it_until_it_is_completed_and_its_heir_asks_for_itself)
{
    struct gate closed;
    struct gate returning;
    struct shop shop = { .closed = &closed };
    struct holding holding = { .visit = { .shop = &shop, .claim = on(1) },
                               .returning = &returning,
                               .heir = { .shop = &shop, .claim = on(1) },
                               .hands_over = true };
    struct visit other = { .shop = &shop, .claim = on(2) };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool;

    gate_init(&closed);
    gate_init(&returning);
    contexts.linger_min_ns = contexts.linger_max_ns = 1;
    pool = shop_pool(&shop, &contexts);
    lanepool_future *future = submit(pool, hold_body, &holding, &holding.visit.claim, 1);
    expect(gate_await(&returning, 1));
    visit_and_finish(pool, &other);
    expect(gate_await(&closed, 1));
    expect_counts(&shop, 1, 1, 0);
    expect_ok(lanepool_task_complete(holding.detached, 0, NULL));
    future_finish(future);
    pool_settle(pool);
    expect_eq(holding.visit.status, LANEPOOL_OK);
    expect_eq(holding.heir.status, LANEPOOL_OK);
    expect(holding.heir.was_open);
    pool_end(pool);
    expect_eq(shop.opens[1], shop.closes[1]);
    expect_eq(shop.faults, 0);
    gate_fini(&returning);
    gate_fini(&closed);
}

Test(context, lane_that_is_given_up_takes_its_context_along)
{
    struct gate gate, closed;
    struct shop shop = { .closed = &closed };
    struct holding holding = { .visit = { .shop = &shop, .claim = on(1), .gate = &gate },
                               .gives_up = true };
    struct visit next = { .shop = &shop, .claim = on(1) };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool;

    gate_init(&gate);
    gate_init(&closed);
    contexts.linger_min_ns = contexts.linger_max_ns = 1;
    pool = shop_pool(&shop, &contexts);
    lanepool_future *future = submit(pool, hold_body, &holding, &holding.visit.claim, 1);
    expect(gate_await(&gate, 1));
    expect(gate_await(&closed, 1));
    visit_and_finish(pool, &next);
    gate_open(&gate, 1);
    future_finish(future);
    expect_eq(holding.visit.status, LANEPOOL_OK);
    pool_end(pool);
    expect_eq(shop.faults, 0);
    gate_fini(&gate);
    gate_fini(&closed);
}

/* --- keys of every kind --- */

static int rollup_body(lanepool_run *run, void *context)
{
    struct visit *visits = context;

    for (int i = 0; i < 3; i++) {
        visits[i].status =
            lanepool_run_context(run, visits[i].claim.key, &visits[i].context, &visits[i].code);
    }
    /* The task has several claims, and NULL does not say which one. */
    visits[3].status = lanepool_run_context(run, lanepool_key_none(), &visits[3].context, NULL);
    return 0;
}

Test(context, rollup_has_one_for_each_key_by_text_by_number_and_by_lane)
{
    struct shop shop = { 0 };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);
    lanepool_key key = lanepool_key_string("5-five");
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, key, &lane));
    struct visit visits[4] = {
        { .claim = lanepool_claim_of(lanepool_key_string("4-four"), LANEPOOL_EXCLUSIVE) },
        { .claim = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_SHARED) },
        { .claim = on(3) }
    };
    lanepool_claim claims[3] = { visits[0].claim, visits[1].claim, visits[2].claim };
    future_finish(submit(pool, rollup_body, visits, claims, 3));
    future_finish(submit(pool, rollup_body, visits, claims, 3));
    for (int i = 0; i < 3; i++) {
        expect_eq(visits[i].status, LANEPOOL_OK);
    }
    expect_eq(visits[3].status, LANEPOOL_INVALID);
    lanepool_lane_release(lane);
    pool_end(pool);
    for (size_t i = 3; i < 6; i++) {
        expect_counts(&shop, i, 1, 1);
        expect_eq(shop.uses[i], 1);
    }
}

/* --- ends --- */

Test(context, shutdown_now_closes_them_all)
{
    struct gate gate;
    struct shop shop = { 0 };
    struct visit holder = { .shop = &shop, .claim = on(1), .gate = &gate };
    struct visit lingering = { .shop = &shop, .claim = on(2) };
    struct visit late = { .shop = &shop, .claim = on(1), .status = LANEPOOL_OK };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);

    gate_init(&gate);
    visit_and_finish(pool, &lingering);
    lanepool_future *held = submit(pool, visit_body, &holder, &holder.claim, 1);
    expect(gate_await(&gate, 1));
    lanepool_future *refused = submit(pool, visit_body, &late, &late.claim, 1);
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_counts(&shop, 1, 1, 1);
    expect_counts(&shop, 2, 1, 1);
    expect_eq(late.status, LANEPOOL_OK); /* never entered */
    future_finish(held);
    expect_status(lanepool_future_wait(refused, 0, NULL), LANEPOOL_OK);
    lanepool_future_release(refused);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- refused calls --- */

static int ask_for_what_it_has_not(lanepool_run *run, void *context)
{
    lanepool_status *statuses = context;
    lanepool_claim other = on(2);
    void *value;

    statuses[0] = lanepool_run_context(run, other.key, &value, NULL);
    statuses[1] = lanepool_run_context(run, other.key, NULL, NULL);
    statuses[2] = lanepool_run_context(NULL, other.key, &value, NULL);
    return 0;
}

Test(context, only_what_the_task_claims_and_only_where_there_are_contexts)
{
    struct shop shop = { 0 };
    struct visit visit = { .shop = &shop, .claim = on(1) };
    lanepool_status statuses[3] = { LANEPOOL_OK, LANEPOOL_OK, LANEPOOL_OK };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);

    future_finish(submit(pool, ask_for_what_it_has_not, statuses, &visit.claim, 1));
    for (int i = 0; i < 3; i++) {
        expect_eq(statuses[i], LANEPOOL_INVALID);
    }
    pool_end(pool);
    pool = pool_make(1, LANEPOOL_PER_KEY);
    future_finish(submit(pool, visit_body, &visit, &visit.claim, 1));
    expect_eq(visit.status, LANEPOOL_INVALID);
    expect_eq(open_count(pool), 0);
    pool_end(pool);
}

static bool everything_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b,
                                     void *user)
{
    (void)a, (void)b, (void)user;
    return true;
}

static void expect_refused(const lanepool_context_options *contexts, lanepool_layout layout,
                           lanepool_compatible_fn rule, lanepool_status wanted)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    options.contexts = contexts;
    options.layout = layout;
    options.is_compatible = rule;
    expect_status(lanepool_pool_create(&options, &pool), wanted);
}

Test(context, options_that_contradict_one_another_are_refused)
{
    lanepool_context_options contexts = shop_options();

    expect_refused(&contexts, LANEPOOL_PER_WORKER, NULL, LANEPOOL_UNSUPPORTED);
    expect_refused(&contexts, LANEPOOL_PER_KEY, everything_is_compatible, LANEPOOL_UNSUPPORTED);
    contexts.linger_max_ns = 5;
    expect_refused(&contexts, LANEPOOL_PER_KEY, NULL, LANEPOOL_INVALID);
    contexts = shop_options();
    contexts.open = NULL;
    expect_refused(&contexts, LANEPOOL_PER_KEY, NULL, LANEPOOL_INVALID);
    contexts = shop_options();
    contexts.lingering_max = LANEPOOL_LINGERING_MAX + 1;
    expect_refused(&contexts, LANEPOOL_PER_KEY, NULL, LANEPOOL_INVALID);
    contexts = shop_options();
    contexts.struct_size = 0;
    expect_refused(&contexts, LANEPOOL_PER_KEY, NULL, LANEPOOL_INVALID);
}

/* --- callbacks --- */

struct nested {
    lanepool_pool *pool;
    lanepool_run *run;
    lanepool_status waited, submitted, asked;
    struct step step;
};

static int open_that_submits(void *user, lanepool_key key, void **context)
{
    struct nested *nested = user;

    nested->submitted = step_submit_on(nested->pool, &nested->step, key.id);
    nested->waited = lanepool_pool_quiesce(nested->pool, LANEPOOL_FOREVER);
    nested->asked = lanepool_run_context(nested->run, key, context, NULL);
    return 0;
}

static int nested_body(lanepool_run *run, void *context)
{
    struct nested *nested = context;
    void *value;

    nested->run = run;
    return lanepool_run_context(run, lanepool_key_none(), &value, NULL) != LANEPOOL_OK;
}

Test(context, callback_may_submit_and_a_wait_in_it_is_a_deadlock)
{
    struct nested nested = { 0 };
    lanepool_context_options contexts = LANEPOOL_CONTEXT_OPTIONS_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim claim = on(1);

    contexts.open = open_that_submits;
    options.workers = 1;
    options.user = &nested;
    options.contexts = &contexts;
    nested.pool = pool_make_with(&options);
    future_finish(submit(nested.pool, nested_body, &nested, &claim, 1));
    pool_end(nested.pool);
    expect_eq(nested.submitted, LANEPOOL_OK);
    expect_eq(nested.waited, LANEPOOL_DEADLOCK);
    expect_eq(nested.asked, LANEPOOL_DEADLOCK);
    expect_eq(nested.step.runs, 1);
}
