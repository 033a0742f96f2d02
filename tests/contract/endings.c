/* How tasks end: a test for each row of docs/endings.md, in its order and with its words. Each task
 * is entered, cancelled or handed back, and released once and last unless it is handed back. */
#include "support/step.h"
#include "support/test.h"

enum { KEY = 1, TASKS = 8 };

#define HOUR_NS INT64_C(3600000000000)

/* What has happened to one task. */
struct life {
    struct gate *gate; /* where the function stops; or NULL */
    int code;          /* what the function answers */
    lanepool_detached *detached;
    bool detaches;
    _Atomic uint32_t entered;
    _Atomic uint32_t cancelled;
    _Atomic uint32_t released;
    _Atomic uint32_t returned;
    lanepool_status why;
    _Atomic bool released_early; /* something was called after `release` */
    lanepool_pool *pool;         /* where `cancelled` tries to wait and submits; or NULL */
    lanepool_status waited;
    struct step follower;
};

static void note_order(struct life *life)
{
    if (atomic_load(&life->released) > 0) {
        atomic_store(&life->released_early, true);
    }
}

static int enter(lanepool_run *run, void *context)
{
    struct life *life = context;

    note_order(life);
    atomic_fetch_add(&life->entered, 1);
    if (life->detaches) {
        expect_ok(lanepool_run_detach(run, &life->detached));
    }
    if (life->gate) {
        gate_pass(life->gate);
    }
    return life->code;
}

static void cancelled(void *context, lanepool_status why)
{
    struct life *life = context;

    note_order(life);
    life->why = why;
    if (life->pool) {
        life->waited = lanepool_pool_quiesce(life->pool, LANEPOOL_FOREVER);
        expect_ok(step_submit(life->pool, &life->follower));
    }
    atomic_fetch_add(&life->cancelled, 1);
}

static void release(void *context)
{
    struct life *life = context;

    atomic_fetch_add(&life->released, 1);
}

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct life *life = task->context;

    (void)context, (void)ticket;
    expect(task->function == enter && task->cancelled == cancelled && task->release == release);
    atomic_fetch_add(&life->returned, 1);
}

static lanepool_task describe(struct life *life, lanepool_future **future)
{
    static lanepool_claim claim;
    lanepool_task task = LANEPOOL_TASK_INIT;

    claim = lanepool_exclusive(KEY);
    task.function = enter;
    task.context = life;
    task.cancelled = cancelled;
    task.release = release;
    task.future = future;
    task.claims = &claim;
    task.claim_count = 1;
    return task;
}

static void expect_life(struct life *life, uint32_t entered, uint32_t was_cancelled,
                        uint32_t released)
{
    expect_eq(life->entered, entered);
    expect_eq(life->cancelled, was_cancelled);
    expect_eq(life->released, released);
    expect(!life->released_early);
}

static void expect_result(lanepool_future *future, lanepool_status status)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, status);
    lanepool_future_release(future);
}

/* A pool of one worker, which a task of the key occupies until release_pool(). */
struct busy {
    lanepool_pool *pool;
    struct gate gate;
    struct step holder;
};

static void occupy(struct busy *busy)
{
    *busy = (struct busy){ .pool = pool_make(1, LANEPOOL_PER_KEY) };
    gate_init(&busy->gate);
    busy->holder.gate = &busy->gate;
    expect_ok(step_submit_on(busy->pool, &busy->holder, KEY));
    expect(gate_await(&busy->gate, 1));
}

static void free_worker_and_end(struct busy *busy)
{
    gate_open(&busy->gate, 1);
    pool_end(busy->pool);
    gate_fini(&busy->gate);
}

/* --- plain --- */

Test(endings, plain_it_runs)
{
    struct life lives[2] = { { .code = 0 }, { .code = 3 } };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    for (int i = 0; i < 2; i++) {
        lanepool_future *future;
        lanepool_task task = describe(&lives[i], &future);

        expect_ok(lanepool_pool_submit(pool, &task));
        expect_result(future, i == 0 ? LANEPOOL_OK : LANEPOOL_FAILED);
    }
    pool_end(pool);
    expect_life(&lives[0], 1, 0, 1);
    expect_life(&lives[1], 1, 0, 1);
}

/* The third has neither callback, and the fourth only `release`: both are never entered. */
Test(endings, plain_its_future_lane_or_pool_is_cancelled)
{
    struct busy busy;
    struct life lives[5] = { { 0 } };
    lanepool_future *futures[5];
    lanepool_lane *lane;
    size_t count;

    occupy(&busy);
    for (int i = 0; i < 5; i++) {
        lanepool_task task = describe(&lives[i], i < 3 ? &futures[i] : NULL);

        task.cancelled = i < 3 ? cancelled : NULL;
        task.release = i != 3 ? release : NULL;
        expect_ok(lanepool_pool_submit(busy.pool, &task));
        if (i == 0) {
            expect_ok(lanepool_future_cancel(futures[0]));
        } else if (i == 1) {
            expect_ok(lanepool_lane_acquire(busy.pool, lanepool_key_id(KEY), &lane));
            expect_ok(lanepool_lane_cancel(lane, &count));
            expect_eq(count, 1);
            lanepool_lane_release(lane);
        }
    }
    expect_ok(lanepool_pool_cancel(busy.pool, &count));
    expect_eq(count, 3);
    for (int i = 0; i < 3; i++) {
        expect_result(futures[i], LANEPOOL_CANCELLED);
        expect_life(&lives[i], 0, 1, 1);
        expect_status(lives[i].why, LANEPOOL_CANCELLED);
    }
    free_worker_and_end(&busy);
    expect_life(&lives[3], 0, 0, 0);
    expect_life(&lives[4], 0, 0, 1);
}

static void stop_now(lanepool_handback_fn handback, struct life *life)
{
    struct busy busy;
    lanepool_future *future;
    lanepool_task task = describe(life, &future);

    occupy(&busy);
    expect_ok(lanepool_pool_submit(busy.pool, &task));
    expect_ok(lanepool_pool_shutdown_now(busy.pool, handback, NULL));
    free_worker_and_end(&busy);
    expect_result(future, LANEPOOL_CANCELLED);
}

Test(endings, plain_the_pool_shuts_down_now_without_a_callback)
{
    struct life life = { 0 };

    stop_now(NULL, &life);
    expect_life(&life, 0, 1, 1);
    expect_status(life.why, LANEPOOL_SHUT_DOWN);
}

Test(endings, plain_it_is_handed_back)
{
    struct life life = { 0 };

    stop_now(take_back, &life);
    expect_life(&life, 0, 0, 0);
    expect_eq(life.returned, 1);
}

/* --- after the start --- */

Test(endings, detached_it_is_completed_also_after_a_request_to_stop)
{
    struct gate gate;
    struct life life = { .gate = &gate, .detaches = true };
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    gate_open(&gate, 1);
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    expect_life(&life, 1, 0, 0);
    expect_ok(lanepool_task_complete(life.detached, 0, NULL));
    expect_result(future, LANEPOOL_OK);
    pool_end(pool);
    expect_life(&life, 1, 0, 1);
    gate_fini(&gate);
}

Test(endings, between_attempts_it_is_asked_to_stop)
{
    struct life life = { .code = 1 };
    struct step other = { 0 }; /* the only worker runs it between the attempts */
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    policy.retries = 1;
    policy.delay_ns = HOUR_NS;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &other, KEY + 1));
    while (!step_was_called(&other)) {
    }
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    expect_result(future, LANEPOOL_CANCELLED);
    pool_end(pool);
    expect_life(&life, 1, 0, 1);
}

/* --- pumps and series --- */

Test(endings, of_a_pump_it_is_cancelled_before_the_pump_runs_it)
{
    struct life life = { 0 };
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pump_create(pool, &task.pump));
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_future_cancel(future));
    expect_result(future, LANEPOOL_CANCELLED);
    pool_settle(pool);
    expect_ok(lanepool_pump_destroy(task.pump));
    pool_end(pool);
    expect_life(&life, 0, 1, 1);
}

static void run_series(struct life *life, bool by_timer)
{
    struct gate gate;
    lanepool_timer *timer;
    lanepool_task task = describe(life, NULL);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    life->gate = &gate;
    expect_ok(lanepool_pool_submit_every(pool, &task, 0, HOUR_NS, LANEPOOL_FIXED_DELAY, &timer));
    expect(gate_await(&gate, 1));
    if (by_timer) {
        expect_status(lanepool_timer_cancel(timer), LANEPOOL_RUNNING);
    }
    gate_open(&gate, 1);
    pool_end(pool);
    lanepool_timer_release(timer);
    expect_life(life, 1, 1, 1);
    gate_fini(&gate);
}

Test(endings, series_its_timer_is_cancelled)
{
    struct life life = { 0 };

    run_series(&life, true);
    expect_status(life.why, LANEPOOL_CANCELLED);
}

Test(endings, series_its_pool_shuts_down)
{
    struct life life = { 0 };

    run_series(&life, false);
    expect_status(life.why, LANEPOOL_SHUT_DOWN);
}

/* --- sequences --- */

struct serial {
    lanepool_executor *executor;
    lanepool_sequence *sequence;
};

static void make_serial(struct serial *serial, lanepool_pool *pool)
{
    expect_ok(lanepool_pool_executor(pool, &serial->executor));
    expect_ok(lanepool_sequence_create(serial->executor, &serial->sequence));
}

static void end_serial(struct serial *serial)
{
    expect_ok(lanepool_sequence_destroy(serial->sequence));
    expect_ok(lanepool_executor_destroy(serial->executor));
}

static lanepool_future *submit_serial(struct serial *serial, struct life *life)
{
    lanepool_future *future;
    lanepool_task task = describe(life, &future);

    task.claims = NULL;
    task.claim_count = 0;
    expect_ok(lanepool_sequence_submit(serial->sequence, &task));
    return future;
}

Test(endings, sequence_the_task_or_its_sequence_is_cancelled)
{
    struct busy busy;
    struct serial serial;
    struct life lives[2] = { { 0 } };
    lanepool_future *futures[2];

    occupy(&busy);
    make_serial(&serial, busy.pool);
    for (int i = 0; i < 2; i++) {
        futures[i] = submit_serial(&serial, &lives[i]);
    }
    expect_ok(lanepool_future_cancel(futures[0]));
    expect_ok(lanepool_sequence_cancel(serial.sequence));
    for (int i = 0; i < 2; i++) {
        expect_result(futures[i], LANEPOOL_CANCELLED);
        expect_life(&lives[i], 0, 1, 1);
        expect_status(lives[i].why, LANEPOOL_CANCELLED);
    }
    end_serial(&serial);
    free_worker_and_end(&busy);
}

Test(endings, sequence_its_executors_pool_shuts_down_now)
{
    struct busy busy;
    struct serial serial;
    struct life life = { 0 };

    occupy(&busy);
    make_serial(&serial, busy.pool);
    lanepool_future *future = submit_serial(&serial, &life);
    expect_ok(lanepool_pool_shutdown_now(busy.pool, NULL, NULL));
    gate_open(&busy.gate, 1);
    expect_ok(lanepool_pool_await(busy.pool, LANEPOOL_FOREVER));
    expect_result(future, LANEPOOL_CANCELLED);
    expect_life(&life, 0, 1, 1);
    expect_status(life.why, LANEPOOL_SHUT_DOWN);
    end_serial(&serial);
    pool_end(busy.pool);
    gate_fini(&busy.gate);
}

/* The pool continues, so its sequences do. */
Test(endings, cancelling_a_pool_spares_its_sequences)
{
    struct busy busy;
    struct serial serial;
    struct life lives[2] = { { 0 } };
    size_t count = 1;

    occupy(&busy);
    make_serial(&serial, busy.pool);
    lanepool_future *before = submit_serial(&serial, &lives[0]);
    expect_ok(lanepool_pool_cancel(busy.pool, &count));
    expect_eq(count, 0);
    expect(!lanepool_sequence_is_cancelled(serial.sequence));
    lanepool_future *after = submit_serial(&serial, &lives[1]);
    gate_open(&busy.gate, 1);
    expect_result(before, LANEPOOL_OK);
    expect_result(after, LANEPOOL_OK);
    end_serial(&serial);
    pool_end(busy.pool);
    gate_fini(&busy.gate);
}

/* --- poisoned lanes --- */

Test(endings, fail_at_a_poisoned_lane_its_turn_comes_in_its_other_lanes)
{
    struct step bad = { .code = 5 };
    struct life life = { 0 };
    lanepool_claim claim = lanepool_exclusive(KEY);
    lanepool_failure_policy poisons = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_failure_policy fails = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_future *future;
    lanepool_task first = step_task(&bad, &claim, 1);
    lanepool_task task = describe(&life, &future);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    poisons.at_end = LANEPOOL_FAILURE_POISON;
    first.on_failure = &poisons;
    fails.at_poison = LANEPOOL_AT_POISON_FAIL;
    task.on_failure = &fails;
    expect_ok(lanepool_pool_submit(pool, &first));
    expect_status(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_result(future, LANEPOOL_POISONED);
    expect_ok(lanepool_pool_resolve(pool, bad.ticket, LANEPOOL_RESOLVE_SKIP));
    pool_end(pool);
    expect_life(&life, 0, 1, 1);
    expect_status(life.why, LANEPOOL_POISONED);
}

/* --- refused --- */

Test(endings, refused_submit_the_submit_answers_an_error)
{
    struct life life = { 0 };
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.priority = 1; /* the pool has no priorities */
    expect(lanepool_pool_submit(pool, &task) != LANEPOOL_OK);
    expect(future == NULL);
    pool_end(pool);
    expect_life(&life, 0, 0, 0);
}

Test(endings, tail_of_a_batch_the_batch_answers_an_error)
{
    struct life lives[TASKS] = { { 0 } };
    lanepool_task tasks[TASKS];
    size_t accepted;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    for (int i = 0; i < TASKS; i++) {
        tasks[i] = describe(&lives[i], NULL);
    }
    tasks[3].priority = 1;
    expect(lanepool_pool_submit_batch(pool, tasks, TASKS, LANEPOOL_FOREVER, &accepted) !=
           LANEPOOL_OK);
    expect_eq(accepted, 3);
    pool_end(pool);
    for (size_t i = 0; i < TASKS; i++) {
        expect_life(&lives[i], i < accepted, 0, i < accepted);
    }
}

/* --- others --- */

Test(endings, barrier_it_is_cancelled)
{
    struct busy busy;
    struct life life = { 0 };
    lanepool_claim all = lanepool_claim_all();
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);

    occupy(&busy);
    task.claims = &all;
    expect_ok(lanepool_pool_submit(busy.pool, &task));
    expect_ok(lanepool_future_cancel(future));
    expect_result(future, LANEPOOL_CANCELLED);
    expect_life(&life, 0, 1, 1);
    expect_status(life.why, LANEPOOL_CANCELLED);
    free_worker_and_end(&busy);
}

Test(endings, member_of_a_group_the_group_is_cancelled)
{
    struct busy busy;
    struct life life = { 0 };
    lanepool_group *group;
    size_t count;
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);

    occupy(&busy);
    expect_ok(lanepool_group_create(NULL, &group));
    task.group = group;
    expect_ok(lanepool_pool_submit(busy.pool, &task));
    expect_ok(lanepool_group_cancel(group, &count));
    expect_eq(count, 1);
    expect_result(future, LANEPOOL_CANCELLED);
    expect_life(&life, 0, 1, 1);
    expect_status(life.why, LANEPOOL_CANCELLED);
    free_worker_and_end(&busy);
    lanepool_group_destroy(group);
}

Test(endings, delayed_it_is_cancelled_before_it_is_due)
{
    struct life life = { 0 };
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_submit_after(pool, &task, HOUR_NS));
    expect_ok(lanepool_future_cancel(future));
    expect_result(future, LANEPOOL_CANCELLED);
    expect_life(&life, 0, 1, 1);
    expect_status(life.why, LANEPOOL_CANCELLED);
    pool_end(pool);
}

Test(endings, delayed_a_drain_does_not_wait_for_it)
{
    struct life life = { 0 };
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_submit_after(pool, &task, HOUR_NS));
    pool_end(pool);
    expect_result(future, LANEPOOL_CANCELLED);
    expect_life(&life, 0, 1, 1);
    expect_status(life.why, LANEPOOL_SHUT_DOWN);
}

/* --- in `cancelled` --- */

Test(endings, cancelled_may_submit_and_a_wait_in_it_is_a_deadlock)
{
    struct busy busy;
    struct life life = { 0 };
    lanepool_future *future;
    lanepool_task task = describe(&life, &future);

    occupy(&busy);
    life.pool = busy.pool;
    expect_ok(lanepool_pool_submit(busy.pool, &task));
    expect_ok(lanepool_future_cancel(future));
    expect_result(future, LANEPOOL_CANCELLED);
    free_worker_and_end(&busy);
    expect_life(&life, 0, 1, 1);
    expect_status(life.waited, LANEPOOL_DEADLOCK);
    expect_eq(life.follower.runs, 1);
}

/* What was submitted comes back, as far as the pool has it. */
static void note_description(void *context, const lanepool_task *task, uint64_t ticket)
{
    (void)ticket;
    *(lanepool_task *)context = *task;
}

Test(endings, handed_back_task_has_its_tag_its_pump_and_its_callbacks)
{
    struct life life = { 0 };
    lanepool_task task = describe(&life, NULL);
    lanepool_task back = LANEPOOL_TASK_INIT;
    lanepool_pump *pump;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pump_create(pool, &pump));
    task.pump = pump;
    task.tag = 7;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_shutdown_now(pool, note_description, &back));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect(back.pump == pump && back.function == enter);
    expect(back.cancelled == cancelled && back.release == release);
    expect_eq(back.tag, 7);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
}
