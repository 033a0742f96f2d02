/* The consequences of a failure: retries while the task keeps its lanes, and their end. */
#include "support/step.h"
#include "support/test.h"

/* A task that fails `fails` times, and records its state at each attempt. */
struct trying {
    unsigned fails;
    unsigned calls; /* written by the task that has the lane */
    unsigned attempts[8];
    struct journal *journal;
    struct gate *gate; /* where each call stops; or NULL */
    uint64_t ticket;
    _Atomic uint32_t cancels;
    _Atomic uint32_t releases;
};

static int try(lanepool_run *run, void *context)
{
    struct trying *trying = context;

    trying->ticket = lanepool_run_ticket(run);
    trying->attempts[trying->calls % 8] = lanepool_run_attempt(run);
    unsigned call_number = ++trying->calls;
    if (trying->gate) {
        gate_pass(trying->gate);
    }
    return call_number <= trying->fails ? (int)call_number : 0;
}

static void cancel_trying(void *context, lanepool_status why)
{
    struct trying *trying = context;

    (void)why;
    atomic_fetch_add(&trying->cancels, 1);
}

static void release_trying(void *context)
{
    struct trying *trying = context;
    atomic_fetch_add(&trying->releases, 1);
}

static lanepool_failure_policy policy_of(unsigned retries, uint64_t delay_ns)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    policy.retries = retries;
    policy.delay_ns = delay_ns;
    policy.delay_max_ns = 4 * delay_ns;
    return policy;
}

static lanepool_future *submit_trying(lanepool_pool *pool, struct trying *trying, uint64_t key,
                                      const lanepool_failure_policy *policy)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = try;
    task.context = trying;
    task.claims = &claim;
    task.claim_count = 1;
    task.future = &future;
    task.cancelled = cancel_trying;
    task.release = release_trying;
    task.on_failure = policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static lanepool_result await(lanepool_future *future)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    lanepool_future_release(future);
    return result;
}

struct errors {
    _Atomic uint32_t count;
    lanepool_error seen[8];
};

static void note_error(void *user, const lanepool_error *error)
{
    struct errors *errors = user;
    errors->seen[atomic_fetch_add(&errors->count, 1) % 8] = *error;
}

static lanepool_pool *pool_with(unsigned workers, const lanepool_failure_policy *policy,
                                struct errors *errors)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.on_failure = policy;
    options.on_error = errors ? note_error : NULL;
    options.user = errors;
    return pool_make_with(&options);
}

/* --- retries --- */

static void try_until_it_works(uint64_t delay_ns)
{
    lanepool_failure_policy policy = policy_of(3, delay_ns);
    struct errors errors = { .count = 0 };
    struct trying trying = { .fails = 2 };
    struct step behind = { 0 };
    lanepool_pool *pool = pool_with(2, NULL, &errors);

    lanepool_future *future = submit_trying(pool, &trying, 1, &policy);
    expect_ok(step_submit_on(pool, &behind, 1));
    lanepool_result result = await(future);
    expect_status(result.status, LANEPOOL_OK);
    pool_end(pool);
    expect_eq(trying.calls, 3);
    for (unsigned i = 0; i < 3; i++) {
        expect_eq(trying.attempts[i], i + 1);
    }
    expect_eq(trying.releases, 1);
    expect_eq(trying.cancels, 0);
    expect_eq(behind.runs, 1);
    expect_eq(errors.count, 2);
    for (unsigned i = 0; i < 2; i++) {
        expect_eq(errors.seen[i].attempt, i + 1);
        expect_eq(errors.seen[i].code, (int)i + 1);
        expect(!errors.seen[i].is_last);
        expect_eq(errors.seen[i].ticket, trying.ticket);
    }
}

Test(failure, task_is_tried_again_until_it_works)
{
    try_until_it_works(0);
    try_until_it_works(1000);
}

static void try_in_vain(uint64_t delay_ns)
{
    lanepool_failure_policy policy = policy_of(2, delay_ns);
    struct errors errors = { .count = 0 };
    struct trying trying = { .fails = 9 };
    lanepool_pool *pool = pool_with(2, &policy, &errors);

    lanepool_future *future = submit_trying(pool, &trying, 1, NULL);
    lanepool_result result = await(future);
    expect_status(result.status, LANEPOOL_FAILED);
    expect_eq(result.code, 3);
    pool_end(pool);
    expect_eq(trying.calls, 3);
    expect_eq(trying.releases, 1);
    expect_eq(errors.count, 3);
    expect(!errors.seen[1].is_last);
    expect(errors.seen[2].is_last);
    expect_eq(errors.seen[2].attempt, 3);
}

Test(failure, task_ends_with_its_last_attempt)
{
    try_in_vain(0);
    try_in_vain(1000);
}

Test(failure, what_conflicts_with_a_task_that_is_tried_again_waits)
{
    lanepool_failure_policy policy = policy_of(2, 1);
    struct gate gate;
    struct trying trying = { .fails = 1, .gate = &gate };
    struct step behind = { 0 };
    struct step beside = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *future = submit_trying(pool, &trying, 1, &policy);
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &behind, 1));
    expect_ok(step_submit_on(pool, &beside, 2));
    gate_open(&gate, 1);
    expect(gate_await(&gate, 1)); /* the second attempt */
    expect(!step_was_called(&behind));
    expect_status(lanepool_future_wait(future, 0, NULL), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_pool_quiesce(pool, 0), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    expect_status(await(future).status, LANEPOOL_OK);
    pool_end(pool);
    expect_eq(behind.runs, 1);
    expect_eq(beside.runs, 1);
    gate_fini(&gate);
}

Test(failure, own_policy_comes_before_the_pools)
{
    lanepool_failure_policy pools = policy_of(5, 0);
    lanepool_failure_policy own = LANEPOOL_FAILURE_POLICY_INIT;
    struct trying trying = { .fails = 9 };
    lanepool_pool *pool = pool_with(1, &pools, NULL);

    expect_status(await(submit_trying(pool, &trying, 1, &own)).status, LANEPOOL_FAILED);
    pool_end(pool);
    expect_eq(trying.calls, 1);
}

Test(failure, cancel_ends_the_retries_and_their_delay)
{
    /* The retry is due only because of the cancel. */
    lanepool_failure_policy policy = policy_of(9, UINT64_MAX / 8);
    struct gate gate;
    struct trying trying = { .fails = 9, .gate = &gate };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *future = submit_trying(pool, &trying, 1, &policy);
    expect(gate_await(&gate, 1));
    gate_open(&gate, 1);
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    expect(await(future).status != LANEPOOL_OK); /* FAILED if it was asked during the attempt */
    future = submit_trying(pool, &trying, 1, &policy);
    expect(gate_await(&gate, 1));
    gate_open(&gate, 1);
    size_t count = 1;
    while (lanepool_future_wait(future, 1000, NULL) == LANEPOOL_TIMED_OUT) {
        /* Repeated, because the task may not be delayed yet. */
        expect_ok(lanepool_pool_cancel(pool, &count));
        expect_eq(count, 0);
    }
    expect_status(await(future).status, LANEPOOL_CANCELLED);
    pool_end(pool);
    expect_eq(trying.calls, 2);
    expect_eq(trying.cancels, 0);
    gate_fini(&gate);
}

static void cancel_in_error(void *user, const lanepool_error *error)
{
    lanepool_future **future = user;

    if (error->attempt == 1) {
        expect_status(lanepool_future_cancel(*future), LANEPOOL_RUNNING);
    }
}

/* By then the task is ready for its next attempt, or is about to be. It is not parked, and pauses
 * no lane: its lanes go on. */
static void ask_after_the_first_attempt(uint64_t delay_ns, lanepool_failure_end at_end)
{
    lanepool_failure_policy policy = policy_of(9, delay_ns);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct gate gate;
    struct trying trying = { .fails = 9, .gate = &gate };
    struct step behind = { 0 };
    lanepool_future *future = NULL;

    gate_init(&gate);
    policy.at_end = at_end;
    options.workers = 1;
    options.on_error = cancel_in_error;
    options.user = &future;
    lanepool_pool *pool = pool_make_with(&options);
    future = submit_trying(pool, &trying, 1, &policy);
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &behind, 1));
    gate_open(&gate, 10);
    pool_settle(pool);
    lanepool_result result = await(future);
    expect_status(result.status, LANEPOOL_CANCELLED);
    expect_eq(result.code, 1);
    pool_end(pool);
    expect_eq(behind.runs, 1);
    expect_eq(trying.calls, 1);
    expect_eq(trying.cancels, 0);
    expect_eq(trying.releases, 1);
    gate_fini(&gate);
}

Test(failure, who_was_asked_to_end_between_two_attempts_is_cancelled)
{
    for (uint64_t delay_ns = 0; delay_ns < 2; delay_ns++) {
        ask_after_the_first_attempt(delay_ns, LANEPOOL_FAILURE_CONTINUE);
        ask_after_the_first_attempt(delay_ns, LANEPOOL_FAILURE_POISON);
        ask_after_the_first_attempt(delay_ns, LANEPOOL_FAILURE_PAUSE);
    }
}

Test(failure, drain_waits_for_retries_and_a_shutdown_now_does_not)
{
    lanepool_failure_policy soon = policy_of(3, 1000000);
    lanepool_failure_policy never = policy_of(3, UINT64_MAX / 8);
    struct gate gate;
    struct trying first = { .fails = 2 };
    struct trying second = { .fails = 2, .gate = &gate };
    struct step behind = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *future = submit_trying(pool, &first, 1, &soon);
    pool_end(pool);
    expect_status(await(future).status, LANEPOOL_OK);
    expect_eq(first.calls, 3);
    pool = pool_make(2, LANEPOOL_PER_KEY);
    future = submit_trying(pool, &second, 1, &never);
    expect_ok(step_submit_on(pool, &behind, 1));
    expect(gate_await(&gate, 1));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    pool_end(pool);
    expect(await(future).status != LANEPOOL_OK); /* CANCELLED unless the attempt ran until then */
    expect_eq(second.calls, 1);
    expect_eq(second.cancels, 0);
    expect_eq(second.releases, 1);
    expect_eq(behind.runs + behind.cancels, 1);
    gate_fini(&gate);
}

static int give_up_and_fail(lanepool_run *run, void *context)
{
    lanepool_key key = lanepool_key_id(1);
    struct trying *trying = context;

    trying->calls++;
    return lanepool_run_release(run, key) == LANEPOOL_OK ? 5 : 6;
}

static int hand_over_and_fail(lanepool_run *run, void *context)
{
    struct trying *trying = context;
    lanepool_task heir = LANEPOOL_TASK_INIT;

    trying->calls++;
    heir.function = try;
    heir.context = trying + 1;
    return lanepool_run_hand_over(run, &heir) == LANEPOOL_OK ? 5 : 6;
}

static int complete_and_fail(lanepool_run *run, void *context)
{
    struct trying *trying = context;
    lanepool_detached *detached;

    trying->attempts[trying->calls++ % 8] = lanepool_run_attempt(run);
    if (lanepool_run_detach(run, &detached) != LANEPOOL_OK ||
        lanepool_task_complete(detached, trying->calls < 3, NULL) != LANEPOOL_OK) {
        return 9;
    }
    return 0;
}

static lanepool_result fail_in(lanepool_pool *pool, lanepool_task_fn function,
                               struct trying *trying, const lanepool_failure_policy *policy)
{
    lanepool_claim claims[2] = { lanepool_exclusive(1), lanepool_exclusive(2) };
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = function;
    task.context = trying;
    task.claims = claims;
    task.claim_count = 2;
    task.future = &future;
    task.on_failure = policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    return await(future);
}

Test(failure, who_has_given_a_lane_away_is_not_tried_again)
{
    lanepool_failure_policy policy = policy_of(4, 0);
    struct trying giving = { 0 };
    struct trying handing[2] = { { 0 } };
    struct errors errors = { .count = 0 };
    lanepool_pool *pool = pool_with(2, NULL, &errors);

    expect_eq(fail_in(pool, give_up_and_fail, &giving, &policy).code, 5);
    expect_eq(fail_in(pool, hand_over_and_fail, handing, &policy).code, 5);
    pool_end(pool);
    expect_eq(giving.calls, 1);
    expect_eq(handing[0].calls, 1);
    expect_eq(handing[1].calls, 1);
    expect_eq(errors.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        expect_eq(errors.seen[i].attempt, 1);
        expect(errors.seen[i].is_last);
    }
}

Test(failure, each_run_of_a_periodic_task_ends_with_its_failure)
{
    lanepool_failure_policy policy = policy_of(4, 0);
    struct errors errors = { .count = 0 };
    struct gate gate;
    struct trying trying = { .fails = 9, .gate = &gate };
    lanepool_timer *timer;
    lanepool_task task = LANEPOOL_TASK_INIT;

    policy.at_end = LANEPOOL_FAILURE_POISON;
    gate_init(&gate);
    lanepool_pool *pool = pool_with(1, &policy, &errors);
    task.function = try;
    task.cancelled = cancel_trying;
    task.context = &trying;
    expect_ok(lanepool_pool_submit_every(pool, &task, 0, 1, LANEPOOL_FIXED_DELAY, &timer));
    for (uint32_t i = 0; i < 3; i++) {
        expect(gate_await(&gate, 1));
        if (i == 2) {
            expect_status(lanepool_timer_cancel(timer), LANEPOOL_RUNNING);
        }
        gate_open(&gate, 1);
    }
    pool_end(pool);
    lanepool_timer_release(timer);
    expect_eq(trying.calls, 3);
    expect_eq(trying.cancels, 1);
    expect_eq(errors.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        expect_eq(trying.attempts[i], 1);
        expect_eq(errors.seen[i].attempt, 1);
        expect(errors.seen[i].is_last);
    }
    gate_fini(&gate);
}

Test(failure, detached_task_is_tried_again_when_it_was_completed_as_failed)
{
    lanepool_failure_policy policy = policy_of(4, 0);
    struct trying trying = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    expect_status(fail_in(pool, complete_and_fail, &trying, &policy).status, LANEPOOL_OK);
    pool_end(pool);
    expect_eq(trying.calls, 3);
    expect_eq(trying.attempts[2], 3);
}

static bool never_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a, (void)b, (void)user;
    return false;
}

Test(failure, retries_keep_the_order_under_a_rule_too)
{
    lanepool_failure_policy policy = policy_of(2, 1000);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct trying trying = { .fails = 2 };
    struct step behind = { 0 };

    options.is_compatible = never_compatible;
    options.on_failure = &policy;
    lanepool_pool *pool = pool_make_with(&options);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = try;
    task.context = &trying;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit(pool, &behind));
    pool_end(pool);
    expect_eq(trying.calls, 3);
    expect_eq(behind.runs, 1);
}

Test(failure, what_a_policy_cannot_be_is_refused)
{
    lanepool_failure_policy policy = policy_of(1, 0);
    lanepool_failure_policy unknown = policy_of(1, 0);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct step step = { 0 };
    lanepool_pool *pool;
    lanepool_timer *timer;

    options.layout = LANEPOOL_PER_WORKER;
    options.on_failure = &policy;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_UNSUPPORTED);
    unknown.struct_size = 1;
    options.layout = LANEPOOL_PER_KEY;
    options.on_failure = &unknown;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&step, NULL, 0);
    task.on_failure = &unknown;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    task.on_failure = &policy;
    expect_status(lanepool_pool_submit_every(pool, &task, 0, 1000, LANEPOOL_FIXED_RATE, &timer),
                  LANEPOOL_UNSUPPORTED);
    pool_end(pool);
}
