/* Cuts: what their visits see, when lanes go on, what shows a cut, and which cuts are refused. */
#include <string.h>

#include "support/cut.h"
#include "support/gate.h"
#include "support/step.h"
#include "support/test.h"

enum { POSTINGS = 3000 };

/* --- what the visits see --- */

struct posting {
    uint64_t *accounts;
    size_t from, to;
    uint64_t id;
};

/* The value of an account follows from all postings to it, in their order. */
static uint64_t after_posting(uint64_t value, uint64_t id)
{
    return value * 31 + id;
}

static int post(lanepool_run *run, void *context)
{
    const struct posting *posting = context;

    (void)run;
    posting->accounts[posting->from] = after_posting(posting->accounts[posting->from], posting->id);
    if (posting->to != posting->from)
        posting->accounts[posting->to] = after_posting(posting->accounts[posting->to], posting->id);
    return 0;
}

static void post_in_turn(uint64_t *accounts, const struct posting *posting)
{
    struct posting in_turn = *posting;

    in_turn.accounts = accounts;
    (void)post(NULL, &in_turn);
}

static void check_serial_state(unsigned workers, size_t lane_count, lanepool_mode mode)
{
    static struct posting postings[POSTINGS];
    static struct cut cuts[4];
    static uint64_t accounts[CUT_LANES_MAX];
    static uint64_t in_turn[CUT_LANES_MAX];
    lanepool_future *futures[4];
    lanepool_pool *pool = pool_make(workers, LANEPOOL_PER_KEY);
    uint64_t random = 12345;

    memset(accounts, 0, sizeof accounts);
    memset(in_turn, 0, sizeof in_turn);
    for (size_t i = 0; i < POSTINGS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        postings[i] = (struct posting){ accounts, (random >> 33) % lane_count,
                                        (random >> 43) % lane_count, i + 1 };
        lanepool_claim claims[2] = { lanepool_exclusive(postings[i].from),
                                     lanepool_exclusive(postings[i].to) };
        expect_ok(
            lanepool_pool_submit(pool, LANEPOOL_TASK(.function = post, .context = &postings[i],
                                                     .claims = claims, .claim_count = 2)));
        if (i % (POSTINGS / 4) == POSTINGS / 8) {
            struct cut *cut = &cuts[i / (POSTINGS / 4)];
            cut_init(cut, lane_count, mode);
            cut->accounts = accounts;
            futures[i / (POSTINGS / 4)] = cut_submit(pool, cut);
        }
    }
    for (size_t i = 0; i < POSTINGS; i++) {
        post_in_turn(in_turn, &postings[i]);
        if (i % (POSTINGS / 4) != POSTINGS / 8)
            continue;
        struct cut *cut = &cuts[i / (POSTINGS / 4)];
        expect_status(cut_end(futures[i / (POSTINGS / 4)], NULL), LANEPOOL_OK);
        expect_eq(memcmp(cut->values, in_turn, lane_count * sizeof *in_turn), 0);
        expect_eq(cut->visited_at_call, lane_count);
        expect_eq(cut->claims_at_call, 0);
    }
    pool_end(pool);
    for (size_t i = 0; i < 4; i++)
        expect_eq(cuts[i].releases, 1);
    expect_eq(memcmp(accounts, in_turn, sizeof in_turn), 0);
}

Test(cut, the_visits_together_see_the_serial_state_at_the_cuts_place)
{
    for (unsigned workers = 1; workers <= 4; workers *= 2) {
        check_serial_state(workers, 1, LANEPOOL_SHARED);
        check_serial_state(workers, 7, LANEPOOL_SHARED);
        check_serial_state(workers, CUT_LANES_MAX, LANEPOOL_SHARED);
        check_serial_state(workers, 7, LANEPOOL_EXCLUSIVE);
    }
}

/* --- when lanes go on --- */

Test(cut, a_slow_visit_blocks_its_own_lane_and_no_other)
{
    struct gate gate;
    struct step behind[3] = { { .id = 0 }, { .id = 1 }, { .id = 2 } };
    struct cut cut;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    cut.gate = &gate;
    cut.slow = 1;
    lanepool_future *future = cut_submit(pool, &cut);
    expect(gate_await(&gate, 1));
    lanepool_future *ends[3];
    for (uint64_t i = 0; i < 3; i++) {
        lanepool_claim claim = lanepool_exclusive(i);
        lanepool_task task = step_task(&behind[i], &claim, 1);
        task.future = &ends[i];
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    future_finish(ends[0]);
    future_finish(ends[2]);
    expect_eq(behind[1].runs, 0);
    expect_status(lanepool_future_wait(future, 0, NULL), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    future_finish(ends[1]);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(cut.calls, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(cut, a_busy_lane_delays_no_other_lane)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct step behind = { .id = 1 };
    struct cut cut;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = cut_submit(pool, &cut);
    lanepool_future *end;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&behind, &claim, 1);
    task.future = &end;
    expect_ok(lanepool_pool_submit(pool, &task));
    future_finish(end);
    expect_eq(cut.visits[1], 1);
    expect_eq(cut.visits[0], 0);
    expect_eq(cut.calls, 0);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_end(pool);
    gate_fini(&gate);
}

/* The readers before and behind the cut run beside a SHARED visit. */
Test(cut, a_shared_visit_overlaps_with_readers)
{
    struct gate gate;
    struct step reader = { .id = 1 };
    struct cut cut;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_claim claim = lanepool_shared(0);
    lanepool_future *end;

    gate_init(&gate);
    cut_init(&cut, 1, LANEPOOL_SHARED);
    cut.gate = &gate;
    lanepool_future *future = cut_submit(pool, &cut);
    expect(gate_await(&gate, 1));
    lanepool_task task = step_task(&reader, &claim, 1);
    task.future = &end;
    expect_ok(lanepool_pool_submit(pool, &task));
    future_finish(end);
    gate_open(&gate, 1);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- giving way to other tasks --- */

enum { WAY_LANES = 2000, VISITS_AT_ONCE = 64 };

/* A posting that the first visit submits, and the visits made until it runs. */
struct way {
    lanepool_pool *pool;
    lanepool_claim claims[WAY_LANES];
    bool waits_in_lane;
    struct gate begin;  /* of the first visit */
    struct gate posted; /* the posting has run */
    _Atomic uint32_t visits, visits_at_posting, postings;
};

static int note_visits(lanepool_run *run, void *context)
{
    struct way *way = context;

    (void)run;
    atomic_store(&way->visits_at_posting, atomic_load(&way->visits));
    atomic_fetch_add(&way->postings, 1);
    gate_arrive(&way->posted);
    return 0;
}

/* The posting's lane is that of this visit, or none of the cut's. */
static int post_at_first_visit(lanepool_run *run, void *context, size_t index)
{
    struct way *way = context;

    (void)run;
    if (atomic_fetch_add(&way->visits, 1) == 0) {
        lanepool_claim claim = lanepool_exclusive(way->waits_in_lane ? index : WAY_LANES);
        gate_pass(&way->begin);
        expect_ok(
            lanepool_pool_submit(way->pool, LANEPOOL_TASK(.function = note_visits, .context = way,
                                                          .claims = &claim, .claim_count = 1)));
    }
    return 0;
}

static int end_way(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

/* No time ends the quantum. The worker is making visits when the posting is submitted, and may take
 * the visitor once more before it. This thread is in no call of the pool meanwhile: as the router
 * it could lose its processor, and the posting would wait in the inbox. */
Test(cut, a_posting_waits_for_a_bounded_number_of_visits)
{
    static struct way way;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.quantum_ns = UINT64_MAX;
    for (int in_lane = 0; in_lane < 2; in_lane++) {
        memset(&way, 0, sizeof way);
        way.pool = pool_make_with(&options);
        way.waits_in_lane = in_lane != 0;
        gate_init(&way.begin);
        gate_init(&way.posted);
        for (size_t i = 0; i < WAY_LANES; i++)
            way.claims[i] = lanepool_exclusive(i);
        expect_ok(lanepool_pool_submit(
            way.pool, LANEPOOL_TASK(.function = end_way, .context = &way, .claims = way.claims,
                                    .claim_count = WAY_LANES, .at_lane = post_at_first_visit)));
        gate_open(&way.begin, 1);
        expect(gate_await(&way.posted, 1));
        pool_settle(way.pool);
        expect_eq(way.visits, WAY_LANES);
        expect_eq(way.postings, 1);
        expect(way.visits_at_posting <= 2 * VISITS_AT_ONCE);
        pool_end(way.pool);
        gate_fini(&way.begin);
        gate_fini(&way.posted);
    }
}

/* --- what a visit may do --- */

enum { LOOKS = 4 };

/* What the visit of one lane has found: visits of different lanes share nothing. */
struct look {
    lanepool_status wait, release, detach, hand_over, submit;
    size_t claim_count;
    bool holds_own, holds_other;
    uint64_t ticket;
    uint32_t calls;
};

struct looks {
    lanepool_pool *pool;
    struct step inner;
    struct look looks[LOOKS]; /* by claim */
};

static int look_around(lanepool_run *run, void *context, size_t index)
{
    struct looks *looks = context;
    struct look *look = &looks->looks[index];
    lanepool_detached *detached;
    lanepool_claim claim;

    look->calls++;
    look->ticket = lanepool_run_ticket(run);
    look->claim_count = lanepool_run_claim_count(run);
    if (lanepool_run_claim(run, 0, &claim) != LANEPOOL_OK)
        return 1;
    look->holds_own = lanepool_run_holds(run, claim.key);
    look->holds_other = lanepool_run_holds(run, lanepool_key_id(claim.key.id + 1));
    look->wait = lanepool_pool_quiesce(looks->pool, LANEPOOL_FOREVER);
    look->release = lanepool_run_release(run, claim.key);
    look->detach = lanepool_run_detach(run, &detached);
    look->hand_over = lanepool_run_hand_over(run, LANEPOOL_TASK(.function = step_body));
    look->submit = step_submit_on(looks->pool, &looks->inner, claim.key.id);
    return 0;
}

static int end_looks(lanepool_run *run, void *context)
{
    struct looks *looks = context;

    return looks->looks[0].ticket == lanepool_run_ticket(run) ? 0 : 1;
}

static void expect_look(const struct look *look)
{
    expect_eq(look->calls, 1);
    expect_eq(look->claim_count, 1);
    expect(look->holds_own && !look->holds_other);
    expect_status(look->wait, LANEPOOL_DEADLOCK);
    expect_status(look->release, LANEPOOL_DEADLOCK);
    expect_status(look->detach, LANEPOOL_UNSUPPORTED);
    expect_status(look->hand_over, LANEPOOL_DEADLOCK);
    expect_status(look->submit, LANEPOOL_OK);
}

Test(cut, a_visit_has_one_claim_and_may_submit_but_not_wait)
{
    struct looks looks = { .pool = pool_make(1, LANEPOOL_PER_KEY) };
    lanepool_claim claims[LOOKS] = { lanepool_shared(5), lanepool_shared(7), lanepool_exclusive(5),
                                     lanepool_shared(9) };
    lanepool_future *future;

    expect_ok(
        lanepool_pool_submit(looks.pool, LANEPOOL_TASK(.function = end_looks, .context = &looks,
                                                       .claims = claims, .claim_count = LOOKS,
                                                       .at_lane = look_around, .future = &future)));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_look(&looks.looks[0]);
    expect_look(&looks.looks[1]);
    expect_eq(looks.looks[2].calls, 0);
    expect_look(&looks.looks[3]);
    pool_settle(looks.pool);
    expect_eq(looks.inner.runs, 3);
    pool_end(looks.pool);
}

/* --- what shows it --- */

Test(cut, a_snapshot_shows_a_begun_cut_in_the_lanes_that_have_not_gone_on)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct cut cut;
    lanepool_snapshot *snapshot;
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    cut.gate = &gate;
    cut.slow = 1;
    lanepool_future *future = cut_submit(pool, &cut);
    expect(gate_await(&gate, 1));
    do {
        expect_ok(lanepool_snapshot_take(pool, &snapshot));
        if (snapshot->task_count == 2 && snapshot->tasks[1].entry_count == 2)
            break;
        lanepool_snapshot_release(snapshot);
    } while (true);
    expect_eq(snapshot->tasks[1].state, LANEPOOL_SNAPSHOT_VISITED);
    expect_eq(snapshot->tasks[1].arrived, 1);
    expect(snapshot->tasks[1].context == &cut);
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 2);
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- deadlocks --- */

struct waiter {
    lanepool_pool *pool;
    struct gate *gate;
    lanepool_future **future; /* of the task to wait for */
    lanepool_status answer;
};

static int wait_inside(lanepool_run *run, void *context)
{
    struct waiter *waiter = context;

    (void)run;
    gate_pass(waiter->gate);
    waiter->answer = lanepool_future_wait(*waiter->future, LANEPOOL_FOREVER, NULL);
    return 0;
}

/* A task in lane 0 waits for a task that is behind the cut in lane 1: the cut does not connect the
 * lanes. A wait for the cut itself could never end. */
Test(cut, a_cut_makes_no_lane_wait_for_another)
{
    for (int of_cut = 0; of_cut < 2; of_cut++) {
        struct gate gate;
        struct step behind = { .id = 1 };
        struct cut cut;
        lanepool_future *awaited;
        lanepool_future *end;
        struct waiter waiter = { .gate = &gate, .future = &awaited };
        lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
        lanepool_claim zero = lanepool_exclusive(0);
        lanepool_claim one = lanepool_exclusive(1);

        gate_init(&gate);
        expect_ok(
            lanepool_pool_submit(pool, LANEPOOL_TASK(.function = wait_inside, .context = &waiter,
                                                     .claims = &zero, .claim_count = 1)));
        expect(gate_await(&gate, 1));
        cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
        lanepool_future *future = cut_submit(pool, &cut);
        lanepool_task task = step_task(&behind, &one, 1);
        task.future = &end;
        expect_ok(lanepool_pool_submit(pool, &task));
        awaited = of_cut ? future : end;
        gate_open(&gate, 1);
        expect_status(cut_end(future, NULL), LANEPOOL_OK);
        future_finish(end);
        pool_settle(pool);
        expect_status(waiter.answer, of_cut ? LANEPOOL_DEADLOCK : LANEPOOL_OK);
        pool_end(pool);
        gate_fini(&gate);
    }
}

/* --- what is refused --- */

static lanepool_status submit_cut_of(const lanepool_options *options, lanepool_task *task)
{
    lanepool_pool *pool = pool_make_with(options);
    lanepool_status status = lanepool_pool_submit(pool, task);

    pool_end(pool);
    return status;
}

Test(cut, a_cut_needs_claims_of_keys_that_do_not_commute)
{
    struct cut cut;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_claim all = lanepool_claim_all();

    options.workers = 1;
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    lanepool_task task = cut_task(&cut);
    expect_ok(submit_cut_of(&options, &task));
    cut.claims[1].mode = LANEPOOL_COMMUTING;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_INVALID);
    task.claim_count = 0;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_INVALID);
    task.claim_count = 1;
    task.claims = &all;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_INVALID);
}

static bool always_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return true;
}

Test(cut, pools_that_do_not_offer_cuts_refuse_them)
{
    struct cut cut;
    lanepool_options plain = LANEPOOL_OPTIONS_INIT;

    plain.workers = 2;
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    lanepool_task task = cut_task(&cut);
    lanepool_options options = plain;
    options.layout = LANEPOOL_PER_WORKER;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_UNSUPPORTED);
    options = plain;
    options.is_compatible = always_compatible;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_UNSUPPORTED);
}

/* --- other forms --- */

Test(cut, cuts_cross_one_another_and_count_in_groups)
{
    static struct cut cuts[40];
    static lanepool_task tasks[40];
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_group *group = group_make(false);

    for (size_t i = 0; i < 40; i++) {
        cut_init(&cuts[i], 9, i % 2 == 0 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE);
        for (size_t j = 0; j < 9; j++)
            cuts[i].claims[j].key.id = (i + 4 * j) % 9;
        tasks[i] = cut_task(&cuts[i]);
        tasks[i].group = group;
    }
    expect_ok(lanepool_pool_submit_batch(pool, tasks, 40, LANEPOOL_FOREVER, NULL));
    expect_ok(lanepool_group_wait(group, LANEPOOL_FOREVER));
    for (size_t i = 0; i < 40; i++) {
        expect_eq(cuts[i].visited_at_call, 9);
        expect_eq(cuts[i].calls, 1);
    }
    lanepool_group_destroy(group);
    pool_end(pool);
}
