/* Structs of programs that were built for another version. */
#include <string.h>

#include "support/shop.h"
#include "support/step.h"
#include "support/test.h"

enum { TASKS = 5, MORE = 16 };

/* A task of a later version, with a member more. */
struct later_task {
    lanepool_task task;
    unsigned char more[MORE];
};

static void describe(struct later_task *later, struct step *step, size_t count)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    memset(later, 0xaa, count * sizeof *later);
    for (size_t i = 0; i < count; i++) {
        later[i].task = task;
        later[i].task.struct_size = sizeof *later;
        later[i].task.function = step_body;
        later[i].task.context = &step[i];
        memset(later[i].more, 0, MORE);
    }
}

Test(struct_sizes, batch_of_longer_tasks)
{
    struct step steps[TASKS] = { { 0 } };
    struct later_task later[TASKS];
    lanepool_future *futures[TASKS];
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    size_t accepted = 0;

    describe(later, steps, TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        later[i].task.future = &futures[i];
    }
    expect_ok(lanepool_pool_submit_batch(pool, &later[0].task, TASKS, LANEPOOL_FOREVER, &accepted));
    expect_eq(accepted, TASKS);
    for (size_t i = 0; i < TASKS; i++) {
        expect_ok(lanepool_future_wait(futures[i], LANEPOOL_FOREVER, NULL));
        expect(step_was_called(&steps[i]));
        lanepool_future_release(futures[i]);
    }
    pool_end(pool);
}

static void refuse_batch(lanepool_pool *pool, struct later_task *later, lanepool_future **future)
{
    size_t accepted = 9;

    *future = (lanepool_future *)pool;
    expect_status(lanepool_pool_submit_batch(pool, &later[0].task, TASKS, 0, &accepted),
                  LANEPOOL_INVALID);
    expect_eq(accepted, 0);
    expect(*future == (lanepool_future *)pool); /* nothing was written */
}

Test(struct_sizes, batch_is_refused_before_anything_is_written)
{
    struct step steps[TASKS] = { { 0 } };
    struct later_task later[TASKS];
    lanepool_future *future;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    describe(later, steps, TASKS);
    later[0].task.future = &future;
    later[3].more[MORE - 1] = 1;
    refuse_batch(pool, later, &future);
    describe(later, steps, TASKS);
    later[0].task.future = &future;
    later[2].task.struct_size = sizeof(lanepool_task);
    refuse_batch(pool, later, &future);
    describe(later, steps, TASKS);
    later[0].task.future = &future;
    later[0].task.struct_size = 1;
    refuse_batch(pool, later, &future);
    for (size_t i = 0; i < TASKS; i++) {
        expect(!step_was_called(&steps[i]));
    }
    pool_end(pool);
}

Test(struct_sizes, longer_task_in_every_form)
{
    struct step steps[4] = { { 0 } };
    struct later_task later[4];
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_executor *executor;
    lanepool_sequence *sequence;

    describe(later, steps, 4);
    expect_ok(lanepool_pool_executor(pool, &executor));
    expect_ok(lanepool_sequence_create(executor, &sequence));
    expect_ok(lanepool_pool_submit(pool, &later[0].task));
    expect_ok(lanepool_pool_submit_after(pool, &later[1].task, 1));
    expect_ok(lanepool_sequence_submit(sequence, &later[2].task));
    expect_ok(lanepool_sequence_submit_after(sequence, &later[3].task, 1));
    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    lanepool_sequence_destroy(sequence);
    expect_ok(lanepool_executor_destroy(executor));
    pool_end(pool);
    expect(step_was_called(&steps[0]));
    expect(step_was_called(&steps[2]));
}

Test(struct_sizes, longer_struct_with_a_rest_that_is_not_zero)
{
    struct {
        lanepool_group_options options;
        size_t more;
    } group = { LANEPOOL_GROUP_OPTIONS_INIT, 0 };
    lanepool_group *made;

    group.options.struct_size = sizeof group;
    expect_ok(lanepool_group_create(&group.options, &made));
    lanepool_group_destroy(made);
    group.more = 1;
    expect_status(lanepool_group_create(&group.options, &made), LANEPOOL_INVALID);
}

/* Of the structs that the program fills, only this one has a reserved member. */
Test(struct_sizes, each_reserved_byte_of_group_options_must_be_zero)
{
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_group *made;

    for (size_t i = 0; i < sizeof options.reserved; i++) {
        options.reserved[i] = 1;
        expect_status(lanepool_group_create(&options, &made), LANEPOOL_INVALID);
        expect(made == NULL);
        options.reserved[i] = 0;
    }
    expect_ok(lanepool_group_create(&options, &made));
    lanepool_group_destroy(made);
}

/* --- structs that the library fills --- */

static void expect_zero(const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect_eq(words[i], 0);
    }
}

#define EXPECT_RESERVED(filled) \
    expect_zero((filled).reserved, sizeof(filled).reserved / sizeof(uint64_t))

Test(struct_sizes, reserved_members_of_statistics_and_completions_are_zero)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_group *group;
    struct {
        lanepool_stats stats;
        lanepool_worker_stats worker;
        lanepool_completion completion;
    } filled;

    memset(&filled, 0xaa, sizeof filled);
    options.keeps_completions = true;
    expect_ok(lanepool_group_create(&options, &group));
    task.group = group;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_group_next(group, LANEPOOL_FOREVER, &filled.completion));
    expect_ok(lanepool_pool_stats(pool, &filled.stats, &filled.worker, 1));
    EXPECT_RESERVED(filled.stats);
    EXPECT_RESERVED(filled.worker);
    EXPECT_RESERVED(filled.completion);
    lanepool_group_destroy(group);
    pool_end(pool);
}

/* A task uses the context of key 1, and another one waits behind it. */
Test(struct_sizes, reserved_members_of_snapshots_are_zero)
{
    struct gate gate;
    struct shop shop = { 0 };
    struct visit visit = { .shop = &shop, .claim = lanepool_exclusive(1), .gate = &gate };
    struct step waiting = { 0 };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_snapshot_reason reason;
    lanepool_snapshot *snapshot;
    size_t reasons;

    gate_init(&gate);
    task.function = visit_body;
    task.context = &visit;
    task.claims = &visit.claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &waiting, 1));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 2);
    expect_eq(snapshot->context_count, 1);
    memset(&reason, 0xaa, sizeof reason);
    expect_ok(lanepool_snapshot_explain(snapshot, 1, &reason, 1, &reasons));
    expect_eq(reasons, 1);
    EXPECT_RESERVED(reason);
    EXPECT_RESERVED(snapshot->contexts[0]);
    for (size_t i = 0; i < snapshot->task_count; i++) {
        EXPECT_RESERVED(snapshot->tasks[i]);
    }
    for (size_t i = 0; i < snapshot->entry_count; i++) {
        EXPECT_RESERVED(snapshot->entries[i]);
    }
    for (size_t i = 0; i < snapshot->lane_count; i++) {
        EXPECT_RESERVED(snapshot->lanes[i]);
    }
    for (size_t i = 0; i < snapshot->worker_count; i++) {
        EXPECT_RESERVED(snapshot->workers[i]);
    }
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(struct_sizes, reserved_members_of_parked_tasks_are_zero)
{
    struct step failing = { .code = 1 };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&failing, &claim, 1);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_parked_tasks *parked;

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect_ok(lanepool_pool_parked(pool, &parked));
    expect_eq(parked->count, 1);
    EXPECT_RESERVED(parked->tasks[0]);
    expect_ok(lanepool_pool_resolve(pool, parked->tasks[0].ticket, LANEPOOL_RESOLVE_SKIP));
    lanepool_parked_tasks_release(parked);
    pool_end(pool);
}

/* A task with a claim, so that there is a row of its lane and one of its tag. */
Test(struct_sizes, reserved_members_of_times_are_zero)
{
    enum { ROWS = 2, EVENTS = 32 };
    struct step step = { 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_event events[EVENTS];
    lanepool_times_row rows[ROWS];
    lanepool_times_workers workers;
    lanepool_trace_reader *reader;
    lanepool_times *times;
    size_t count;

    options.workers = 1;
    options.trace_events = EVENTS;
    lanepool_pool *pool = pool_make_with(&options);
    expect_ok(lanepool_trace_open(pool, &reader));
    expect_ok(step_submit_on(pool, &step, 1));
    pool_settle(pool);
    expect_ok(lanepool_trace_read(reader, events, EVENTS, &count));
    expect_ok(lanepool_times_create(1, &times));
    expect_ok(lanepool_times_add(times, events, count));
    memset(rows, 0xaa, sizeof rows);
    memset(&workers, 0xaa, sizeof workers);
    expect_eq(lanepool_times_rows(times, rows, ROWS), ROWS);
    lanepool_times_of_workers(times, &workers);
    EXPECT_RESERVED(rows[0]);
    EXPECT_RESERVED(rows[1]);
    EXPECT_RESERVED(workers);
    lanepool_times_destroy(times);
    lanepool_trace_close(reader);
    pool_end(pool);
}
