/* Of the ready tasks the one with the highest level runs first. A waiting task passes its level on
 * to the tasks that block it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/step.h"
#include "support/test.h"

enum { STEPS = 16 };

/* A pool whose only worker waits at the gate in a task without claims. Everything submitted before
 * the gate is opened is one choice. */
struct scene {
    lanepool_pool *pool;
    struct gate gate;
    struct journal journal;
    struct step blocker;
    struct step steps[STEPS];
    uint32_t count;
};

static lanepool_options with_priorities(unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.priorities = true;
    options.priority_age_ns = LANEPOOL_FOREVER;
    return options;
}

static struct scene *scene_make_with(const lanepool_options *options)
{
    struct scene *scene = calloc(1, sizeof *scene);

    expect(scene != NULL);
    gate_init(&scene->gate);
    scene->pool = pool_make_with(options);
    scene->blocker.gate = &scene->gate;
    expect_ok(step_submit(scene->pool, &scene->blocker));
    expect(gate_await(&scene->gate, 1));
    return scene;
}

static struct scene *scene_make(void)
{
    lanepool_options options = with_priorities(1);

    return scene_make_with(&options);
}

/* Opens the gate, and compares the order in which the tasks ran. This thread must not route, as a
 * quiesce would: the worker may miss a task that another thread is just routing. */
static void scene_end(struct scene *scene, const char *order)
{
    gate_open(&scene->gate, 1);
    pool_end(scene->pool);
    expect_eq(scene->journal.count, strlen(order));
    for (uint32_t i = 0; i < scene->journal.count; i++) {
        expect_eq((char)scene->journal.ids[i], order[i]);
    }
    gate_fini(&scene->gate);
    free(scene);
}

/* Describes the next step; `name` is its letter in the order. */
static lanepool_task next_task(struct scene *scene, char name, uint32_t priority,
                               const lanepool_claim *claims, size_t claim_count)
{
    struct step *step = &scene->steps[scene->count++];

    expect(scene->count <= STEPS);
    *step = (struct step){ .id = (uint32_t)name, .journal = &scene->journal };
    lanepool_task task = step_task(step, claims, claim_count);
    task.priority = priority;
    return task;
}

/* Makes claims of letters: a capital letter is EXCLUSIVE. */
static size_t claims_of(const char *keys, lanepool_claim *claims)
{
    size_t count = strlen(keys);

    for (size_t i = 0; i < count; i++) {
        bool exclusive = keys[i] < 'a';
        claims[i] = lanepool_claim_of(lanepool_key_id((uint64_t)(keys[i] | 32)),
                                      exclusive ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED);
    }
    return count;
}

static void add(struct scene *scene, char name, uint32_t priority, const char *keys)
{
    lanepool_claim claims[8];
    size_t count = claims_of(keys, claims);
    lanepool_task task = next_task(scene, name, priority, claims, count);

    expect_ok(lanepool_pool_submit(scene->pool, &task));
}

static lanepool_future *add_awaitable(struct scene *scene, char name, uint32_t priority,
                                      const char *keys)
{
    lanepool_claim claims[8];
    size_t count = claims_of(keys, claims);
    lanepool_future *future;
    lanepool_task task = next_task(scene, name, priority, claims, count);

    task.future = &future;
    expect_ok(lanepool_pool_submit(scene->pool, &task));
    return future;
}

/* --- accepted and refused priorities --- */

Test(priority, are_refused_where_there_are_none)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);

    options.priority_age_ns = 1;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    options.priorities = true;
    options.layout = LANEPOOL_PER_WORKER;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_UNSUPPORTED);
    pool = pool_make(1, LANEPOOL_PER_KEY);
    task.priority = 1;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    task.priority = 0;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(step.runs, 1);
}

Test(priority, beyond_the_highest_are_refused_and_so_are_wrong_tags)
{
    lanepool_options options = with_priorities(1);
    lanepool_pool *pool = pool_make_with(&options);
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);

    task.priority = LANEPOOL_PRIORITY_MAX + 1;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    task.priority = LANEPOOL_PRIORITY_MAX;
    task.tag = LANEPOOL_TAG_MAX + 1;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    task.tag = LANEPOOL_TAG_MAX;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(step.runs, 1);
}

/* --- the order of ready tasks --- */

Test(priority, the_highest_starts_first_and_of_equal_ones_the_first)
{
    struct scene *scene = scene_make();

    add(scene, 'c', 0, "A");
    add(scene, 'b', 3, "B");
    add(scene, 'd', 0, "");
    add(scene, 'a', 7, "CD");
    add(scene, 'B', 3, "E");
    scene_end(scene, "abBcd");
}

Test(priority, do_not_change_the_order_of_a_lane)
{
    struct scene *scene = scene_make();

    add(scene, 'a', 0, "A");
    add(scene, 'b', 5, "A");
    add(scene, 'c', 7, "A");
    add(scene, 'd', 1, "A");
    scene_end(scene, "abcd");
}

/* A worker chooses anew when a task has returned: tasks accepted during that task take part, and
 * may precede the tasks that it has made ready. */
Test(priority, a_worker_goes_on_with_the_highest_not_with_its_chain)
{
    struct scene *scene = scene_make();

    add(scene, 'a', 2, "A");
    add(scene, 'c', 0, "A");
    add(scene, 'b', 1, "B");
    scene_end(scene, "abc");
}

Test(priority, count_among_many_of_one_batch)
{
    struct scene *scene = scene_make();
    struct step low[200] = { 0 };

    for (size_t i = 0; i < 200; i++) {
        expect_ok(step_submit_on(scene->pool, &low[i], 1000 + i));
        low[i].id = 'x';
    }
    add(scene, 'a', 1, "A");
    low[0].journal = &scene->journal;
    scene_end(scene, "ax");
}

/* --- inheritance --- */

Test(priority, who_waits_lends_to_what_stands_before_it)
{
    struct scene *scene = scene_make();

    add(scene, 'd', 4, "B");
    add(scene, 'a', 0, "A");
    add(scene, 'b', 0, "A");
    add(scene, 'c', 5, "A");
    add(scene, 'e', 0, "A");
    scene_end(scene, "abcde");
}

Test(priority, lend_through_rollups)
{
    struct scene *scene = scene_make();

    add(scene, 'e', 4, "E");
    add(scene, 'a', 0, "B");
    add(scene, 'b', 0, "C");
    add(scene, 'c', 1, "ABC");
    add(scene, 'd', 5, "A");
    add(scene, 'f', 3, "F");
    scene_end(scene, "abcdef");
}

Test(priority, lend_to_shared_ones_that_are_in_the_way_only)
{
    struct scene *scene = scene_make();

    add(scene, 'a', 0, "a");
    add(scene, 'b', 0, "a");
    add(scene, 'c', 5, "A");
    add(scene, 'd', 3, "D");
    add(scene, 'e', 0, "e");
    add(scene, 'f', 2, "e");
    add(scene, 'g', 1, "G");
    scene_end(scene, "abcdfge");
}

Test(priority, shared_ones_lend_beyond_their_own_run)
{
    struct scene *scene = scene_make();

    add(scene, 'a', 0, "A");
    add(scene, 'd', 0, "a");
    add(scene, 'b', 5, "a");
    add(scene, 'c', 3, "C");
    scene_end(scene, "abcd");
}

/* Rollups meet in several lanes: in the same lane twice, and both ways round. */
Test(priority, lend_where_rollups_cross)
{
    struct scene *scene = scene_make();

    add(scene, 'a', 0, "AB");
    add(scene, 'b', 0, "BC");
    add(scene, 'x', 2, "X");
    add(scene, 'c', 0, "CD");
    add(scene, 'd', 1, "DA");
    add(scene, 'e', 6, "Dd");
    scene_end(scene, "abcdex");
}

Test(priority, a_cancelled_rollup_holds_nothing_up)
{
    struct scene *scene = scene_make();

    add(scene, 'c', 4, "X");
    add(scene, 'a', 0, "A");
    lanepool_future *cancelled = add_awaitable(scene, 'y', 0, "AB");
    lanepool_future *alone = add_awaitable(scene, 'z', 0, "B");
    add(scene, 'b', 5, "A");
    add(scene, 'd', 0, "B");
    expect_ok(lanepool_future_cancel(cancelled));
    expect_ok(lanepool_future_cancel(alone));
    lanepool_future_release(cancelled);
    lanepool_future_release(alone);
    scene_end(scene, "abcd");
}

Test(priority, a_cancelled_rollup_that_has_its_lanes_goes_before_all)
{
    struct scene *scene = scene_make();

    lanepool_future *cancelled = add_awaitable(scene, 'y', 0, "AB");
    expect_ok(lanepool_future_cancel(cancelled));
    lanepool_future_release(cancelled);
    add(scene, 'b', 4, "X");
    add(scene, 'a', 5, "A");
    scene_end(scene, "ab");
}

/* Waits until the task has inherited this level; the snapshots route what was submitted. */
static void await_level(lanepool_pool *pool, uint64_t ticket, uint32_t level)
{
    uint32_t found = 0;

    while (found != level) {
        lanepool_snapshot *snapshot;
        expect_ok(lanepool_snapshot_take(pool, &snapshot));
        size_t task = lanepool_snapshot_find(snapshot, ticket);
        expect(task != LANEPOOL_SNAPSHOT_NONE);
        found = snapshot->tasks[task].level;
        lanepool_snapshot_release(snapshot);
    }
}

/* The running task gives up A, and hands its other lanes over to a receiver without a priority. */
static int give_and_hand_over(lanepool_run *run, void *context)
{
    struct scene *scene = context;
    lanepool_key a = lanepool_key_id('a');
    lanepool_task heir = next_task(scene, 'h', 0, NULL, 0);
    lanepool_status status = lanepool_run_hand_over(run, &heir);

    gate_pass(&scene->gate);
    if (status == LANEPOOL_OK) {
        status = lanepool_run_release(run, a);
    }
    return (int)status;
}

Test(priority, an_heir_has_what_its_giver_was_lent)
{
    struct scene *scene = scene_make();
    lanepool_claim claims[3];
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_result result;
    lanepool_future *future;

    task.function = give_and_hand_over;
    task.context = scene;
    task.claim_count = claims_of("ABC", claims);
    task.claims = claims;
    task.future = &future;
    expect_ok(lanepool_pool_submit(scene->pool, &task));
    gate_open(&scene->gate, 1);
    expect(gate_await(&scene->gate, 1));
    add(scene, 'a', 3, "A");
    add(scene, 'b', 5, "C");
    add(scene, 'm', 4, "M");
    await_level(scene->pool, 1, 5);
    gate_open(&scene->gate, 1);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_OK);
    lanepool_future_release(future);
    scene_end(scene, "hbma");
}

/* A rollup that avoids poison leaves the poisoned lane. Later tasks in that lane block, and are
 * blocked by, only the task that has poisoned it. */
Test(priority, are_not_lent_to_who_has_left_a_poisoned_lane)
{
    struct scene *scene = scene_make();
    lanepool_claim claims[2];
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = next_task(scene, 'a', 7, claims, claims_of("A", claims));

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.on_failure = &policy;
    scene->steps[0].code = 1;
    expect_ok(lanepool_pool_submit(scene->pool, &task));
    gate_open(&scene->gate, 1);
    expect_status(lanepool_pool_quiesce(scene->pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect_ok(step_submit(scene->pool, &scene->blocker));
    expect(gate_await(&scene->gate, 1));
    task = next_task(scene, 'c', 0, claims, claims_of("AB", claims));
    policy = (lanepool_failure_policy)LANEPOOL_FAILURE_POLICY_INIT;
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(scene->pool, &task));
    add(scene, 'd', 5, "A");
    add(scene, 'b', 3, "C");
    await_level(scene->pool, 4, 5);
    expect_ok(lanepool_pool_resolve(scene->pool, scene->steps[0].ticket, LANEPOOL_RESOLVE_SKIP));
    scene_end(scene, "adbc");
}

/* --- waits inside tasks --- */

struct waiting {
    lanepool_future *future;
    struct gate *gate;
    lanepool_status status;
};

static int wait_inside(lanepool_run *run, void *context)
{
    struct waiting *waiting = context;

    (void)run;
    gate_arrive(waiting->gate);
    waiting->status = lanepool_future_wait(waiting->future, LANEPOOL_FOREVER, NULL);
    return 0;
}

Test(priority, a_wait_inside_a_task_lends_to_what_it_waits_for)
{
    lanepool_options options = with_priorities(2);
    lanepool_pool *pool = pool_make_with(&options);
    struct gate gate;
    struct step first = { .gate = &gate };
    struct step second = { 0 };
    struct waiting waiting = { .gate = &gate };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&second, &claim, 1);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &first, 1));
    expect(gate_await(&gate, 1));
    task.future = &waiting.future;
    expect_ok(lanepool_pool_submit(pool, &task));
    task = (lanepool_task)LANEPOOL_TASK_INIT;
    task.function = wait_inside;
    task.context = &waiting;
    task.priority = 6;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    await_level(pool, 0, 6);
    await_level(pool, 1, 6);
    gate_open(&gate, 1);
    pool_end(pool);
    expect_status(waiting.status, LANEPOOL_OK);
    lanepool_future_release(waiting.future);
    gate_fini(&gate);
}

/* --- ageing --- */

/* Runs until the clock that measures waiting times has moved, then submits itself once more. */
struct ticking {
    lanepool_pool *pool;
    struct step *low;
    lanepool_task task;
    int rounds;
    int rounds_before_low;
};

static int tick(lanepool_run *run, void *context)
{
    struct ticking *ticking = context;
    struct timespec began, now;

    (void)run;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &began);
    do
        clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    while (now.tv_sec == began.tv_sec && now.tv_nsec == began.tv_nsec);
    ticking->rounds_before_low += !step_was_called(ticking->low);
    return ++ticking->rounds < 24 ? (int)lanepool_pool_submit(ticking->pool, &ticking->task) : 0;
}

static int rounds_before_low(uint64_t age_ns)
{
    lanepool_options options = with_priorities(1);
    options.priority_age_ns = age_ns;
    struct scene *scene = scene_make_with(&options);
    struct ticking ticking = { .pool = scene->pool, .low = &scene->steps[0] };

    add(scene, 'a', 0, "");
    ticking.task = (lanepool_task)LANEPOOL_TASK_INIT;
    ticking.task.function = tick;
    ticking.task.context = &ticking;
    ticking.task.priority = LANEPOOL_PRIORITY_MAX;
    expect_ok(lanepool_pool_submit(scene->pool, &ticking.task));
    scene_end(scene, "a");
    expect_eq(ticking.rounds, 24);
    return ticking.rounds_before_low;
}

Test(priority, a_task_that_waits_for_long_rises)
{
    expect_eq(rounds_before_low(LANEPOOL_FOREVER), 24);
    expect(rounds_before_low(1) <= (int)LANEPOOL_PRIORITY_MAX + 2);
}

/* --- rules, cancels and other features --- */

static bool all_are_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)user;
    return a->context != b->context;
}

Test(priority, order_ready_tasks_of_a_rule_of_the_programs)
{
    lanepool_options options = with_priorities(1);
    options.is_compatible = all_are_compatible;
    struct scene *scene = scene_make_with(&options);

    add(scene, 'c', 0, "");
    add(scene, 'a', 2, "");
    add(scene, 'b', 1, "");
    scene_end(scene, "abc");
}

Test(priority, of_delayed_tasks_count_when_they_are_due)
{
    struct scene *scene = scene_make();
    lanepool_claim claim;
    lanepool_task task = next_task(scene, 'a', 3, &claim, claims_of("A", &claim));
    lanepool_future *future;
    size_t count = 0;

    task.future = &future;
    add(scene, 'b', 0, "");
    expect_ok(lanepool_pool_submit_after(scene->pool, &task, 1));
    while (count < 3) {
        lanepool_snapshot *snapshot;
        expect_ok(lanepool_snapshot_take(scene->pool, &snapshot));
        count = snapshot->task_count;
        lanepool_snapshot_release(snapshot);
    }
    lanepool_future_release(future);
    scene_end(scene, "ab");
}

static void hand_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    (void)ticket;
    *(uint32_t *)context += task->priority;
}

Test(priority, are_handed_back_with_their_tasks)
{
    struct scene *scene = scene_make();
    uint32_t sum = 0;

    add(scene, 'a', 3, "AB");
    add(scene, 'b', 4, "A");
    expect_ok(lanepool_pool_shutdown_now(scene->pool, hand_back, &sum));
    gate_open(&scene->gate, 1);
    expect_ok(lanepool_pool_await(scene->pool, LANEPOOL_FOREVER));
    expect_eq(sum, 7);
    expect_ok(lanepool_pool_destroy(scene->pool));
    gate_fini(&scene->gate);
    free(scene);
}

Test(priority, are_shown_with_what_was_lent)
{
    struct scene *scene = scene_make();
    char text[1024] = "";

    add(scene, 'a', 1, "A");
    lanepool_future *future = add_awaitable(scene, 'b', 5, "A");
    expect_ok(lanepool_explain(future, text_append, text));
    expect(strstr(text, "is ready and waits for a worker, priority 1, lent 5") != NULL);
    lanepool_future_release(future);
    scene_end(scene, "ab");
}
