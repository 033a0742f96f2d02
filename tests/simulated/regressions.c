/*
 * Regression tests. Each comment describes the former error; the test requires the right behaviour.
 * "Link" means a link of the inbox (src/route/inbox.h), "role" the router role
 * (src/route/router.h).
 */
#include "route/pool.h"
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static lanepool_status wait_for(const struct scene_task *task)
{
    return lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL);
}

static void submit_one(void *argument)
{
    EXPECT_STATUS(OK, scene_submit(argument));
}

/* The tasks of one submitter are consecutive in scene.tasks. */
enum { ROW = 6 };

static struct scene_task *make_row(const char *claims)
{
    struct scene_task *first = scene_task(claims);

    for (int i = 1; i < ROW; i++)
        scene_task(claims);
    return first;
}

static void submit_row(void *argument)
{
    struct scene_task *first = argument;

    for (int i = 0; i < ROW; i++) {
        lanepool_status status = scene_submit(first + i);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    }
}

static void submit_or_be_refused(void *argument)
{
    lanepool_status status = scene_submit(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

static void stop_and_await(bool hands_back)
{
    lanepool_status status = scene_stop(hands_back);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
}

static void open_with_routing_submitters(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.routing = LANEPOOL_ROUTING_SUBMITTER;
    scene_open(&options);
}

/* --- missing links --- */

/* One of three submitters is between the two steps of its append. The workers searched again and
 * again, and with priorities that submitter never ran. */
SCENARIO(regress_no_worker_stays_awake_at_a_missing_link, RANDOM)
{
    scene_open_with(1);
    for (int i = 0; i < 3; i++)
        scene_spawn(submit_row, make_row(""));
    submit_row(make_row(""));
    scene_close();
}

/* Submits two tasks at a time, each time when the last two end. */
static void submit_row_in_turns(void *argument)
{
    struct scene_task *first = argument;

    for (int i = 0; i < ROW; i += 2) {
        first[i].takes = 10;
        first[i + 1].takes = 10;
        EXPECT_STATUS(OK, scene_submit(&first[i]));
        EXPECT_STATUS(OK, scene_submit(&first[i + 1]));
        sim_sleep(10);
    }
}

/* A link was made while a worker searched; the worker then left with another task. Or it was made
 * while the role's holder did not check again. No thread searched for the tasks behind the link,
 * and the other workers slept. */
SCENARIO(regress_link_made_during_a_search_is_found, RANDOM)
{
    scene_open_with(8);
    for (int i = 0; i < 3; i++)
        scene_spawn(submit_row_in_turns, make_row(""));
    submit_row_in_turns(make_row(""));
    scene_close();
}

/* A worker checked the counters, and then routed the messages behind a missing link. One of these
 * messages had prevented the end of the drain, and no thread checked for that end again. */
SCENARIO(regress_drain_ends_behind_a_missing_link, EXHAUSTIVE)
{
    lanepool_key key = lanepool_key_id('A');
    lanepool_lane *lane;

    scene_open_with(1);
    EXPECT_STATUS(OK, lanepool_lane_acquire(scene.pool, key, &lane));
    sim_explore_from_here();
    scene_spawn(submit_or_be_refused, scene_task("A"));
    lanepool_lane_release(lane);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_close();
}

/* The hand-back waited for a half linked append without yielding to its thread. */
SCENARIO(regress_hand_back_lets_a_half_made_append_go_on, RANDOM)
{
    scene_open_with(1);
    for (int i = 0; i < 3; i++)
        scene_spawn(submit_row, make_row("A"));
    sim_sleep(0);
    stop_and_await(true);
    scene_close();
}

/* --- ends --- */

static void submit_without_waiting(struct scene_task *self)
{
    scene_wait_at_gate(0);
    EXPECT_STATUS(OK, scene_submit_within(self + 1, 0));
}

/* The submit answered FULL although nothing was full. */
SCENARIO(regress_task_submits_without_waiting_while_the_pool_drains, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.pending_max = 4;
    scene_open(&options);
    scene_make_gates(1);
    struct scene_task *task = scene_task("A");
    scene_task("B");
    task->body = submit_without_waiting;
    EXPECT_STATUS(OK, scene_submit(task));
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    scene_open_gate(0);
    scene_close();
}

static void quiesce(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
}

/* A thread that checked the counters for a quiesce had read the state before the stop, and declared
 * the pool ended without handing back. */
static void submit_and_quiesce(void *argument)
{
    submit_or_be_refused(argument);
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
}

SCENARIO(regress_stop_is_seen_by_who_ends_the_pool, EXHAUSTIVE)
{
    open_with_routing_submitters();
    scene_spawn(submit_and_quiesce, scene_task("A"));
    sim_explore_from_here();
    sim_sleep(0);
    stop_and_await(true);
    scene_close();
}

/* A check for a quiesce noticed the drain's end before the drain had requested attention. Then the
 * last worker that ended did not check. */
SCENARIO(regress_drain_noticed_by_a_quiesce_ends, EXHAUSTIVE)
{
    open_with_routing_submitters();
    struct scene_task *task = scene_task("A");
    task->takes = 10;
    EXPECT_STATUS(OK, scene_submit(task));
    scene_spawn(quiesce, NULL);
    sim_sleep(10);
    sim_explore_from_here();
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_close();
}

static void submit_or_run(void *argument)
{
    lanepool_status status = scene_submit_or_run(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

/* A caller that waited for its turn took its own task while the hand-back was returning it. */
SCENARIO(regress_caller_gives_its_task_up_to_the_hand_back, EXHAUSTIVE)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.pending_max = 1;
    scene_open(&options);
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    scene_spawn(submit_or_run, scene_task("B"));
    sim_explore_from_here();
    sim_sleep(0);
    stop_and_await(scene_variant(2) != 0);
    sim_explore_to_here();
    scene_close();
}

/* --- quiescing --- */

static void take_part_in_epochs(struct scene_task *self)
{
    scene_wait_at_gate(self == &scene.tasks[0] ? 0 : 1);
}

static void quiesce_and_let_the_last_go(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    scene_open_gate(1);
}

/* Waits until `count` quiesces have been routed. */
static void await_quiesces(uint32_t count)
{
    while (atomic_load_explicit(&scene.pool->lifecycle.attention, memory_order_relaxed) < count)
        sim_sleep(1);
}

/* When every epoch is in use, a quiesce also waits for later tasks. It must not wait for tasks
 * accepted after the oldest epoch has ended, because then the quiesce gets its own epoch. The last
 * task does not end before the quiesce. */
SCENARIO(regress_quiesce_gets_an_epoch_when_one_is_free, RANDOM)
{
    scene_open_with(2);
    scene_make_gates(2);
    struct scene_task *oldest = scene_task("A");
    oldest->body = take_part_in_epochs;
    EXPECT_STATUS(OK, scene_submit(oldest));
    for (uint32_t i = 1; i <= LANEPOOL_I_EPOCHS; i++) {
        scene_spawn(i < LANEPOOL_I_EPOCHS ? quiesce : quiesce_and_let_the_last_go, NULL);
        await_quiesces(i);
        if (i < LANEPOOL_I_EPOCHS)
            EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    }
    scene_open_gate(0);
    while (!scene_has_ended(&scene.tasks[0]) ||
           atomic_load_explicit(&scene.pool->lifecycle.attention, memory_order_relaxed) ==
               LANEPOOL_I_EPOCHS)
        sim_sleep(1);
    struct scene_task *last = scene_task("A");
    last->body = take_part_in_epochs;
    EXPECT_STATUS(OK, scene_submit(last));
    scene_close();
}

/* --- waits inside tasks --- */

static void wait_behind_shared_ones(struct scene_task *self)
{
    EXPECT_STATUS(OK, scene_submit(self + 1));
    EXPECT_STATUS(OK, scene_submit(self + 2));
    scene_open_gate(0);
    EXPECT_STATUS(OK, wait_for(self + 2));
}

static void pass_first_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

/* The awaited task is SHARED and queued behind a SHARED task that waits for the waiter. It waits
 * only for the EXCLUSIVE task before both, which ends. The wait was judged to be a deadlock. */
SCENARIO(regress_shared_behind_shared_is_no_deadlock, RANDOM)
{
    scene_open_with(2);
    scene_make_gates(1);
    struct scene_task *before = scene_task("A");
    struct scene_task *waiter = scene_task("B");
    scene_task("Ba");
    struct scene_task *awaited = scene_task("a");
    before->body = pass_first_gate;
    waiter->body = wait_behind_shared_ones;
    awaited->has_future = true;
    EXPECT_STATUS(OK, scene_submit(before));
    EXPECT_STATUS(OK, scene_submit(waiter));
    scene_close();
}

static void wait_for_first(struct scene_task *self)
{
    (void)self;
    EXPECT_STATUS(OK, wait_for(&scene.tasks[0]));
}

/* Two threads waited for a long task, and each had found the role taken by the other. They woke one
 * another until the task ended. */
SCENARIO(regress_waiters_let_one_another_sleep, RANDOM)
{
    scene_open_with(3);
    struct scene_task *awaited = scene_task("A");
    awaited->takes = 1000;
    awaited->has_future = true;
    EXPECT_STATUS(OK, scene_submit(awaited));
    for (int i = 0; i < 2; i++) {
        struct scene_task *waiter = scene_task("");
        waiter->body = wait_for_first;
        scene_spawn(submit_one, waiter);
    }
    scene_close();
}

/* --- waits while other workers run the needed task --- */

static void let_go_and_end(struct scene_task *self)
{
    (void)self;
    scene_open_gate(0);
}

/* The first task that it submits conflicts with the caller's task; the second one ends after it. */
static void wait_for_what_the_caller_holds_up(struct scene_task *self)
{
    scene_wait_at_gate(0);
    EXPECT_STATUS(OK, scene_submit(self + 1));
    EXPECT_STATUS(OK, scene_submit(self + 2));
    EXPECT_STATUS(OK, wait_for(self + 1));
    scene_open_gate(1);
}

static void pass_second_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(1);
}

/* A task that a waiter needed became ready while the other worker searched, so that the waiter was
 * not woken. That worker left with another task, and the waiter slept although it could have run
 * the task that it needed. */
SCENARIO(regress_waiter_is_woken_when_the_last_worker_leaves, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.pending_max = 1;
    scene_open(&options);
    scene_make_gates(2);
    struct scene_task *waiter = scene_task("A");
    struct scene_task *awaited = scene_task("C");
    struct scene_task *until_it_ends = scene_task("");
    struct scene_task *by_caller = scene_task("C");
    waiter->body = wait_for_what_the_caller_holds_up;
    awaited->has_future = true;
    until_it_ends->body = pass_second_gate;
    by_caller->body = let_go_and_end;
    EXPECT_STATUS(OK, scene_submit(waiter));
    EXPECT_STATUS(OK, scene_submit_or_run(by_caller));
    scene_close();
}

static void submit_next_and_wait(struct scene_task *self)
{
    EXPECT_STATUS(OK, scene_submit(self + 1));
    EXPECT_STATUS(OK, wait_for(self + 1));
}

/* A walk over the wait-for graph read a task that a waiter had run, and that had been freed. */
SCENARIO(regress_helped_task_is_not_looked_at_when_gone, RANDOM)
{
    static const char *const claims[] = { "A", "C", "B", "D" };

    scene_open_with(2);
    for (int i = 0; i < 4; i++) {
        struct scene_task *task = scene_task(claims[i]);
        task->body = i % 2 == 0 ? submit_next_and_wait : NULL;
        task->has_future = i % 2 != 0;
    }
    scene_spawn(submit_one, &scene.tasks[0]);
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[2]));
    scene_close();
}

/* --- a full pool with a rule --- */

static void submit_when_the_second_ends(void *argument)
{
    sim_sleep(5);
    EXPECT_STATUS(OK, scene_submit(argument));
}

/* The role's holder reaps finished tasks. If a task finished while the role was held, it was reaped
 * only when a worker routed next; here both workers run long tasks. A submitter was blocked
 * although the pool was not full. */
SCENARIO(regress_finished_tasks_are_reaped_for_the_blocked, RANDOM)
{
    static const char *const claims[] = { "A", "B", "B", "C", "C" };
    static const uint64_t takes[] = { 1000, 5, 1000, 0, 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.pending_max = 3;
    options.is_compatible = scene_rule;
    scene_open(&options);
    for (int i = 0; i < 5; i++)
        scene_task(claims[i])->takes = takes[i];
    for (int i = 0; i < 3; i++)
        EXPECT_STATUS(OK, scene_submit(&scene.tasks[i]));
    scene_spawn(submit_when_the_second_ends, &scene.tasks[3]);
    submit_when_the_second_ends(&scene.tasks[4]);
    scene_close();
}

static void cancel_everything(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_cancel(scene.pool, NULL));
}

/* A worker had read the task's word. Then the task was cancelled with all others, and that cancel
 * had ended before the worker checked for a running cancel. The task got its cancelling call, and
 * started nevertheless. */
SCENARIO(regress_cancelling_everything_is_over_while_a_task_starts, RANDOM)
{
    scene_open_with(1);
    struct scene_task *task = scene_task("A");
    task->has_future = scene_variant(2) != 0;
    atomic_store(&scene.stops, true);
    EXPECT_STATUS(OK, scene_submit(task));
    scene_spawn(cancel_everything, NULL);
    scene_close();
}

/* A task had returned, but not left its lane yet: it was cancelled after it had run. */
SCENARIO(regress_cancelling_everything_finds_a_task_that_has_run, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.layout = (lanepool_layout)scene_variant(2);
    options.is_compatible = scene_variant(3) == 0 ? scene_rule : NULL;
    scene_open(&options);
    struct scene_task *task = scene_task("A");
    task->has_future = scene_variant(4) < 2;
    atomic_store(&scene.stops, true);
    EXPECT_STATUS(OK, scene_submit(task));
    scene_spawn(cancel_everything, NULL);
    scene_close();
}

/* Giver and receiver are not tasks of the scene. */
static _Atomic uint32_t heirs_runs;

static int run_as_heir(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    atomic_fetch_add(&heirs_runs, 1);
    return 0;
}

static int hand_over(lanepool_run *run, void *context)
{
    lanepool_task heir = LANEPOOL_TASK_INIT;

    (void)context;
    heir.function = run_as_heir;
    EXPECT_STATUS(OK, lanepool_run_hand_over(run, &heir));
    return 0;
}

/* A task handed its lanes over during a census, which treated it as running: its entries moved to
 * the receiver in between. */
SCENARIO(regress_snapshot_looks_at_a_task_that_hands_over, RANDOM)
{
    lanepool_claim claims[3];
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_snapshot *snapshot;

    atomic_store(&heirs_runs, 0);
    scene_open_with(1);
    for (uint64_t i = 0; i < 3; i++)
        claims[i] = lanepool_exclusive(i);
    task.function = hand_over;
    task.claims = claims;
    task.claim_count = scene_variant(2) == 0 ? 3 : 2;
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
    for (int i = 0; i < 2; i++) {
        EXPECT_STATUS(OK, lanepool_snapshot_take(scene.pool, &snapshot));
        lanepool_snapshot_release(snapshot);
    }
    scene_close();
    EXPECT(atomic_load(&heirs_runs) == 1);
}
