/* COMMUTING claims: such tasks of a key overlap with one another and with no other task of it. */
#include "support/step.h"
#include "support/test.h"

enum { ACCOUNT = 7 };

static bool never_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return false;
}

/* Calls the function with pools of each sort that has claims. */
static void with_each_pool(void (*check)(lanepool_pool *pool))
{
    for (int sort = 0; sort < 3; sort++) {
        lanepool_options options = LANEPOOL_OPTIONS_INIT;

        options.workers = 4;
        options.layout = sort == 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
        options.is_compatible = sort == 2 ? never_compatible : NULL;
        lanepool_pool *pool = pool_make_with(&options);
        check(pool);
        pool_end(pool);
    }
}

static lanepool_status submit_as(lanepool_pool *pool, struct step *step, lanepool_mode mode)
{
    lanepool_claim claim = lanepool_claim_of(lanepool_key_id(ACCOUNT), mode);
    lanepool_task task = step_task(step, &claim, 1);

    return lanepool_pool_submit(pool, &task);
}

/* --- which tasks overlap --- */

/* Of two tasks the second one starts beside the first, or a task submitted after both starts before
 * the second. */
static void check_pair(lanepool_pool *pool, lanepool_mode first, lanepool_mode second)
{
    struct gate gate;
    struct gate done;
    struct step steps[2] = { { .gate = &gate }, { .gate = &gate } };
    struct step witness = { .gate = &done };
    lanepool_claim other = lanepool_exclusive(ACCOUNT + 1);
    lanepool_task unrelated = step_task(&witness, &other, 1);

    gate_init(&gate);
    gate_init(&done);
    expect_ok(submit_as(pool, &steps[0], first));
    expect(gate_await(&gate, 1));
    expect_ok(submit_as(pool, &steps[1], second));
    if (lanepool_modes_overlap(first, second)) {
        expect(gate_await(&gate, 1));
    } else {
        expect_ok(lanepool_pool_submit(pool, &unrelated));
        expect(gate_await(&done, 1));
        expect(!step_was_called(&steps[1]));
        gate_open(&done, 1);
    }
    gate_open(&gate, 2);
    pool_settle(pool);
    expect_eq(steps[0].runs + steps[1].runs, 2);
    gate_fini(&gate);
    gate_fini(&done);
}

static void check_all_pairs(lanepool_pool *pool)
{
    for (int a = LANEPOOL_EXCLUSIVE; a <= LANEPOOL_COMMUTING; a++) {
        for (int b = LANEPOOL_EXCLUSIVE; b <= LANEPOOL_COMMUTING; b++) {
            check_pair(pool, (lanepool_mode)a, (lanepool_mode)b);
        }
    }
}

Test(commuting, overlaps_with_commuting_only)
{
    with_each_pool(check_all_pairs);
}

/* A task of the first run holds the lane. A task of the third run could join it, but the second run
 * is before it. */
static void check_no_overtaking(lanepool_pool *pool)
{
    struct gate gate;
    struct step first = { .gate = &gate };
    struct step reader = { 0 };
    struct step later = { 0 };
    struct step witness = { 0 };
    lanepool_claim other = lanepool_exclusive(ACCOUNT + 1);
    lanepool_task task = step_task(&witness, &other, 1);
    lanepool_future *future;

    gate_init(&gate);
    expect_ok(submit_as(pool, &first, LANEPOOL_COMMUTING));
    expect(gate_await(&gate, 1));
    expect_ok(submit_as(pool, &reader, LANEPOOL_SHARED));
    expect_ok(submit_as(pool, &later, LANEPOOL_COMMUTING));
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    future_finish(future);
    expect(!step_was_called(&reader));
    expect(!step_was_called(&later));
    gate_open(&gate, 1);
    pool_settle(pool);
    expect(reader.ticket < later.ticket);
    expect_eq(reader.runs + later.runs, 2);
    gate_fini(&gate);
}

Test(commuting, does_not_overtake_a_reader)
{
    with_each_pool(check_no_overtaking);
}

/* --- sums --- */

struct account {
    _Atomic long credited;
};

struct statement {
    struct account *account;
    long seen;
};

static int credit(lanepool_run *run, void *context)
{
    struct account *account = context;

    (void)run;
    atomic_fetch_add_explicit(&account->credited, 1, memory_order_relaxed);
    return 0;
}

static int read_balance(lanepool_run *run, void *context)
{
    struct statement *statement = context;

    (void)run;
    statement->seen = atomic_load_explicit(&statement->account->credited, memory_order_relaxed);
    return 0;
}

static void check_sums(lanepool_pool *pool)
{
    enum { STATEMENTS = 200, CREDITS = 30 };
    struct account account = { 0 };
    static struct statement statements[2 * STATEMENTS];

    for (int i = 0; i < STATEMENTS; i++) {
        for (int c = 0; c < CREDITS; c++) {
            expect_ok(lanepool_pool_submit(
                pool, LANEPOOL_TASK(.function = credit, .context = &account,
                                    LANEPOOL_CLAIMS(lanepool_commuting(ACCOUNT)))));
        }
        for (int s = 2 * i; s < 2 * i + 2; s++) {
            lanepool_claim claim = s % 3 ? lanepool_shared(ACCOUNT) : lanepool_exclusive(ACCOUNT);

            statements[s] = (struct statement){ &account, -1 };
            expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = read_balance,
                                                               .context = &statements[s],
                                                               LANEPOOL_CLAIMS(claim))));
        }
    }
    pool_settle(pool);
    for (int s = 0; s < 2 * STATEMENTS; s++) {
        expect_eq(statements[s].seen, (s / 2 + 1) * CREDITS);
    }
}

Test(commuting, every_reader_sees_the_sum_of_all_before_it)
{
    with_each_pool(check_sums);
}

/* --- with other features --- */

static lanepool_status wait_claim(lanepool_pool *pool, uint64_t key, lanepool_mode mode,
                                  uint64_t wait_max_ns)
{
    lanepool_claim claim = lanepool_claim_of(lanepool_key_id(key), mode);

    return lanepool_pool_wait_claims(pool, &claim, 1, wait_max_ns);
}

Test(commuting, a_wait_for_claims_waits_for_what_conflicts)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(submit_as(pool, &holder, LANEPOOL_COMMUTING));
    expect(gate_await(&gate, 1));
    expect_ok(wait_claim(pool, ACCOUNT, LANEPOOL_COMMUTING, LANEPOOL_FOREVER));
    expect_status(wait_claim(pool, ACCOUNT, LANEPOOL_SHARED, 1000), LANEPOOL_TIMED_OUT);
    expect_status(wait_claim(pool, ACCOUNT, LANEPOOL_EXCLUSIVE, 1000), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    expect_ok(wait_claim(pool, ACCOUNT, LANEPOOL_SHARED, LANEPOOL_FOREVER));
    pool_end(pool);
    gate_fini(&gate);
}

struct releasing {
    struct gate released;
    lanepool_status status;
};

static int release_account(lanepool_run *run, void *context)
{
    struct releasing *releasing = context;

    releasing->status = lanepool_run_release(run, lanepool_key_id(ACCOUNT));
    gate_pass(&releasing->released);
    return 0;
}

Test(commuting, a_reader_starts_after_an_early_release)
{
    struct releasing releasing;
    lanepool_claim claim = lanepool_commuting(ACCOUNT);
    struct step reader = { 0 };
    lanepool_claim reads = lanepool_shared(ACCOUNT);
    lanepool_task task = step_task(&reader, &reads, 1);
    lanepool_future *future;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&releasing.released);
    expect_ok(
        lanepool_pool_submit(pool, LANEPOOL_TASK(.function = release_account, .context = &releasing,
                                                 .claims = &claim, .claim_count = 1)));
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    future_finish(future);
    gate_open(&releasing.released, 1);
    pool_end(pool);
    expect_ok(releasing.status);
    gate_fini(&releasing.released);
}

Test(commuting, a_parked_task_stops_readers_and_no_other_credit)
{
    struct step bad = { .code = 1 };
    struct step others[3] = { { 0 } };
    struct step reader = { 0 };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_claim claim = lanepool_commuting(ACCOUNT);
    lanepool_task task = step_task(&bad, &claim, 1);
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle_parked(pool);
    for (int i = 0; i < 3; i++) {
        expect_ok(submit_as(pool, &others[i], LANEPOOL_COMMUTING));
    }
    expect_ok(submit_as(pool, &reader, LANEPOOL_SHARED));
    pool_settle_parked(pool);
    for (int i = 0; i < 3; i++) {
        expect_eq(others[i].runs, 1);
    }
    expect(!step_was_called(&reader));
    bad.code = 0;
    expect_ok(lanepool_pool_resolve(pool, bad.ticket, LANEPOOL_RESOLVE_RETRY));
    pool_settle(pool);
    expect_eq(bad.runs, 2);
    expect_eq(reader.runs, 1);
    pool_end(pool);
}

Test(commuting, a_snapshot_tells_the_mode)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step waiting = { 0 };
    lanepool_snapshot *snapshot;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(submit_as(pool, &holder, LANEPOOL_SHARED));
    expect(gate_await(&gate, 1));
    expect_ok(submit_as(pool, &waiting, LANEPOOL_COMMUTING));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->entry_count, 2);
    for (size_t i = 0; i < snapshot->entry_count; i++) {
        bool waits = snapshot->tasks[snapshot->entries[i].task].state == LANEPOOL_SNAPSHOT_WAITING;

        expect_eq(snapshot->entries[i].mode, waits ? LANEPOOL_COMMUTING : LANEPOOL_SHARED);
    }
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_eq(waiting.runs, 1);
    pool_end(pool);
    gate_fini(&gate);
}
