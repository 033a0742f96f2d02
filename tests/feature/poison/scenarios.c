/* Tasks that avoid poisoned lanes, while another task poisons one. They are not tasks of the scene,
 * because it does not know that they may overtake. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { AVOIDERS = 3 };

struct avoider {
    lanepool_future *future;
    const char *claims;
    bool holds_poisoned;
    _Atomic uint32_t runs, cancels;
};

static struct {
    lanepool_failure_policy bad, avoids;
    struct avoider avoiders[AVOIDERS];
    _Atomic bool is_kept; /* parked, or about to be */
    _Atomic bool is_resolved;
    bool is_shared; /* by readers that may run while the parked task holds the lane */
    uint32_t good;  /* guarded only by the lane of B */
} poisoned;

static lanepool_claim on(char key)
{
    return lanepool_claim_of(lanepool_key_id((uint64_t)toupper(key)),
                             isupper(key) ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED);
}

static int fail(lanepool_run *run, void *context)
{
    (void)context;
    (void)run;
    atomic_store(&poisoned.is_kept, true);
    return 1;
}

static int avoid(lanepool_run *run, void *context)
{
    struct avoider *self = context;
    lanepool_claim bad = on('A');
    lanepool_claim good = on('B');

    self->holds_poisoned = lanepool_run_holds(run, bad.key);
    EXPECT(!self->holds_poisoned || !atomic_load(&poisoned.is_kept) || poisoned.is_shared ||
           atomic_load(&poisoned.is_resolved) || atomic_load(&scene.stops));
    if (lanepool_run_holds(run, good.key))
        poisoned.good++;
    atomic_fetch_add(&self->runs, 1);
    return 0;
}

static void avoid_cancelled(void *context, lanepool_status why)
{
    struct avoider *self = context;

    (void)why;
    atomic_fetch_add(&self->cancels, 1);
}

static lanepool_status submit(lanepool_task_fn function, void *context, const char *keys,
                              const lanepool_failure_policy *policy, lanepool_future **future)
{
    lanepool_claim claims[4];
    lanepool_task task = LANEPOOL_TASK_INIT;

    for (; keys[task.claim_count]; task.claim_count++)
        claims[task.claim_count] = on(keys[task.claim_count]);
    task.function = function;
    task.context = context;
    task.claims = claims;
    task.future = future;
    task.cancelled = function == avoid ? avoid_cancelled : NULL;
    task.on_failure = policy;
    return lanepool_pool_submit(scene.pool, &task);
}

static void submit_avoider(void *argument)
{
    struct avoider *self = argument;
    lanepool_status status = submit(avoid, self, self->claims, &poisoned.avoids, &self->future);

    EXPECT(status == LANEPOOL_OK || atomic_load(&scene.stops));
}

static void begin_with(unsigned workers)
{
    static const char *const claims[][AVOIDERS] = {
        { "AB", "A", "B" }, { "ABC", "BA", "A" }, { "AB", "AC", "CB" }, { "a", "AB", "aB" }
    };

    poisoned.bad = poisoned.avoids = (lanepool_failure_policy)LANEPOOL_FAILURE_POLICY_INIT;
    poisoned.bad.at_end = LANEPOOL_FAILURE_POISON;
    poisoned.avoids.at_poison =
        scene_variant(2) == 1 ? LANEPOOL_AT_POISON_FAIL : LANEPOOL_AT_POISON_RUN_WITHOUT;
    for (int i = 0; i < AVOIDERS; i++)
        poisoned.avoiders[i] = (struct avoider){ .claims = claims[scene_variant(4)][i] };
    poisoned.is_shared = false;
    atomic_store(&poisoned.is_kept, false);
    atomic_store(&poisoned.is_resolved, false);
    scene_open_with(workers);
}

static void begin(void)
{
    begin_with(1 + scene_variant(2));
}

static void resolve(lanepool_resolution how)
{
    lanepool_parked_tasks *failures;

    EXPECT_STATUS(OK, lanepool_pool_parked(scene.pool, &failures));
    atomic_store(&poisoned.is_resolved, true);
    for (size_t i = 0; i < failures->count; i++)
        EXPECT_STATUS(OK, lanepool_pool_resolve(scene.pool, failures->tasks[i].ticket, how));
    lanepool_parked_tasks_release(failures);
}

static void expect_ends(void)
{
    bool fails = poisoned.avoids.at_poison == LANEPOOL_AT_POISON_FAIL;

    for (int i = 0; i < AVOIDERS; i++) {
        struct avoider *self = &poisoned.avoiders[i];
        lanepool_result result;
        if (self->future == NULL)
            continue;
        EXPECT_STATUS(OK, lanepool_future_wait(self->future, LANEPOOL_FOREVER, &result));
        EXPECT(atomic_load(&self->runs) + atomic_load(&self->cancels) == 1);
        EXPECT(result.status != LANEPOOL_POISONED || fails);
        EXPECT((result.status == LANEPOOL_OK) == (atomic_load(&self->runs) == 1));
    }
}

static void let_go(void)
{
    for (int i = 0; i < AVOIDERS; i++)
        lanepool_future_release(poisoned.avoiders[i].future);
}

SCENARIO(scenario_63_lane_is_poisoned_beside_who_avoids_it, RANDOM)
{
    begin();
    poisoned.is_shared = scene_variant(3) == 1;
    EXPECT_STATUS(OK, submit(fail, NULL, poisoned.is_shared ? "a" : "A", &poisoned.bad, NULL));
    scene_spawn(submit_avoider, &poisoned.avoiders[0]);
    submit_avoider(&poisoned.avoiders[1]);
    submit_avoider(&poisoned.avoiders[2]);
    scene_join();
    expect_ends(); /* no task waits for the resolution */
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    resolve(LANEPOOL_RESOLVE_SKIP);
    scene_close();
    let_go();
}

static struct scene_task *submit_reader(uint64_t takes)
{
    struct scene_task *reader = scene_task("a");

    reader->takes = takes;
    EXPECT_STATUS(OK, scene_submit(reader));
    return reader;
}

/* A reader ends, and another one is parked. The first task behind them leaves the poisoned lane:
 * then the next readers may run, and the last task waits. */
SCENARIO(scenario_63_shared_claims_join_beside_a_kept_task, EXHAUSTIVE)
{
    begin();
    poisoned.is_shared = true;
    poisoned.avoiders[0].claims = "AB";
    uint64_t takes = scene_variant(3);
    EXPECT_STATUS(OK, submit(fail, NULL, "a", &poisoned.bad, NULL));
    struct scene_task *before = submit_reader(takes);
    submit_avoider(&poisoned.avoiders[0]);
    struct scene_task *behind[] = { submit_reader(0), submit_reader(takes) };
    struct avoider *last = &poisoned.avoiders[2];
    EXPECT_STATUS(OK, submit(avoid, last, "A", NULL, &last->future));
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    EXPECT(scene_has_ended(before));
    EXPECT(scene_has_ended(behind[0]) && scene_has_ended(behind[1]));
    EXPECT(atomic_load(&last->runs) == 0);
    resolve(LANEPOOL_RESOLVE_SKIP);
    scene_close();
    EXPECT(atomic_load(&last->runs) == 1);
    let_go();
}

static void stop(void *argument)
{
    (void)argument;
    EXPECT_STATUS(OK, scene_stop(false));
}

static void cancel_first(void *argument)
{
    lanepool_status status = lanepool_future_cancel(argument);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

static void meet(void (*met)(void *argument))
{
    begin();
    EXPECT_STATUS(OK, submit(fail, NULL, "AC", &poisoned.bad, NULL));
    submit_avoider(&poisoned.avoiders[0]);
    scene_spawn(met, poisoned.avoiders[0].future);
    submit_avoider(&poisoned.avoiders[1]);
    submit_avoider(&poisoned.avoiders[2]);
    scene_join();
}

SCENARIO(scenario_63_who_avoids_poison_is_cancelled, RANDOM)
{
    meet(cancel_first);
    expect_ends();
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    resolve(scene_variant(3) == 1 ? LANEPOOL_RESOLVE_DROP : LANEPOOL_RESOLVE_SKIP);
    scene_close();
    let_go();
}

SCENARIO(scenario_63_who_avoids_poison_meets_a_shutdown_now, RANDOM)
{
    meet(stop);
    scene_close();
    expect_ends();
    let_go();
}

static void resolve_what_is_kept(void *argument)
{
    (void)argument;
    sim_sleep(scene_variant(2));
    resolve(LANEPOOL_RESOLVE_SKIP);
}

SCENARIO(scenario_63_poison_ends_beside_who_avoids_it, RANDOM)
{
    lanepool_status status;

    meet(resolve_what_is_kept);
    expect_ends();
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    while ((status = lanepool_pool_await(scene.pool, LANEPOOL_FOREVER)) == LANEPOOL_PARKED)
        resolve(LANEPOOL_RESOLVE_SKIP);
    EXPECT_STATUS(OK, status);
    scene_end();
    let_go();
}

static int open_gate_and_fail(lanepool_run *run, void *context)
{
    scene_open_gate(0);
    return fail(run, context);
}

/* The task is resolved and the drain ends, while the worker that has parked the task is about to
 * send the router a message for its lanes. */
SCENARIO(scenario_63_pool_ends_beside_the_worker_that_has_parked, EXHAUSTIVE)
{
    lanepool_status status;

    begin_with(2);
    scene_make_gates(1);
    submit_avoider(&poisoned.avoiders[2]);
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_explore_from_here();
    EXPECT_STATUS(OK, submit(open_gate_and_fail, NULL, "A", &poisoned.bad, NULL));
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    scene_wait_at_gate(0);
    resolve(LANEPOOL_RESOLVE_SKIP);
    while ((status = lanepool_pool_await(scene.pool, LANEPOOL_FOREVER)) == LANEPOOL_PARKED)
        resolve(LANEPOOL_RESOLVE_SKIP);
    EXPECT_STATUS(OK, status);
    sim_explore_to_here();
    scene_end();
    expect_ends();
    let_go();
}

/* PARKED was answered before all tasks that had waited in the lane had left it. */
SCENARIO(regress_held_comes_when_all_have_left_the_poisoned_lane, RANDOM)
{
    begin();
    EXPECT_STATUS(OK, submit(fail, NULL, "A", &poisoned.bad, NULL));
    for (int i = 0; i < AVOIDERS; i++)
        submit_avoider(&poisoned.avoiders[i]);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(PARKED, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    for (int i = 0; i < AVOIDERS; i++)
        EXPECT_STATUS(OK, lanepool_future_wait(poisoned.avoiders[i].future, 0, NULL));
    resolve(LANEPOOL_RESOLVE_SKIP);
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_end();
    let_go();
}
