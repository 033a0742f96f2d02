/* The program's own rule, when it behaves oddly; and calls that fail because a resource is
 * refused. */
#include "base/sizes.h"
#include "property/world.h"
#include "simulated/scenarios.h"
#include "simulated/scene.h"

static void open_with_rule(lanepool_compatible_fn rule)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.is_compatible = rule;
    options.layout = scene_variant(4) == 3 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    scene_open(&options);
}

static void submit_four(void *argument)
{
    struct scene_task *first = argument;

    for (int i = 0; i < 4; i++)
        EXPECT_STATUS(OK, scene_submit(first + i));
}

static void make_four(const char *const *claims, uint64_t takes)
{
    for (int i = 0; i < 4; i++)
        scene_task(claims[i])->takes = takes;
}

/* --- not symmetric --- */

/* Answers incompatible in only one of the two directions. */
static bool rule_of_one_direction(const lanepool_task_view *a, const lanepool_task_view *b,
                                  void *user)
{
    const struct scene_task *first = a->context;
    const struct scene_task *second = b->context;
    bool turned = (first - second) % 2 == 0;

    (void)user;
    return (first < second) == turned || !scene_conflict(first, second);
}

SCENARIO(scenario_24_rule_that_is_not_symmetric, RANDOM)
{
    static const char *const claims[] = { "A", "AB", "aB", "a", "b", "A", "AB", "B" };

    open_with_rule(rule_of_one_direction);
    make_four(claims, 5);
    make_four(claims + 4, 0);
    scene_spawn(submit_four, &scene.tasks[0]);
    submit_four(&scene.tasks[4]);
    scene_close();
}

/* --- not even constant --- */

static _Atomic uint32_t questions;

static bool rule_of_the_moment(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return atomic_fetch_add_explicit(&questions, 1, memory_order_relaxed) * 7 % 5 > 1;
}

SCENARIO(scenario_25_rule_that_changes_its_answer, RANDOM)
{
    static const char *const claims[] = { "", "", "", "" };

    atomic_store(&questions, scene_variant(5));
    open_with_rule(rule_of_the_moment);
    make_four(claims, 0);
    make_four(claims, 0);
    scene_spawn(submit_four, &scene.tasks[0]);
    submit_four(&scene.tasks[4]);
    scene_close();
}

/* --- one that calls the pool --- */

static _Atomic bool rule_has_called;

/* The first call of the rule submits one more task, and waits for the first task. */
static bool rule_that_calls(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    if (!atomic_exchange(&rule_has_called, true)) {
        EXPECT_STATUS(OK, scene_submit(&scene.tasks[4]));
        lanepool_status status =
            lanepool_future_wait(scene.tasks[0].future, LANEPOOL_FOREVER, NULL);
        EXPECT(status == LANEPOOL_DEADLOCK || scene_has_ended(&scene.tasks[0]));
        EXPECT_STATUS(DEADLOCK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
        scene_open_gate(0);
    }
    return scene_rule(a, b, user);
}

static void wait_for_the_question(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

SCENARIO(scenario_26_rule_that_submits_and_waits, RANDOM)
{
    static const char *const claims[] = { "A", "AB", "B", "a" };

    atomic_store(&rule_has_called, false);
    open_with_rule(rule_that_calls);
    make_four(claims, 3);
    scene.tasks[0].has_future = true;
    scene.tasks[0].body = wait_for_the_question;
    scene_task("aB");
    scene_make_gates(1);
    submit_four(&scene.tasks[0]);
    scene_close();
}

/* --- each failure in turn --- */

static bool is_for_want(lanepool_status status)
{
    return world_has_refused() && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

/* Returns true if the status is OK; otherwise a resource must have been refused. */
static bool is_done(lanepool_status status)
{
    if (status != LANEPOOL_OK && !is_for_want(status))
        sim_fail("a call answers %s", lanepool_status_name(status));
    return status == LANEPOOL_OK;
}

static void ignore(struct scene_task *task)
{
    (void)task;
}

static void submit_and_wait(struct scene_task *self)
{
    struct scene_task *awaited = self + 1;

    lanepool_status status = scene_submit(awaited);

    if (status == LANEPOOL_OK)
        status = lanepool_future_wait(awaited->future, LANEPOOL_FOREVER, NULL);
    /* With lanes per worker the awaited task may be queued behind the waiter. */
    bool judged = status == LANEPOOL_DEADLOCK && scene.options.layout == LANEPOOL_PER_WORKER;
    bool stopped = status == LANEPOOL_SHUT_DOWN && atomic_load(&scene.stops);
    if (!judged && !stopped)
        (void)is_done(status);
}

static void hold_and_release_a_lane(void)
{
    lanepool_claim key = lanepool_claim_of(
        lanepool_key_string("a key that is longer than a task's own block"), LANEPOOL_EXCLUSIVE);
    lanepool_lane *lane;

    if (is_done(lanepool_lane_acquire(scene.pool, key.key, &lane)))
        lanepool_lane_release(lane);
}

/* Ending the pool needs no resource that could be refused, but awaiting the end does. */
static void end_all_the_same(bool stops)
{
    if (stops)
        EXPECT_STATUS(OK, scene_stop(true));
    else
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    if (!is_done(lanepool_pool_await(scene.pool, LANEPOOL_FOREVER))) {
        world_stop_refusing();
        EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    }
    world_stop_refusing();
    scene_end();
}

/* Allocations of the program's allocator are fault points, too. */
static void *allocate(void *user, size_t size, size_t alignment)
{
    EXPECT(user == &scene);
    return alignment > LANEPOOL_I_CACHE_LINE ? lanepool_i_pages_alloc(size)
                                             : lanepool_i_memory_alloc(size);
}

static void deallocate(void *user, void *memory, size_t size)
{
    EXPECT(user == &scene);
    if (size == LANEPOOL_I_BLOCK_REGION || size == LANEPOOL_I_LANE_REGION)
        lanepool_i_pages_free(memory, size);
    else
        lanepool_i_memory_free(memory);
}

SCENARIO(scenario_30_each_failure_in_turn, FAULTS)
{
    static const char *const claims[] = { "A", "B", "AB", "ABCDEF", "" };
    static const lanepool_allocator allocator = { sizeof allocator, allocate, deallocate, &scene };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.allocator = scene_variant(4) < 2 ? &allocator : NULL;
    options.is_compatible = scene_variant(3) == 1 ? scene_rule : NULL;
    options.layout = scene_variant(3) == 2 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    if (!scene_try_open(&options)) {
        EXPECT(world_has_refused());
        return;
    }
    for (int i = 0; i < 5; i++) {
        struct scene_task *task = scene_task(claims[i]);
        task->has_future = i % 2 == 0;
        task->has_release = i == 1;
        task->then = i == 3 ? ignore : NULL;
        (void)is_done(scene_submit(task));
    }
    struct scene_task *waiter = scene_task("A");
    scene_task("C")->has_future = true;
    waiter->body = submit_and_wait;
    (void)is_done(scene_submit(waiter));
    if (options.is_compatible == NULL)
        hold_and_release_a_lane();
    (void)is_done(lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    (void)is_done(scene_submit(scene_task("AB")));
    end_all_the_same(scene_variant(2) != 0);
}
