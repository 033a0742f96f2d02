/* Tasks that fail: retries, parked tasks and their resolution, and the statuses at the end of a
 * pool. */
#include "simulated/scenarios.h"
#include "pool/stalled.h"
#include "property/world.h"
#include "simulated/scene.h"

/* With a barrier, the check sums the finished tasks once more. */
enum { STEPS_OF_BARRIER = 32 };

static lanepool_failure_policy policy;

static void set_policy(unsigned retries, uint64_t delay_ns, lanepool_failure_end at_end)
{
    policy = (lanepool_failure_policy)LANEPOOL_FAILURE_POLICY_INIT;
    policy.retries = retries;
    policy.delay_ns = delay_ns;
    policy.delay_max_ns = 2 * delay_ns;
    policy.at_end = at_end;
}

static struct scene_task *failing(const char *claims, uint32_t fails_first)
{
    struct scene_task *task = scene_task(claims);

    task->policy = &policy;
    task->has_release = true;
    task->has_future = true;
    task->fails_first = fails_first;
    return task;
}

static void submit(struct scene_task *task)
{
    EXPECT_STATUS(OK, scene_submit(task));
}

static void open_some_pool(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1 + scene_variant(2);
    options.is_compatible = scene_variant(3) == 1 ? scene_rule : NULL;
    scene_open(&options);
}

/* Resolves the first parked task. Returns DONE if there is none. */
static lanepool_status resolve(lanepool_resolution how)
{
    lanepool_parked_tasks *failures;
    lanepool_status status = lanepool_pool_parked(scene.pool, &failures);

    if (status != LANEPOOL_OK)
        return status;
    status = LANEPOOL_DONE;
    if (failures->count > 0)
        status = lanepool_pool_resolve(scene.pool, failures->tasks[0].ticket, how);
    lanepool_parked_tasks_release(failures);
    return status;
}

/* Awaits the end, and skips the parked tasks that block it. */
static void skip_to_the_end(void)
{
    lanepool_status status;

    while ((status = lanepool_pool_await(scene.pool, LANEPOOL_FOREVER)) == LANEPOOL_PARKED)
        EXPECT_STATUS(OK, resolve(LANEPOOL_RESOLVE_SKIP));
    EXPECT_STATUS(OK, status);
}

static void close_and_skip(void)
{
    scene_join();
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    skip_to_the_end();
    scene_end();
}

static void cancel(void *argument)
{
    lanepool_status status = scene_cancel(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

/* --- retries --- */

SCENARIO(scenario_60_retries_keep_the_order, RANDOM)
{
    open_some_pool();
    set_policy(2, scene_variant(2) * 3, LANEPOOL_FAILURE_CONTINUE);
    struct scene_task *task = failing("A", 1 + scene_variant(3));
    submit(scene_task("AB"));
    submit(task);
    submit(scene_task("A"));
    submit(scene_task("aB"));
    EXPECT_STATUS(OK, lanepool_future_wait(task->future, LANEPOOL_FOREVER, NULL));
    EXPECT(atomic_load(&task->attempts) == (task->fails_first > 2 ? 3 : task->fails_first + 1));
    scene_close();
}

SCENARIO(scenario_60_retry_meets_a_cancel, EXHAUSTIVE)
{
    scene_open_with(1 + scene_variant(2));
    set_policy(2, 1000,
               scene_variant(3) == 1 ? LANEPOOL_FAILURE_POISON : LANEPOOL_FAILURE_CONTINUE);
    struct scene_task *task = failing("A", 9);
    sim_explore_from_here();
    submit(task);
    submit(scene_task("A"));
    scene_spawn(cancel, task);
    sim_explore_to_here();
    close_and_skip();
}

static bool was_told; /* at the end of the last attempt: a cancelling call had answered RUNNING */

static void expect_not_asked(struct scene_task *self)
{
    EXPECT(!was_told);
    was_told = atomic_load(&self->told_running);
}

/* The task is ready for the next attempt when it is cancelled. The policy decides how it ends. */
SCENARIO(scenario_60_retry_at_once_meets_a_cancel, RANDOM)
{
    static const lanepool_failure_end ends[] = { LANEPOOL_FAILURE_CONTINUE, LANEPOOL_FAILURE_POISON,
                                                 LANEPOOL_FAILURE_PAUSE };

    scene_open_with(1 + scene_variant(2));
    set_policy(2, 0, ends[scene_variant(6) / 2]);
    struct scene_task *task = failing("A", 9);
    was_told = false;
    task->body = expect_not_asked;
    submit(task);
    scene_spawn(cancel, task);
    close_and_skip();
}

static void cancel_all(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, scene_cancel_all());
}

SCENARIO(scenario_60_retries_meet_a_cancel_of_everything, RANDOM)
{
    open_some_pool();
    set_policy(3, 2, scene_variant(2) == 1 ? LANEPOOL_FAILURE_POISON : LANEPOOL_FAILURE_CONTINUE);
    submit(failing("A", 2));
    submit(failing("AB", 9));
    submit(scene_task("B"));
    sim_sleep(scene_variant(5));
    scene_spawn(cancel_all, NULL);
    close_and_skip();
}

static void wait_for_the_next(struct scene_task *self)
{
    lanepool_status status = lanepool_future_wait((self + 1)->future, LANEPOOL_FOREVER, NULL);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

SCENARIO(scenario_60_retry_is_waited_for_inside_beside_a_stop, EXHAUSTIVE)
{
    scene_open_with(2);
    set_policy(1, 1000,
               scene_variant(2) == 1 ? LANEPOOL_FAILURE_POISON : LANEPOOL_FAILURE_CONTINUE);
    struct scene_task *waiter = scene_task("B");
    struct scene_task *awaited = failing("A", 9);
    waiter->body = wait_for_the_next;
    submit(awaited);
    submit(waiter);
    sim_explore_from_here();
    EXPECT_STATUS(OK, scene_stop(false));
    sim_explore_to_here();
    scene_close();
}

/* A cancel ends the delay of the retry, or the policy pauses the lanes. The only worker waits
 * inside a task, and its wait must end the awaited task. */
SCENARIO(scenario_60_end_without_a_call_is_waited_for_inside, RANDOM)
{
    scene_open_with(1);
    set_policy(scene_variant(2), 1000,
               scene_variant(3) == 1 ? LANEPOOL_FAILURE_PAUSE : LANEPOOL_FAILURE_CONTINUE);
    struct scene_task *waiter = scene_task("B");
    struct scene_task *awaited = failing("A", 9);
    waiter->body = wait_for_the_next;
    submit(awaited);
    submit(waiter);
    scene_spawn(cancel, awaited);
    submit(scene_task("C"));
    scene_close();
}

/* --- parked --- */

static _Atomic uint32_t resolved;

static void resolve_first(void *argument)
{
    lanepool_resolution how = *(const lanepool_resolution *)argument;
    lanepool_status status = lanepool_pool_resolve(
        scene.pool, atomic_load_explicit(&scene.tasks[0].ticket, memory_order_relaxed), how);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_DONE || status == LANEPOOL_BUSY ||
           status == LANEPOOL_SHUT_DOWN);
    atomic_fetch_add(&resolved, status == LANEPOOL_OK);
}

static lanepool_resolution hows[] = { LANEPOOL_RESOLVE_RETRY, LANEPOOL_RESOLVE_SKIP,
                                      LANEPOOL_RESOLVE_DROP };

static void have_one_kept(void)
{
    scene_open_with(1 + scene_variant(2));
    atomic_store(&resolved, 0);
    set_policy(0, 0, LANEPOOL_FAILURE_POISON);
    submit(failing("AB", 1));
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    struct scene_task *behind[] = { scene_task("A"), scene_task("BC"), scene_task("C") };
    for (int i = 0; i < 3; i++) {
        behind[i]->may_be_cancelled = true;
        submit(behind[i]);
    }
}

SCENARIO(scenario_61_two_resolve_at_once, EXHAUSTIVE)
{
    have_one_kept();
    uint32_t first = scene_variant(3);
    sim_explore_from_here();
    scene_spawn(resolve_first, &hows[first]);
    resolve_first(&hows[(first + 1 + scene_variant(2)) % 3]);
    sim_explore_to_here();
    scene_join();
    EXPECT(atomic_load(&resolved) == 1);
    scene_close();
}

static void fail_then_stand_at_gate(struct scene_task *self)
{
    if (atomic_load(&self->attempts) > 1)
        scene_wait_at_gate(0);
}

static void wait_for_the_next_that_runs(struct scene_task *self)
{
    EXPECT_STATUS(OK, lanepool_future_wait((self + 1)->future, LANEPOOL_FOREVER, NULL));
}

/* The wait answered SHUT_DOWN as if the awaited task were still parked, although it had been
 * resolved and was running again. */
SCENARIO(regress_task_that_is_tried_anew_is_waited_for, RANDOM)
{
    scene_open_with(2);
    scene_make_gates(1);
    set_policy(0, 0, LANEPOOL_FAILURE_POISON);
    struct scene_task *waiter = scene_task("B");
    struct scene_task *awaited = failing("A", 1);
    waiter->body = wait_for_the_next_that_runs;
    awaited->body = fail_then_stand_at_gate;
    submit(awaited);
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, resolve(LANEPOOL_RESOLVE_RETRY));
    while (atomic_load(&awaited->attempts) < 2)
        sim_sleep(1);
    submit(waiter);
    sim_sleep(1);
    EXPECT_STATUS(OK, scene_stop(false));
    sim_sleep(1);
    scene_open_gate(0);
    scene_close();
}

SCENARIO(scenario_61_resolution_meets_a_drain, RANDOM)
{
    have_one_kept();
    scene_spawn(resolve_first, &hows[scene_variant(3)]);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    lanepool_status status = lanepool_pool_await(scene.pool, LANEPOOL_FOREVER);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_PARKED);
    scene_join();
    EXPECT(atomic_load(&resolved) == 1);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_end();
}

SCENARIO(scenario_61_resolution_meets_a_shutdown_now, RANDOM)
{
    have_one_kept();
    scene_spawn(resolve_first, &hows[scene_variant(3)]);
    EXPECT_STATUS(OK, scene_stop(scene_variant(2) == 1));
    scene_close();
}

static void submit_another(void *argument)
{
    submit(argument);
}

SCENARIO(scenario_61_drop_meets_a_submit, RANDOM)
{
    have_one_kept();
    struct scene_task *late = scene_task("ABC");
    late->may_be_cancelled = true;
    scene_spawn(submit_another, late);
    resolve_first(&hows[2]);
    scene_close();
}

/* --- blocked by parked tasks --- */

SCENARIO(scenario_62_quiesce_is_held_up_beside_a_submit, EXHAUSTIVE)
{
    open_some_pool();
    set_policy(0, 0, LANEPOOL_FAILURE_POISON);
    struct scene_task *late = scene_task(scene_variant(2) == 1 ? "B" : "A");
    submit(failing("A", 1));
    submit(scene_task("aB"));
    sim_explore_from_here();
    scene_spawn(submit_another, late);
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    close_and_skip();
}

SCENARIO(scenario_62_drain_is_held_up_by_several, RANDOM)
{
    open_some_pool();
    set_policy(1, scene_variant(2), LANEPOOL_FAILURE_POISON);
    submit(failing("A", 9));
    submit(scene_task("AB"));
    submit(failing("C", 9));
    submit(failing("BC", 9));
    submit(scene_task("D"));
    submit(scene_task("*"));
    submit(scene_task("D"));
    close_and_skip();
}

static void await_held(void *argument)
{
    (void)argument;
    EXPECT_STATUS(PARKED, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
}

SCENARIO(scenario_62_two_await_what_is_held_up, RANDOM)
{
    have_one_kept();
    scene_spawn(await_held, NULL);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    await_held(NULL);
    close_and_skip();
}

SCENARIO(scenario_62_who_has_stopped_it_is_not_told_again, EXHAUSTIVE)
{
    have_one_kept();
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    sim_explore_from_here();
    EXPECT_STATUS(PARKED, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(OK, scene_stop(false));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    scene_end();
}

/* Returns the fewest steps that a check takes: a worker that is not asleep yet adds steps. */
static uint64_t steps_of_check(void)
{
    uint64_t fewest = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        do
            sim_sleep(20);
        while (!lanepool_i_role_try(&scene.pool->router));
        uint64_t begin = sim_steps();
        EXPECT(lanepool_i_only_parked_left(scene.pool));
        fewest = sim_steps() - begin < fewest ? sim_steps() - begin : fewest;
        lanepool_i_role_give_back(scene.pool, lanepool_i_pool_thread_record(scene.pool));
    }
    return fewest;
}

/* The check visited each lane, and each task that waits there. */
SCENARIO(regress_check_takes_the_same_steps_whatever_waits, RANDOM)
{
    static const char *const claims[] = { "A", "AB", "b", "AC", "aB", "*", "A", "D", "E" };

    scene_open_with(1);
    set_policy(0, 0, LANEPOOL_FAILURE_POISON);
    submit(failing("A", 1));
    submit(scene_task("A"));
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    uint64_t steps = steps_of_check();
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        submit(scene_task(claims[i]));
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT(steps_of_check() <= steps + STEPS_OF_BARRIER);
    close_and_skip();
}

/* --- blocked by parked tasks, in a pool that has shrunk --- */

static void await_one_thread(void)
{
    lanepool_stats stats;

    do {
        sim_sleep(5);
        EXPECT_STATUS(OK, lanepool_pool_stats(scene.pool, &stats, NULL, 0));
    } while (stats.threads > 1);
}

static void have_two_kept_and_one_thread(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 3;
    options.workers_min = 1;
    options.worker_idle_ns = 1 + 10 * scene_variant(2);
    scene_open(&options);
    scene_make_gates(2);
    set_policy(0, 0, LANEPOOL_FAILURE_POISON);
    submit(failing("A", 1));
    submit(failing("BC", 1));
    submit(scene_task("aB"));
    submit(scene_task("C"));
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    await_one_thread();
}

static void say_so_and_wait(struct scene_task *self)
{
    (void)self;
    scene_open_gate(1);
    scene_wait_at_gate(0);
}

static void open_first_gate(struct scene_task *self)
{
    (void)self;
    scene_open_gate(0);
}

/* Only the resident worker has a thread, and it is busy until all blocked tasks have run. */
SCENARIO(scenario_62_resolution_brings_a_worker_back, RANDOM)
{
    lanepool_resolution how = hows[scene_variant(2)];

    have_two_kept_and_one_thread();
    struct scene_task *busy = scene_task("D");
    busy->body = say_so_and_wait;
    submit(busy);
    scene_wait_at_gate(1);
    struct scene_task *last = scene_task("ABC");
    last->body = open_first_gate;
    submit(last);
    sim_explore_from_here();
    EXPECT_STATUS(OK, resolve(how));
    EXPECT_STATUS(OK, resolve(how));
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    await_one_thread();
    scene_close();
}

/* No worker checks the pool's counters when the drain begins, nor after each resolution. */
SCENARIO(scenario_62_drain_of_a_pool_that_has_shrunk_is_held_up, RANDOM)
{
    have_two_kept_and_one_thread();
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    for (int left = 2; left > 0; left--) {
        EXPECT_STATUS(PARKED, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
        EXPECT_STATUS(OK, resolve(hows[scene_variant(2)]));
    }
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_end();
}

/* --- paused lanes --- */

static lanepool_lane *acquire(char key)
{
    lanepool_key wanted = lanepool_key_id((uint64_t)key);
    lanepool_lane *lane;

    EXPECT_STATUS(OK, lanepool_lane_acquire(scene.pool, wanted, &lane));
    return lane;
}

static void resume(void *argument)
{
    lanepool_status status = lanepool_lane_resume(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

SCENARIO(scenario_64_failure_pauses_its_lanes, RANDOM)
{
    scene_open_with(1 + scene_variant(2));
    set_policy(scene_variant(2), scene_variant(3), LANEPOOL_FAILURE_PAUSE);
    lanepool_lane *lanes[] = { acquire('A'), acquire('B') };
    lanepool_status status;
    submit(failing("AB", 9));
    submit(scene_task("AC"));
    submit(failing("bA", 2));
    submit(scene_task("B"));
    scene_spawn(resume, lanes[scene_variant(2)]);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    while ((status = lanepool_pool_await(scene.pool, LANEPOOL_FOREVER)) == LANEPOOL_PARKED)
        for (int i = 0; i < 2; i++)
            resume(lanes[i]);
    EXPECT_STATUS(OK, status);
    scene_join();
    for (int i = 0; i < 2; i++)
        lanepool_lane_release(lanes[i]);
    scene_end();
}

SCENARIO(scenario_64_paused_lanes_meet_a_shutdown_now, RANDOM)
{
    scene_open_with(1 + scene_variant(2));
    set_policy(scene_variant(2), scene_variant(3), LANEPOOL_FAILURE_PAUSE);
    submit(failing("AB", 9));
    submit(scene_task("AC"));
    submit(scene_task("B"));
    if (scene_variant(5) > 1)
        EXPECT_STATUS(OK, lanepool_future_wait(scene.tasks[0].future, LANEPOOL_FOREVER, NULL));
    EXPECT_STATUS(OK, scene_stop(scene_variant(2) == 1));
    scene_close();
}

/* --- with failing allocations --- */

static bool is_answered(lanepool_status status)
{
    bool lacks = status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE;

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_DONE || status == LANEPOOL_PARKED ||
           (lacks && world_has_refused()));
    return !lacks;
}

SCENARIO(scenario_30_each_failure_beside_tasks_that_fail, FAULTS)
{
    static const char *const claims[] = { "A", "AB", "B", "C" };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    set_policy(1, 2, scene_variant(3) == 1 ? LANEPOOL_FAILURE_PAUSE : LANEPOOL_FAILURE_POISON);
    options.workers = 2;
    options.on_failure = scene_variant(2) == 1 ? &policy : NULL;
    if (!scene_try_open(&options))
        return;
    for (int i = 0; i < 4; i++)
        (void)is_answered(scene_submit(i % 2 == 0 ? failing(claims[i], 2) : scene_task(claims[i])));
    for (int i = 0; i < 4; i++)
        scene.tasks[i].may_be_cancelled = true;
    (void)is_answered(lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    (void)is_answered(resolve(LANEPOOL_RESOLVE_RETRY));
    (void)is_answered(resolve(LANEPOOL_RESOLVE_DROP));
    world_stop_refusing();
    EXPECT_STATUS(OK, scene_stop(false));
    scene_close();
}
