/* Deadlines: a task that does not start in time is cancelled; one that runs too long is asked to
 * end. */
#include <sched.h>

#include "support/step.h"
#include "support/test.h"

enum { SOON_NS = 1000000, HOUR_NS_COUNT = 3600 };

static const uint64_t hour_ns = (uint64_t)HOUR_NS_COUNT * 1000000000;

/* A pool whose only worker runs a task of key 1 that waits at the gate. */
struct busy {
    lanepool_pool *pool;
    struct gate gate;
    struct step holder;
};

static void start(struct busy *busy)
{
    *busy = (struct busy){ .pool = pool_make(1, LANEPOOL_PER_KEY) };
    gate_init(&busy->gate);
    busy->holder.gate = &busy->gate;
    expect_ok(step_submit_on(busy->pool, &busy->holder, 1));
    expect(gate_await(&busy->gate, 1));
}

static void end(struct busy *busy)
{
    gate_open(&busy->gate, 1);
    pool_end(busy->pool);
    gate_fini(&busy->gate);
}

static lanepool_status status_of(lanepool_future *future)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    lanepool_future_release(future);
    return result.status;
}

static void expect_expired(const struct step *step)
{
    expect_eq(step->runs, 0);
    expect_eq(step->cancels, 1);
    expect_eq(step->releases, 1);
}

Test(deadline, task_that_has_not_started_in_time_is_cancelled_and_leaves_its_lanes)
{
    struct busy busy;
    struct step late = { 0 };
    struct step behind = { 0 };
    lanepool_claim claims[2] = { lanepool_exclusive(1), lanepool_exclusive(2) };
    lanepool_future *future;

    start(&busy);
    lanepool_task task = step_task(&late, claims, 2);
    task.start_within_ns = SOON_NS;
    task.future = &future;
    task.release = step_release;
    expect_ok(lanepool_pool_submit(busy.pool, &task));
    expect_ok(step_submit_on(busy.pool, &behind, 2));
    expect_status(status_of(future), LANEPOOL_TIMED_OUT);
    end(&busy);
    expect_expired(&late);
    expect_eq(behind.runs, 1);
}

/* Runs a step's task in a pool of its own. */
static void run_alone(struct step *step, lanepool_task *task)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future;

    task->future = &future;
    expect_ok(lanepool_pool_submit(pool, task));
    expect_ok(status_of(future));
    pool_end(pool);
    expect_eq(step->runs, 1);
}

Test(deadline, task_that_starts_in_time_runs)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);

    task.start_within_ns = hour_ns;
    task.run_within_ns = hour_ns;
    run_alone(&step, &task);
}

Test(deadline, members_of_a_batch_and_a_group_expire_with_their_completions)
{
    enum { TASKS = 100 };
    static struct step steps[TASKS];
    struct busy busy;
    lanepool_task tasks[TASKS];
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_group *group;
    lanepool_completion completion;
    size_t taken = 0;

    options.keeps_completions = true;
    expect_ok(lanepool_group_create(&options, &group));
    start(&busy);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = step_task(&steps[i], &claim, 1);
        tasks[i].group = i % 2 == 0 ? group : NULL;
        tasks[i].start_within_ns = SOON_NS;
        tasks[i].release = step_release;
    }
    expect_ok(lanepool_pool_submit_batch(busy.pool, tasks, TASKS, LANEPOOL_FOREVER, NULL));
    expect_ok(lanepool_group_close(group));
    while (lanepool_group_next(group, LANEPOOL_FOREVER, &completion) == LANEPOOL_OK) {
        expect_status(completion.result.status, LANEPOOL_TIMED_OUT);
        taken++;
    }
    expect_eq(taken, TASKS / 2);
    end(&busy);
    lanepool_group_destroy(group);
    for (int i = 0; i < TASKS; i += 2) {
        expect_expired(&steps[i]);
    }
}

Test(deadline, deadline_of_a_delayed_task_counts_from_its_delay)
{
    struct busy busy;
    struct step late = { 0 };
    struct step in_time = { 0 };
    lanepool_future *futures[2];

    start(&busy);
    lanepool_task task = step_task(&late, NULL, 0);
    task.start_within_ns = SOON_NS;
    task.future = &futures[0];
    task.release = step_release;
    expect_ok(lanepool_pool_submit_after(busy.pool, &task, SOON_NS));
    task.context = &in_time;
    task.start_within_ns = hour_ns;
    task.future = &futures[1];
    expect_ok(lanepool_pool_submit_after(busy.pool, &task, SOON_NS));
    expect_status(status_of(futures[0]), LANEPOOL_TIMED_OUT);
    gate_open(&busy.gate, 1);
    expect_ok(status_of(futures[1]));
    pool_end(busy.pool);
    gate_fini(&busy.gate);
    expect_expired(&late);
}

Test(deadline, ready_task_of_a_pump_expires_too)
{
    struct step step = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_future *future;
    lanepool_pump *pump;

    expect_ok(lanepool_pump_create(pool, &pump));
    task.pump = pump;
    task.start_within_ns = SOON_NS;
    task.future = &future;
    task.release = step_release;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(status_of(future), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
    expect_expired(&step);
}

static void expires_in(const lanepool_options *options)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step late = { 0 };
    struct step behind = { 0 };
    lanepool_pool *pool = pool_make_with(options);
    lanepool_task task = step_task(&late, NULL, 0);
    lanepool_future *future;

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    task.start_within_ns = SOON_NS;
    task.future = &future;
    task.release = step_release;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit(pool, &behind));
    expect_status(status_of(future), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
    expect_expired(&late);
    expect_eq(behind.runs, 1);
}

static bool nothing_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b,
                                  void *user)
{
    (void)a, (void)b, (void)user;
    return false;
}

Test(deadline, hold_in_each_kind_of_pool)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.priorities = true;
    expires_in(&options);
    options.priorities = false;
    options.layout = LANEPOOL_PER_WORKER;
    expires_in(&options);
    options.is_compatible = nothing_is_compatible;
    expires_in(&options);
    options.layout = LANEPOOL_PER_KEY;
    expires_in(&options);
    options.workers = 2;
    expires_in(&options);
}

struct handing_over {
    lanepool_task heir;
    lanepool_status status;
    lanepool_status heir_status;
};

/* Polls until the receiver has expired: it cannot start before this function returns. */
static int hand_over(lanepool_run *run, void *context)
{
    struct handing_over *handing_over = context;

    handing_over->status = lanepool_run_hand_over(run, &handing_over->heir);
    while (lanepool_future_wait(*handing_over->heir.future, 0, NULL) == LANEPOOL_TIMED_OUT) {
        sched_yield();
    }
    return 0;
}

Test(deadline, receiver_that_gets_its_lanes_too_late_is_cancelled)
{
    struct step step = { 0 };
    struct handing_over handing_over;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future;

    handing_over.heir = step_task(&step, NULL, 0);
    handing_over.heir.start_within_ns = SOON_NS;
    handing_over.heir.future = &future;
    handing_over.heir.release = step_release;
    expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), hand_over, &handing_over));
    pool_end(pool);
    expect_ok(handing_over.status);
    expect_status(status_of(future), LANEPOOL_TIMED_OUT);
    expect_expired(&step);
}

static lanepool_task returned;

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    (void)context, (void)ticket;
    returned = *task;
}

Test(deadline, handed_back_task_brings_its_deadlines)
{
    struct busy busy;
    struct step waiting = { 0 };
    lanepool_claim claim = lanepool_exclusive(1);

    start(&busy);
    lanepool_task task = step_task(&waiting, &claim, 1);
    task.start_within_ns = hour_ns;
    task.run_within_ns = 2 * hour_ns;
    expect_ok(lanepool_pool_submit(busy.pool, &task));
    expect_ok(lanepool_pool_shutdown_now(busy.pool, take_back, NULL));
    end(&busy);
    expect(returned.context == &waiting);
    expect_eq(returned.start_within_ns, hour_ns);
    expect_eq(returned.run_within_ns, 2 * hour_ns);
}

static int run_until_asked(lanepool_run *run, void *context)
{
    struct step *step = context;

    while (!lanepool_run_is_cancelled(run)) {
        sched_yield();
    }
    step->runs++;
    return 0;
}

Test(deadline, task_that_runs_too_long_is_asked_to_end_and_ends_as_it_likes)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);

    task.function = run_until_asked;
    task.run_within_ns = SOON_NS;
    run_alone(&step, &task);
}

Test(deadline, periodic_and_sequence_tasks_have_none)
{
    struct step step = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_timer *timer;

    task.start_within_ns = SOON_NS;
    expect_status(lanepool_pool_submit_every(pool, &task, 0, SOON_NS, LANEPOOL_FIXED_RATE, &timer),
                  LANEPOOL_UNSUPPORTED);
    task.start_within_ns = 0;
    task.run_within_ns = SOON_NS;
    expect_status(lanepool_pool_submit_every(pool, &task, 0, SOON_NS, LANEPOOL_FIXED_RATE, &timer),
                  LANEPOOL_UNSUPPORTED);
    pool_end(pool);
    expect(!step_was_called(&step));
}

/* --- detached tasks --- */

struct detaching {
    lanepool_detached *detached;
    lanepool_status status;
    struct gate *gate; /* the function waits here once it is detached; or NULL */
};

static int detach(lanepool_run *run, void *context)
{
    struct detaching *detaching = context;

    detaching->status = lanepool_run_detach(run, &detaching->detached);
    if (detaching->gate) {
        gate_pass(detaching->gate);
    }
    return 0;
}

static lanepool_task detaching_task(struct detaching *detaching, const lanepool_claim *claim,
                                    lanepool_future **future)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = detach;
    task.context = detaching;
    task.claims = claim;
    task.claim_count = 1;
    task.future = future;
    return task;
}

/* On a busy machine a worker may detach too late, so these two tests then grant twice the time. */

Test(deadline, detached_task_that_is_not_completed_in_time_ends_and_its_lanes_go_on)
{
    struct detaching detaching = { .gate = NULL };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future;
    lanepool_task task = detaching_task(&detaching, &claim, &future);
    lanepool_status status;

    task.run_within_ns = SOON_NS;
    do {
        struct step behind = { 0 };

        expect_ok(lanepool_pool_submit(pool, &task));
        expect_ok(step_submit_on(pool, &behind, 1));
        status = status_of(future);
        pool_settle(pool);
        expect_eq(behind.runs, 1);
        task.run_within_ns *= 2;
    } while (detaching.status == LANEPOOL_TIMED_OUT);
    expect_status(status, LANEPOOL_TIMED_OUT);
    expect_ok(detaching.status);
    expect(lanepool_detached_is_cancelled(detaching.detached));
    pool_end(pool);
    expect_status(lanepool_task_complete(detaching.detached, 0, NULL), LANEPOOL_DONE);
}

Test(deadline, detached_task_that_times_out_is_parked_if_its_policy_says_so)
{
    struct detaching detaching = { .gate = NULL };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future;
    lanepool_parked_tasks *parked;
    lanepool_task task = detaching_task(&detaching, &claim, &future);
    lanepool_status status;

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.on_failure = &policy;
    task.run_within_ns = SOON_NS;
    expect_ok(lanepool_pool_submit(pool, &task));
    while ((status = lanepool_pool_quiesce(pool, LANEPOOL_FOREVER)) == LANEPOOL_OK &&
           detaching.status == LANEPOOL_TIMED_OUT) {
        lanepool_future_release(future);
        task.run_within_ns *= 2;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_status(status, LANEPOOL_PARKED);
    expect_ok(lanepool_pool_parked(pool, &parked));
    expect_eq(parked->count, 1);
    expect_status(parked->tasks[0].status, LANEPOOL_TIMED_OUT);
    lanepool_parked_tasks_release(parked);
    expect_status(lanepool_task_complete(detaching.detached, 0, NULL), LANEPOOL_DONE);
    expect_ok(lanepool_pool_destroy_now(pool));
    expect_status(status_of(future), LANEPOOL_TIMED_OUT);
}

Test(deadline, shutdown_now_ends_detached_tasks_and_their_handles_stay_valid)
{
    struct detaching detaching[2] = { { .gate = NULL }, { .gate = NULL } };
    struct gate gate;
    lanepool_claim claims[2] = { lanepool_exclusive(1), lanepool_exclusive(2) };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *futures[2];

    gate_init(&gate);
    detaching[1].gate = &gate; /* its function still runs at the shutdown */
    for (int i = 0; i < 2; i++) {
        lanepool_task task = detaching_task(&detaching[i], &claims[i], &futures[i]);

        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    expect_status(status_of(futures[0]), LANEPOOL_ABANDONED);
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_destroy_now(pool));
    expect_status(status_of(futures[1]), LANEPOOL_ABANDONED);
    for (int i = 0; i < 2; i++) {
        expect_ok(detaching[i].status);
        expect(lanepool_detached_is_cancelled(detaching[i].detached));
        expect_status(lanepool_task_complete(detaching[i].detached, 0, NULL), LANEPOOL_DONE);
    }
    gate_fini(&gate);
}
