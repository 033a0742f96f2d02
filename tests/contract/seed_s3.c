/* The conditional serialization's rows: string keys, bounded workers, backpressure, fairness. */
#include "support/memory.h"
#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

Test(seed_s3, s3_1_submit_with_a_string_key_gives_a_future)
{
    struct gate gate;
    struct gate other_gate;
    struct step holder = { .gate = &gate };
    struct step same = { .value = &same };
    struct step other = { .gate = &other_gate };
    lanepool_claim customer = lanepool_claim_string("customer-17", LANEPOOL_EXCLUSIVE);
    lanepool_claim another = lanepool_claim_string("customer-1", LANEPOOL_EXCLUSIVE);
    char copy[] = "customer-17";
    lanepool_claim copied = lanepool_claim_string(copy, LANEPOOL_EXCLUSIVE);
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

    expect_eq(lanepool_pool_worker_count(pool), process_cpu_count());
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

/* A task that submits itself again until the other key has had its turn. */
struct endless {
    lanepool_pool *pool;
    _Atomic bool stop;
    _Atomic uint64_t rounds;
    _Atomic int failure;
};

static int go_on(lanepool_run *run, void *context, lanepool_call call)
{
    struct endless *endless = context;
    lanepool_claim claim = lanepool_claim_id(1, LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;

    (void)call;
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

static int stop_it(lanepool_run *run, void *context, lanepool_call call)
{
    struct endless *endless = context;

    (void)run;
    (void)call;
    atomic_store(&endless->stop, true);
    return 0;
}

static void endless_key_yields(lanepool_routing routing)
{
    struct endless endless = { 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim claims[2] = { lanepool_claim_id(1, LANEPOOL_EXCLUSIVE),
                                 lanepool_claim_id(2, LANEPOOL_EXCLUSIVE) };
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
    pool_end(pool); /* returns only if the second task was ever run */
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
    /* Serving the backlog first would put it last; one batch is routed per quantum. */
    expect(journal_place(&journal, BACKLOG) < BACKLOG / 2);
    gate_fini(&gate);
    free(busy);
}
