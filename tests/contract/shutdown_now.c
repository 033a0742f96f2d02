/* Shutdown now: running tasks finish; a task that has not started is handed back or gets a
 * cancelling call. */
#include "support/step.h"
#include "support/test.h"

enum { BACK_MAX = 16 };

struct back {
    uint32_t count;
    lanepool_task tasks[BACK_MAX];
    lanepool_claim claims[BACK_MAX][4];
    uint64_t tickets[BACK_MAX];
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct back *back = context;
    uint32_t i = back->count++ % BACK_MAX;

    back->tasks[i] = *task;
    back->tickets[i] = ticket;
    for (size_t c = 0; c < task->claim_count && c < 4; c++) {
        back->claims[i][c] = task->claims[c];
    }
    back->tasks[i].claims = back->claims[i];
}

/* Returns a pool whose only worker runs a task of key 0 that waits at the gate. */
static lanepool_pool *held_pool(struct step *holder, struct gate *gate)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(gate);
    holder->gate = gate;
    expect_ok(step_submit_on(pool, holder, 0));
    expect(gate_await(gate, 1));
    return pool;
}

Test(shutdown_now, handed_back_task_is_as_submitted_and_fits_another_pool)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step steps[3] = { { 0 } };
    struct back back = { 0 };
    lanepool_claim claims[3] = {
        lanepool_shared(7), lanepool_claim_of(lanepool_key_string("seven"), LANEPOOL_EXCLUSIVE),
        lanepool_shared(7)
    };
    lanepool_future *future;
    lanepool_result result;
    lanepool_pool *pool = held_pool(&holder, &gate);
    lanepool_pool *other;

    for (uint32_t i = 0; i < 3; i++) {
        lanepool_task task = step_task(&steps[i], claims, i);

        task.claim_count = i == 2 ? 3 : i;
        task.release = step_release;
        task.future = i == 1 ? &future : NULL;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &back));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(back.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        expect(back.tasks[i].context == &steps[i]);
        expect(back.tasks[i].function == step_body);
        expect(back.tasks[i].release == step_release);
        expect(i == 0 || back.tickets[i] > back.tickets[i - 1]);
        expect_eq(steps[i].releases, 0);
    }
    expect_eq(back.tasks[0].claim_count, 0);
    expect_eq(back.tasks[1].claim_count, 1);
    expect_eq(back.tasks[2].claim_count, 2); /* duplicates are merged */
    expect_eq(back.claims[1][0].key.type, LANEPOOL_KEY_ID);
    expect_eq(back.claims[1][0].key.id, 7);
    expect_eq(back.claims[1][0].mode, LANEPOOL_SHARED);
    expect_ok(lanepool_future_wait(future, 0, &result));
    expect_status(result.status, LANEPOOL_CANCELLED);
    lanepool_future_release(future);
    pool_end(pool);

    other = pool_make(1, LANEPOOL_PER_KEY);
    /* The bytes of the other claim were valid only during the call. */
    back.tasks[2].claim_count = 1;
    for (uint32_t i = 0; i < 3; i++) {
        expect_ok(lanepool_pool_submit(other, &back.tasks[i]));
    }
    pool_end(other);
    for (uint32_t i = 0; i < 3; i++) {
        expect_eq(steps[i].runs, 1);
        expect_eq(steps[i].releases, 1);
    }
    gate_fini(&gate);
}

struct cancelled {
    _Atomic uint32_t *count;
    uint32_t place;
    uint32_t calls;
    uint32_t releases;
    bool was_run;
};

static int note_run(lanepool_run *run, void *context)
{
    struct cancelled *cancelled = context;

    (void)run;
    cancelled->was_run = true;
    return 0;
}

static void note_cancelled(void *context, lanepool_status why)
{
    struct cancelled *cancelled = context;

    cancelled->calls += why == LANEPOOL_SHUT_DOWN;
    cancelled->place = atomic_fetch_add(cancelled->count, 1);
}

static void note_release(void *context)
{
    struct cancelled *cancelled = context;

    cancelled->releases++;
}

Test(shutdown_now, tasks_are_told_in_submission_order_when_nobody_takes_them_back)
{
    struct gate gate;
    struct step holder = { 0 };
    _Atomic uint32_t count = 0;
    struct cancelled cancelled[10];
    lanepool_claim claims[2] = { lanepool_exclusive(0), lanepool_exclusive(1) };
    lanepool_pool *pool = held_pool(&holder, &gate);

    for (uint32_t i = 0; i < 10; i++) {
        lanepool_task task = LANEPOOL_TASK_INIT;

        cancelled[i] = (struct cancelled){ .count = &count };
        task.function = note_run;
        task.cancelled = note_cancelled;
        task.context = &cancelled[i];
        task.claims = claims;
        task.claim_count = i % 3;
        task.release = note_release;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    gate_open(&gate, 1);
    pool_end(pool);
    for (uint32_t i = 0; i < 10; i++) {
        expect_eq(cancelled[i].calls, 1);
        expect(!cancelled[i].was_run);
        expect_eq(cancelled[i].place, i);
        expect_eq(cancelled[i].releases, 1);
    }
    gate_fini(&gate);
}

Test(shutdown_now, only_the_first_call_decides)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step waiting = { 0 };
    struct back first = { 0 };
    struct back second = { 0 };
    lanepool_pool *pool = held_pool(&holder, &gate);

    expect_ok(step_submit_on(pool, &waiting, 0));
    expect_ok(lanepool_pool_shutdown(pool)); /* a drain becomes a shutdown now */
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &first));
    expect_status(lanepool_pool_shutdown_now(pool, take_back, &second), LANEPOOL_SHUT_DOWN);
    expect_ok(lanepool_pool_shutdown(pool)); /* changes nothing */
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(first.count, 1);
    expect_eq(second.count, 0);
    expect(!step_was_called(&waiting));
    pool_end(pool);
    gate_fini(&gate);
}

Test(shutdown_now, await_gives_up_on_a_task_that_does_not_return_and_can_be_repeated)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step waiting = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &waiting, 1));
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    expect_status(lanepool_pool_await(pool, 1000000), LANEPOOL_TIMED_OUT);
    expect(!step_was_called(&waiting)); /* gets its call when the running tasks have returned */
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(waiting.cancels, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(shutdown_now, comes_too_late_for_a_pool_that_has_drained)
{
    struct back back = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(lanepool_pool_shutdown_now(pool, take_back, &back), LANEPOOL_SHUT_DOWN);
    pool_end(pool);
    expect_eq(back.count, 0);
}

/* Stops the pool inside a task, and tries to submit. */
struct stopper {
    lanepool_status stop;
    lanepool_status submit;
    struct step late;
};

static int stop_and_submit(lanepool_run *run, void *context)
{
    struct stopper *stopper = context;
    lanepool_pool *pool = lanepool_run_pool(run);

    stopper->stop = lanepool_pool_shutdown_now(pool, NULL, NULL);
    stopper->submit = step_submit(pool, &stopper->late);
    return 0;
}

Test(shutdown_now, submits_from_inside_tasks_are_refused)
{
    struct stopper stopper = { 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    task.function = stop_and_submit;
    task.context = &stopper;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    pool_end(pool);
    expect_ok(stopper.stop);
    expect_status(stopper.submit, LANEPOOL_SHUT_DOWN);
    expect(!step_was_called(&stopper.late));
}

Test(shutdown_now, latched_rollups_are_handed_back_in_their_place)
{
    struct gate gate;
    struct step holder = { 0 };
    struct step steps[3] = { { 0 } };
    struct back back = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    struct step witness = { .gate = &gate };

    gate_init(&gate);
    holder.gate = &gate;
    expect_ok(step_submit_on(pool, &holder, 0));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_rollup(pool, &steps[0], 0, 1)); /* latched in lane 1 */
    expect_ok(step_submit_on(pool, &steps[1], 1));
    expect_ok(step_submit_on(pool, &steps[2], 0));
    expect_ok(step_submit_on(pool, &witness, 2));
    expect(gate_await(&gate, 1)); /* all of them have been routed */
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &back));
    gate_open(&gate, 2);
    pool_end(pool);
    expect_eq(back.count, 3);
    for (int i = 0; i < 3; i++) {
        expect(back.tasks[i].context == &steps[i]);
        expect(!step_was_called(&steps[i]));
    }
    gate_fini(&gate);
}

static bool nothing_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b,
                                  void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return false;
}

static void predicate_pool_hands_back(lanepool_layout layout)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[5] = { { 0 } };
    struct back back = { 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    gate_init(&gate);
    options.workers = 2;
    options.layout = layout;
    options.is_compatible = nothing_is_compatible;
    pool = pool_make_with(&options);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    for (uint32_t i = 0; i < 5; i++) {
        lanepool_task task = step_task(&steps[i], NULL, 0);

        task.kind = i; /* equal kinds would do as well: no two tasks may overlap */
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &back));
    gate_open(&gate, 1);
    pool_end(pool);
    /* The other worker may have been about to start the first of these tasks. */
    uint32_t started = steps[0].runs;
    expect_eq(back.count, 5 - started);
    for (uint32_t i = started; i < 5; i++) {
        expect(back.tasks[i - started].context == &steps[i]);
        expect_eq(back.tasks[i - started].kind, i);
    }
    gate_fini(&gate);
}

Test(shutdown_now, pool_with_its_own_rule_hands_back_too)
{
    predicate_pool_hands_back(LANEPOOL_PER_KEY);
}

Test(shutdown_now, pool_with_its_own_rule_hands_back_too_per_worker)
{
    predicate_pool_hands_back(LANEPOOL_PER_WORKER);
}
