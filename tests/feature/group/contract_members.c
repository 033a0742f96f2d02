/* Which tasks are members of a group: tasks of any pool and any way to submit, and tasks that are
 * handed back. Refused tasks are not, nor are tasks submitted after the group was closed. */
#include "support/step.h"
#include "support/test.h"

Test(group_members, members_may_be_of_several_pools_and_come_in_batches)
{
    enum { TASKS = 200 };
    static struct step steps[2][TASKS];
    lanepool_group *groups[2] = { group_make(false), group_make(true) };
    lanepool_pool *pools[2] = { pool_make(2, LANEPOOL_PER_KEY), pool_make(2, LANEPOOL_PER_WORKER) };
    lanepool_completion completion;
    size_t taken = 0;

    for (int pool = 0; pool < 2; pool++) {
        lanepool_task tasks[TASKS];
        lanepool_claim claims[TASKS];
        size_t accepted;

        for (int i = 0; i < TASKS; i++) {
            claims[i] = lanepool_exclusive((uint64_t)i % 7);
            tasks[i] = member_task(i % 3 == 2 ? NULL : groups[i % 3], &steps[pool][i], &claims[i]);
        }
        expect_ok(
            lanepool_pool_submit_batch(pools[pool], tasks, TASKS, LANEPOOL_FOREVER, &accepted));
        expect_eq(accepted, TASKS);
    }
    for (int group = 0; group < 2; group++) {
        expect_ok(lanepool_group_wait(groups[group], LANEPOOL_FOREVER));
        for (int i = 0; i < TASKS; i++) {
            expect(i % 3 != group || (steps[0][i].runs == 1 && steps[1][i].runs == 1));
        }
    }
    expect_ok(lanepool_group_close(groups[1]));
    while (lanepool_group_next(groups[1], LANEPOOL_FOREVER, &completion) == LANEPOOL_OK) {
        taken++;
    }
    expect_eq(taken, 2 * (TASKS / 3 + 1));
    for (int i = 0; i < 2; i++) {
        pool_end(pools[i]);
        lanepool_group_destroy(groups[i]);
    }
}

struct handing_over {
    lanepool_task heir;
    lanepool_status status;
};

static int hand_over(lanepool_run *run, void *context)
{
    struct handing_over *handing_over = context;

    handing_over->status = lanepool_run_hand_over(run, &handing_over->heir);
    return 0;
}

Test(group_members, task_that_lanes_are_handed_over_to_is_a_member_and_may_be_a_pumps)
{
    struct step step = { 0 };
    struct handing_over handing_over;
    lanepool_group *group = group_make(true);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pump *pump;
    lanepool_completion completion;

    expect_ok(lanepool_pump_create(pool, &pump));
    handing_over.heir = member_task(group, &step, NULL);
    handing_over.heir.pump = pump;
    expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), hand_over, &handing_over));
    expect_ok(lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, NULL));
    expect_ok(handing_over.status);
    expect_ok(lanepool_group_next(group, LANEPOOL_FOREVER, &completion));
    expect(completion.context == &step);
    expect_eq(step.worker, SIZE_MAX);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
    lanepool_group_destroy(group);
}

Test(group_members, refused_tasks_are_no_members)
{
    struct step step = { 0 };
    lanepool_group *group = group_make(true);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = member_task(group, &step, NULL);
    lanepool_completion completion;
    size_t accepted;

    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_or_run(pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_batch(pool, &task, 1, LANEPOOL_FOREVER, &accepted),
                  LANEPOOL_SHUT_DOWN);
    expect_eq(lanepool_group_pending(group), 0);
    expect_status(lanepool_group_next(group, 0, &completion), LANEPOOL_TIMED_OUT);
    pool_end(pool);
    lanepool_group_destroy(group);
}

Test(group_members, member_that_its_submitter_runs_is_a_member_too)
{
    struct step steps[2] = { { 0 } };
    struct gate gate;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_group *group = group_make(true);
    lanepool_future *future;
    lanepool_completion completion;

    options.workers = 1;
    options.pending_max = 1;
    lanepool_pool *pool = pool_make_with(&options);
    lanepool_task task = member_task(group, &steps[1], NULL);
    gate_init(&gate);
    steps[0].gate = &gate;
    steps[1].code = 5;
    task.future = &future;
    expect_ok(step_submit(pool, &steps[0]));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_submit_or_run(pool, &task));
    expect_eq(steps[1].runs, 1);
    expect_ok(lanepool_group_next(group, 0, &completion));
    expect_eq(completion.result.code, 5);
    expect_ok(lanepool_future_wait(future, 0, &completion.result));
    lanepool_future_release(future);
    gate_open(&gate, 1);
    pool_end(pool);
    lanepool_group_destroy(group);
    gate_fini(&gate);
}

/* --- members of a closed group --- */

Test(group_members, batch_ends_at_the_first_member_of_a_closed_group)
{
    struct step steps[3] = { { 0 } };
    lanepool_group *group = group_make(false);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task tasks[3];
    size_t accepted;

    for (int i = 0; i < 3; i++) {
        tasks[i] = member_task(i == 1 ? group : NULL, &steps[i], NULL);
    }
    expect_ok(lanepool_group_close(group));
    expect_status(lanepool_pool_submit_batch(pool, tasks, 3, LANEPOOL_FOREVER, &accepted),
                  LANEPOOL_SHUT_DOWN);
    expect_eq(accepted, 1);
    pool_end(pool);
    expect_eq(steps[0].runs, 1);
    expect_eq(steps[1].runs + steps[2].runs, 0);
    lanepool_group_destroy(group);
}

Test(group_members, lanes_are_not_handed_over_to_a_member_of_a_closed_group)
{
    struct step step = { 0 };
    struct handing_over handing_over;
    lanepool_group *group = group_make(true);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_group_close(group));
    handing_over.heir = member_task(group, &step, NULL);
    expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), hand_over, &handing_over));
    pool_end(pool);
    expect_status(handing_over.status, LANEPOOL_SHUT_DOWN);
    expect_eq(step.runs, 0);
    expect_eq(lanepool_group_pending(group), 0);
    lanepool_group_destroy(group);
}

/* --- members that are handed back --- */

struct returned {
    lanepool_pool *pool;
    lanepool_group *group;
    uint32_t count;
    bool had_group;
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct returned *returned = context;

    (void)ticket;
    returned->count++;
    returned->had_group = task->group == returned->group;
}

/* One member runs, another waits behind it and is handed back. */
static void stop_with_a_member_behind(bool destroys_first)
{
    struct step steps[2] = { { 0 } };
    struct gate gate;
    struct returned returned = { .pool = pool_make(1, LANEPOOL_PER_KEY),
                                 .group = group_make(true) };
    lanepool_completion completion;

    gate_init(&gate);
    steps[0].gate = &gate;
    for (int i = 0; i < 2; i++) {
        lanepool_claim claim = lanepool_exclusive(1);
        lanepool_task task = member_task(returned.group, &steps[i], &claim);

        expect_ok(lanepool_pool_submit(returned.pool, &task));
    }
    expect(gate_await(&gate, 1));
    if (destroys_first) {
        lanepool_group_destroy(returned.group);
    }
    expect_ok(lanepool_pool_shutdown_now(returned.pool, take_back, &returned));
    gate_open(&gate, 1);
    pool_end(returned.pool);
    expect_eq(returned.count, 1);
    expect(returned.had_group == !destroys_first);
    if (!destroys_first) {
        expect_ok(lanepool_group_next(returned.group, 0, &completion));
        expect(completion.context == &steps[0]);
        expect_ok(lanepool_group_next(returned.group, 0, &completion));
        expect(completion.context == &steps[1]);
        expect_status(completion.result.status, LANEPOOL_CANCELLED);
        expect_ok(lanepool_group_close(returned.group));
        expect_status(lanepool_group_next(returned.group, 0, &completion), LANEPOOL_DONE);
        lanepool_group_destroy(returned.group);
    }
    gate_fini(&gate);
}

Test(group_members, members_that_are_handed_back_end_as_cancelled_and_bring_their_group)
{
    stop_with_a_member_behind(false);
}

Test(group_members, members_that_are_handed_back_bring_no_group_that_is_destroyed)
{
    stop_with_a_member_behind(true);
}
