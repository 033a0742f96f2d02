#include "support/shop.h"

#include "support/step.h"

static size_t index_of(lanepool_key key)
{
    return key.type == LANEPOOL_KEY_BYTES ? (size_t)(*(const char *)key.bytes - '0')
                                          : (size_t)key.id;
}

static int open_one(void *user, lanepool_key key, void **context)
{
    struct shop *shop = user;
    size_t i = index_of(key);

    if (shop->opening) {
        gate_pass(shop->opening);
    }
    if (atomic_load(&shop->opens_to_fail) > 0) {
        atomic_fetch_sub(&shop->opens_to_fail, 1);
        return 7;
    }
    atomic_fetch_add(&shop->faults, atomic_exchange(&shop->open[i], true));
    atomic_fetch_add(&shop->opens[i], 1);
    *context = &shop->opens[i];
    return 0;
}

static bool use_one(void *user, lanepool_key key, void *context)
{
    struct shop *shop = user;
    size_t i = index_of(key);

    atomic_fetch_add(&shop->faults, !atomic_load(&shop->open[i]) || context != &shop->opens[i]);
    atomic_fetch_add(&shop->uses[i], 1);
    return !atomic_load(&shop->is_stale);
}

static void close_one(void *user, lanepool_key key, void *context)
{
    struct shop *shop = user;
    size_t i = index_of(key);

    atomic_fetch_add(&shop->faults,
                     !atomic_exchange(&shop->open[i], false) || context != &shop->opens[i]);
    atomic_fetch_add(&shop->closes[i], 1);
    if (shop->closed) {
        gate_arrive(shop->closed);
    }
}

lanepool_context_options shop_options(void)
{
    lanepool_context_options options = LANEPOOL_CONTEXT_OPTIONS_INIT;

    options.open = open_one;
    options.use = use_one;
    options.close = close_one;
    options.linger_min_ns = LANEPOOL_FOREVER;
    options.linger_max_ns = LANEPOOL_FOREVER;
    return options;
}

lanepool_pool *shop_pool(struct shop *shop, const lanepool_context_options *contexts)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.user = shop;
    options.contexts = contexts;
    return pool_make_with(&options);
}

int visit_body(lanepool_run *run, void *context)
{
    struct visit *visit = context;

    visit->status = lanepool_run_context(run, visit->claim.key, &visit->context, &visit->code);
    if (visit->gate) {
        gate_pass(visit->gate);
    }
    if (visit->status == LANEPOOL_OK) {
        visit->was_open = atomic_load(&visit->shop->open[index_of(visit->claim.key)]);
    }
    return 0;
}
