/* Contexts of keys in cuts: a call of `at_lane` uses that of its own lane. */
#include <pthread.h>

#include "support/cut.h"
#include "support/shop.h"
#include "support/step.h"
#include "support/test.h"

enum { LANES = 3 };

/* What the last call for a lane has got. */
struct use {
    lanepool_status own, other, only, at, beyond;
    void *context;
    bool was_open;
};

/* A cut whose calls use the contexts of their lanes. */
struct guest {
    struct cut cut; /* the first member: the context of its calls */
    struct shop *shop;
    struct use uses[LANES];
    lanepool_status in_function;
    bool leaves_thread; /* in lane 1 */
};

static int use_context(lanepool_run *run, void *context, size_t index)
{
    struct guest *guest = context;
    struct use *use = &guest->uses[index];
    void *again, *none;

    use->own = lanepool_run_context(run, lanepool_key_id(index), &use->context, NULL);
    use->other = lanepool_run_context(run, lanepool_key_id((index + 1) % LANES), &none, NULL);
    use->only = lanepool_run_context(run, lanepool_key_none(), &again, NULL);
    use->at = lanepool_run_context_at(run, 0, &again, NULL);
    use->beyond = lanepool_run_context_at(run, 1, &none, NULL);
    use->was_open = atomic_load(&guest->shop->open[index]);
    if (guest->leaves_thread && index == 1)
        pthread_exit(NULL);
    return cut_fail_once(run, &guest->cut, index);
}

static int use_in_function(lanepool_run *run, void *context)
{
    struct guest *guest = context;
    void *none;

    guest->in_function = lanepool_run_context(run, lanepool_key_id(0), &none, NULL);
    return 0;
}

static lanepool_pool *open_shop(struct shop *shop, unsigned workers)
{
    lanepool_context_options contexts = shop_options();
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.user = shop;
    options.contexts = &contexts;
    return pool_make_with(&options);
}

static void guest_init(struct guest *guest, struct shop *shop)
{
    cut_init(&guest->cut, LANES, LANEPOOL_EXCLUSIVE);
    guest->shop = shop;
    guest->leaves_thread = false;
}

static lanepool_future *submit_guest(lanepool_pool *pool, struct guest *guest,
                                     lanepool_at_lane_fn at_lane,
                                     const lanepool_failure_policy *policy)
{
    lanepool_future *future;
    lanepool_task task = cut_task(&guest->cut);

    task.context = guest;
    task.at_lane = at_lane;
    task.function = use_in_function;
    task.on_failure = policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static void expect_uses(const struct guest *guest)
{
    for (size_t i = 0; i < LANES; i++) {
        const struct use *use = &guest->uses[i];
        expect_ok(use->own);
        expect(use->context == &guest->shop->opens[i] && use->was_open);
        expect_status(use->other, LANEPOOL_INVALID);
        expect_ok(use->only);
        expect_ok(use->at);
        expect_status(use->beyond, LANEPOOL_INVALID);
    }
}

/* Checks what the callbacks have counted for each lane, without faults. */
static void expect_counts(const struct shop *shop, int opens, int uses, int closes)
{
    for (size_t i = 0; i < LANES; i++) {
        expect_eq(shop->opens[i], opens);
        expect_eq(shop->uses[i], uses);
        expect_eq(shop->closes[i], closes);
    }
    expect_eq(shop->faults, 0);
}

Test(cut_contexts, each_call_uses_the_context_of_its_own_lane)
{
    for (unsigned workers = 1; workers <= 2; workers++) {
        struct shop shop = { 0 };
        struct guest guest;
        lanepool_pool *pool = open_shop(&shop, workers);

        guest_init(&guest, &shop);
        for (int i = 0; i < 2; i++) {
            expect_status(cut_end(submit_guest(pool, &guest, use_context, NULL), NULL),
                          LANEPOOL_OK);
            expect_uses(&guest);
            expect_status(guest.in_function, LANEPOOL_INVALID);
            expect_counts(&shop, 1, i, 0);
        }
        pool_end(pool);
        expect_counts(&shop, 1, 1, 1);
    }
}

/* Calls under SHARED claims and tasks use one context at the same time. */
Test(cut_contexts, a_call_shares_the_context_of_a_lane_that_it_shares)
{
    struct gate gate;
    struct shop shop = { 0 };
    struct visit reader = { .shop = &shop, .claim = lanepool_shared(0), .gate = &gate };
    struct guest guest;
    lanepool_future *read;
    lanepool_pool *pool = open_shop(&shop, 2);

    gate_init(&gate);
    expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = visit_body, .context = &reader,
                                                       .claims = &reader.claim, .claim_count = 1,
                                                       .future = &read)));
    expect(gate_await(&gate, 1));
    guest_init(&guest, &shop);
    for (size_t i = 0; i < LANES; i++)
        guest.cut.claims[i].mode = LANEPOOL_SHARED;
    expect_status(cut_end(submit_guest(pool, &guest, use_context, NULL), NULL), LANEPOOL_OK);
    expect_uses(&guest);
    gate_open(&gate, 1);
    expect_status(cut_end(read, NULL), LANEPOOL_OK);
    expect(reader.was_open && reader.context == guest.uses[0].context);
    expect_counts(&shop, 1, 0, 0);
    pool_end(pool);
}

Test(cut_contexts, a_call_that_fails_ends_its_use_and_the_next_one_uses_it_anew)
{
    struct shop shop = { 0 };
    struct guest guest;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_pool *pool = open_shop(&shop, 2);

    policy.retries = 1;
    guest_init(&guest, &shop);
    for (size_t i = 0; i < LANES; i++)
        guest.cut.codes[i] = 3;
    expect_status(cut_end(submit_guest(pool, &guest, use_context, &policy), NULL), LANEPOOL_OK);
    expect_uses(&guest);
    expect_eq(guest.cut.visited, 2 * LANES);
    expect_counts(&shop, 1, 1, 0);
    pool_end(pool);
}

Test(cut_contexts, a_call_that_ends_its_thread_ends_its_use)
{
    struct shop shop = { 0 };
    struct guest guest;
    struct visit behind = { .shop = &shop, .claim = lanepool_exclusive(1) };
    lanepool_future *future;
    lanepool_pool *pool = open_shop(&shop, 1);

    guest_init(&guest, &shop);
    guest.leaves_thread = true;
    expect_status(cut_end(submit_guest(pool, &guest, use_context, NULL), NULL), LANEPOOL_ABANDONED);
    expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = visit_body, .context = &behind,
                                                       .claims = &behind.claim, .claim_count = 1,
                                                       .future = &future)));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect(behind.was_open);
    expect_eq(shop.uses[1], 1);
    pool_end(pool);
    expect_eq(shop.closes[1], 1);
    expect_eq(shop.faults, 0);
}

static int end_use_early(lanepool_run *run, void *context, size_t index)
{
    struct guest *guest = context;
    struct use *use = &guest->uses[index];
    lanepool_key key = lanepool_key_id(index);

    use->only = lanepool_run_context_release(run, key);
    use->own = lanepool_run_context(run, key, &use->context, NULL);
    use->at =
        index == 0 ? lanepool_run_context_drop(run, key) : lanepool_run_context_release(run, key);
    use->other = lanepool_run_context_release(run, key);
    use->was_open = atomic_load(&guest->shop->open[index]);
    return 0;
}

/* Lane 0 has its context closed, the others keep theirs. */
Test(cut_contexts, a_call_may_end_its_use_early_and_have_the_context_closed)
{
    struct gate closed;
    struct shop shop = { .closed = &closed };
    struct guest guest;
    lanepool_pool *pool;

    gate_init(&closed);
    pool = open_shop(&shop, 1);
    guest_init(&guest, &shop);
    expect_status(cut_end(submit_guest(pool, &guest, end_use_early, NULL), NULL), LANEPOOL_OK);
    for (size_t i = 0; i < LANES; i++) {
        expect_status(guest.uses[i].only, LANEPOOL_INVALID);
        expect_ok(guest.uses[i].own);
        expect_ok(guest.uses[i].at);
        expect_status(guest.uses[i].other, LANEPOOL_INVALID);
    }
    expect(gate_await(&closed, 1));
    expect_eq(shop.closes[0], 1);
    expect_eq(shop.closes[1] + shop.closes[2], 0);
    pool_end(pool);
    expect_counts(&shop, 1, 0, 1);
    gate_fini(&closed);
}

/* --- inside a callback --- */

struct inner {
    lanepool_run *run; /* the call that asks for a context */
    lanepool_status status;
};

static int open_and_ask(void *user, lanepool_key key, void **context)
{
    struct inner *inner = user;

    *context = inner;
    inner->status = lanepool_run_context(inner->run, key, context, NULL);
    *context = inner;
    return 0;
}

static int ask_in_open(lanepool_run *run, void *context, size_t index)
{
    struct inner *inner = context;
    void *value;

    (void)index;
    inner->run = run;
    return lanepool_run_context(run, lanepool_key_none(), &value, NULL) == LANEPOOL_OK &&
                   value == inner
               ? 0
               : 1;
}

static int do_nothing(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

Test(cut_contexts, a_callback_inside_a_call_uses_no_context)
{
    struct inner inner = { NULL, LANEPOOL_OK };
    lanepool_claim claim = lanepool_exclusive(0);
    lanepool_context_options contexts = LANEPOOL_CONTEXT_OPTIONS_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_future *future;

    contexts.open = open_and_ask;
    options.workers = 1;
    options.user = &inner;
    options.contexts = &contexts;
    lanepool_pool *pool = pool_make_with(&options);
    expect_ok(lanepool_pool_submit(
        pool, LANEPOOL_TASK(.function = do_nothing, .at_lane = ask_in_open, .context = &inner,
                            .claims = &claim, .claim_count = 1, .future = &future)));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_status(inner.status, LANEPOOL_DEADLOCK);
    pool_end(pool);
}
