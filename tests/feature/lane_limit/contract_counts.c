/* How long a task counts against the limits of its lanes, and limits of single lanes. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/limited.h"
#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

#define HOUR_NS INT64_C(3600000000000)

static lanepool_claim on(uint64_t key)
{
    return lanepool_exclusive(key);
}

/* Returns true if one more task of the key is accepted. */
static bool has_room(lanepool_pool *pool, uint64_t key)
{
    static struct step step;

    return try_on(pool, &step, key) == LANEPOOL_OK;
}

static lanepool_lane *hold(lanepool_pool *pool, uint64_t key)
{
    lanepool_claim claim = on(key);
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, claim.key, &lane));
    return lane;
}

/* --- limits of single lanes --- */

Test(lane_limit_counts, lane_has_a_limit_of_its_own)
{
    struct gate gate;
    struct step steps[6] = { { .gate = &gate }, { 0 }, { 0 }, { 0 }, { 0 }, { 0 } };
    lanepool_pool *pool = limited_pool(2, LANEPOOL_UNLIMITED);
    lanepool_lane *lane = hold(pool, 1);
    lanepool_claim by_handle = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    lanepool_task task = step_task(&steps[1], &by_handle, 1);

    gate_init(&gate);
    expect_ok(lanepool_lane_set_pending_max(lane, 2));
    expect_ok(try_on(pool, &steps[0], 1));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_submit_within(pool, &task, 0));
    task = step_task(&steps[5], &by_handle, 1);
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    expect_status(try_on(pool, &steps[5], 1), LANEPOOL_FULL);
    lanepool_lane_release(lane);
    expect_status(try_on(pool, &steps[5], 1), LANEPOOL_FULL); /* the limit belongs to the key */
    lane = hold(pool, 1);
    expect_ok(lanepool_lane_set_pending_max(lane, 1)); /* removes no task */
    expect_ok(lanepool_lane_set_pending_max(lane, 3));
    expect_ok(try_on(pool, &steps[2], 1));
    expect_status(try_on(pool, &steps[5], 1), LANEPOOL_FULL);
    expect_ok(lanepool_lane_set_pending_max(lane, 0)); /* the pool's limit */
    expect_ok(try_on(pool, &steps[3], 1));
    lanepool_lane_release(lane);
    gate_open(&gate, 1);
    pool_end(pool);
    for (int i = 0; i < 4; i++) {
        expect_eq(steps[i].runs, 1);
    }
    expect(!step_was_called(&steps[5]));
    gate_fini(&gate);
}

struct blocked {
    lanepool_pool *pool;
    struct step step;
    struct gate started;
    long thread;
    lanepool_status status;
};

static void *submit_blocked(void *argument)
{
    struct blocked *blocked = argument;

    blocked->thread = process_thread_self();
    gate_arrive(&blocked->started);
    blocked->status = step_submit_on(blocked->pool, &blocked->step, 1);
    return NULL;
}

static void expect_blocked(lanepool_pool *pool, uint64_t count, const char *wanted)
{
    lanepool_snapshot *snapshot;
    char text[2000] = "";

    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->blocked, count);
    expect_ok(lanepool_snapshot_write_text(snapshot, text_append, text));
    expect(strstr(text, wanted) != NULL);
    lanepool_snapshot_release(snapshot);
}

Test(lane_limit_counts, higher_limit_lets_blocked_submitters_go_on)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    pthread_t threads[3];
    struct blocked blocked[3] = { { 0 } };
    lanepool_pool *pool = limited_pool(2, 1);
    lanepool_lane *lane = hold(pool, 1);

    gate_init(&gate);
    expect_ok(try_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < 3; i++) {
        blocked[i].pool = pool;
        gate_init(&blocked[i].started);
        expect_eq(pthread_create(&threads[i], NULL, submit_blocked, &blocked[i]), 0);
        expect(gate_await(&blocked[i].started, 1));
        expect(process_thread_sleeps(blocked[i].thread));
    }
    expect_blocked(pool, 3, "\n3 submits wait for room\n");
    expect_blocked(pool, 3, ", 1 of at most 1 pending\n");
    expect_ok(lanepool_lane_set_pending_max(lane, 3));
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    expect_blocked(pool, 1, "\n1 submit waits for room\n");
    expect_blocked(pool, 1, ", 3 of at most 3 pending\n");
    expect_ok(lanepool_lane_set_pending_max(lane, LANEPOOL_UNLIMITED));
    pthread_join(threads[2], NULL);
    expect(has_room(pool, 1));
    lanepool_lane_release(lane);
    gate_open(&gate, 1);
    pool_end(pool);
    for (int i = 0; i < 3; i++) {
        expect_ok(blocked[i].status);
        expect_eq(blocked[i].step.runs, 1);
        gate_fini(&blocked[i].started);
    }
    gate_fini(&gate);
}

static bool everything_goes(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a, (void)b, (void)user;
    return true;
}

Test(lane_limit_counts, limits_need_keys_and_a_pool_that_counts)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_lane *lane = hold(pool, 1);

    expect_status(lanepool_lane_set_pending_max(lane, 1), LANEPOOL_INVALID);
    expect_status(lanepool_lane_set_pending_max(NULL, 1), LANEPOOL_INVALID);
    lanepool_lane_release(lane);
    pool_end(pool);
    options.lane_pending_max = 1;
    options.is_compatible = everything_goes;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_UNSUPPORTED);
}

Test(lane_limit_counts, snapshot_shows_what_is_pending_and_the_limit)
{
    struct gate gate;
    struct step steps[3] = { { .gate = &gate }, { 0 }, { 0 } };
    lanepool_claim both[2] = { on(1), on(2) };
    lanepool_pool *pool = limited_pool(1, 7);
    lanepool_lane *lane = hold(pool, 2);
    lanepool_task rollup = step_task(&steps[1], both, 2);
    lanepool_snapshot *snapshot;

    gate_init(&gate);
    expect_ok(lanepool_lane_set_pending_max(lane, 3));
    expect_ok(try_on(pool, &steps[0], 1));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_submit(pool, &rollup));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->lane_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const lanepool_snapshot_lane *shown = &snapshot->lanes[i];

        expect_eq(shown->pending, shown->number == 1 ? 2 : 1);
        expect_eq(shown->pending_max, shown->number == 1 ? 7 : 3);
    }
    lanepool_snapshot_release(snapshot);
    lanepool_lane_release(lane);
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

static void note_limit(void *context, const char *text, size_t size)
{
    static const char sought[] = "1 of at most 7 pending";
    size_t *matched = context;

    for (size_t i = 0; i < size && *matched < sizeof sought - 1; i++) {
        *matched = text[i] == sought[*matched] ? *matched + 1 : text[i] == sought[0];
    }
}

Test(lane_limit_counts, text_of_a_snapshot_says_how_full_a_lane_is)
{
    struct gate gate;
    struct step step = { .gate = &gate };
    lanepool_pool *pool = limited_pool(1, 7);
    lanepool_snapshot *snapshot;
    size_t matched = 0;

    gate_init(&gate);
    expect_ok(try_on(pool, &step, 1));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_ok(lanepool_snapshot_write_text(snapshot, note_limit, &matched));
    expect_eq(matched, strlen("1 of at most 7 pending"));
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- how long a task counts --- */

Test(lane_limit_counts, cancelled_task_counts_until_its_place_has_gone)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step waiting = { 0 };
    lanepool_claim claim = on(1);
    lanepool_task task = step_task(&waiting, &claim, 1);
    lanepool_future *future;
    lanepool_pool *pool = limited_pool(1, 2);

    task.future = &future;
    gate_init(&gate);
    expect_ok(try_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_future_cancel(future));
    expect_eq(waiting.cancels, 1);
    expect(!has_room(pool, 1)); /* its tombstone is queued behind the running task */
    gate_open(&gate, 1);
    pool_settle(pool);
    expect(has_room(pool, 1));
    pool_settle(pool);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&gate);
}

Test(lane_limit_counts, delayed_task_counts_from_its_submit_on)
{
    struct step step = { 0 };
    lanepool_claim claim = lanepool_claim_of(lanepool_key_string("delayed"), LANEPOOL_EXCLUSIVE);
    lanepool_task task = step_task(&step, &claim, 1);
    lanepool_future *future;
    lanepool_pool *pool = limited_pool(1, 1);

    task.future = &future;
    expect_ok(lanepool_pool_submit_after(pool, &task, HOUR_NS));
    task.future = NULL;
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    expect_ok(lanepool_future_cancel(future));
    lanepool_future_release(future);
    expect_ok(lanepool_pool_submit_within(pool, &task, 0));
    pool_end(pool);
    expect_eq(step.runs, 1);
    expect_eq(step.cancels, 1);
}

struct periodic {
    struct gate *gate;
    _Atomic uint32_t runs;
};

static int run_periodically(lanepool_run *run, void *context)
{
    struct periodic *periodic = context;

    (void)run;
    if (atomic_fetch_add(&periodic->runs, 1) < 3) {
        gate_arrive(periodic->gate);
    }
    return 0;
}

Test(lane_limit_counts, periodic_task_counts_until_its_series_is_over)
{
    struct gate gate;
    struct periodic periodic = { .gate = &gate };
    struct step step = { 0 };
    lanepool_claim claim = on(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_timer *timer;
    lanepool_pool *pool = limited_pool(1, 1);

    gate_init(&gate);
    task.function = run_periodically;
    task.context = &periodic;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit_every(pool, &task, 0, 1000000, LANEPOOL_FIXED_RATE, &timer));
    expect(gate_await(&gate, 3));
    expect_status(try_on(pool, &step, 1), LANEPOOL_FULL);
    (void)lanepool_timer_cancel(timer);
    lanepool_timer_release(timer);
    expect_ok(step_submit_on(pool, &step, 1)); /* accepted as soon as the periodic task has ended */
    pool_end(pool);
    expect_eq(step.runs, 1);
    gate_fini(&gate);
}

/* --- lanes held longer, given up, and handed over --- */

struct holding {
    struct gate *gate;
    struct step heir;
    lanepool_status given_up;
    lanepool_status handed_over;
};

static int give_up_and_hand_over(lanepool_run *run, void *context)
{
    struct holding *holding = context;
    lanepool_claim second = on(2);
    lanepool_task heir = step_task(&holding->heir, NULL, 0);

    holding->given_up = lanepool_run_release(run, second.key);
    holding->handed_over = lanepool_run_hand_over(run, &heir);
    gate_pass(holding->gate);
    return 0;
}

Test(lane_limit_counts, heir_counts_in_place_of_who_hands_over)
{
    struct gate gate;
    struct gate heirs;
    struct holding holding = { .gate = &gate, .heir = { .gate = &heirs } };
    lanepool_claim claims[2] = { on(1), on(2) };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = limited_pool(2, 2);

    gate_init(&gate);
    gate_init(&heirs);
    task.function = give_up_and_hand_over;
    task.context = &holding;
    task.claims = claims;
    task.claim_count = 2;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    expect_ok(holding.given_up);
    expect_ok(holding.handed_over);
    expect(has_room(pool, 1));
    expect(!has_room(pool, 1));
    expect(has_room(pool, 2)); /* its task runs at once, but the lane still counts both */
    gate_open(&gate, 1);
    expect(gate_await(&heirs, 1));
    expect(!has_room(pool, 1)); /* the receiver now, and the task that waits for it */
    gate_open(&heirs, 1);
    pool_settle(pool);
    expect(has_room(pool, 1));
    expect(has_room(pool, 1));
    pool_end(pool);
    expect_eq(holding.heir.runs, 1);
    gate_fini(&gate);
    gate_fini(&heirs);
}

Test(lane_limit_counts, barriers_and_tasks_without_claims_count_in_no_lane)
{
    struct gate gate;
    struct step steps[4] = { { .gate = &gate }, { 0 }, { 0 }, { 0 } };
    lanepool_claim all = lanepool_claim_all();
    lanepool_task barrier = step_task(&steps[1], &all, 1);
    lanepool_pool *pool = limited_pool(1, 1);

    gate_init(&gate);
    expect_ok(try_on(pool, &steps[0], 1));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_submit_within(pool, &barrier, 0));
    expect_ok(step_submit(pool, &steps[2]));
    expect_ok(try_on(pool, &steps[3], 2));
    expect(!has_room(pool, 2));
    gate_open(&gate, 1);
    pool_end(pool);
    for (int i = 0; i < 4; i++) {
        expect_eq(steps[i].runs, 1);
    }
    gate_fini(&gate);
}

static void ignore(void *context, const lanepool_task *task, uint64_t ticket)
{
    _Atomic uint32_t *count = context;

    (void)task, (void)ticket;
    atomic_fetch_add(count, 1);
}

Test(lane_limit_counts, what_is_handed_back_needs_no_room)
{
    struct gate gate;
    struct step steps[3] = { { .gate = &gate }, { 0 }, { 0 } };
    _Atomic uint32_t count = 0;
    lanepool_pool *pool = limited_pool(1, 3);

    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        expect_ok(try_on(pool, &steps[i], 1));
    }
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_shutdown_now(pool, ignore, &count));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(count, 2);
    gate_fini(&gate);
}

/* --- memory --- */

enum { KEYS = 100000, ROUNDS = 5, AT_ONCE = 1000 };

static int nothing(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

static void submit_each_key(lanepool_pool *pool)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    char name[32];

    task.function = nothing;
    task.claim_count = 1;
    for (uint64_t i = 0; i < KEYS; i++) {
        int length = snprintf(name, sizeof name, "client %llu", (unsigned long long)i);
        lanepool_claim claim =
            i % 2 == 0
                ? on(i)
                : lanepool_claim_of(lanepool_key_bytes(name, (size_t)length), LANEPOOL_EXCLUSIVE);

        task.claims = &claim;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_settle(pool);
}

Test(lane_limit_counts, keys_that_were_counted_leave_nothing)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;
    unsigned long long before;

    options.workers = 2;
    options.pending_max = AT_ONCE;
    options.lane_pending_max = 1;
    pool = pool_make_with(&options);
    submit_each_key(pool);
    before = process_resident_bytes();
    /* What the pool retains for later tasks varies from round to round. What is left of each key
     * would add up. */
    for (int round = 0; round < ROUNDS; round++) {
        submit_each_key(pool);
    }
    /* Far less than the smallest block for each key. */
    expect(PROCESS_IS_SANITIZED || process_resident_bytes() < before + 8 * KEYS * ROUNDS);
    pool_end(pool);
}
