/* Progressive rollups: calls for each lane as it is granted, and lanes that stay. */
#include "support/book.h"
#include "support/cut.h"
#include "support/shop.h"
#include "support/step.h"
#include "support/test.h"

enum { LANES = 3 };

/* A rollup over the lanes 0 to 2. The function notes what it has. */
struct rollup {
    struct cut cut; /* the first member: the context of its calls */
    uint64_t accounts[LANES];
    uint64_t found[LANES]; /* by the function */
    size_t claim_count;
    bool holds_all;
};

static int gather(lanepool_run *run, void *context, size_t index)
{
    struct rollup *rollup = context;

    (void)cut_fail_once(run, &rollup->cut, index);
    rollup->cut.values[index] = rollup->accounts[index];
    return 0;
}

static int gather_or_fail(lanepool_run *run, void *context, size_t index)
{
    return cut_fail_once(run, context, index);
}

static int add_up(lanepool_run *run, void *context)
{
    struct rollup *rollup = context;

    rollup->claim_count = lanepool_run_claim_count(run);
    rollup->holds_all = true;
    for (size_t i = 0; i < LANES; i++) {
        rollup->holds_all &= lanepool_run_holds(run, lanepool_key_id(i));
        rollup->found[i] = rollup->accounts[i];
    }
    rollup->cut.visited_at_call = atomic_load(&rollup->cut.visited);
    atomic_fetch_add(&rollup->cut.calls, 1);
    return rollup->cut.code;
}

static lanepool_task rollup_task(struct rollup *rollup, lanepool_mode mode)
{
    cut_init(&rollup->cut, LANES, mode);
    lanepool_task task = cut_task(&rollup->cut);

    task.function = add_up;
    task.at_lane = NULL;
    task.at_grant = gather;
    return task;
}

static lanepool_future *submit_rollup(lanepool_pool *pool, lanepool_task *task)
{
    lanepool_future *future;

    task->future = &future;
    expect_ok(lanepool_pool_submit(pool, task));
    return future;
}

struct posting {
    uint64_t *account;
    struct gate *gate; /* or NULL */
};

static int post(lanepool_run *run, void *context)
{
    struct posting *posting = context;

    (void)run;
    if (posting->gate != NULL)
        gate_pass(posting->gate);
    ++*posting->account;
    return 0;
}

static void submit_posting(lanepool_pool *pool, struct posting *posting, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);

    expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = post, .context = posting,
                                                       .claims = &claim, .claim_count = 1)));
}

/* Lane 2 is busy. The calls for the other lanes are made meanwhile, and these lanes stay. */
Test(cut_progressive, gathering_overlaps_with_waiting_and_the_lanes_stay)
{
    struct gate gate;
    struct rollup rollup = { .holds_all = false };
    struct posting slow = { &rollup.accounts[2], &gate };
    struct posting behind[LANES];
    lanepool_stats stats;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    submit_posting(pool, &slow, 2);
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = submit_rollup(pool, &task);
    for (size_t i = 0; i < LANES; i++) {
        behind[i] = (struct posting){ &rollup.accounts[i], NULL };
        submit_posting(pool, &behind[i], i);
    }
    while (atomic_load(&rollup.cut.visited) < 2)
        ;
    do {
        expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    } while (stats.latched_lanes < 2);
    expect_eq(rollup.cut.visits[2] + rollup.cut.calls, 0);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_eq(rollup.cut.visited_at_call, LANES);
    expect(rollup.holds_all && rollup.claim_count == LANES);
    for (size_t i = 0; i < LANES; i++) {
        expect_eq(rollup.cut.values[i], i == 2);
        expect_eq(rollup.found[i], i == 2);
        expect_eq(rollup.accounts[i], i == 2 ? 2 : 1);
    }
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.latched_lanes, 0);
    pool_end(pool);
    gate_fini(&gate);
}

Test(cut_progressive, shared_lanes_let_readers_in_and_writers_wait)
{
    struct gate gate;
    struct rollup rollup = { .holds_all = false };
    struct posting slow = { &rollup.accounts[2], &gate };
    struct posting writer = { &rollup.accounts[0], NULL };
    struct step reader = { .id = 1 };
    lanepool_claim shared = lanepool_shared(0);
    lanepool_future *read;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    submit_posting(pool, &slow, 2);
    lanepool_task task = rollup_task(&rollup, LANEPOOL_SHARED);
    lanepool_future *future = submit_rollup(pool, &task);
    lanepool_task reading = step_task(&reader, &shared, 1);
    reading.future = &read;
    expect_ok(lanepool_pool_submit(pool, &reading));
    submit_posting(pool, &writer, 0);
    expect_status(cut_end(read, NULL), LANEPOOL_OK);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_eq(rollup.found[0], 0);
    expect_eq(rollup.accounts[0], 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(cut_progressive, a_retry_makes_only_the_failed_calls_again)
{
    struct rollup rollup = { .holds_all = false };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.retries = 1;
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    task.at_grant = gather_or_fail;
    task.on_failure = &policy;
    rollup.cut.codes[1] = 4;
    expect_status(cut_end(submit_rollup(pool, &task), NULL), LANEPOOL_OK);
    expect_eq(rollup.cut.visited, LANES + 1);
    expect_eq(rollup.cut.visits[1], 2);
    expect_eq(rollup.cut.calls, 1);
    expect(rollup.holds_all);
    pool_end(pool);
}

Test(cut_progressive, a_function_that_fails_is_retried_with_its_lanes_and_without_calls)
{
    struct rollup rollup = { .holds_all = false };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    int code;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.retries = 2;
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    task.on_failure = &policy;
    rollup.cut.code = 6;
    expect_status(cut_end(submit_rollup(pool, &task), &code), LANEPOOL_FAILED);
    expect_eq(code, 6);
    expect_eq(rollup.cut.visited, LANES);
    expect_eq(rollup.cut.calls, 3);
    expect_eq(rollup.cut.cancels, 0);
    pool_end(pool);
}

Test(cut_progressive, a_call_that_fails_for_good_ends_the_rollup_in_parts)
{
    struct rollup rollup = { .holds_all = false };
    int code;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    task.at_grant = gather_or_fail;
    rollup.cut.codes[0] = 4;
    expect_status(cut_end(submit_rollup(pool, &task), &code), LANEPOOL_FAILED);
    expect_eq(code, 4);
    pool_settle(pool);
    expect_eq(rollup.cut.visited, LANES);
    expect_eq(rollup.cut.calls, 0);
    expect_eq(rollup.cut.cancels, 1);
    expect_status(rollup.cut.why, LANEPOOL_IN_PARTS);
    expect_eq(rollup.cut.releases, 1);
    pool_end(pool);
}

/* Parked after a failed call, then after a failed function. */
Test(cut_progressive, a_parked_rollup_poisons_all_of_its_lanes)
{
    for (int in_function = 0; in_function <= 1; in_function++) {
        struct rollup rollup = { .holds_all = false };
        struct posting behind[LANES];
        lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
        lanepool_parked_tasks *parked;
        lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

        policy.at_end = LANEPOOL_FAILURE_POISON;
        lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
        task.at_grant = gather_or_fail;
        task.on_failure = &policy;
        rollup.cut.codes[1] = in_function ? 0 : 4;
        rollup.cut.code = in_function ? 4 : 0;
        lanepool_future *future = submit_rollup(pool, &task);
        for (size_t i = 0; i < LANES; i++) {
            behind[i] = (struct posting){ &rollup.accounts[i], NULL };
            submit_posting(pool, &behind[i], i);
        }
        pool_settle_parked(pool);
        expect_ok(lanepool_pool_parked(pool, &parked));
        expect_eq(parked->count, 1);
        expect_eq(parked->tasks[0].claim_count, LANES);
        for (size_t i = 0; i < LANES; i++)
            expect_eq(rollup.accounts[i], 0);
        rollup.cut.code = 0;
        expect_ok(lanepool_pool_resolve(pool, parked->tasks[0].ticket, LANEPOOL_RESOLVE_RETRY));
        lanepool_parked_tasks_release(parked);
        expect_status(cut_end(future, NULL), LANEPOOL_OK);
        pool_settle(pool);
        expect_eq(rollup.cut.visited, LANES + !in_function);
        expect_eq(rollup.cut.calls, 1 + in_function);
        expect(rollup.holds_all);
        for (size_t i = 0; i < LANES; i++)
            expect_eq(rollup.found[i], 0);
        pool_end(pool);
    }
}

Test(cut_progressive, a_rollup_is_cancelled_until_its_first_call)
{
    struct gate gate;
    struct rollup rollup = { .holds_all = false };
    struct posting slow = { &rollup.accounts[0], &gate };
    struct posting behind[LANES];
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    submit_posting(pool, &slow, 0);
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = submit_rollup(pool, &task);
    expect_ok(lanepool_future_cancel(future));
    expect_status(cut_end(future, NULL), LANEPOOL_CANCELLED);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_eq(rollup.cut.visited + rollup.cut.calls, 0);
    expect_eq(rollup.cut.cancels, 1);
    expect_status(rollup.cut.why, LANEPOOL_CANCELLED);
    for (uint64_t key = 0; key < LANES; key++) {
        behind[key] = (struct posting){ &rollup.accounts[key], NULL };
        submit_posting(pool, &behind[key], key);
    }
    pool_settle(pool);
    for (uint64_t key = 0; key < LANES; key++)
        expect_eq(rollup.accounts[key], key == 0 ? 2 : 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(cut_progressive, a_begun_rollup_is_only_asked_to_end)
{
    struct gate gate;
    struct rollup rollup = { .holds_all = false };
    struct posting slow = { &rollup.accounts[2], &gate };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    submit_posting(pool, &slow, 2);
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = submit_rollup(pool, &task);
    while (atomic_load(&rollup.cut.visited) < 1)
        ;
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(rollup.cut.calls, 1);
    pool_end(pool);
    gate_fini(&gate);
}

static void count_returned(void *user, const lanepool_task *task, uint64_t ticket)
{
    (void)ticket;
    *(bool *)user = task->at_grant == gather && task->at_lane == NULL && task->claim_count == LANES;
}

/* Before the first call it is handed back, after it the rollup ends in parts. */
Test(cut_progressive, a_shutdown_now_hands_it_back_or_ends_it_in_parts)
{
    for (int begins = 0; begins <= 1; begins++) {
        struct gate gate;
        struct rollup rollup = { .holds_all = false };
        struct posting slow = { &rollup.accounts[2], &gate };
        bool is_returned = false;
        lanepool_pool *pool = pool_make(begins ? 2 : 1, LANEPOOL_PER_KEY);

        gate_init(&gate);
        submit_posting(pool, &slow, 2);
        lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
        lanepool_future *future = submit_rollup(pool, &task);
        while (begins && atomic_load(&rollup.cut.visited) < 2)
            ;
        expect_ok(lanepool_pool_shutdown_now(pool, count_returned, &is_returned));
        gate_open(&gate, 1);
        pool_end(pool);
        expect_eq(is_returned, !begins);
        expect_eq(rollup.cut.cancels, begins);
        expect_eq(rollup.cut.calls, 0);
        expect_status(cut_end(future, NULL), begins ? LANEPOOL_IN_PARTS : LANEPOOL_CANCELLED);
        gate_fini(&gate);
    }
}

/* --- what it is offered with --- */

Test(cut_progressive, it_is_no_cut_and_waits_in_poisoned_lanes)
{
    struct rollup rollup = { .holds_all = false };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    task.at_lane = gather;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    task.at_lane = NULL;
    task.on_failure = &policy;
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_UNSUPPORTED);
    policy.at_poison = LANEPOOL_AT_POISON_FAIL;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_UNSUPPORTED);
    policy.at_poison = LANEPOOL_AT_POISON_WAIT;
    rollup.cut.claims[0].mode = LANEPOOL_COMMUTING;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    pool_end(pool);
    pool = pool_make(1, LANEPOOL_PER_WORKER);
    rollup.cut.claims[0].mode = LANEPOOL_SHARED;
    task.on_failure = NULL;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_UNSUPPORTED);
    pool_end(pool);
}

static int release_and_hold(lanepool_run *run, void *context)
{
    struct rollup *rollup = context;

    rollup->claim_count = lanepool_run_claim_count(run);
    expect_ok(lanepool_run_release(run, lanepool_key_id(0)));
    rollup->holds_all = !lanepool_run_holds(run, lanepool_key_id(0)) &&
                        lanepool_run_holds(run, lanepool_key_id(1)) &&
                        lanepool_run_holds(run, lanepool_key_id(2));
    return 0;
}

/* The function is that of any rollup. */
Test(cut_progressive, the_function_may_release_a_lane_early)
{
    struct rollup rollup = { .holds_all = false };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    task.function = release_and_hold;
    expect_status(cut_end(submit_rollup(pool, &task), NULL), LANEPOOL_OK);
    expect(rollup.holds_all);
    expect_eq(rollup.claim_count, LANES);
    pool_settle(pool);
    pool_end(pool);
}

static int set_record_at_grant(lanepool_run *run, void *context, size_t index)
{
    (void)index;
    return lanepool_run_set_record(run, context) == LANEPOOL_UNSUPPORTED ? 0 : 1;
}

static int set_record(lanepool_run *run, void *context)
{
    expect_ok(lanepool_run_set_record(run, context));
    return 0;
}

Test(cut_progressive, it_has_one_entry_in_the_journal)
{
    struct book book;
    struct rollup rollup = { .holds_all = false };
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;

    book_init(&book);
    journal.lane_numbers = true;
    lanepool_pool *pool = book_pool(&book, 2, &journal);
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    task.at_grant = set_record_at_grant;
    task.function = set_record;
    expect_status(cut_end(submit_rollup(pool, &task), NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_eq(book.count, 1);
    expect(!book.entries[0].entry.is_part && book.entries[0].entry.record == &rollup);
    expect_eq(book.entries[0].entry.claim_count, LANES);
    for (size_t i = 0; i < LANES; i++)
        expect_eq(book.entries[0].lane_numbers[i], 1);
    pool_end(pool);
    book_fini(&book);
}

Test(cut_progressive, it_counts_in_its_lanes_until_it_ends)
{
    struct gate gate;
    struct rollup rollup = { .holds_all = false };
    struct posting slow = { &rollup.accounts[2], &gate };
    lanepool_claim claim = lanepool_exclusive(0);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    gate_init(&gate);
    options.workers = 2;
    options.lane_pending_max = 2;
    lanepool_pool *pool = pool_make_with(&options);
    submit_posting(pool, &slow, 2);
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = submit_rollup(pool, &task);
    while (atomic_load(&rollup.cut.visited) < 2)
        ;
    struct posting behind = { &rollup.accounts[0], NULL };
    submit_posting(pool, &behind, 0);
    expect_status(lanepool_pool_submit_within(pool,
                                              LANEPOOL_TASK(.function = post, .context = &behind,
                                                            .claims = &claim, .claim_count = 1),
                                              0),
                  LANEPOOL_FULL);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_eq(rollup.accounts[0], 1);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- what shows it --- */

Test(cut_progressive, a_snapshot_shows_the_lanes_that_it_has)
{
    struct gate gate;
    struct rollup rollup = { .holds_all = false };
    struct posting slow = { &rollup.accounts[2], &gate };
    lanepool_snapshot *snapshot;
    size_t granted = 0;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    submit_posting(pool, &slow, 2);
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = submit_rollup(pool, &task);
    while (atomic_load(&rollup.cut.visited) < 2)
        ;
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 2);
    expect_eq(snapshot->tasks[1].state, LANEPOOL_SNAPSHOT_LATCHED);
    expect_eq(snapshot->tasks[1].entry_count, LANES);
    for (size_t i = 0; i < LANES; i++)
        granted += snapshot->entries[snapshot->tasks[1].first_entry + i].granted;
    expect_eq(granted, LANES - 1);
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- deadlocks --- */

struct waiter {
    lanepool_future *awaited; /* of the task behind the rollup */
    struct gate gate;
    lanepool_status status;
};

static int wait_for(lanepool_run *run, void *context)
{
    struct waiter *waiter = context;

    (void)run;
    gate_pass(&waiter->gate);
    waiter->status = lanepool_future_wait(waiter->awaited, LANEPOOL_FOREVER, NULL);
    return 0;
}

/* A task in lane 2 waits for one that is behind the rollup in lane 0, which the rollup has. */
Test(cut_progressive, a_wait_for_a_task_behind_a_lane_that_it_has_is_a_deadlock)
{
    struct rollup rollup = { .holds_all = false };
    struct posting behind = { &rollup.accounts[0], NULL };
    struct waiter waiter = { .awaited = NULL };
    lanepool_claim claims[2] = { lanepool_exclusive(2), lanepool_exclusive(0) };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&waiter.gate);
    expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = wait_for, .context = &waiter,
                                                       .claims = &claims[0], .claim_count = 1)));
    expect(gate_await(&waiter.gate, 1));
    lanepool_task task = rollup_task(&rollup, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = submit_rollup(pool, &task);
    expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = post, .context = &behind,
                                                       .claims = &claims[1], .claim_count = 1,
                                                       .future = &waiter.awaited)));
    while (atomic_load(&rollup.cut.visited) < 2)
        ;
    gate_open(&waiter.gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_status(cut_end(waiter.awaited, NULL), LANEPOOL_OK);
    expect_status(waiter.status, LANEPOOL_DEADLOCK);
    pool_end(pool);
    gate_fini(&waiter.gate);
}
