/* Pools whose memory comes from an allocator of the program. */
#include <string.h>

#include "support/step.h"
#include "support/store.h"
#include "support/test.h"

enum { KEYS = 3000, STEPS = 6000 };

static bool claims_nothing_twice(const lanepool_task_view *a, const lanepool_task_view *b,
                                 void *user)
{
    (void)user;
    return a->context != b->context;
}

static struct step steps[STEPS];

/* Submits single claims, rollups, byte strings, futures and members. Returns false if one was
 * refused. */
static bool submit_each_kind(lanepool_pool *pool, bool has_claims, lanepool_group *group,
                             lanepool_future **futures)
{
    bool accepted = true;

    for (uint64_t i = 0; i < STEPS; i++) {
        lanepool_claim claims[3] = { lanepool_exclusive(i % KEYS),
                                     lanepool_claim_of(lanepool_key_bytes(&i, sizeof i),
                                                       LANEPOOL_SHARED),
                                     lanepool_shared(KEYS + i % 7) };
        lanepool_task task = step_task(&steps[i], claims, has_claims ? 1 + i % 3 : 0);

        steps[i] = (struct step){ .id = (uint32_t)i };
        if (i < 20) {
            task.future = &futures[i];
            task.group = i % 2 ? group : NULL;
        }
        accepted = lanepool_pool_submit(pool, &task) == LANEPOOL_OK && accepted;
    }
    return accepted;
}

static void works_with(lanepool_options *options)
{
    struct store store;
    lanepool_allocator allocator = store_open(&store);
    lanepool_future *futures[20] = { NULL };
    lanepool_group *group;
    lanepool_pool *pool;

    options->workers = 2;
    options->allocator = &allocator;
    pool = pool_make_with(options);
    expect_ok(lanepool_group_create(NULL, &group));
    for (int round = 0; round < 2; round++) {
        expect(submit_each_kind(pool, options->is_compatible == NULL, group, futures));
        pool_settle(pool);
        for (int i = 0; i < 20 && round == 0; i++) {
            lanepool_future_release(futures[i]);
        }
    }
    expect(store_bytes(&store) > (size_t)1 << 20);
    pool_end(pool);
    /* Ten members remain, and the regions of ten other futures. */
    expect(store.count > 10 && store.count <= 20);
    for (int i = 0; i < 20; i++) {
        lanepool_future_release(futures[i]);
    }
    lanepool_group_destroy(group);
    store_close(&store);
    for (int i = 0; i < STEPS; i++) {
        expect_eq(steps[i].runs, 1);
    }
}

Test(allocators, memory_of_tasks_lanes_and_futures_comes_from_it_and_goes_back)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    works_with(&options);
}

Test(allocators, memory_comes_from_it_per_worker_and_with_a_rule)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.layout = LANEPOOL_PER_WORKER;
    works_with(&options);
    options.is_compatible = claims_nothing_twice;
    works_with(&options);
    options.layout = LANEPOOL_PER_KEY;
    works_with(&options);
}

/* What a task of the next test uses, besides its claims. */
enum { FUTURE = 1, GROUP = 2, PUMP = 4, RELEASE = 8, TAG = 16, POLICY = 32, COMBINATIONS = 128 };

static void released(void *context)
{
    (void)context;
}

/* Submits one task with these features, at once or delayed. A delayed task has neither a group nor
 * a pump. */
static void submit_combination(lanepool_pool *pool, lanepool_group *group, lanepool_pump *pump,
                               unsigned features, bool later)
{
    static const lanepool_failure_end ends[] = { LANEPOOL_FAILURE_CONTINUE, LANEPOOL_FAILURE_POISON,
                                                 LANEPOOL_FAILURE_PAUSE };
    lanepool_claim claims[3] = { lanepool_exclusive(features),
                                 lanepool_claim_of(lanepool_key_bytes("key", 3), LANEPOOL_SHARED),
                                 lanepool_claim_of(lanepool_key_id(KEYS), LANEPOOL_SHARED) };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future = NULL;
    lanepool_task task = step_task(&steps[features], claims, features % 4);

    policy.retries = features / POLICY % 2;
    policy.at_end = ends[features % 3];
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    task.future = features & FUTURE ? &future : NULL;
    task.group = features & GROUP && !later ? group : NULL;
    task.pump = features & PUMP && !later ? pump : NULL;
    task.release = features & RELEASE ? released : NULL;
    task.tag = features & TAG ? 5 : 0;
    task.on_failure = features >= POLICY ? &policy : NULL;
    expect_ok(later ? lanepool_pool_submit_after(pool, &task, 1)
                    : lanepool_pool_submit(pool, &task));
    lanepool_future_release(future);
}

/* A periodic task with a policy of the pool's loses it when it is built. */
static void begin_and_end_periodic(lanepool_pool *pool)
{
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&steps[COMBINATIONS], &claim, 1);
    lanepool_timer *timer;

    expect_ok(lanepool_pool_submit_every(pool, &task, 1, 1000000000, LANEPOOL_FIXED_RATE, &timer));
    lanepool_timer_cancel(timer);
    lanepool_timer_release(timer);
}

Test(allocators, each_piece_goes_back_with_its_size_whatever_a_task_uses)
{
    struct store store;
    lanepool_allocator allocator = store_open(&store);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_failure_policy of_pool = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_group *group;
    lanepool_pump *pump;

    of_pool.retries = 1;
    options.workers = 2;
    options.allocator = &allocator;
    for (int round = 0; round < 2; round++) {
        options.on_failure = round == 0 ? NULL : &of_pool;
        memset(steps, 0, sizeof steps);
        lanepool_pool *pool = pool_make_with(&options);
        expect_ok(lanepool_group_create(NULL, &group));
        expect_ok(lanepool_pump_create(pool, &pump));
        for (unsigned i = 0; i < COMBINATIONS; i++) {
            submit_combination(pool, group, pump, i, false);
            submit_combination(pool, group, pump, i, true);
            while (i & PUMP && lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, NULL) != LANEPOOL_OK) {
            }
        }
        begin_and_end_periodic(pool);
        pool_settle(pool);
        expect_ok(lanepool_pump_destroy(pump));
        pool_end(pool);
        lanepool_group_destroy(group);
        expect_eq(store.errors, 0);
    }
    store_close(&store);
}

/* Refuses requests from this one on. Accepted tasks still run, and all memory is freed. */
static void is_refused_from(size_t refused_from)
{
    struct store store;
    lanepool_allocator allocator = store_open(&store);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;
    unsigned accepted = 0, runs = 0;

    memset(steps, 0, sizeof steps);
    options.workers = 1;
    options.allocator = &allocator;
    store.refused_from = refused_from;
    if (lanepool_pool_create(&options, &pool) == LANEPOOL_OK) {
        for (uint64_t i = 0; i < 100; i++) {
            lanepool_status status = step_submit_rollup(pool, &steps[i], i, i + 1);

            expect(status == LANEPOOL_OK || status == LANEPOOL_NOMEM);
            accepted += status == LANEPOOL_OK;
        }
        pool_end(pool);
    }
    for (unsigned i = 0; i < 100; i++) {
        runs += steps[i].runs;
    }
    expect_eq(runs, accepted);
    store_close(&store);
}

Test(allocators, refusal_is_answered_and_changes_nothing)
{
    for (size_t refused_from = 1; refused_from < 8; refused_from++) {
        is_refused_from(refused_from);
    }
}

Test(allocators, both_functions_are_needed)
{
    struct store store;
    lanepool_allocator allocator = store_open(&store);
    void (*deallocate)(void *, void *, size_t) = allocator.deallocate;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    options.allocator = &allocator;
    allocator.deallocate = NULL;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    allocator.deallocate = deallocate;
    allocator.allocate = NULL;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    store_close(&store);
}
