/* Delayed tasks: due, cancelled, drained and handed back, in any combination. */
#include "simulated/scenarios.h"
#include "property/world.h"
#include "simulated/scene.h"

#include <string.h>

enum { LATER_MAX = 12 };
#define TICKET_BIT ((uint64_t)1 << 39)

/* A delayed task and its history. */
struct later {
    const char *key;
    uint64_t due_ns; /* it is due between due_ns and due_max_ns; 0: at once */
    _Atomic uint64_t due_max_ns;
    lanepool_future *future;
    bool skips_parked; /* it resolves the only parked task */
    lanepool_status submitted;
    _Atomic uint32_t cancelled; /* how many calls answered that they have cancelled it */
    _Atomic uint32_t runs, cancels, returns, releases;
    _Atomic uint64_t ticket;
};

static struct later laters[LATER_MAX];
static uint32_t later_count;
static uint64_t key_cell;            /* guarded by the lane of "A" */
static const struct later *returned; /* the last task that was handed back */
static _Atomic uint64_t stopped_ns;  /* from this moment no task becomes due; 0: not known yet */

static struct later *new_later(const char *key)
{
    EXPECT(later_count < LATER_MAX);
    struct later *later = &laters[later_count++];
    memset(later, 0, sizeof *later);
    later->key = key;
    return later;
}

/* Tasks are handed back in the order of their tickets. Those that were not due when the pool
 * stopped follow in the order of their due times. */
static void expect_order(const struct later *later, uint64_t ticket)
{
    EXPECT(returned == NULL || ((ticket - atomic_load(&returned->ticket)) & TICKET_BIT) == 0);
    EXPECT(returned == NULL || stopped_ns == 0 || returned->due_ns <= stopped_ns ||
           later->due_ns == 0 || returned->due_ns <= later->due_max_ns);
    returned = later;
}

/* Returns false if no task is parked. */
static bool skip_first_parked(void)
{
    lanepool_parked_tasks *parked;

    EXPECT_STATUS(OK, lanepool_pool_parked(scene.pool, &parked));
    bool any = parked->count > 0;
    if (any)
        EXPECT_STATUS(
            OK, lanepool_pool_resolve(scene.pool, parked->tasks[0].ticket, LANEPOOL_RESOLVE_SKIP));
    lanepool_parked_tasks_release(parked);
    return any;
}

static int call_later(lanepool_run *run, void *context)
{
    struct later *later = context;

    EXPECT(sim_now() >= later->due_ns);
    if (*later->key == 'A')
        key_cell++;
    if (later->skips_parked)
        EXPECT(skip_first_parked());
    atomic_store(&later->ticket, lanepool_run_ticket(run));
    atomic_fetch_add(&later->runs, 1);
    return 0;
}

static void cancelled_later(void *context, lanepool_status why)
{
    struct later *later = context;

    EXPECT(why == LANEPOOL_CANCELLED || why == LANEPOOL_SHUT_DOWN);
    atomic_fetch_add(&later->cancels, 1);
}

static void hand_back_later(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct later *later = task->context;

    EXPECT(context == laters && task->claim_count == 1);
    EXPECT(task->claims[0].key.id == (uint64_t)*later->key);
    expect_order(later, ticket);
    atomic_store(&later->ticket, ticket);
    atomic_fetch_add(&later->returns, 1);
}

static void release_later(void *context)
{
    struct later *later = context;
    atomic_fetch_add(&later->releases, 1);
}

static lanepool_status submit_later(struct later *later, int64_t delay_ns)
{
    lanepool_claim claim = lanepool_exclusive((uint64_t)*later->key);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = call_later;
    task.context = later;
    task.claims = &claim;
    task.claim_count = scene.options.is_compatible == NULL;
    task.release = release_later;
    task.cancelled = cancelled_later;
    task.future = &later->future;
    later->due_ns = delay_ns > 0 ? sim_now() + (uint64_t)delay_ns : 0;
    later->due_max_ns = UINT64_MAX;
    later->submitted = lanepool_pool_submit_after(scene.pool, &task, delay_ns);
    later->due_max_ns = sim_now() + (delay_ns > 0 ? (uint64_t)delay_ns : 0);
    return later->submitted;
}

static bool cancel_later(struct later *later)
{
    lanepool_status status = lanepool_future_cancel(later->future);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
    atomic_fetch_add(&later->cancelled, status == LANEPOOL_OK);
    return status == LANEPOOL_OK;
}

static void open_laters(const lanepool_options *options)
{
    later_count = 0;
    key_cell = 0;
    returned = NULL;
    stopped_ns = 0;
    scene_open(options);
}

/* Every accepted task had its one call, and its future and its release callback agree with that. */
static void judge_later(struct later *later)
{
    bool accepted = later->submitted == LANEPOOL_OK;
    uint32_t runs = atomic_load(&later->runs);
    uint32_t cancels = atomic_load(&later->cancels);
    uint32_t returns = atomic_load(&later->returns);
    lanepool_result result;

    EXPECT(runs + cancels + returns == accepted);
    EXPECT(atomic_load(&later->releases) == runs + cancels);
    EXPECT(atomic_load(&later->cancelled) <= cancels);
    if (later->future == NULL)
        return;
    EXPECT_STATUS(OK, lanepool_future_wait(later->future, 0, &result));
    EXPECT(result.status == (runs == 1 ? LANEPOOL_OK : LANEPOOL_CANCELLED));
    lanepool_future_release(later->future);
}

static void close_laters(void)
{
    scene_close();
    for (uint32_t i = 0; i < later_count; i++)
        judge_later(&laters[i]);
}

static lanepool_options some_options(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 1 + scene_variant(2);
    options.layout = (lanepool_layout)(scene_variant(4) / 2);
    return options;
}

/* --- scenario 34 --- */

static bool both_ran(const struct later *one, const struct later *other)
{
    return atomic_load(&one->runs) == 1 && atomic_load(&other->runs) == 1;
}

static bool has_earlier_ticket(const struct later *one, const struct later *other)
{
    return ((atomic_load(&other->ticket) - atomic_load(&one->ticket)) & TICKET_BIT) == 0;
}

/* Of tasks with one key, those that are due earlier get the smaller tickets. One task is never
 * due. */
SCENARIO(scenario_34_many_due_at_once_and_one_never, RANDOM)
{
    static const int64_t delays[] = { 300, 100, -1, 0, 100, INT64_MIN, 50, 100, 50, INT64_MAX };
    lanepool_options options = some_options();

    options.drain_waits_for_delayed = true;
    open_laters(&options);
    for (uint32_t i = 0; i < sizeof delays / sizeof delays[0]; i++)
        EXPECT_STATUS(OK, submit_later(new_later("A"), delays[i]));
    (void)cancel_later(&laters[later_count - 1]);
    close_laters();
    for (uint32_t i = 0; i < later_count; i++)
        for (uint32_t j = 0; j < later_count; j++)
            if (both_ran(&laters[i], &laters[j]) && laters[i].due_max_ns < laters[j].due_ns)
                EXPECT(has_earlier_ticket(&laters[i], &laters[j]));
}

/* --- scenario 35 --- */

static void cancel_first(void *argument)
{
    (void)argument;
    (void)cancel_later(&laters[0]);
}

SCENARIO(scenario_35_cancelled_as_it_is_due, EXHAUSTIVE)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.drain_waits_for_delayed = true;
    open_laters(&options);
    EXPECT_STATUS(OK, submit_later(new_later("A"), 50));
    scene_spawn(cancel_first, NULL);
    sim_sleep(40);
    cancel_first(NULL);
    close_laters();
}

static void cancel_each_twice(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < 5; i++) {
        if (cancel_later(&laters[i]))
            EXPECT(!cancel_later(&laters[i]));
        sim_sleep(20);
    }
}

SCENARIO(scenario_35_cancelled_by_some_as_they_are_due, RANDOM)
{
    lanepool_options options = some_options();

    options.drain_waits_for_delayed = scene_variant(3) == 0;
    open_laters(&options);
    for (uint32_t i = 0; i < 5; i++)
        EXPECT_STATUS(OK, submit_later(new_later(i % 2 ? "A" : "B"), 20 * (int64_t)i + 10));
    scene_spawn(cancel_each_twice, NULL);
    cancel_each_twice(NULL);
    close_laters();
}

/* --- the ends --- */

static void submit_some(void *argument)
{
    struct later *first = argument;

    for (uint32_t i = 0; i < 3; i++)
        (void)submit_later(&first[i], (int64_t)((scene_seed + i) % 4 * 40));
}

static void submit_inside_a_drain(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    lanepool_status status = submit_later(&laters[6], 30);
    if (scene.options.drain_waits_for_delayed)
        EXPECT_STATUS(OK, status);
    else
        EXPECT_STATUS(SHUT_DOWN, status);
}

/* Two threads start the clock thread. A drain begins, and a task submits a delayed one during the
 * drain. */
SCENARIO(scenario_delays_drain_beside_submits, RANDOM)
{
    lanepool_options options = some_options();

    options.drain_waits_for_delayed = scene_seed % 3 == 0;
    open_laters(&options);
    for (uint32_t i = 0; i < 7; i++)
        new_later(i % 2 ? "A" : "B");
    scene_make_gates(1);
    struct scene_task *inside = scene_task("C");
    inside->body = submit_inside_a_drain;
    EXPECT_STATUS(OK, scene_submit(inside));
    scene_spawn(submit_some, &laters[0]);
    scene_spawn(submit_some, &laters[3]);
    sim_sleep(scene_seed % 5 * 20);
    scene_open_gate(0);
    close_laters();
}

/* Tasks that are not due soon are cancelled in the order in which they would have been due. */
SCENARIO(scenario_delays_stop_beside_what_is_due, RANDOM)
{
    lanepool_options options = some_options();
    bool hands_back = scene_seed % 2 == 0;

    open_laters(&options);
    for (uint32_t i = 0; i < 6; i++)
        new_later(i % 2 ? "A" : "B");
    submit_some(&laters[0]);
    scene_spawn(submit_some, &laters[3]);
    sim_sleep(scene_seed % 5 * 20);
    if (scene_seed % 3 == 0)
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    atomic_store(&scene.stops, true);
    lanepool_status status =
        lanepool_pool_shutdown_now(scene.pool, hands_back ? hand_back_later : NULL, laters);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
    stopped_ns = sim_now();
    scene_join();
    close_laters();
}

/* --- the limit --- */

static void submit_third(void *argument)
{
    EXPECT_STATUS(OK, scene_submit(argument));
}

/* Two delayed tasks fill the pool. When one is cancelled, the waiting submitter is admitted. */
SCENARIO(scenario_delays_count_against_the_limit, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.pending_max = 2;
    open_laters(&options);
    EXPECT_STATUS(OK, submit_later(new_later("A"), INT64_MAX));
    EXPECT_STATUS(OK, submit_later(new_later("B"), INT64_MAX));
    scene_spawn(submit_third, scene_task("C"));
    sim_sleep(5);
    (void)cancel_later(&laters[0]);
    close_laters();
}

/* --- waits inside tasks --- */

static lanepool_status answers[2];

static void wait_for_later(struct scene_task *self)
{
    (void)self;
    answers[0] = lanepool_future_wait(laters[0].future, LANEPOOL_FOREVER, NULL);
    answers[1] = lanepool_future_wait(laters[1].future, LANEPOOL_FOREVER, NULL);
}

/* A task that conflicts with the waiting task can never run before it. Another task can: the
 * waiting thread runs it. */
SCENARIO(scenario_delays_waits_inside_are_judged_when_due, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    bool stops = scene_seed % 3 == 0;

    options.workers = 1;
    options.drain_waits_for_delayed = true;
    open_laters(&options);
    struct scene_task *waiter = scene_task("A");
    waiter->body = wait_for_later;
    EXPECT_STATUS(OK, submit_later(new_later("A"), 50));
    EXPECT_STATUS(OK, submit_later(new_later("B"), 50));
    EXPECT_STATUS(OK, scene_submit(waiter));
    if (stops) {
        sim_sleep(scene_seed % 4 * 20);
        atomic_store(&scene.stops, true);
        EXPECT_STATUS(OK, lanepool_pool_shutdown_now(scene.pool, NULL, NULL));
    }
    close_laters();
    if (stops || !scene_has_begun(waiter))
        return;
    bool first_ran_before = answers[0] == LANEPOOL_OK;
    EXPECT(first_ran_before || answers[0] == LANEPOOL_DEADLOCK);
    EXPECT(answers[1] == LANEPOOL_OK);
}

/* --- failures --- */

SCENARIO(scenario_delays_each_failure_in_turn, FAULTS)
{
    lanepool_options options = some_options();
    lanepool_claim claims[3] = {
        lanepool_claim_of(lanepool_key_bytes("one", 3), LANEPOOL_EXCLUSIVE),
        lanepool_claim_of(lanepool_key_bytes("two", 3), LANEPOOL_SHARED), lanepool_exclusive(3)
    };
    lanepool_task task = LANEPOOL_TASK_INIT;

    later_count = 0;
    if (!scene_try_open(&options))
        return;
    task.function = call_later;
    task.context = new_later("B");
    task.release = release_later;
    task.cancelled = cancelled_later;
    task.claims = claims;
    task.claim_count = 1 + scene_variant(3);
    for (uint32_t i = 0; i < 3; i++) {
        lanepool_status status =
            lanepool_pool_submit_after(scene.pool, &task, i == 0 ? INT64_MAX : 20);
        EXPECT(status == LANEPOOL_OK || status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
        laters[0].submitted += status == LANEPOOL_OK;
    }
    world_stop_refusing();
    EXPECT_STATUS(OK, lanepool_pool_destroy(scene.pool));
    scene.pool = NULL;
    uint32_t calls = atomic_load(&laters[0].runs) + atomic_load(&laters[0].cancels);
    EXPECT(calls == (uint32_t)laters[0].submitted);
    EXPECT(atomic_load(&laters[0].releases) == calls);
}

/* The task became due between the check whether only parked tasks were left and the count of the
 * delayed tasks. So the end of the drain answered PARKED, though this task could run, and did. */
SCENARIO(regress_drain_is_not_held_up_before_a_delayed_task, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    options.workers = 1 + scene_variant(2);
    options.drain_waits_for_delayed = true;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    open_laters(&options);
    struct scene_task *fails = scene_task("A");
    fails->policy = &policy;
    fails->fails_first = 1;
    fails->has_future = fails->has_release = true;
    EXPECT_STATUS(OK, scene_submit(fails));
    EXPECT_STATUS(OK, scene_submit(scene_task("A")));
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    struct later *later = new_later("B");
    later->skips_parked = true;
    EXPECT_STATUS(OK, submit_later(later, 1 + (int64_t)scene_variant(8)));
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    judge_later(later);
    scene_end();
}
