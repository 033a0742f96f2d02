/* Promises S3.1 to S3.6 of README.md, conditional serialization: string keys, bounded workers,
 * backpressure, fairness, contexts that stay open when idle. */
#include "support/memory.h"
#include "support/process.h"
#include "support/shop.h"
#include "support/step.h"
#include "support/test.h"

Test(seed_s3, s3_1_submit_with_a_string_key_gives_a_future)
{
    struct gate gate;
    struct gate other_gate;
    struct step holder = { .gate = &gate };
    struct step same = { .value = &same };
    struct step other = { .gate = &other_gate };
    lanepool_claim customer =
        lanepool_claim_of(lanepool_key_string("customer-17"), LANEPOOL_EXCLUSIVE);
    lanepool_claim another =
        lanepool_claim_of(lanepool_key_string("customer-1"), LANEPOOL_EXCLUSIVE);
    char copy[] = "customer-17";
    lanepool_claim copied = lanepool_claim_of(lanepool_key_string(copy), LANEPOOL_EXCLUSIVE);
    lanepool_task tasks[3] = { step_task(&holder, &customer, 1), step_task(&same, &copied, 1),
                               step_task(&other, &another, 1) };
    lanepool_future *future;
    lanepool_result result;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    gate_init(&other_gate);
    tasks[1].future = &future;
    for (int i = 0; i < 3; i++) {
        expect_ok(lanepool_pool_submit(pool, &tasks[i]));
    }
    copy[0] = 'X'; /* the pool has its own copy */
    expect(gate_await(&gate, 1));
    expect(gate_await(&other_gate, 1));
    expect_status(lanepool_future_wait(future, 0, NULL), LANEPOOL_TIMED_OUT);
    gate_open(&other_gate, 1);
    gate_open(&gate, 1);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect(result.value == &same);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&gate);
    gate_fini(&other_gate);
}

Test(seed_s3, s3_2_workers_default_to_the_cpus_and_can_be_set)
{
    lanepool_pool *pool = pool_make_with(NULL);

    expect(lanepool_pool_worker_count(pool) >= 1); /* a cgroup may limit the CPUs further */
    expect(lanepool_pool_worker_count(pool) <= process_cpu_count());
    pool_end(pool);
    pool = pool_make(5, LANEPOOL_PER_KEY);
    expect_eq(lanepool_pool_worker_count(pool), 5);
    pool_end(pool);
}

Test(seed_s3, s3_3_load_beyond_the_limit_is_refused_or_timed_or_run_by_the_caller)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step waiting = { 0 };
    struct step late = { 0 };
    struct step own = { .worker = 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = step_task(&late, NULL, 0);
    lanepool_task own_task = step_task(&own, NULL, 0);
    lanepool_pool *pool;

    gate_init(&gate);
    options.workers = 1;
    options.pending_max = 2;
    pool = pool_make_with(&options);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit(pool, &waiting));
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    expect_status(lanepool_pool_submit_within(pool, &task, 1000000), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_pool_submit_or_run(pool, &own_task));
    expect_eq(own.runs, 1);
    expect(own.worker == SIZE_MAX);
    gate_open(&gate, 1);
    pool_end(pool);
    expect(!step_was_called(&late));
    gate_fini(&gate);
}

Test(seed_s3, s3_3_load_of_one_key_beyond_its_limit_blocks_nobody_else)
{
    struct gate gate;
    struct step hot[3] = { { .gate = &gate }, { 0 }, { 0 } };
    struct step cold = { 0 };
    struct step late = { 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim claims[2] = {
        lanepool_claim_of(lanepool_key_string("customer-1"), LANEPOOL_EXCLUSIVE),
        lanepool_claim_of(lanepool_key_string("customer-2"), LANEPOOL_EXCLUSIVE)
    };
    lanepool_task task = step_task(&late, claims, 1);
    lanepool_pool *pool;

    gate_init(&gate);
    options.workers = 2;
    options.lane_pending_max = 3;
    pool = pool_make_with(&options);
    for (int i = 0; i < 3; i++) {
        lanepool_task each = step_task(&hot[i], claims, 1);

        expect_ok(lanepool_pool_submit(pool, &each));
    }
    expect(gate_await(&gate, 1));
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    expect_status(lanepool_pool_submit_within(pool, &task, 1000000), LANEPOOL_TIMED_OUT);
    task = step_task(&cold, claims + 1, 1);
    expect_ok(lanepool_pool_submit_within(pool, &task, 0));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(cold.runs, 1);
    expect(!step_was_called(&late));
    gate_fini(&gate);
}

/* A task that submits itself again until the other key's task has run. */
struct endless {
    lanepool_pool *pool;
    _Atomic bool stop;
    _Atomic uint64_t rounds;
    _Atomic int failure;
};

static int go_on(lanepool_run *run, void *context)
{
    struct endless *endless = context;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;

    atomic_fetch_add(&endless->rounds, 1);
    if (!atomic_load(&endless->stop)) {
        task.function = go_on;
        task.context = endless;
        task.claims = &claim;
        task.claim_count = 1;
        if (lanepool_pool_submit(lanepool_run_pool(run), &task)) {
            atomic_store(&endless->failure, 1);
        }
    }
    return 0;
}

static int stop_it(lanepool_run *run, void *context)
{
    struct endless *endless = context;

    (void)run;
    atomic_store(&endless->stop, true);
    return 0;
}

static void endless_key_yields(lanepool_routing routing)
{
    struct endless endless = { 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim claims[2] = { lanepool_exclusive(1), lanepool_exclusive(2) };
    lanepool_task tasks[2] = { LANEPOOL_TASK_INIT, LANEPOOL_TASK_INIT };
    lanepool_pool *pool;

    options.workers = 1;
    options.routing = routing;
    pool = pool_make_with(&options);
    for (int i = 0; i < 2; i++) {
        tasks[i].function = i ? stop_it : go_on;
        tasks[i].context = &endless;
        tasks[i].claims = &claims[i];
        tasks[i].claim_count = 1;
        expect_ok(lanepool_pool_submit(pool, &tasks[i]));
    }
    pool_end(pool); /* returns only if the second task has run */
    expect(endless.stop);
    expect_eq(endless.failure, 0);
}

Test(seed_s3, s3_6_endless_key_yields_to_another)
{
    endless_key_yields(LANEPOOL_ROUTING_AUTO);
}

Test(seed_s3, s3_6_endless_key_yields_to_another_when_submitters_route)
{
    endless_key_yields(LANEPOOL_ROUTING_SUBMITTER);
}

Test(seed_s3, s3_6_long_backlog_of_one_key_does_not_hold_up_another)
{
    enum { BACKLOG = 10000, QUANTUM = 8 };
    struct gate gate;
    static struct journal journal;
    struct step *busy = memory_get(BACKLOG, sizeof *busy);
    struct step other = { .id = BACKLOG, .journal = &journal };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    gate_init(&gate);
    options.workers = 1;
    options.quantum_tasks = QUANTUM;
    pool = pool_make_with(&options);
    busy[0].gate = &gate;
    for (uint32_t i = 0; i < BACKLOG; i++) {
        busy[i].id = i;
        busy[i].journal = &journal;
        expect_ok(step_submit_on(pool, &busy[i], 1));
    }
    expect_ok(step_submit_on(pool, &other, 2));
    expect(gate_await(&gate, 1));
    gate_open(&gate, 1);
    pool_end(pool);
    /* If the worker ran the backlog first, this task would be last; one batch is routed per
     * quantum. */
    expect(journal_place(&journal, BACKLOG) < BACKLOG / 2);
    gate_fini(&gate);
    free(busy);
}

/* --- idle contexts --- */

/* One worker runs tasks of two keys in turn. Their idle contexts delay neither the worker nor the
 * pool. */
Test(seed_s3, s3_4_key_keeps_its_context_while_it_lingers_and_that_costs_no_worker)
{
    struct shop shop = { 0 };
    struct visit visits[2] = {
        { .shop = &shop,
          .claim = lanepool_claim_of(lanepool_key_string("1-ann"), LANEPOOL_EXCLUSIVE) },
        { .shop = &shop,
          .claim = lanepool_claim_of(lanepool_key_string("2-bob"), LANEPOOL_EXCLUSIVE) }
    };
    lanepool_context_options contexts = shop_options();
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    options.workers = 1;
    options.user = &shop;
    options.contexts = &contexts;
    pool = pool_make_with(&options);
    for (int i = 0; i < 6; i++) {
        struct visit *visit = &visits[i % 2];
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = visit_body;
        task.context = visit;
        task.claims = &visit->claim;
        task.claim_count = 1;
        expect_ok(lanepool_pool_submit(pool, &task));
        pool_settle(pool);
        expect_eq(visit->status, LANEPOOL_OK);
        expect(visit->was_open);
    }
    pool_end(pool);
    for (int key = 1; key <= 2; key++) {
        expect_eq(shop.opens[key], 1);
        expect_eq(shop.uses[key], 2);
        expect_eq(shop.closes[key], 1);
    }
    expect_eq(shop.faults, 0);
}

static void visit_after(lanepool_pool *pool, struct visit *visit, uint64_t delay_ns)
{
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = visit_body;
    task.context = visit;
    task.claims = &visit->claim;
    task.claim_count = 1;
    task.future = &future;
    expect_ok(lanepool_pool_submit_after(pool, &task, (int64_t)delay_ns));
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(future);
    expect_eq(visit->status, LANEPOOL_OK);
}

/* Returns the idle time of the only context; 0 if there is none. */
static uint64_t linger_of(lanepool_pool *pool)
{
    lanepool_snapshot *snapshot;
    uint64_t linger_ns = 0;

    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    if (snapshot->context_count > 0) {
        linger_ns = snapshot->contexts[0].due_ns - snapshot->contexts[0].idle_since_ns;
    }
    lanepool_snapshot_release(snapshot);
    return linger_ns;
}

/* The key's first context is closed at once. When a task of the key follows after a longer gap, its
 * context stays open several times as long. On a slow machine that time may be over before it is
 * read; then another key is tried with a longer gap. */
Test(seed_s3, s3_5_linger_follows_the_gaps_of_the_key)
{
    struct gate closed;
    struct shop shop = { .closed = &closed };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool;
    uint64_t gap_ns = 10000000;
    uint64_t linger_ns = 0;

    gate_init(&closed);
    contexts.linger_min_ns = 1;
    pool = shop_pool(&shop, &contexts);
    for (uint64_t key = 0; key < SHOP_KEYS && linger_ns == 0; key++) {
        struct visit visit = { .shop = &shop, .claim = lanepool_exclusive(key) };

        visit_after(pool, &visit, 0);
        expect(gate_await(&closed, 1));
        gap_ns *= 2;
        visit_after(pool, &visit, gap_ns);
        pool_settle(pool);
        linger_ns = linger_of(pool);
        if (linger_ns == 0) {
            expect(gate_await(&closed, 1));
        }
    }
    expect(linger_ns > 2 * gap_ns);
    pool_end(pool);
    expect_eq(shop.faults, 0);
    gate_fini(&closed);
}

/* --- cold keys and a flooded key --- */

/* If q ready tasks precede it, a task starts within (q + 1) * (quantum + 1) starts. */
enum { FLOOD = 100000, COLD = 1000, FAIR_QUANTUM = 64 };
enum { STARTS_FOR_ALL = (COLD + 2) * (FAIR_QUANTUM + 1) };

struct fair {
    struct gate standing; /* workers stop here until everything is submitted */
    struct gate started;  /* tasks of cold keys arrive here when they start */
    struct gate beyond;   /* tasks of hot keys stop here after the bound for the cold ones */
    _Atomic uint64_t starts;
    uint64_t cold_starts[COLD]; /* for each cold task: how many tasks had started before it */
    _Atomic uint64_t hot_runs;
    bool waits_beyond;
};

static struct fair fair;

static int stand(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    gate_pass(&fair.standing);
    return 0;
}

static int run_hot(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    atomic_fetch_add(&fair.starts, 1);
    if (++fair.hot_runs > STARTS_FOR_ALL && fair.waits_beyond) {
        gate_pass(&fair.beyond);
    }
    return 0;
}

static int run_cold(lanepool_run *run, void *context)
{
    uint64_t *starts = context;

    (void)run;
    *starts = atomic_fetch_add(&fair.starts, 1);
    gate_arrive(&fair.started);
    return 0;
}

static void submit_fair(lanepool_pool *pool, lanepool_task_fn function, void *context, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = function;
    task.context = context;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
}

/* Returns a pool in which all workers are in a task, the flood is routed, and the cold tasks are
 * submitted. From here on only the workers matter. */
static lanepool_pool *flooded_pool(unsigned workers, lanepool_routing routing, unsigned hot_keys,
                                   unsigned cold)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_snapshot *routed;
    lanepool_pool *pool;

    fair = (struct fair){ .waits_beyond = workers > 1 };
    gate_init(&fair.standing);
    gate_init(&fair.started);
    gate_init(&fair.beyond);
    options.workers = workers;
    options.routing = routing;
    options.quantum_tasks = FAIR_QUANTUM;
    pool = pool_make_with(&options);
    submit_fair(pool, stand, NULL, 0);
    for (unsigned i = 1; i < workers; i++) {
        submit_fair(pool, stand, NULL, COLD + i);
    }
    expect(gate_await(&fair.standing, workers));
    for (unsigned i = 0; i < FLOOD; i++) {
        submit_fair(pool, run_hot, NULL, i % hot_keys == 0 ? 0 : 2 * COLD + i % hot_keys);
    }
    expect_ok(lanepool_snapshot_take(pool, &routed)); /* routes the accepted tasks */
    lanepool_snapshot_release(routed);
    for (uint64_t i = 0; i < cold; i++) {
        submit_fair(pool, run_cold, &fair.cold_starts[i], 1 + i);
    }
    return pool;
}

static void end_flooded_pool(lanepool_pool *pool)
{
    gate_open(&fair.beyond, FLOOD);
    pool_end(pool);
    expect_eq(fair.hot_runs, FLOOD);
    gate_fini(&fair.standing);
    gate_fini(&fair.started);
    gate_fini(&fair.beyond);
}

/* A cold task waits for the cold tasks before it, and for one task of the flood. */
static void cold_keys_start_within_the_bound(lanepool_routing routing)
{
    lanepool_pool *pool = flooded_pool(1, routing, 1, COLD);

    gate_open(&fair.standing, 1);
    expect(gate_await(&fair.started, COLD));
    for (uint64_t i = 0; i < COLD; i++) {
        expect(fair.cold_starts[i] < (i + 2) * (FAIR_QUANTUM + 1));
    }
    end_flooded_pool(pool);
}

Test(seed_s3, s3_6_flooded_key_lets_each_cold_one_start_within_the_bound)
{
    cold_keys_start_within_the_bound(LANEPOOL_ROUTING_AUTO);
}

/* All tasks are ready at once, more than a worker's ring holds. */
Test(seed_s3, s3_6_flooded_key_passes_over_no_cold_one_in_a_full_queue)
{
    cold_keys_start_within_the_bound(LANEPOOL_ROUTING_SUBMITTER);
}

/* So many keys are flooded that the worker always has enough work. Tasks that are not routed yet
 * must not wait for long. */
Test(seed_s3, s3_6_many_flooded_keys_do_not_keep_a_cold_one_from_being_routed)
{
    enum { HOT_KEYS = 40, PUT_OFF = 32 };
    lanepool_pool *pool = flooded_pool(1, LANEPOOL_ROUTING_AUTO, HOT_KEYS, 1);

    gate_open(&fair.standing, 1);
    expect(gate_await(&fair.started, 1));
    expect(fair.cold_starts[0] < (PUT_OFF + HOT_KEYS + 2) * (FAIR_QUANTUM + 1));
    end_flooded_pool(pool);
}

/* With two workers there is no exact bound, because the system may delay one of them. So the flood
 * stops at the point where all cold tasks should have started, until they have. */
static void flood_stops_for_cold_keys(lanepool_routing routing)
{
    lanepool_pool *pool = flooded_pool(2, routing, 1, COLD);

    gate_open(&fair.standing, 2);
    expect(gate_await(&fair.started, COLD));
    end_flooded_pool(pool);
}

Test(seed_s3, s3_6_flooded_key_does_not_starve_cold_ones_on_two_workers)
{
    flood_stops_for_cold_keys(LANEPOOL_ROUTING_AUTO);
}

Test(seed_s3, s3_6_flooded_key_does_not_starve_cold_ones_when_submitters_route)
{
    flood_stops_for_cold_keys(LANEPOOL_ROUTING_SUBMITTER);
}
