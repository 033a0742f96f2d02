/* Structs of programs that were built for another version. */
#include <string.h>

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
    group.more = 0;
    group.options.reserved[0] = 1;
    expect_status(lanepool_group_create(&group.options, &made), LANEPOOL_INVALID);
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

Test(struct_sizes, reserved_members_are_zero)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_group *group;
    lanepool_snapshot *snapshot;
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
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    EXPECT_RESERVED(filled.stats);
    EXPECT_RESERVED(filled.worker);
    EXPECT_RESERVED(filled.completion);
    EXPECT_RESERVED(snapshot->workers[0]);
    lanepool_snapshot_release(snapshot);
    lanepool_group_destroy(group);
    pool_end(pool);
}
