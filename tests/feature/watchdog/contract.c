/* A pool's own reports: of tasks that run for long, and of a pool without progress. */
#include <string.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

#define MS_NS   UINT64_C(1000000)
#define HOUR_NS UINT64_C(3600000000000)

enum { TOLD_MAX = 8, TAG = 1 };

/* The reports that the callbacks got; read after their arrival at the gate. */
struct notes {
    struct gate told; /* each call arrives there, and waits until it is opened */
    lanepool_slow_task slow[TOLD_MAX];
    lanepool_stall stalls[TOLD_MAX];
    unsigned slow_count;
    unsigned stall_count;
    void (*during)(lanepool_pool *pool, struct notes *notes); /* called by the callbacks; or NULL */
    lanepool_status answers[4];
    bool found_running;
    bool wrote;
    struct step step;
    lanepool_future *future;
};

static void note_slow(void *user, const lanepool_slow_task *task)
{
    struct notes *notes = user;

    if (notes->slow_count < TOLD_MAX) {
        notes->slow[notes->slow_count] = *task;
    }
    notes->slow_count++;
    if (notes->during) {
        notes->during(task->pool, notes);
    }
    gate_arrive(&notes->told);
}

static void note_stall(void *user, const lanepool_stall *stall)
{
    struct notes *notes = user;

    if (notes->stall_count < TOLD_MAX) {
        notes->stalls[notes->stall_count] = *stall;
    }
    notes->stall_count++;
    if (notes->during) {
        notes->during(stall->pool, notes);
    }
    gate_arrive(&notes->told);
}

static lanepool_options slow_options(struct notes *notes, uint64_t slow_task_ns)
{
    static const char *const names[] = { "plain", "close" };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.user = notes;
    options.on_slow_task = note_slow;
    options.slow_task_ns = slow_task_ns;
    options.tag_names = names;
    options.tag_name_count = 2;
    return options;
}

static lanepool_options stall_options(struct notes *notes, uint64_t stalled_ns)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.user = notes;
    options.on_stalled = note_stall;
    options.stalled_ns = stalled_ns;
    return options;
}

static void slow_task_is_told_of(lanepool_layout layout, lanepool_compatible_fn is_compatible)
{
    struct notes notes = { .slow_count = 0 };
    struct gate gate;
    struct step held = { .gate = &gate };
    lanepool_options options = slow_options(&notes, MS_NS);
    lanepool_task task = step_task(&held, NULL, 0);
    lanepool_pool *pool;

    gate_init(&gate);
    gate_init(&notes.told);
    options.layout = layout;
    options.is_compatible = is_compatible;
    task.tag = TAG;
    pool = pool_make_with(&options);
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&notes.told, 1));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(notes.slow_count, 1);
    expect(notes.slow[0].pool == pool);
    expect(notes.slow[0].function == step_body);
    expect(notes.slow[0].context == &held);
    expect_eq(notes.slow[0].ticket, held.ticket);
    expect_eq(notes.slow[0].tag, TAG);
    expect(notes.slow[0].label && strcmp(notes.slow[0].label, "close") == 0);
    expect_eq(notes.slow[0].worker, held.worker);
    expect(notes.slow[0].running_ns >= MS_NS);
    gate_fini(&notes.told);
    gate_fini(&gate);
}

static bool is_always_compatible(const lanepool_task_view *a, const lanepool_task_view *b,
                                 void *user)
{
    (void)a, (void)b, (void)user;
    return true;
}

Test(watchdog, slow_task_is_told_of_with_its_description)
{
    slow_task_is_told_of(LANEPOOL_PER_KEY, NULL);
}

Test(watchdog, slow_task_is_told_of_per_worker)
{
    slow_task_is_told_of(LANEPOOL_PER_WORKER, NULL);
}

Test(watchdog, slow_task_is_told_of_with_a_rule)
{
    slow_task_is_told_of(LANEPOOL_PER_KEY, is_always_compatible);
}

/* Both tasks are checked again and again while they run: a report of a later task shows that. */
Test(watchdog, each_slow_task_is_told_of_once)
{
    struct notes notes = { .slow_count = 0 };
    struct gate gate;
    struct step steps[4] = { { .gate = &gate }, { .gate = &gate }, { .gate = &gate } };
    lanepool_options options = slow_options(&notes, MS_NS);
    lanepool_pool *pool;

    options.workers = 3;
    gate_init(&gate);
    gate_init(&notes.told);
    pool = pool_make_with(&options);
    for (unsigned i = 0; i < 3; i++) {
        expect_ok(step_submit(pool, &steps[i]));
        expect(gate_await(&notes.told, 1));
    }
    gate_open(&gate, 3);
    pool_end(pool);
    expect_eq(notes.slow_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        expect(notes.slow[i].context == &steps[i]);
    }
    gate_fini(&notes.told);
    gate_fini(&gate);
}

Test(watchdog, tasks_that_are_not_slow_are_not_told_of)
{
    enum { STEPS = 2000 };
    static struct step steps[STEPS];
    struct notes notes = { .slow_count = 0 };
    lanepool_options options = slow_options(&notes, HOUR_NS);
    lanepool_pool *pool;

    options.on_stalled = note_stall;
    options.stalled_ns = HOUR_NS;
    pool = pool_make_with(&options);
    for (uint32_t i = 0; i < STEPS; i++) {
        expect_ok(step_submit_on(pool, &steps[i], i % 7));
    }
    pool_end(pool);
    expect_eq(notes.slow_count, 0);
    expect_eq(notes.stall_count, 0);
}

/* The watchdog checks as often as it can while tasks start and end. */
Test(watchdog, it_looks_beside_work)
{
    enum { STEPS = 200000, KEYS = 7 };
    static struct step steps[KEYS];
    uint32_t runs = 0;
    struct notes notes = { .slow_count = 0 };
    lanepool_options options = slow_options(&notes, 1);
    lanepool_pool *pool;

    options.on_stalled = note_stall;
    options.stalled_ns = 1;
    gate_init(&notes.told);
    pool = pool_make_with(&options);
    for (uint32_t i = 0; i < STEPS; i++) {
        expect_ok(step_submit_on(pool, &steps[i % KEYS], i % KEYS));
    }
    pool_end(pool);
    for (int i = 0; i < KEYS; i++) {
        runs += steps[i].runs;
    }
    expect_eq(runs, STEPS);
    gate_fini(&notes.told);
}

static int detach_body(lanepool_run *run, void *context)
{
    lanepool_detached **detached = context;

    return lanepool_run_detach(run, detached) != LANEPOOL_OK;
}

Test(watchdog, detached_task_is_slow_until_it_is_completed)
{
    struct notes notes = { .slow_count = 0 };
    lanepool_options options = slow_options(&notes, MS_NS);
    lanepool_detached *detached = NULL;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool;

    gate_init(&notes.told);
    task.function = detach_body;
    task.context = &detached;
    pool = pool_make_with(&options);
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&notes.told, 1));
    expect(notes.slow[0].function == detach_body);
    expect_ok(lanepool_task_complete(detached, 0, NULL));
    pool_end(pool);
    expect_eq(notes.slow_count, 1);
    gate_fini(&notes.told);
}

/* --- what callbacks may do --- */

static void look_at_what_runs(lanepool_pool *pool, struct notes *notes)
{
    lanepool_snapshot *snapshot;

    notes->answers[0] = lanepool_pool_quiesce(pool, LANEPOOL_FOREVER);
    notes->answers[1] = lanepool_snapshot_take(pool, &snapshot);
    if (notes->answers[1] == LANEPOOL_OK) {
        size_t i = lanepool_snapshot_find(snapshot, notes->slow[0].ticket);

        notes->found_running =
            i != LANEPOOL_SNAPSHOT_NONE && snapshot->tasks[i].state == LANEPOOL_SNAPSHOT_RUNNING;
        lanepool_snapshot_release(snapshot);
    }
    notes->answers[2] = step_submit(pool, &notes->step);
    notes->answers[3] = lanepool_future_cancel(notes->future);
    notes->during = NULL;
}

Test(watchdog, callback_may_look_at_the_pool_submit_and_ask_the_task_to_end)
{
    struct notes notes = { .during = look_at_what_runs };
    struct gate gate;
    struct step held = { .gate = &gate };
    lanepool_options options = slow_options(&notes, MS_NS);
    lanepool_task task = step_task(&held, NULL, 0);
    lanepool_pool *pool;

    gate_init(&gate);
    gate_init(&notes.told);
    task.future = &notes.future;
    pool = pool_make_with(&options);
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&notes.told, 1));
    gate_open(&gate, 1);
    lanepool_future_release(notes.future);
    pool_end(pool);
    expect_status(notes.answers[0], LANEPOOL_DEADLOCK);
    expect_ok(notes.answers[1]);
    expect(notes.found_running);
    expect_ok(notes.answers[2]);
    expect_eq(notes.step.runs, 1);
    expect_status(notes.answers[3], LANEPOOL_RUNNING);
    gate_fini(&notes.told);
    gate_fini(&gate);
}

/* --- stalls --- */

static void note_text(void *context, const char *text, size_t size)
{
    struct notes *notes = context;

    (void)text;
    notes->wrote = notes->wrote || size > 0;
}

static void explain_what_waits(lanepool_pool *pool, struct notes *notes)
{
    (void)pool;
    notes->answers[0] = lanepool_explain(notes->future, note_text, notes);
}

/* Both tasks are submitted before either can run, because a paused pool is not stalled. */
Test(watchdog, stall_is_told_of_once_and_again_after_the_next_start)
{
    struct notes notes = { .during = explain_what_waits };
    struct gate gate;
    struct step held = { .gate = &gate }, next = { .gate = &gate };
    lanepool_options options = stall_options(&notes, 2 * MS_NS);
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&next, &claim, 1);
    lanepool_pool *pool;

    gate_init(&gate);
    gate_init(&notes.told);
    task.future = &notes.future;
    pool = pool_make_with(&options);
    expect_ok(lanepool_pool_pause(pool));
    expect_ok(step_submit_on(pool, &held, 1));
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_resume(pool));
    expect(gate_await(&notes.told, 1));
    gate_open(&gate, 1);
    expect(gate_await(&notes.told, 1));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_ok(notes.answers[0]);
    expect(notes.wrote);
    expect(notes.stall_count >= 2);
    expect(notes.stalls[0].pool == pool);
    expect(notes.stalls[0].stalled_ns >= 2 * MS_NS);
    expect_eq(notes.stalls[0].pending, 2);
    lanepool_future_release(notes.future);
    gate_fini(&notes.told);
    gate_fini(&gate);
}

/* --- the options --- */

static lanepool_status create_with(const lanepool_options *options)
{
    lanepool_pool *pool;
    lanepool_status status = lanepool_pool_create(options, &pool);

    expect((status == LANEPOOL_OK) == (pool != NULL));
    expect_ok(lanepool_pool_destroy(pool));
    return status;
}

Test(watchdog, times_without_a_callback_are_refused)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.slow_task_ns = 1;
    expect_status(create_with(&options), LANEPOOL_INVALID);
    options.on_slow_task = note_slow;
    expect_ok(create_with(&options));
    options.stalled_ns = UINT64_MAX;
    expect_status(create_with(&options), LANEPOOL_INVALID);
    options.on_stalled = note_stall;
    expect_ok(create_with(&options));
    options.slow_task_ns = 0;
    options.stalled_ns = 0;
    expect_ok(create_with(&options));
}

Test(watchdog, there_is_a_clock_thread_only_with_one)
{
    size_t before = process_thread_count();
    struct notes notes = { .slow_count = 0 };
    lanepool_options options = slow_options(&notes, 0);
    lanepool_pool *with = pool_make_with(&options);
    lanepool_pool *without = pool_make(2, LANEPOOL_PER_KEY);

    expect(process_has_threads(before + 3 + 2));
    pool_end(with);
    pool_end(without);
    expect(process_has_threads(before));
}
