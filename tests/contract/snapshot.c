/* Snapshots: the state of a pool, and why a task does not run. */
#include <string.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { REASONS_MAX = 16, TEXT_MAX = 4096 };

/* A pool in one exact state: tasks at a gate, others behind them. */
struct stand {
    lanepool_pool *pool;
    struct gate gate;
    struct step held[2];
    struct step rollup;
    struct step later[3];
    struct step witness;
    lanepool_future *futures[3];
    lanepool_snapshot *snapshot;
};

static lanepool_future *submit_with_future(lanepool_pool *pool, struct step *step, uint64_t key)
{
    lanepool_future *future;
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = step_task(step, &claim, 1);

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

/*
 * Makes this state: a running task holds key 1. A rollup over 1 and 2 is latched in 2, and three
 * tasks on 2 wait behind it. A third worker runs the witness on key 9, which was routed last.
 */
static void stand_up(struct stand *stand, lanepool_layout layout)
{
    memset(stand, 0, sizeof *stand);
    gate_init(&stand->gate);
    stand->held[0].gate = &stand->gate;
    stand->witness.gate = &stand->gate;
    stand->pool = pool_make(3, layout);
    expect_ok(step_submit_on(stand->pool, &stand->held[0], 1));
    expect(gate_await(&stand->gate, 1));
    expect_ok(step_submit_rollup(stand->pool, &stand->rollup, 1, 2));
    for (int i = 0; i < 3; i++) {
        stand->futures[i] = submit_with_future(stand->pool, &stand->later[i], 2);
    }
    expect_ok(step_submit_on(stand->pool, &stand->witness, 9));
    expect(gate_await(&stand->gate, 1));
    expect_ok(lanepool_snapshot_take(stand->pool, &stand->snapshot));
}

static void stand_down(struct stand *stand)
{
    lanepool_snapshot_release(stand->snapshot);
    gate_open(&stand->gate, 2);
    for (int i = 0; i < 3; i++) {
        expect_ok(lanepool_future_wait(stand->futures[i], LANEPOOL_FOREVER, NULL));
        lanepool_future_release(stand->futures[i]);
    }
    pool_end(stand->pool);
    gate_fini(&stand->gate);
}

/* The tasks of stand_up() in ticket order: holder, rollup, three later ones, witness. */
enum { HOLDER, ROLLUP, FIRST_LATER, WITNESS = 5, TASKS };

static const lanepool_snapshot_lane *lane_called(const lanepool_snapshot *snapshot, uint64_t number)
{
    for (size_t i = 0; i < snapshot->lane_count; i++) {
        if (snapshot->lanes[i].number == number) {
            return &snapshot->lanes[i];
        }
    }
    return NULL;
}

Test(snapshot, wrong_arguments_are_refused)
{
    lanepool_snapshot *snapshot;
    lanepool_snapshot_reason reason;
    size_t count;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_status(lanepool_snapshot_take(NULL, &snapshot), LANEPOOL_INVALID);
    expect(snapshot == NULL);
    expect_status(lanepool_snapshot_take(pool, NULL), LANEPOOL_INVALID);
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 0);
    expect_status(lanepool_snapshot_explain(snapshot, 0, &reason, 1, &count), LANEPOOL_INVALID);
    expect_status(lanepool_snapshot_explain(NULL, 0, &reason, 1, &count), LANEPOOL_INVALID);
    expect_status(lanepool_snapshot_write_text(snapshot, NULL, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_snapshot_write_dot(NULL, NULL, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_explain(NULL, NULL, NULL), LANEPOOL_INVALID);
    lanepool_snapshot_release(snapshot);
    lanepool_snapshot_release(NULL);
    pool_end(pool);
}

Test(snapshot, a_latched_rollup_and_who_waits_behind_it_are_shown)
{
    static const lanepool_snapshot_state states[TASKS] = {
        LANEPOOL_SNAPSHOT_RUNNING, LANEPOOL_SNAPSHOT_LATCHED, LANEPOOL_SNAPSHOT_WAITING,
        LANEPOOL_SNAPSHOT_WAITING, LANEPOOL_SNAPSHOT_WAITING, LANEPOOL_SNAPSHOT_RUNNING
    };
    struct stand stand;

    stand_up(&stand, LANEPOOL_PER_KEY);
    const lanepool_snapshot *snapshot = stand.snapshot;
    expect_eq(snapshot->task_count, TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        expect_eq(snapshot->tasks[i].state, states[i]);
        expect_eq(lanepool_snapshot_find(snapshot, snapshot->tasks[i].ticket), i);
    }
    expect_eq(snapshot->tasks[ROLLUP].entry_count, 2);
    expect_eq(snapshot->tasks[ROLLUP].arrived, 1);
    expect(snapshot->tasks[HOLDER].context == &stand.held[0]);
    expect_eq(snapshot->workers[snapshot->tasks[HOLDER].worker].task, HOLDER);
    const lanepool_snapshot_lane *blocked = lane_called(snapshot, 2);
    expect_eq(blocked->granted, 1);
    expect_eq(blocked->waiting, 3);
    expect_eq(blocked->unknown, 0);
    expect_eq(snapshot->entries[snapshot->order[blocked->first]].task, ROLLUP);
    for (size_t i = 0; i < 3; i++) {
        const lanepool_snapshot_entry *entry =
            &snapshot->entries[snapshot->order[blocked->first + 1 + i]];
        expect_eq(entry->task, FIRST_LATER + i);
        expect_eq(entry->ahead, i + 1);
    }
    expect_eq(snapshot->unrouted, 0);
    stand_down(&stand);
}

Test(snapshot, the_reasons_lead_to_what_runs)
{
    lanepool_snapshot_reason reasons[REASONS_MAX];
    struct stand stand;
    size_t count;

    stand_up(&stand, LANEPOOL_PER_KEY);
    const lanepool_snapshot *snapshot = stand.snapshot;
    expect_ok(lanepool_snapshot_explain(snapshot, FIRST_LATER + 2, reasons, REASONS_MAX, &count));
    expect_eq(count, 2);
    expect_eq(reasons[0].blocker, ROLLUP);
    expect_eq(reasons[0].depth, 0);
    expect_eq(snapshot->entries[reasons[0].entry].task, FIRST_LATER + 2);
    expect_eq(reasons[1].blocker, HOLDER);
    expect_eq(reasons[1].depth, 1);
    expect_eq(snapshot->entries[reasons[1].entry].task, ROLLUP);
    expect_ok(lanepool_snapshot_explain(snapshot, FIRST_LATER + 2, reasons, 1, &count));
    expect_eq(count, 2);
    expect_ok(lanepool_snapshot_explain(snapshot, WITNESS, reasons, REASONS_MAX, &count));
    expect_eq(count, 0);
    stand_down(&stand);
}

/* --- text --- */

struct text {
    char bytes[TEXT_MAX];
    size_t size;
};

static void collect(void *context, const char *piece, size_t size)
{
    struct text *text = context;

    if (text->size + size < TEXT_MAX) {
        memcpy(text->bytes + text->size, piece, size);
        text->size += size;
        text->bytes[text->size] = '\0';
    }
}

static bool has(const struct text *text, const char *wanted)
{
    return strstr(text->bytes, wanted) != NULL;
}

Test(snapshot, a_future_says_why_its_task_does_not_run)
{
    struct text text = { .size = 0 };
    struct stand stand;

    stand_up(&stand, LANEPOOL_PER_KEY);
    expect_ok(lanepool_explain(stand.futures[1], collect, &text));
    expect(has(&text, "waits in lane 2 with 2 before it: task "));
    expect(has(&text, " is latched with 1 of 2 lanes\n"));
    expect(has(&text, "waits in lane 1 with 1 before it: task "));
    expect(has(&text, " runs on worker "));
    lanepool_snapshot_release(stand.snapshot);
    stand.snapshot = NULL;
    gate_open(&stand.gate, 2);
    expect_ok(lanepool_future_wait(stand.futures[1], LANEPOOL_FOREVER, NULL));
    text.size = 0;
    expect_ok(lanepool_explain(stand.futures[1], collect, &text));
    expect(strcmp(text.bytes, "the task has finished\n") == 0);
    stand_down(&stand);
}

Test(snapshot, a_futures_task_is_located)
{
    lanepool_snapshot_place place;
    struct stand stand;

    expect_status(lanepool_snapshot_locate(NULL, &place), LANEPOOL_INVALID);
    stand_up(&stand, LANEPOOL_PER_KEY);
    expect_status(lanepool_snapshot_locate(stand.futures[1], NULL), LANEPOOL_INVALID);
    expect_ok(lanepool_snapshot_locate(stand.futures[1], &place));
    expect_eq(place.where, LANEPOOL_SNAPSHOT_FOUND);
    expect_eq(place.snapshot->tasks[place.task].state, LANEPOOL_SNAPSHOT_WAITING);
    lanepool_snapshot_release(place.snapshot);
    lanepool_snapshot_release(stand.snapshot);
    stand.snapshot = NULL;
    gate_open(&stand.gate, 2);
    expect_ok(lanepool_future_wait(stand.futures[1], LANEPOOL_FOREVER, NULL));
    expect_ok(lanepool_snapshot_locate(stand.futures[1], &place));
    expect_eq(place.where, LANEPOOL_SNAPSHOT_FINISHED);
    expect_eq(place.result.status, LANEPOOL_OK);
    expect(place.snapshot == NULL);
    stand_down(&stand);
}

static int fail(lanepool_run *run, void *context)
{
    (void)run;
    return *(const int *)context;
}

static int detach(lanepool_run *run, void *context)
{
    expect_ok(lanepool_run_detach(run, context));
    return 0;
}

static void expect_explained(lanepool_future *future, const char *wanted)
{
    struct text text = { .size = 0 };

    expect_ok(lanepool_explain(future, collect, &text));
    expect(has(&text, wanted));
}

static lanepool_future *submit_function(lanepool_pool *pool, lanepool_task_fn function,
                                        void *context)
{
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = function;
    task.context = context;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

Test(snapshot, a_future_says_how_its_task_ended_or_when_it_begins)
{
    int code = -7;
    lanepool_detached *detached;
    lanepool_future *later;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *failed = submit_function(pool, fail, &code);
    lanepool_future *apart = submit_function(pool, detach, &detached);

    task.function = fail;
    task.context = &code;
    task.future = &later;
    expect_ok(lanepool_pool_submit_after(pool, &task, INT64_C(3600000000000)));
    expect_ok(lanepool_future_wait(failed, LANEPOOL_FOREVER, NULL));
    expect_explained(failed, "the task has finished: the task ran and returned a code other than "
                             "zero, code -7\n");
    expect(process_other_threads_sleep());
    expect_explained(apart, " is detached until it is completed\n");
    expect_explained(later, "the task is due in 3");
    expect_ok(lanepool_task_complete(detached, 0, NULL));
    pool_end(pool);
    expect_explained(later, "the task has finished: the task was cancelled\n");
    lanepool_future_release(failed);
    lanepool_future_release(apart);
    lanepool_future_release(later);
}

Test(snapshot, a_task_that_is_ready_in_a_paused_pool_is_explained)
{
    int code = 0;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_pause(pool));
    lanepool_future *future = submit_function(pool, fail, &code);
    expect_explained(future, " is ready and waits for a worker; the pool is paused\n");
    expect_ok(lanepool_pool_resume(pool));
    pool_end(pool);
    lanepool_future_release(future);
}

Test(snapshot, a_task_that_no_worker_runs_is_explained)
{
    int code = 0;
    lanepool_future *pumped, *sequenced;
    lanepool_pump *pump;
    lanepool_executor *executor;
    lanepool_sequence *sequence;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pump_create(pool, &pump));
    expect_ok(lanepool_pool_executor(pool, &executor));
    expect_ok(lanepool_sequence_create(executor, &sequence));
    task.function = fail;
    task.context = &code;
    task.future = &pumped;
    task.pump = pump;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_explained(pumped, " is ready and waits for its pump\n");
    task.future = &sequenced;
    task.pump = NULL;
    expect_ok(lanepool_sequence_pause(sequence));
    expect_ok(lanepool_sequence_submit(sequence, &task));
    expect_explained(sequenced, "the task is one of a sequence, which run one after the other\n");
    expect_ok(lanepool_sequence_resume(sequence));
    future_finish(sequenced);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(executor));
    expect_ok(lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, NULL));
    future_finish(pumped);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
}

Test(snapshot, an_idle_worker_is_told_what_it_waits_for)
{
    struct text text = { .size = 0 };
    struct stand stand;

    stand_up(&stand, LANEPOOL_PER_KEY);
    expect_ok(lanepool_snapshot_write_text(stand.snapshot, collect, &text));
    expect(has(&text, "6 pending tasks: 2 running, 0 ready, 1 latched, 3 waiting\n"));
    expect(has(&text, " idles: 4 waiting tasks need the end of task "));
    expect(has(&text, "lane 2: task "));
    expect(has(&text, "; 3 wait\n"));
    stand_down(&stand);
}

Test(snapshot, a_busy_worker_shows_what_is_in_its_queue)
{
    struct text text = { .size = 0 };
    struct stand stand;

    stand_up(&stand, LANEPOOL_PER_KEY);
    lanepool_snapshot_worker workers[] = { { .task = HOLDER, .ready = 2 },
                                           { .task = WITNESS, .ready = 1 },
                                           { .task = LANEPOOL_SNAPSHOT_NONE, .absent = true } };
    lanepool_snapshot changed = *stand.snapshot;
    changed.workers = workers;
    changed.worker_count = 3;
    expect_ok(lanepool_snapshot_write_text(&changed, collect, &text));
    expect(has(&text, ", 2 ready tasks in its queue\n"));
    expect(has(&text, ", 1 ready task in its queue\n"));
    expect(has(&text, "worker 2 is absent\n"));
    stand_down(&stand);
}

Test(snapshot, the_graph_points_from_who_waits_to_whom)
{
    struct text text = { .size = 0 };
    struct stand stand;

    stand_up(&stand, LANEPOOL_PER_KEY);
    expect_ok(lanepool_snapshot_write_dot(stand.snapshot, collect, &text));
    expect(has(&text, "digraph lanepool {"));
    expect(has(&text, "  t1 -> t0 [label=\"1\"];\n"));
    expect(has(&text, "  t2 -> t1 [label=\"2\"];\n"));
    expect(has(&text, "  t4 -> t3 [label=\"2\"];\n"));
    expect(!has(&text, "t5 ->"));
    stand_down(&stand);
}

Test(snapshot, tasks_are_called_by_their_tags)
{
    static const char *const names[] = { NULL, "post", "\"close\"" };
    struct text text = { .size = 0 };
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step waiting = { 0 };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task first = step_task(&holder, &claim, 1);
    lanepool_task second = step_task(&waiting, &claim, 1);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_future *future;

    options.workers = 1;
    options.tag_name_count = 3;
    expect_status(lanepool_pool_create(&options, &(lanepool_pool *){ NULL }), LANEPOOL_INVALID);
    options.tag_names = names;
    lanepool_pool *pool = pool_make_with(&options);
    gate_init(&gate);
    first.tag = 1;
    second.tag = 2;
    second.future = &future;
    expect_ok(lanepool_pool_submit(pool, &first));
    expect_ok(lanepool_pool_submit(pool, &second));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_explain(future, collect, &text));
    expect(has(&text, " (?close?) waits in lane 1 with 1 before it: task "));
    expect(has(&text, " (post) runs on worker 0\n"));
    gate_open(&gate, 1);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- other layouts and rules --- */

Test(snapshot, lanes_of_workers_are_shown)
{
    lanepool_snapshot_reason reasons[REASONS_MAX];
    struct stand stand;
    size_t count;

    stand_up(&stand, LANEPOOL_PER_WORKER);
    const lanepool_snapshot *snapshot = stand.snapshot;
    expect_eq(snapshot->task_count, TASKS);
    expect_eq(snapshot->tasks[HOLDER].state, LANEPOOL_SNAPSHOT_RUNNING);
    expect_eq(snapshot->lanes[0].type, LANEPOOL_EVENT_LANE_WORKER);
    expect_ok(lanepool_snapshot_explain(snapshot, ROLLUP, reasons, REASONS_MAX, &count));
    expect(count >= 1);
    expect_eq(reasons[0].blocker, HOLDER);
    stand_down(&stand);
}

/* A rule: tasks with the same gate conflict. */
static bool conflict_at_gates(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct step *one = a->context;
    const struct step *other = b->context;

    return one == user || other == user || one->id != other->id;
}

Test(snapshot, with_a_rule_the_conflicts_are_shown)
{
    lanepool_snapshot_reason reasons[REASONS_MAX];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_snapshot *snapshot;
    struct gate gate;
    struct step first = { .gate = &gate };
    struct step second = { 0 };
    struct step third = { 0 };
    struct step witness = { .id = 1, .gate = &gate };
    size_t count;

    gate_init(&gate);
    options.workers = 2;
    options.is_compatible = conflict_at_gates;
    lanepool_pool *pool = pool_make_with(&options);
    expect_ok(step_submit(pool, &first));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit(pool, &second));
    expect_ok(step_submit(pool, &third));
    expect_ok(step_submit(pool, &witness));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 4);
    expect_eq(snapshot->tasks[2].state, LANEPOOL_SNAPSHOT_WAITING);
    expect_ok(lanepool_snapshot_explain(snapshot, 2, reasons, REASONS_MAX, &count));
    expect_eq(count, 3);
    expect_eq(reasons[0].blocker, 1);
    expect_eq(reasons[1].blocker, 0);
    expect_eq(reasons[2].blocker, 0);
    expect_eq(reasons[2].depth, 1);
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 2);
    pool_end(pool);
    gate_fini(&gate);
}

/* --- snapshots inside tasks and callbacks --- */

struct inside {
    lanepool_pool *pool;
    lanepool_status in_task;
    lanepool_status in_callback;
    size_t tasks;
    lanepool_snapshot_state state;
};

static void look_in_callback(void *context)
{
    struct inside *inside = context;
    lanepool_snapshot *snapshot;

    inside->in_callback = lanepool_snapshot_take(inside->pool, &snapshot);
}

static int look_in_task(lanepool_run *run, void *context)
{
    struct inside *inside = context;
    lanepool_snapshot *snapshot;

    inside->in_task = lanepool_snapshot_take(inside->pool, &snapshot);
    if (inside->in_task == LANEPOOL_OK) {
        size_t self = lanepool_snapshot_find(snapshot, lanepool_run_ticket(run));

        inside->tasks = snapshot->task_count;
        if (self != LANEPOOL_SNAPSHOT_NONE) {
            inside->state = snapshot->tasks[self].state;
        }
        lanepool_snapshot_release(snapshot);
    }
    return 0;
}

Test(snapshot, a_task_can_look_but_a_callback_cannot)
{
    struct inside inside = { .pool = pool_make(1, LANEPOOL_PER_KEY) };
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = look_in_task;
    task.context = &inside;
    task.release = look_in_callback;
    expect_ok(lanepool_pool_submit(inside.pool, &task));
    pool_end(inside.pool);
    expect_ok(inside.in_task);
    expect_eq(inside.tasks, 1);
    expect_eq(inside.state, LANEPOOL_SNAPSHOT_RUNNING);
    expect_status(inside.in_callback, LANEPOOL_DEADLOCK);
}

Test(snapshot, a_pool_that_has_stopped_has_nothing_to_show)
{
    lanepool_snapshot *snapshot;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(lanepool_snapshot_take(pool, &snapshot), LANEPOOL_SHUT_DOWN);
    pool_end(pool);
}

/* --- snapshots while tasks run --- */

Test(snapshot, it_can_be_taken_again_and_again_beside_work)
{
    enum { TASKS_BESIDE = 4000 };
    static struct step steps[TASKS_BESIDE];
    lanepool_snapshot *snapshot;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (uint32_t i = 0; i < TASKS_BESIDE; i++) {
        expect_ok(step_submit_rollup(pool, &steps[i], i % 13, 7 + i % 5));
        if (i % 40 == 0) {
            expect_ok(lanepool_snapshot_take(pool, &snapshot));
            for (size_t entry = 0; entry < snapshot->entry_count; entry++) {
                expect(snapshot->entries[entry].lane < snapshot->lane_count);
            }
            lanepool_snapshot_release(snapshot);
        }
    }
    pool_settle(pool);
    for (uint32_t i = 0; i < TASKS_BESIDE; i++) {
        expect_eq(steps[i].runs, 1);
    }
    pool_end(pool);
}
