/* Limits on the pending tasks of each key: which tasks are admitted, which wait, and in which
 * order. */
#include <pthread.h>
#include <string.h>

#include "support/limited.h"
#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_claim on(uint64_t key)
{
    return lanepool_exclusive(key);
}

/* Returns a pool whose limit for key 1 is reached by one task, which waits at the gate. */
static lanepool_pool *full_pool(struct step *holder, struct gate *gate)
{
    lanepool_pool *pool = limited_pool(2, 1);

    gate_init(gate);
    holder->gate = gate;
    expect_ok(step_submit_on(pool, holder, 1));
    expect(gate_await(gate, 1));
    return pool;
}

static lanepool_status submit_on_both(lanepool_pool *pool, struct step *step, uint64_t a,
                                      uint64_t b, uint64_t wait_max_ns)
{
    lanepool_claim claims[2] = { on(a), on(b) };
    lanepool_task task = step_task(step, claims, 2);

    return lanepool_pool_submit_within(pool, &task, wait_max_ns);
}

/* A thread that submits one step on two keys, which may be equal. */
struct submitter {
    lanepool_pool *pool;
    struct step step;
    uint64_t keys[2];
    uint64_t wait_max_ns;
    bool or_run;
    struct gate started;
    long thread;
    pthread_t handle;
    lanepool_status status;
    _Atomic bool returned;
};

static void *submit_one(void *argument)
{
    struct submitter *self = argument;
    lanepool_claim claims[2] = { on(self->keys[0]), on(self->keys[1]) };
    lanepool_task task = step_task(&self->step, claims, 2);

    self->thread = process_thread_self();
    gate_arrive(&self->started);
    self->status = self->or_run ? lanepool_pool_submit_or_run(self->pool, &task)
                                : lanepool_pool_submit_within(self->pool, &task, self->wait_max_ns);
    atomic_store(&self->returned, true);
    return NULL;
}

static struct submitter submitter_on(lanepool_pool *pool, uint64_t a, uint64_t b)
{
    struct submitter submitter;

    memset(&submitter, 0, sizeof submitter);
    submitter.pool = pool;
    submitter.keys[0] = a;
    submitter.keys[1] = b;
    submitter.wait_max_ns = LANEPOOL_FOREVER;
    return submitter;
}

/* Returns when the submitter is about to make its call. */
static void start(struct submitter *self)
{
    gate_init(&self->started);
    expect_eq(pthread_create(&self->handle, NULL, submit_one, self), 0);
    expect(gate_await(&self->started, 1));
}

/* Returns when the submitter's call has blocked. */
static void start_and_see_it_block(struct submitter *self)
{
    start(self);
    expect(process_thread_sleeps(self->thread));
    expect(!atomic_load(&self->returned));
}

static lanepool_status join_submitter(struct submitter *self)
{
    pthread_join(self->handle, NULL);
    gate_fini(&self->started);
    return self->status;
}

/* --- one lane --- */

Test(lane_limit, full_lane_blocks_its_own_submitters_only)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step cold[3] = { { 0 } };
    lanepool_pool *pool = full_pool(&holder, &gate);
    struct submitter blocked = submitter_on(pool, 1, 1);

    start_and_see_it_block(&blocked);
    for (uint64_t i = 0; i < 3; i++) {
        expect_ok(try_on(pool, &cold[i], 2 + i));
    }
    gate_open(&gate, 1);
    expect_ok(join_submitter(&blocked));
    pool_end(pool);
    expect_eq(blocked.step.runs, 1);
    for (int i = 0; i < 3; i++) {
        expect_eq(cold[i].runs, 1);
    }
    gate_fini(&gate);
}

Test(lane_limit, refused_and_timed_out_tasks_leave_nothing_behind)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step refused = { 0 };
    lanepool_pool *pool = full_pool(&holder, &gate);
    lanepool_future *future = (lanepool_future *)&refused;
    lanepool_claim claim = on(1);
    lanepool_task task = step_task(&refused, &claim, 1);
    lanepool_stats stats;

    task.future = &future;
    task.release = step_release;
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    expect(future == NULL);
    expect_status(lanepool_pool_submit_within(pool, &task, 2000000), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.pending, 1);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_ok(try_on(pool, &refused, 1)); /* there is room for one task, as before */
    pool_end(pool);
    expect_eq(refused.runs, 1);
    expect_eq(refused.releases, 0);
    gate_fini(&gate);
}

Test(lane_limit, or_run_takes_its_place_over_the_limit)
{
    static struct journal journal;
    struct gate gate;
    struct step holder = { .id = 0, .journal = &journal };
    struct step behind = { .id = 2, .journal = &journal };
    lanepool_pool *pool = full_pool(&holder, &gate);
    struct submitter own = submitter_on(pool, 1, 1);

    own.or_run = true;
    own.step.id = 1;
    own.step.journal = &journal;
    start_and_see_it_block(&own);
    expect(!step_was_called(&own.step));
    expect_status(try_on(pool, &behind, 1), LANEPOOL_FULL);
    gate_open(&gate, 1);
    expect_ok(join_submitter(&own));
    expect(own.step.worker == SIZE_MAX);
    pool_settle(pool);
    expect_ok(try_on(pool, &behind, 1));
    pool_end(pool);
    for (uint32_t i = 0; i < 3; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
    gate_fini(&gate);
}

static void blocked_are_served_in_turn(lanepool_layout layout, bool priorities)
{
    enum { COUNT = 4 };
    static struct journal journal;
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct submitter blocked[COUNT];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    memset(&journal, 0, sizeof journal);
    options.workers = 2;
    options.layout = layout;
    options.priorities = priorities;
    options.lane_pending_max = 1;
    pool = pool_make_with(&options);
    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    for (uint32_t i = 0; i < COUNT; i++) {
        blocked[i] = submitter_on(pool, 1, 1);
        blocked[i].step.id = i;
        blocked[i].step.journal = &journal;
        start_and_see_it_block(&blocked[i]);
    }
    gate_open(&gate, 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        expect_ok(join_submitter(&blocked[i]));
    }
    pool_end(pool);
    for (uint32_t i = 0; i < COUNT; i++) {
        expect_eq(journal_place(&journal, i), i);
    }
    gate_fini(&gate);
}

Test(lane_limit, blocked_submitters_are_served_in_turn)
{
    blocked_are_served_in_turn(LANEPOOL_PER_KEY, false);
}

Test(lane_limit, blocked_submitters_are_served_in_turn_with_lanes_per_worker)
{
    blocked_are_served_in_turn(LANEPOOL_PER_WORKER, false);
}

Test(lane_limit, blocked_submitters_are_served_in_turn_with_priorities)
{
    blocked_are_served_in_turn(LANEPOOL_PER_KEY, true);
}

/* --- several lanes --- */

Test(lane_limit, task_over_several_lanes_is_admitted_to_all_or_none)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step both = { 0 };
    struct step single = { 0 };
    lanepool_pool *pool = full_pool(&holder, &gate);

    expect_status(submit_on_both(pool, &both, 2, 1, 0), LANEPOOL_FULL);
    expect_status(submit_on_both(pool, &both, 2, 1, 1000000), LANEPOOL_TIMED_OUT);
    expect_ok(try_on(pool, &single, 2)); /* the waiting task has not taken the room in this lane */
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_ok(submit_on_both(pool, &both, 2, 1, 0));
    pool_end(pool);
    expect_eq(both.runs, 1);
    gate_fini(&gate);
}

Test(lane_limit, rollup_that_waits_is_not_overtaken_in_a_lane_with_room)
{
    static struct journal journal;
    struct gate gate;
    struct step holder = { 0 };
    struct step other = { 0 };
    struct submitter rollup;
    struct submitter single;
    lanepool_pool *pool = full_pool(&holder, &gate);

    rollup = submitter_on(pool, 1, 2);
    rollup.step.id = 0;
    rollup.step.journal = &journal;
    start_and_see_it_block(&rollup);
    expect_status(try_on(pool, &other, 2), LANEPOOL_FULL);
    single = submitter_on(pool, 2, 2);
    single.step.id = 1;
    single.step.journal = &journal;
    start_and_see_it_block(&single);
    expect_ok(try_on(pool, &other, 3)); /* shares no lane with the waiting tasks */
    gate_open(&gate, 1);
    expect_ok(join_submitter(&rollup));
    expect_ok(join_submitter(&single));
    pool_end(pool);
    expect_eq(journal_place(&journal, 0), 0);
    expect_eq(journal_place(&journal, 1), 1);
    gate_fini(&gate);
}

/* On a busy machine the rollup may give up before the second submitter starts. The answers are the
 * same. */
Test(lane_limit, who_gives_up_waiting_makes_way)
{
    struct gate gate;
    struct step holder = { 0 };
    struct submitter rollup;
    struct submitter single;
    lanepool_pool *pool = full_pool(&holder, &gate);

    rollup = submitter_on(pool, 1, 2);
    rollup.wait_max_ns = 50000000;
    start(&rollup);
    single = submitter_on(pool, 2, 2);
    start(&single);
    expect_status(join_submitter(&rollup), LANEPOOL_TIMED_OUT);
    expect_ok(join_submitter(&single)); /* although key 1 is as full as before */
    expect_eq(step_was_called(&holder), 1);
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(lane_limit, duplicates_count_once_and_shared_claims_count)
{
    struct gate gate;
    struct step steps[3] = { { .gate = &gate }, { 0 }, { 0 } };
    lanepool_claim claims[3] = { lanepool_shared(1), on(1), lanepool_shared(1) };
    lanepool_task task = step_task(&steps[0], claims, 3);
    lanepool_pool *pool = limited_pool(2, 2);

    gate_init(&gate);
    expect_ok(lanepool_pool_submit_within(pool, &task, 0));
    expect(gate_await(&gate, 1));
    task = step_task(&steps[1], claims, 1);
    expect_ok(lanepool_pool_submit_within(pool, &task, 0));
    task = step_task(&steps[2], claims, 1);
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- the pool's limit, and the pool's end --- */

Test(lane_limit, pools_limit_holds_beside_them)
{
    struct gate gate;
    struct step steps[5] = { { .gate = &gate }, { 0 }, { 0 }, { 0 }, { 0 } };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    options.workers = 1;
    options.pending_max = 3;
    options.lane_pending_max = 2;
    pool = pool_make_with(&options);
    gate_init(&gate);
    expect_ok(try_on(pool, &steps[0], 1));
    expect(gate_await(&gate, 1));
    expect_ok(try_on(pool, &steps[1], 1));
    expect_status(try_on(pool, &steps[4], 1), LANEPOOL_FULL);
    expect_ok(step_submit(pool, &steps[2]));
    expect_status(try_on(pool, &steps[4], 2), LANEPOOL_FULL);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_ok(try_on(pool, &steps[3], 2));
    pool_end(pool);
    for (int i = 0; i < 4; i++) {
        expect_eq(steps[i].runs, 1);
    }
    expect(!step_was_called(&steps[4]));
    gate_fini(&gate);
}

static void shutdown_refuses_blocked_submitters(bool now)
{
    struct gate gate;
    struct step holder = { 0 };
    lanepool_pool *pool = full_pool(&holder, &gate);
    struct submitter blocked[3];

    for (uint64_t i = 0; i < 3; i++) {
        blocked[i] = submitter_on(pool, 1, i);
        start_and_see_it_block(&blocked[i]);
    }
    if (now) {
        expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    } else {
        expect_ok(lanepool_pool_shutdown(pool));
    }
    for (int i = 0; i < 3; i++) {
        expect_status(join_submitter(&blocked[i]), LANEPOOL_SHUT_DOWN);
        expect(!step_was_called(&blocked[i].step));
    }
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(lane_limit, shutdown_refuses_blocked_submitters)
{
    shutdown_refuses_blocked_submitters(false);
}

Test(lane_limit, shutdown_now_refuses_blocked_submitters)
{
    shutdown_refuses_blocked_submitters(true);
}

/* --- inside tasks, and batches --- */

struct inside {
    struct step steps[4];
    lanepool_status statuses[4];
};

static int submit_inside(lanepool_run *run, void *context)
{
    struct inside *inside = context;
    lanepool_pool *pool = lanepool_run_pool(run);
    lanepool_claim claim = on(1);
    lanepool_task tasks[4];

    for (int i = 0; i < 4; i++) {
        tasks[i] = step_task(&inside->steps[i], &claim, 1);
    }
    inside->statuses[0] = lanepool_pool_submit(pool, &tasks[0]);
    inside->statuses[1] = lanepool_pool_submit_within(pool, &tasks[1], 0);
    inside->statuses[2] = lanepool_pool_submit_within(pool, &tasks[2], 1);
    inside->statuses[3] = lanepool_pool_submit_or_run(pool, &tasks[3]);
    return 0;
}

Test(lane_limit, submits_from_inside_a_task_never_block)
{
    static const uint32_t runs[4] = { 1, 0, 1, 1 };
    struct inside inside = { 0 };
    lanepool_claim claim = on(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = limited_pool(1, 1);

    task.function = submit_inside;
    task.context = &inside;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    for (int i = 0; i < 4; i++) {
        expect_status(inside.statuses[i], i == 1 ? LANEPOOL_FULL : LANEPOOL_OK);
        expect_eq(inside.steps[i].runs, runs[i]);
    }
}

Test(lane_limit, batch_stops_at_a_full_lane)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step steps[4] = { { 0 } };
    lanepool_claim claims[4] = { on(2), on(3), on(1), on(4) };
    lanepool_task tasks[4];
    size_t accepted = 99;
    lanepool_pool *pool = full_pool(&holder, &gate);

    for (int i = 0; i < 4; i++) {
        tasks[i] = step_task(&steps[i], &claims[i], 1);
    }
    expect_status(lanepool_pool_submit_batch(pool, tasks, 4, 0, &accepted), LANEPOOL_FULL);
    expect_eq(accepted, 2);
    expect_status(lanepool_pool_submit_batch(pool, tasks + 2, 2, 1000000, &accepted),
                  LANEPOOL_TIMED_OUT);
    expect_eq(accepted, 0);
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_submit_batch(pool, tasks + 2, 2, LANEPOOL_FOREVER, &accepted));
    expect_eq(accepted, 2);
    pool_end(pool);
    for (int i = 0; i < 4; i++) {
        expect_eq(steps[i].runs, 1);
    }
    gate_fini(&gate);
}

/* --- several submitters --- */

enum { FLOOD_LIMIT = 5, FLOOD_THREADS = 3, FLOOD_TASKS = 1500, FLOOD_KEYS = 3 };

/* The tasks of one key; their bodies check how many are pending. */
struct flooded {
    _Atomic int64_t admitted; /* counted after the submit: never more than the accepted tasks */
    _Atomic int64_t finished; /* counted before the end: never less than the finished tasks */
    _Atomic int64_t most;
};

struct flood {
    lanepool_pool *pool;
    struct flooded keys[FLOOD_KEYS];
    _Atomic int failures;
};

static int flood_body(lanepool_run *run, void *context)
{
    struct flooded *key = context;
    int64_t admitted = atomic_load(&key->admitted);
    int64_t in_flight = admitted - atomic_load(&key->finished);
    int64_t most = atomic_load(&key->most);

    (void)run;
    while (in_flight > most && !atomic_compare_exchange_weak(&key->most, &most, in_flight)) {
    }
    atomic_fetch_add(&key->finished, 1);
    return 0;
}

static void *flood_submit(void *argument)
{
    struct flood *flood = argument;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = flood_body;
    for (uint64_t i = 0; i < FLOOD_TASKS; i++) {
        lanepool_claim claim = on(i % FLOOD_KEYS);

        task.context = &flood->keys[i % FLOOD_KEYS];
        task.claims = &claim;
        task.claim_count = 1;
        if (lanepool_pool_submit(flood->pool, &task)) {
            atomic_fetch_add(&flood->failures, 1);
        }
        atomic_fetch_add(&flood->keys[i % FLOOD_KEYS].admitted, 1);
    }
    return NULL;
}

Test(lane_limit, limit_holds_for_several_submitters)
{
    static struct flood flood;
    pthread_t threads[FLOOD_THREADS];

    flood.pool = limited_pool(2, FLOOD_LIMIT);
    for (int i = 0; i < FLOOD_THREADS; i++) {
        expect_eq(pthread_create(&threads[i], NULL, flood_submit, &flood), 0);
    }
    for (int i = 0; i < FLOOD_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pool_end(flood.pool);
    expect_eq(flood.failures, 0);
    for (int i = 0; i < FLOOD_KEYS; i++) {
        expect_eq(flood.keys[i].finished, FLOOD_THREADS * FLOOD_TASKS / FLOOD_KEYS);
        expect(flood.keys[i].most <= FLOOD_LIMIT);
    }
}
