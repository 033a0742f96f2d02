/* The calls that the program's conflict rule may make, and the arguments that it gets. */
#include "support/memory.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_pool *pool_with_rule(unsigned workers, lanepool_layout layout,
                                     lanepool_compatible_fn rule, void *user)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.layout = layout;
    options.is_compatible = rule;
    options.user = user;
    return pool_make_with(&options);
}

/* A rule that submits and waits at its first call. */
struct busy_rule {
    lanepool_pool *pool;
    lanepool_future *pending;
    struct step submitted;
    _Atomic uint32_t asked;
    lanepool_status submit;
    lanepool_status wait;
    lanepool_status quiesce;
};

static bool submit_and_wait(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    struct busy_rule *rule = user;

    (void)a;
    (void)b;
    if (atomic_fetch_add(&rule->asked, 1) == 0) {
        rule->submit = step_submit(rule->pool, &rule->submitted);
        rule->wait = lanepool_future_wait(rule->pending, LANEPOOL_FOREVER, NULL);
        rule->quiesce = lanepool_pool_quiesce(rule->pool, LANEPOOL_FOREVER);
    }
    return true;
}

Test(rule, rule_may_submit_and_a_wait_in_it_is_a_deadlock)
{
    struct gate gate;
    struct busy_rule rule = { .asked = 0 };
    struct step pending = { .gate = &gate };
    struct step second = { .gate = &gate };
    lanepool_task task = step_task(&pending, NULL, 0);

    gate_init(&gate);
    rule.pool = pool_with_rule(2, LANEPOOL_PER_KEY, submit_and_wait, &rule);
    task.future = &rule.pending;
    expect_ok(lanepool_pool_submit(rule.pool, &task));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit(rule.pool, &second)); /* is compared with the pending task */
    expect(gate_await(&gate, 1));
    gate_open(&gate, 2);
    pool_end(rule.pool);
    expect(rule.asked > 0);
    expect_ok(rule.submit);
    expect_status(rule.wait, LANEPOOL_DEADLOCK);
    expect_status(rule.quiesce, LANEPOOL_DEADLOCK);
    expect_eq(rule.submitted.runs, 1);
    lanepool_future_release(rule.pending);
    gate_fini(&gate);
}

/* Contexts that record whether they have been released. */
struct tracked {
    _Atomic bool released;
    uint32_t group;
};

static _Atomic uint32_t seen_after_release;

static bool same_group_conflicts(const lanepool_task_view *a, const lanepool_task_view *b,
                                 void *user)
{
    const struct tracked *first = a->context;
    const struct tracked *second = b->context;

    (void)user;
    if (atomic_load(&first->released) || atomic_load(&second->released)) {
        atomic_fetch_add(&seen_after_release, 1);
    }
    return first->group != second->group;
}

static int run_tracked(lanepool_run *run, void *context)
{
    const struct tracked *tracked = context;

    (void)run;
    return atomic_load(&tracked->released);
}

static void release_tracked(void *context)
{
    struct tracked *tracked = context;

    if (atomic_exchange(&tracked->released, true)) {
        atomic_fetch_add(&seen_after_release, 1); /* released twice */
    }
}

static void rule_never_sees_what_was_released(lanepool_layout layout)
{
    enum { COUNT = 20000 };
    struct tracked *all = memory_get(COUNT, sizeof *all);
    lanepool_pool *pool = pool_with_rule(4, layout, same_group_conflicts, NULL);

    atomic_store(&seen_after_release, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        lanepool_task task = LANEPOOL_TASK_INIT;

        all[i].group = i % 7;
        task.function = run_tracked;
        task.context = &all[i];
        task.release = release_tracked;
        expect_ok(lanepool_pool_submit(pool, &task));
        if (i % 64 == 0) {
            pool_settle(pool); /* few tasks are pending, so that finished ones are soon reaped */
        }
    }
    pool_end(pool);
    expect_eq(seen_after_release, 0);
    for (uint32_t i = 0; i < COUNT; i++) {
        expect(all[i].released);
    }
    free(all);
}

Test(rule, rule_never_sees_a_task_after_its_release)
{
    rule_never_sees_what_was_released(LANEPOOL_PER_KEY);
}

Test(rule, rule_never_sees_a_task_after_its_release_per_worker)
{
    rule_never_sees_what_was_released(LANEPOOL_PER_WORKER);
}

/* A rule that is not a function of its arguments: any order is allowed, but no task may be lost or
 * hang. */
static bool changes_its_answer(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    _Atomic uint32_t *calls = user;

    (void)a;
    (void)b;
    return atomic_fetch_add(calls, 1) % 3 != 0;
}

static void fickle_rule_loses_nothing(lanepool_layout layout)
{
    enum { COUNT = 2000 };
    static struct step steps[COUNT];
    _Atomic uint32_t calls = 0;
    lanepool_pool *pool = pool_with_rule(4, layout, changes_its_answer, &calls);

    for (int i = 0; i < COUNT; i++) {
        atomic_store(&steps[i].runs, 0);
        expect_ok(step_submit(pool, &steps[i]));
    }
    pool_end(pool);
    for (int i = 0; i < COUNT; i++) {
        expect_eq(steps[i].runs, 1);
    }
}

Test(rule, rule_that_changes_its_answer_loses_no_task)
{
    fickle_rule_loses_nothing(LANEPOOL_PER_KEY);
}

Test(rule, rule_that_changes_its_answer_loses_no_task_per_worker)
{
    fickle_rule_loses_nothing(LANEPOOL_PER_WORKER);
}

enum { READER = 1, WRITER = 2 };

/* Readers may overlap with one another, writers with no other task. */
static bool readers_and_writers(const lanepool_task_view *a, const lanepool_task_view *b,
                                void *user)
{
    (void)user;
    return a->kind == READER && b->kind == READER;
}

static lanepool_status submit_kind(lanepool_pool *pool, struct step *step, uint64_t kind)
{
    lanepool_task task = step_task(step, NULL, 0);

    task.kind = kind;
    return lanepool_pool_submit(pool, &task);
}

Test(rule, kinds_run_together_or_in_order_as_the_rule_says)
{
    struct gate gate;
    struct gate writer_gate;
    struct step readers[4] = { { 0 } };
    struct step writers[2] = { { 0 } };
    lanepool_pool *pool = pool_with_rule(6, LANEPOOL_PER_KEY, readers_and_writers, NULL);

    gate_init(&gate);
    gate_init(&writer_gate);
    for (int i = 0; i < 4; i++) {
        readers[i].gate = &gate;
        expect_ok(submit_kind(pool, &readers[i], READER));
        if (i == 1) {
            for (int w = 0; w < 2; w++) {
                writers[w].gate = &writer_gate;
                expect_ok(submit_kind(pool, &writers[w], WRITER));
            }
        }
    }
    expect(gate_await(&gate, 2)); /* the readers before the writers */
    expect(!step_was_called(&writers[0]));
    gate_open(&gate, 2);
    for (int w = 0; w < 2; w++) {
        expect(gate_await(&writer_gate, 1)); /* one writer after the other */
        expect(!step_was_called(&readers[2]));
        expect(w == 1 || !step_was_called(&writers[1]));
        gate_open(&writer_gate, 1);
    }
    expect(gate_await(&gate, 2)); /* the readers behind them, together */
    gate_open(&gate, 2);
    pool_end(pool);
    gate_fini(&gate);
    gate_fini(&writer_gate);
}

/* --- how often kinds are asked about --- */

static bool counts_questions(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    atomic_fetch_add((_Atomic uint32_t *)user, 1);
    return true;
}

Test(rule, answers_about_two_kinds_are_stored_while_both_are_pending)
{
    enum { KINDS = 300 };
    struct gate gate;
    struct step blocking = { .gate = &gate };
    static struct step steps[3][KINDS];
    _Atomic uint32_t questions = 0;
    lanepool_pool *pool = pool_with_rule(1, LANEPOOL_PER_KEY, counts_questions, &questions);

    gate_init(&gate);
    expect_ok(submit_kind(pool, &blocking, KINDS));
    expect(gate_await(&gate, 1));
    for (int turn = 0; turn < 3; turn++) {
        static const uint32_t asked_in_turn[] = { KINDS * (KINDS - 1) + 2, 2 * (KINDS - 1), 0 };
        uint32_t before = atomic_load(&questions);

        for (int i = 0; i < KINDS; i++) {
            expect_ok(submit_kind(pool, &steps[turn][i], (uint64_t)(i * i + KINDS)));
        }
        expect_eq(questions - before, asked_in_turn[turn]);
    }
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

/* Tasks that conflict with one another, and one that does not. */
struct apart {
    bool conflicts;
    struct gate *gate; /* or NULL */
};

static _Atomic uint32_t asked, asked_at_release;

static bool count_and_compare(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct apart *one = a->context;
    const struct apart *other = b->context;

    (void)user;
    atomic_fetch_add(&asked, 1);
    return !one->conflicts || !other->conflicts;
}

static int pass_gate(lanepool_run *run, void *context)
{
    const struct apart *apart = context;

    (void)run;
    if (apart->gate != NULL) {
        gate_pass(apart->gate);
    }
    return 0;
}

static void note_release(void *context)
{
    const struct apart *apart = context;

    atomic_store(&asked_at_release, atomic_load(&asked));
    gate_arrive(apart->gate);
}

static void submit_apart(lanepool_pool *pool, struct apart *apart, lanepool_release_fn release)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = pass_gate;
    task.context = apart;
    task.release = release;
    expect_ok(lanepool_pool_submit(pool, &task));
}

/* Both workers are inside tasks while the backlog grows. The worker that returns first routes. */
Test(rule, finished_task_is_released_before_a_long_backlog_is_routed)
{
    enum { BACKLOG = 1000 };
    struct gate first, second;
    struct apart blocking = { true, &first };
    struct apart finished = { false, &second };
    struct apart waiting = { true, NULL };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    gate_init(&first);
    gate_init(&second);
    atomic_store(&asked, 0);
    options.workers = 2;
    options.routing = LANEPOOL_ROUTING_AUTO;
    options.is_compatible = count_and_compare;
    lanepool_pool *pool = pool_make_with(&options);
    submit_apart(pool, &blocking, NULL);
    expect(gate_await(&first, 1));
    submit_apart(pool, &finished, note_release);
    expect(gate_await(&second, 1));
    for (int i = 0; i < BACKLOG; i++) {
        submit_apart(pool, &waiting, NULL);
    }
    gate_open(&second, 1);
    expect(gate_await(&second, 1));
    expect(asked_at_release < BACKLOG / 2);
    gate_open(&first, 1);
    pool_end(pool);
    gate_fini(&second);
    gate_fini(&first);
}
