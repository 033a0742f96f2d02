/* Pools with a watchdog: it reports each slow task once and no other task, and each stall. */
#include "simulated/scenarios.h"
#include "property/world.h"
#include "simulated/scene.h"

#include <string.h>

enum { SLOW_NS = 100, STALLED_NS = 100 };

/* True if time may pass while fibers are ready: then no report is sure to be in time. */
static bool is_eager;

static struct {
    lanepool_pool *pool;
    uint32_t told[SCENE_TASKS_MAX];
    uint64_t submitted_ns[SCENE_TASKS_MAX];
    _Atomic uint32_t stalls;
    _Atomic uint64_t pending; /* the number that the last stall reported */
    _Atomic size_t threads;   /* the number that the last stall reported */
    _Atomic bool stopped;     /* the pool has stopped: no callback may be called any more */
    _Atomic bool looks;       /* the callbacks take snapshots of the pool */
    _Atomic bool submits;     /* one callback submits `submitted` */
    struct scene_task *submitted;
} dog;

static void open_dog(lanepool_options *options)
{
    memset(&dog, 0, sizeof dog);
    is_eager = sim_options_draw(scene_seed).eager;
    scene_open(options);
    dog.pool = scene.pool;
}

/* Makes calls that a callback may make, and checks their answers. */
static void look_at_pool(lanepool_pool *pool)
{
    lanepool_snapshot *snapshot;

    EXPECT_STATUS(DEADLOCK, lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    EXPECT_STATUS(DEADLOCK, lanepool_pool_await(pool, LANEPOOL_FOREVER));
    if (dog.looks) {
        EXPECT_STATUS(OK, lanepool_snapshot_take(pool, &snapshot));
        lanepool_snapshot_release(snapshot);
    }
    if (!atomic_exchange(&dog.submits, false))
        return;
    lanepool_status status = scene_submit(dog.submitted);
    EXPECT(status == LANEPOOL_OK || (is_eager && status == LANEPOOL_SHUT_DOWN));
}

static void note_slow(void *user, const lanepool_slow_task *slow)
{
    const struct scene_task *task = slow->context;
    size_t i = (size_t)(task - scene.tasks);

    EXPECT(user == &dog && slow->pool == dog.pool && i < SCENE_TASKS_MAX);
    EXPECT(!dog.stopped);
    EXPECT(dog.told[i]++ == 0);
    EXPECT(is_eager || scene_has_begun(task));
    EXPECT(!scene_has_begun(task) || slow->ticket == atomic_load(&task->ticket));
    EXPECT(slow->worker < scene.options.workers || slow->worker == SIZE_MAX);
    EXPECT(slow->running_ns >= SLOW_NS);
    EXPECT(slow->running_ns <= sim_now() - dog.submitted_ns[i]);
    look_at_pool(slow->pool);
}

static void note_stall(void *user, const lanepool_stall *stall)
{
    EXPECT(user == &dog && stall->pool == dog.pool);
    EXPECT(!dog.stopped);
    EXPECT(stall->pending > 0);
    EXPECT(stall->stalled_ns >= STALLED_NS);
    dog.stalls++;
    dog.pending = stall->pending;
    dog.threads = stall->threads;
    look_at_pool(stall->pool);
}

static struct scene_task *submit_taking(const char *claims, uint64_t takes)
{
    struct scene_task *task = scene_task(claims);

    task->takes = takes;
    dog.submitted_ns[task - scene.tasks] = sim_now();
    EXPECT_STATUS(OK, scene_submit(task));
    return task;
}

static lanepool_options slow_options(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1 + scene_variant(3);
    options.layout = (lanepool_layout)(scene_variant(6) / 3);
    options.is_compatible = scene_variant(12) / 6 ? scene_rule : NULL;
    options.on_slow_task = note_slow;
    options.slow_task_ns = SLOW_NS;
    options.user = &dog;
    return options;
}

/* --- slow tasks --- */

static bool is_told_rightly(size_t i)
{
    uint64_t takes = scene.tasks[i].takes;

    if (is_eager)
        return dog.told[i] <= 1;
    return takes < SLOW_NS ? dog.told[i] == 0 : takes < 2 * SLOW_NS || dog.told[i] == 1;
}

SCENARIO(scenario_watchdog_tells_of_each_slow_task_once, RANDOM)
{
    static const uint64_t takes[] = { 0, 30, 99, 150, 200, 90, 700, 0, 90, 201 };
    static const char *const claims[] = { "A", "B", "A", "C", "AB", "ab", "A", "Bc", "A", "D" };
    lanepool_options options = slow_options();

    open_dog(&options);
    dog.looks = scene_variant(5) == 0;
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t at = (i + scene_variant(10)) % 10;
        submit_taking(claims[at], takes[at]);
        if (scene_variant(4) == 0)
            sim_sleep(17);
    }
    scene_close();
    for (uint32_t i = 0; i < scene.task_count; i++)
        EXPECT(is_told_rightly(i));
}

static void wait_for_the_next(struct scene_task *self)
{
    scene_wait_at_gate(0);
    EXPECT_STATUS(OK, lanepool_future_wait(self[1].future, LANEPOOL_FOREVER, NULL));
}

/* The outer task is slow because it waits for the inner one, which is not slow. Both run on the
 * stack of one thread. */
SCENARIO(scenario_watchdog_tells_of_a_task_that_waits_inside, RANDOM)
{
    lanepool_options options = slow_options();
    struct scene_task *outer, *inner;

    options.workers = 1;
    options.layout = LANEPOOL_PER_KEY;
    open_dog(&options);
    outer = scene_task("A");
    inner = scene_task("B");
    scene_make_gates(1);
    inner->has_future = true;
    inner->takes = 90;
    outer->body = wait_for_the_next;
    outer->takes = 160;
    EXPECT_STATUS(OK, scene_submit(outer));
    EXPECT_STATUS(OK, scene_submit(inner));
    scene_open_gate(0);
    scene_close();
    if (is_eager)
        return;
    EXPECT(dog.told[outer - scene.tasks] == 1);
    EXPECT(dog.told[inner - scene.tasks] == 0);
}

/* Snapshots, callbacks, and every way to end the pool. */
SCENARIO(scenario_watchdog_meets_the_end_of_the_pool, RANDOM)
{
    lanepool_options options = slow_options();

    options.on_stalled = scene_variant(2) ? note_stall : NULL;
    options.stalled_ns = scene_variant(2) ? STALLED_NS : 0;
    open_dog(&options);
    submit_taking("A", 250);
    submit_taking("B", 40);
    submit_taking("AB", 130);
    submit_taking("b", 10);
    sim_sleep(scene_variant(8) * 40);
    if (scene_variant(3) == 0) {
        EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
        scene_destroy();
        return;
    }
    if (scene_variant(3) == 1) {
        EXPECT_STATUS(OK, scene_stop(scene_variant(2) == 0));
        EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
        dog.stopped = true;
    }
    scene_close();
}

/* --- stalls --- */

static lanepool_options stall_options(void)
{
    lanepool_options options = slow_options();

    options.on_slow_task = NULL;
    options.slow_task_ns = 0;
    options.on_stalled = note_stall;
    options.stalled_ns = STALLED_NS;
    return options;
}

static void wait_at_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

static void submit_at_gate(const char *claims)
{
    struct scene_task *task = scene_task(claims);

    task->body = wait_at_gate;
    EXPECT_STATUS(OK, scene_submit(task));
}

/* One task blocks another, twice in a row. Before, between and after these rounds the pool is idle,
 * and tasks end now and then. The callback of the last stall submits a task. */
SCENARIO(scenario_watchdog_tells_of_each_stall_once, RANDOM)
{
    lanepool_options options = stall_options();

    options.workers = 1;
    open_dog(&options);
    scene_make_gates(1);
    for (uint32_t round = 0; round < 2; round++) {
        sim_sleep(500);
        for (int i = 0; i < 3; i++)
            submit_taking("B", 60);
        submit_at_gate("A");
        submit_taking("A", 60);
        EXPECT(is_eager || dog.stalls == round);
        if (round == 1) {
            dog.submitted = scene_task("A");
            dog.looks = dog.submits = true;
        }
        sim_sleep(3 * 60 + 2 * STALLED_NS + 1);
        EXPECT(is_eager || dog.stalls == round + 1);
        EXPECT(is_eager || (dog.pending == 2 && dog.threads == 1));
        sim_sleep(700);
        EXPECT(is_eager || dog.stalls == round + 1);
        scene_open_gate(0);
        EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    }
    sim_sleep(500);
    EXPECT(is_eager || dog.stalls == 2);
    if (atomic_exchange(&dog.submits, false))
        EXPECT_STATUS(OK, scene_submit(dog.submitted));
    scene_close();
}

static int pass_gate(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    scene_wait_at_gate(0);
    return 0;
}

/* Submits tasks that are not the scene's, because the judgement of those does not know of
 * pauses. */
static void submit_two_on(const lanepool_claim *claim)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = pass_gate;
    task.claims = claim;
    task.claim_count = scene.options.is_compatible == NULL;
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &task));
}

/* A pause is no stall, and a task that is not due causes none. Blocked tasks after the resume
 * do. */
SCENARIO(scenario_watchdog_lets_paused_and_delayed_tasks_be, RANDOM)
{
    lanepool_options options = stall_options();
    bool pauses_lane;
    lanepool_claim claim = lanepool_exclusive('A');
    lanepool_lane *lane = NULL;

    options.is_compatible = NULL;
    pauses_lane = options.layout == LANEPOOL_PER_KEY && scene_variant(2) == 0;
    open_dog(&options);
    scene_make_gates(1);
    if (pauses_lane) {
        EXPECT_STATUS(OK, lanepool_lane_acquire(scene.pool, claim.key, &lane));
        EXPECT_STATUS(OK, lanepool_lane_pause(lane));
    } else {
        EXPECT_STATUS(OK, lanepool_pool_pause(scene.pool));
    }
    submit_two_on(&claim);
    sim_sleep(1000);
    EXPECT(dog.stalls == 0);
    if (pauses_lane)
        EXPECT_STATUS(OK, lanepool_lane_resume(lane));
    else
        EXPECT_STATUS(OK, lanepool_pool_resume(scene.pool));
    sim_sleep(3 * STALLED_NS);
    EXPECT(is_eager || (dog.stalls == 1 && dog.pending == 2 && dog.threads == 1));
    scene_open_gate(0);
    scene_open_gate(0);
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    if (pauses_lane)
        lanepool_lane_release(lane);
    scene_close();
}

/* --- failures --- */

static int take_long(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    sim_sleep(3 * STALLED_NS);
    return 0;
}

static void note_nothing(void *user, const lanepool_slow_task *slow)
{
    EXPECT(user == &dog && slow->function == take_long);
}

/* A parked task cannot continue without a resolution, so it must be reported. */
SCENARIO(scenario_watchdog_tells_of_what_is_held_up, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_parked_tasks *failures;

    options.workers = 2;
    options.workers_min = 1 + scene_variant(2);
    options.worker_idle_ns = options.workers_min < 2 ? 10 : 0;
    options.on_stalled = note_stall;
    options.stalled_ns = STALLED_NS;
    options.user = &dog;
    open_dog(&options);
    policy.at_end = LANEPOOL_FAILURE_POISON;
    struct scene_task *kept = scene_task("A");
    kept->policy = &policy;
    kept->has_release = true;
    kept->fails_first = 1;
    EXPECT_STATUS(OK, scene_submit(kept));
    EXPECT_STATUS(OK, scene_submit(scene_task("AB")));
    EXPECT_STATUS(PARKED, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_sleep(10 * STALLED_NS);
    EXPECT(is_eager || (dog.stalls == 1 && dog.pending == 2 && dog.threads == 0));
    EXPECT_STATUS(OK, lanepool_pool_parked(scene.pool, &failures));
    EXPECT(failures->count == 1);
    EXPECT_STATUS(OK, lanepool_pool_resolve(scene.pool, failures->tasks[0].ticket,
                                            (lanepool_resolution)scene_variant(2)));
    lanepool_parked_tasks_release(failures);
    scene_close();
}

SCENARIO(scenario_watchdog_each_failure_in_turn, FAULTS)
{
    lanepool_options options = slow_options();
    lanepool_task task = LANEPOOL_TASK_INIT;

    options.on_slow_task = note_nothing;
    options.on_stalled = note_stall;
    memset(&dog, 0, sizeof dog);
    if (!scene_try_open(&options))
        return;
    task.function = take_long;
    lanepool_status status = lanepool_pool_submit(scene.pool, &task);
    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
    world_stop_refusing();
    EXPECT_STATUS(OK, lanepool_pool_destroy(scene.pool));
    scene.pool = NULL;
}
