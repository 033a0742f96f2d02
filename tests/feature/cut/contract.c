/* Cuts: what their visits see, when lanes go on, and how a cut ends. */
#include <pthread.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { LANES_MAX = 400, POSTINGS = 3000 };

/* A cut over the lanes 0, 1 and so on. Visits of one lane follow one another. */
struct cut {
    lanepool_claim claims[LANES_MAX];
    size_t claim_count;
    struct gate *gate;          /* where the visit of lane `slow` stops; or NULL */
    size_t slow;                /* the number of that claim */
    int codes[LANES_MAX];       /* what the visits return */
    uint64_t values[LANES_MAX]; /* what they saw */
    const uint64_t *accounts;   /* guarded by the lanes; or NULL */
    _Atomic uint32_t visits[LANES_MAX];
    _Atomic uint32_t visited; /* calls in all */
    _Atomic uint32_t calls;   /* of the function */
    uint32_t visited_at_call;
    size_t claims_at_call;
    int code; /* what the function returns */
    _Atomic uint32_t cancels, releases;
    _Atomic lanepool_status why;
};

static int visit(lanepool_run *run, void *context, size_t index)
{
    struct cut *cut = context;

    (void)run;
    if (cut->gate != NULL && cut->slow == index)
        gate_pass(cut->gate);
    if (cut->accounts != NULL)
        cut->values[index] = cut->accounts[index];
    atomic_fetch_add(&cut->visits[index], 1);
    atomic_fetch_add(&cut->visited, 1);
    return cut->codes[index];
}

static int sum_up(lanepool_run *run, void *context)
{
    struct cut *cut = context;

    cut->visited_at_call = atomic_load(&cut->visited);
    cut->claims_at_call = lanepool_run_claim_count(run);
    atomic_fetch_add(&cut->calls, 1);
    return cut->code;
}

static void cut_cancelled(void *context, lanepool_status why)
{
    struct cut *cut = context;

    atomic_store(&cut->why, why);
    atomic_fetch_add(&cut->cancels, 1);
}

static void cut_released(void *context)
{
    atomic_fetch_add(&((struct cut *)context)->releases, 1);
}

static void cut_init(struct cut *cut, size_t lane_count, lanepool_mode mode)
{
    memset(cut, 0, sizeof *cut);
    cut->claim_count = lane_count;
    for (size_t i = 0; i < lane_count; i++)
        cut->claims[i] = lanepool_claim_of(lanepool_key_id(i), mode);
}

static lanepool_task cut_task(struct cut *cut)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = sum_up;
    task.context = cut;
    task.claims = cut->claims;
    task.claim_count = cut->claim_count;
    task.at_lane = visit;
    task.cancelled = cut_cancelled;
    task.release = cut_released;
    return task;
}

/* Submits the cut with a future. */
static lanepool_future *cut_submit(lanepool_pool *pool, struct cut *cut)
{
    lanepool_future *future;
    lanepool_task task = cut_task(cut);

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

/* Waits for the cut, releases its future, and returns its status. */
static lanepool_status cut_end(lanepool_future *future, int *code)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    lanepool_future_release(future);
    if (code != NULL)
        *code = result.code;
    return result.status;
}

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
    static uint64_t accounts[LANES_MAX];
    static uint64_t in_turn[LANES_MAX];
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
        expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = post,
                                                           .context = &postings[i],
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
        check_serial_state(workers, LANES_MAX, LANEPOOL_SHARED);
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

/* --- what a visit may do --- */

struct looks {
    lanepool_pool *pool;
    struct step inner;
    size_t indices[4];
    lanepool_status wait, release, detach, hand_over, submit;
    size_t claim_count;
    bool holds_own, holds_other;
    uint64_t ticket;
    _Atomic uint32_t calls;
};

static int look_around(lanepool_run *run, void *context, size_t index)
{
    struct looks *looks = context;
    lanepool_detached *detached;
    lanepool_claim claim;

    looks->indices[atomic_fetch_add(&looks->calls, 1)] = index;
    looks->ticket = lanepool_run_ticket(run);
    looks->claim_count = lanepool_run_claim_count(run);
    if (lanepool_run_claim(run, 0, &claim) != LANEPOOL_OK)
        return 1;
    looks->holds_own = lanepool_run_holds(run, claim.key);
    looks->holds_other = lanepool_run_holds(run, lanepool_key_id(claim.key.id + 1));
    looks->wait = lanepool_pool_quiesce(looks->pool, LANEPOOL_FOREVER);
    looks->release = lanepool_run_release(run, claim.key);
    looks->detach = lanepool_run_detach(run, &detached);
    looks->hand_over = lanepool_run_hand_over(run, LANEPOOL_TASK(.function = step_body));
    looks->submit = step_submit_on(looks->pool, &looks->inner, claim.key.id);
    return 0;
}

static int end_looks(lanepool_run *run, void *context)
{
    struct looks *looks = context;

    return looks->ticket == lanepool_run_ticket(run) ? 0 : 1;
}

Test(cut, a_visit_has_one_claim_and_may_submit_but_not_wait)
{
    struct looks looks = { .pool = pool_make(1, LANEPOOL_PER_KEY) };
    lanepool_claim claims[4] = { lanepool_shared(5), lanepool_shared(7), lanepool_exclusive(5),
                                 lanepool_shared(9) };
    lanepool_future *future;

    expect_ok(lanepool_pool_submit(
        looks.pool, LANEPOOL_TASK(.function = end_looks, .context = &looks, .claims = claims,
                                  .claim_count = 4, .at_lane = look_around, .future = &future)));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(looks.calls, 3);
    expect_eq(looks.indices[0] + looks.indices[1] + looks.indices[2], 0 + 1 + 3);
    expect_eq(looks.claim_count, 1);
    expect(looks.holds_own && !looks.holds_other);
    expect_status(looks.wait, LANEPOOL_DEADLOCK);
    expect_status(looks.release, LANEPOOL_DEADLOCK);
    expect_status(looks.detach, LANEPOOL_UNSUPPORTED);
    expect_status(looks.hand_over, LANEPOOL_DEADLOCK);
    expect_status(looks.submit, LANEPOOL_OK);
    pool_settle(looks.pool);
    expect_eq(looks.inner.runs, 3);
    pool_end(looks.pool);
}

/* --- cancelling --- */

Test(cut, a_cut_is_cancelled_until_its_first_visit)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct cut cut;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    lanepool_future *future = cut_submit(pool, &cut);
    expect_ok(lanepool_future_cancel(future));
    expect_eq(cut.cancels, 1);
    expect_status(cut.why, LANEPOOL_CANCELLED);
    expect_status(cut_end(future, NULL), LANEPOOL_CANCELLED);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_eq(cut.visited + cut.calls, 0);
    expect_eq(cut.releases, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(cut, a_cancel_of_many_spares_a_cut_that_has_begun)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct cut begun, waiting;
    size_t count;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    cut_init(&begun, 2, LANEPOOL_EXCLUSIVE);
    begun.gate = &gate;
    begun.slow = 1;
    cut_init(&waiting, 2, LANEPOOL_EXCLUSIVE);
    lanepool_future *first = cut_submit(pool, &begun);
    expect(gate_await(&gate, 1));
    lanepool_future *second = cut_submit(pool, &waiting);
    expect_status(lanepool_future_cancel(first), LANEPOOL_RUNNING);
    expect_ok(lanepool_pool_cancel(pool, &count));
    expect_eq(count, 1);
    expect_status(cut_end(second, NULL), LANEPOOL_CANCELLED);
    gate_open(&gate, 2);
    expect_status(cut_end(first, NULL), LANEPOOL_OK);
    expect_eq(begun.visited, 2);
    expect_eq(waiting.visited, 0);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- failed visits --- */

Test(cut, a_failed_visit_ends_the_cut_in_parts)
{
    struct step behind = { .id = 1 };
    struct cut cut;
    int code;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    cut_init(&cut, 5, LANEPOOL_EXCLUSIVE);
    cut.codes[3] = 42;
    lanepool_future *future = cut_submit(pool, &cut);
    expect_ok(step_submit_on(pool, &behind, 3));
    expect_status(cut_end(future, &code), LANEPOOL_FAILED);
    expect_eq(code, 42);
    pool_settle(pool);
    expect_eq(cut.visited, 5);
    expect_eq(cut.calls, 0);
    expect_eq(cut.cancels, 1);
    expect_status(cut.why, LANEPOOL_IN_PARTS);
    expect_eq(cut.releases, 1);
    expect_eq(behind.runs, 1);
    pool_end(pool);
}

static int fail_once(lanepool_run *run, void *context, size_t index)
{
    struct cut *cut = context;
    int code = visit(run, context, index);

    cut->codes[index] = 0;
    return code;
}

Test(cut, a_retry_visits_only_the_lanes_that_have_failed)
{
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.retries = 2;
    cut_init(&cut, 6, LANEPOOL_EXCLUSIVE);
    cut.codes[1] = 1;
    cut.codes[4] = 1;
    lanepool_task task = cut_task(&cut);
    task.at_lane = fail_once;
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    for (size_t i = 0; i < 6; i++)
        expect_eq(cut.visits[i], i == 1 || i == 4 ? 2 : 1);
    expect_eq(cut.calls, 1);
    expect_eq(cut.visited_at_call, 8);
    expect_eq(cut.cancels, 0);
    pool_end(pool);
}

Test(cut, a_parked_cut_poisons_only_the_lanes_that_have_failed)
{
    struct step behind[2] = { { .id = 0 }, { .id = 1 } };
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_parked_tasks *parked;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.at_end = LANEPOOL_FAILURE_POISON;
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    cut.codes[1] = 9;
    lanepool_task task = cut_task(&cut);
    task.at_lane = fail_once;
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &behind[0], 0));
    expect_ok(step_submit_on(pool, &behind[1], 1));
    pool_settle_parked(pool);
    expect_eq(behind[0].runs, 1);
    expect_eq(behind[1].runs, 0);
    expect_ok(lanepool_pool_parked(pool, &parked));
    expect_eq(parked->count, 1);
    expect_eq(parked->tasks[0].code, 9);
    expect_eq(parked->tasks[0].claim_count, 1);
    expect_eq(parked->tasks[0].claims[0].key.id, 1);
    uint64_t ticket = parked->tasks[0].ticket;
    lanepool_parked_tasks_release(parked);
    expect_ok(lanepool_pool_resolve(pool, ticket, LANEPOOL_RESOLVE_RETRY));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_eq(cut.visits[0], 1);
    expect_eq(cut.visits[1], 2);
    expect_eq(behind[1].runs, 1);
    pool_end(pool);
}

Test(cut, a_function_that_fails_is_retried_without_visits)
{
    struct cut cut;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    policy.retries = 2;
    cut_init(&cut, 3, LANEPOOL_SHARED);
    cut.code = 5;
    lanepool_task task = cut_task(&cut);
    task.on_failure = &policy;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(cut_end(future, NULL), LANEPOOL_FAILED);
    expect_eq(cut.calls, 3);
    expect_eq(cut.visited, 3);
    expect_eq(cut.cancels, 0);
    pool_end(pool);
}

static int leave_thread(lanepool_run *run, void *context, size_t index)
{
    (void)visit(run, context, index);
    if (index == 1)
        pthread_exit(NULL);
    return 0;
}

Test(cut, a_visit_that_ends_its_thread_has_failed)
{
    struct step behind = { .id = 1 };
    struct cut cut;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    lanepool_task task = cut_task(&cut);
    task.at_lane = leave_thread;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &behind, 1));
    expect_status(cut_end(future, NULL), LANEPOOL_ABANDONED);
    pool_settle(pool);
    expect_eq(cut.visited, 3);
    expect_status(cut.why, LANEPOOL_IN_PARTS);
    expect_eq(behind.runs, 1);
    pool_end(pool);
}

/* --- the pool's end --- */

struct handed_back {
    lanepool_at_lane_fn at_lane;
    size_t claim_count;
    uint32_t count;
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct handed_back *back = context;

    (void)ticket;
    back->at_lane = task->at_lane;
    back->claim_count = task->claim_count;
    back->count++;
}

Test(cut, a_shutdown_now_ends_a_begun_cut_in_parts_and_hands_others_back)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct cut begun, waiting;
    struct handed_back back = { .count = 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 0));
    expect(gate_await(&gate, 1));
    cut_init(&begun, 3, LANEPOOL_EXCLUSIVE);
    begun.gate = &gate;
    begun.slow = 1;
    cut_init(&waiting, 2, LANEPOOL_EXCLUSIVE);
    lanepool_future *first = cut_submit(pool, &begun);
    expect(gate_await(&gate, 1));
    lanepool_future *second = cut_submit(pool, &waiting);
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &back));
    gate_open(&gate, 2);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(cut_end(first, NULL), LANEPOOL_IN_PARTS);
    expect_status(cut_end(second, NULL), LANEPOOL_CANCELLED);
    expect_eq(begun.cancels, 1);
    expect_status(begun.why, LANEPOOL_IN_PARTS);
    expect_eq(begun.calls, 0);
    expect_eq(begun.releases, 1);
    expect_eq(begun.visits[1], 1);
    expect_eq(begun.visits[0], 0);
    expect_eq(waiting.visited + waiting.calls + waiting.cancels + waiting.releases, 0);
    expect_eq(back.count, 1);
    expect(back.at_lane == visit);
    expect_eq(back.claim_count, 2);
    pool_end(pool);
    gate_fini(&gate);
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
        expect_ok(lanepool_pool_submit(pool, LANEPOOL_TASK(.function = wait_inside,
                                                           .context = &waiter, .claims = &zero,
                                                           .claim_count = 1)));
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
    lanepool_timer *timer;

    plain.workers = 2;
    cut_init(&cut, 2, LANEPOOL_EXCLUSIVE);
    lanepool_task task = cut_task(&cut);
    lanepool_options options = plain;
    options.layout = LANEPOOL_PER_WORKER;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_UNSUPPORTED);
    options = plain;
    options.is_compatible = always_compatible;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_UNSUPPORTED);
    options = plain;
    options.priorities = true;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_UNSUPPORTED);
    options = plain;
    options.lane_pending_max = 3;
    expect_status(submit_cut_of(&options, &task), LANEPOOL_UNSUPPORTED);
    lanepool_pool *pool = pool_make_with(&plain);
    expect_status(lanepool_pool_submit_every(pool, &task, 0, 1000, LANEPOOL_FIXED_RATE, &timer),
                  LANEPOOL_UNSUPPORTED);
    pool_end(pool);
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
