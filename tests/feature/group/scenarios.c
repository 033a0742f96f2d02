/* Groups, and waits for several tasks: members end while threads wait, take completions, or
 * cancel. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static lanepool_group *group;

static void make_group(bool keeps)
{
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;

    options.keeps_completions = keeps;
    EXPECT_STATUS(OK, lanepool_group_create(&options, &group));
}

static struct scene_task *member(const char *claims)
{
    struct scene_task *task = scene_task(claims);

    task->group = group;
    return task;
}

/* --- waiting --- */

static void wait_for_both(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_group_wait(group, LANEPOOL_FOREVER));
    EXPECT(scene_has_ended(&scene.tasks[0]) && scene_has_ended(&scene.tasks[1]));
    EXPECT(lanepool_group_pending(group) == 0);
}

/* A thread whose wait has returned may destroy the group while the last member's thread still
 * leaves it. */
SCENARIO(scenario_46_group_is_waited_for_and_destroyed_while_members_end, EXHAUSTIVE)
{
    scene_open_with(1);
    make_group(scene_variant(2) != 0);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(member("A")));
    EXPECT_STATUS(OK, scene_submit(member("B")));
    wait_for_both(NULL);
    lanepool_group_destroy(group);
    sim_explore_to_here();
    scene_close();
}

static void submit_member(void *argument)
{
    EXPECT_STATUS(OK, scene_submit(argument));
}

static void wait_inside(struct scene_task *self)
{
    struct scene_task *behind = self + 1;

    EXPECT_STATUS(OK, lanepool_group_wait(group, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, scene_submit(behind));
    EXPECT_STATUS(DEADLOCK, lanepool_group_wait(group, LANEPOOL_FOREVER));
}

SCENARIO(scenario_52_group_waits_inside_and_outside, RANDOM)
{
    scene_open_with(2);
    make_group(false);
    struct scene_task *first = member("C");
    struct scene_task *second = member("C");
    struct scene_task *waiter = scene_task("A");
    member("AC");
    waiter->body = wait_inside;
    first->takes = second->takes = 3;
    EXPECT_STATUS(OK, scene_submit(first));
    EXPECT_STATUS(OK, scene_submit(second));
    scene_spawn(wait_for_both, NULL);
    scene_join();
    scene_spawn(submit_member, member("B"));
    EXPECT_STATUS(OK, scene_submit(waiter));
    scene_join();
    EXPECT_STATUS(OK, lanepool_group_wait(group, LANEPOOL_FOREVER));
    scene_close();
    lanepool_group_destroy(group);
}

/* --- taking --- */

static _Atomic uint32_t taken;

static void take_until_done(void *argument)
{
    lanepool_completion completion;
    lanepool_status status;

    (void)argument;
    while ((status = lanepool_group_next(group, LANEPOOL_FOREVER, &completion)) == LANEPOOL_OK) {
        EXPECT(scene_has_ended(completion.context));
        atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
    }
    EXPECT_STATUS(DONE, status);
}

SCENARIO(scenario_47_completion_is_taken_while_it_comes, EXHAUSTIVE)
{
    atomic_store(&taken, 0);
    scene_open_with(1);
    make_group(true);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(member("A")));
    EXPECT_STATUS(OK, scene_submit(member("A")));
    EXPECT_STATUS(OK, lanepool_group_close(group));
    take_until_done(NULL);
    sim_explore_to_here();
    EXPECT(atomic_load(&taken) == 2);
    scene_close();
    lanepool_group_destroy(group);
}

static void take_or_give_up(void *argument)
{
    lanepool_completion completion;
    lanepool_status status = lanepool_group_next(group, 2, &completion);

    (void)argument;
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_TIMED_OUT || status == LANEPOOL_DONE);
    atomic_fetch_add_explicit(&taken, status == LANEPOOL_OK, memory_order_relaxed);
}

/* Two threads take the completions; one of them gives up after a moment. Each completion is taken
 * exactly once. */
SCENARIO(scenario_53_several_take_and_give_up, RANDOM)
{
    int fd;

    atomic_store(&taken, 0);
    scene_open_with(2);
    make_group(true);
    EXPECT_STATUS(OK, lanepool_group_fd(group, &fd));
    for (int i = 0; i < 4; i++) {
        struct scene_task *task = member(i % 2 == 0 ? "A" : "B");
        task->takes = (uint64_t)i;
        EXPECT_STATUS(OK, scene_submit(task));
    }
    scene_spawn(take_until_done, NULL);
    scene_spawn(take_until_done, NULL);
    scene_spawn(take_or_give_up, NULL);
    EXPECT_STATUS(OK, lanepool_group_close(group));
    scene_close();
    take_until_done(NULL);
    EXPECT(atomic_load(&taken) == 4);
    lanepool_group_destroy(group);
}

static void submit_or_be_refused(void *argument)
{
    lanepool_status status = scene_submit(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

/* A thread takes until the group is over. Another submits a member, and a third closes the group:
 * the member is either refused, or its completion is taken. */
SCENARIO(scenario_70_group_is_closed_beside_a_submit_and_a_take, EXHAUSTIVE)
{
    atomic_store(&taken, 0);
    scene_open_with(1);
    make_group(true);
    struct scene_task *task = member("A");
    scene_spawn(take_until_done, NULL);
    sim_explore_from_here();
    scene_spawn(submit_or_be_refused, task);
    EXPECT_STATUS(OK, lanepool_group_close(group));
    scene_join();
    sim_explore_to_here();
    EXPECT(atomic_load(&taken) == (task->submitted == LANEPOOL_OK));
    scene_close();
    lanepool_group_destroy(group);
}

/* --- cancelling --- */

static void cancel(void *argument)
{
    EXPECT_STATUS(OK, lanepool_group_cancel(group, argument));
}

static uint32_t count_cancelled(void)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < scene.task_count; i++)
        count += atomic_load(&scene.tasks[i].call) == SCENE_CANCELLED;
    return count;
}

/* After the cancel has returned, a member that has not started never will, and the count is
 * exact. */
SCENARIO(scenario_48_group_is_cancelled_while_members_start, EXHAUSTIVE)
{
    size_t count;

    scene_open_with(1);
    make_group(false);
    for (int i = 0; i < 2; i++) {
        struct scene_task *task = member(i == 0 ? "A" : "AB");
        task->may_be_cancelled = true;
    }
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[0]));
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[1]));
    cancel(&count);
    EXPECT(count == count_cancelled());
    EXPECT(count != 1 || atomic_load(&scene.tasks[1].call) == SCENE_CANCELLED);
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_group_wait(group, LANEPOOL_FOREVER));
    EXPECT(count == count_cancelled());
    scene_close();
    lanepool_group_destroy(group);
}

/* Two threads cancel at once, while members are submitted and other tasks are queued between
 * them. */
SCENARIO(scenario_54_group_is_cancelled_twice_while_it_grows, RANDOM)
{
    static const char *const claims[] = { "A", "AB", "B", "bC", "C" };
    size_t counts[2];

    scene_open_with(2);
    make_group(true);
    for (int i = 0; i < 5; i++) {
        struct scene_task *task = i == 2 ? scene_task("B") : member(claims[i]);
        task->may_be_cancelled = i != 2;
        task->has_release = i % 2 == 0;
        task->has_future = i > 2;
    }
    for (int i = 0; i < 3; i++)
        EXPECT_STATUS(OK, scene_submit(&scene.tasks[i]));
    scene_spawn(cancel, &counts[0]);
    scene_spawn(cancel, &counts[1]);
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[3]));
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[4]));
    EXPECT_STATUS(OK, lanepool_group_wait(group, LANEPOOL_FOREVER));
    scene_join();
    EXPECT(counts[0] + counts[1] == count_cancelled());
    scene_close();
    lanepool_group_destroy(group);
}

/* --- several tasks --- */

SCENARIO(scenario_51_any_of_two_is_waited_for_while_both_end, EXHAUSTIVE)
{
    lanepool_future *futures[2];
    size_t index;

    scene_open_with(1);
    sim_explore_from_here();
    for (int i = 0; i < 2; i++) {
        struct scene_task *task = scene_task(i == 0 ? "A" : "B");
        task->has_future = true;
        EXPECT_STATUS(OK, scene_submit(task));
        futures[i] = task->future;
    }
    lanepool_status status =
        lanepool_future_wait_any(futures, 2, scene_variant(2) ? 2 : LANEPOOL_FOREVER, &index);
    EXPECT(status == LANEPOOL_OK || (status == LANEPOOL_TIMED_OUT && scene_variant(2)));
    EXPECT(status != LANEPOOL_OK || scene_has_ended(&scene.tasks[index]));
    sim_explore_to_here();
    EXPECT_STATUS(OK, lanepool_future_wait_all(futures, 2, LANEPOOL_FOREVER));
    scene_close();
}

static void cancel_all(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_cancel(scene.pool, NULL));
}

/* A cancel of all tasks cancels the tasks that such a wait is queued behind, but not the wait
 * itself. A cancelling call may still run when the wait returns. */
SCENARIO(scenario_55_claims_are_waited_for_while_all_is_cancelled, RANDOM)
{
    lanepool_claim claim = lanepool_exclusive('A');

    scene_open_with(1);
    for (int i = 0; i < 2; i++) {
        struct scene_task *task = scene_task("A");
        task->may_be_cancelled = true;
        task->takes = 5;
        EXPECT_STATUS(OK, scene_submit(task));
    }
    scene_spawn(cancel_all, NULL);
    lanepool_status status =
        lanepool_pool_wait_claims(scene.pool, &claim, 1, scene_variant(2) ? 6 : LANEPOOL_FOREVER);
    EXPECT(status == LANEPOOL_OK || (status == LANEPOOL_TIMED_OUT && scene_variant(2)));
    bool ended[2] = { scene_has_ended(&scene.tasks[0]), scene_has_ended(&scene.tasks[1]) };
    scene_close();
    for (int i = 0; i < 2; i++)
        EXPECT(status != LANEPOOL_OK || ended[i] ||
               atomic_load(&scene.tasks[i].call) == SCENE_CANCELLED);
}
