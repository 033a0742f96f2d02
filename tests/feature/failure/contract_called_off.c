/* A task that is asked to end between two attempts ends as CANCELLED, whatever its policy. */
#include "support/step.h"
#include "support/test.h"

enum { KEY = 1, OTHER = 2, CODE = 5 };

#define HOUR_NS UINT64_C(3600000000000)

struct failing {
    _Atomic uint32_t calls;
    _Atomic uint32_t cancels;
    _Atomic uint32_t releases;
    struct gate *gate; /* or NULL */
    lanepool_detached *detached;
};

static int fail(lanepool_run *run, void *context)
{
    struct failing *failing = context;

    (void)run;
    atomic_fetch_add(&failing->calls, 1);
    return CODE;
}

/* Leaves the failure of the first attempt to the test. */
static int fail_detached(lanepool_run *run, void *context)
{
    struct failing *failing = context;

    if (atomic_load(&failing->calls) == 0 &&
        lanepool_run_detach(run, &failing->detached) == LANEPOOL_OK)
        gate_arrive(failing->gate);
    return fail(run, context);
}

static void note_cancelled(void *context, lanepool_status why)
{
    struct failing *failing = context;

    (void)why;
    atomic_fetch_add(&failing->cancels, 1);
}

static void note_release(void *context)
{
    struct failing *failing = context;
    atomic_fetch_add(&failing->releases, 1);
}

struct reports {
    uint32_t count;
    bool said_last;
};

static void note_error(void *user, const lanepool_error *error)
{
    struct reports *reports = user;

    reports->count++;
    reports->said_last |= error->is_last;
}

/* A pool of one worker, with a task that waits an hour for its second attempt, and one behind it.
 */
struct scene {
    lanepool_pool *pool;
    lanepool_group *group;
    lanepool_future *future;
    struct failing failing;
    struct reports reports;
    struct step behind;
};

static void open_scene(struct scene *scene)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    *scene = (struct scene){ .pool = NULL };
    options.workers = 1;
    options.on_error = note_error;
    options.user = &scene->reports;
    scene->pool = pool_make_with(&options);
    expect_ok(lanepool_group_create(NULL, &scene->group));
}

static void submit_failing(struct scene *scene, lanepool_task_fn function,
                           lanepool_failure_end at_end, uint64_t delay_ns)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_claim claim = lanepool_exclusive(KEY);

    policy.retries = 3;
    policy.delay_ns = delay_ns;
    policy.at_end = at_end;
    task.function = function;
    task.context = &scene->failing;
    task.cancelled = note_cancelled;
    task.release = note_release;
    task.claims = &claim;
    task.claim_count = 1;
    task.group = scene->group;
    task.future = &scene->future;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(scene->pool, &task));
}

/* The worker begins the other task only when it has decided about the first one. */
static void set_scene(struct scene *scene, lanepool_failure_end at_end)
{
    lanepool_claim elsewhere = lanepool_exclusive(OTHER);
    struct step other = { 0 };
    lanepool_future *done;

    open_scene(scene);
    submit_failing(scene, fail, at_end, HOUR_NS);
    lanepool_task next = step_task(&other, &elsewhere, 1);
    next.future = &done;
    expect_ok(lanepool_pool_submit(scene->pool, &next));
    future_finish(done);
    expect_ok(step_submit_on(scene->pool, &scene->behind, KEY));
    expect_eq(scene->failing.calls, 1);
    expect(!step_was_called(&scene->behind));
}

static void expect_cancelled(struct scene *scene)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(scene->future, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_CANCELLED);
    expect_eq(result.code, CODE);
    lanepool_future_release(scene->future);
}

static void end_scene(struct scene *scene, uint32_t runs_behind)
{
    lanepool_group_destroy(scene->group);
    expect_eq(scene->failing.calls, 1);
    expect_eq(scene->failing.cancels, 0);
    expect_eq(scene->failing.releases, 1);
    expect_eq(scene->reports.count, 1);
    expect(!scene->reports.said_last);
    expect_eq(scene->behind.runs, runs_behind);
}

static void ask_future(struct scene *scene)
{
    expect_status(lanepool_future_cancel(scene->future), LANEPOOL_RUNNING);
}

static void ask_future_and_wait(struct scene *scene)
{
    expect_status(lanepool_future_cancel_wait(scene->future, LANEPOOL_FOREVER), LANEPOOL_DONE);
}

static void ask_group(struct scene *scene)
{
    size_t count = 1;

    expect_ok(lanepool_group_cancel(scene->group, &count));
    expect_eq(count, 0);
}

static void call_off(void (*ask)(struct scene *scene))
{
    for (lanepool_failure_end at_end = LANEPOOL_FAILURE_CONTINUE; at_end <= LANEPOOL_FAILURE_PAUSE;
         at_end++) {
        struct scene scene;

        set_scene(&scene, at_end);
        ask(&scene);
        expect_cancelled(&scene);
        pool_settle(scene.pool);
        pool_end(scene.pool);
        end_scene(&scene, 1);
    }
}

Test(failure_called_off, by_its_future_its_lanes_go_on)
{
    call_off(ask_future);
    call_off(ask_future_and_wait);
}

Test(failure_called_off, by_its_group_its_lanes_go_on)
{
    call_off(ask_group);
}

/* The pool's cancel takes the task behind it, too. */
Test(failure_called_off, by_its_pool)
{
    struct scene scene;
    size_t count = 0;

    set_scene(&scene, LANEPOOL_FAILURE_POISON);
    expect_ok(lanepool_pool_cancel(scene.pool, &count));
    expect_eq(count, 1);
    expect_cancelled(&scene);
    pool_end(scene.pool);
    end_scene(&scene, 0);
}

/* The task fails while the only worker runs another one. Its retry has no delay, so it is ready. */
Test(failure_called_off, by_its_pool_without_a_delay)
{
    for (lanepool_failure_end at_end = LANEPOOL_FAILURE_CONTINUE; at_end <= LANEPOOL_FAILURE_PAUSE;
         at_end++) {
        struct scene scene;
        struct gate gate;
        struct step other = { .gate = &gate };
        size_t count = 1;

        gate_init(&gate);
        open_scene(&scene);
        scene.failing.gate = &gate;
        submit_failing(&scene, fail_detached, at_end, 0);
        expect(gate_await(&gate, 1));
        expect_ok(step_submit(scene.pool, &other));
        expect(gate_await(&gate, 1));
        expect_ok(lanepool_task_complete(scene.failing.detached, CODE, NULL));
        expect_ok(lanepool_pool_cancel(scene.pool, &count));
        expect_eq(count, 0);
        gate_open(&gate, 1);
        expect_cancelled(&scene);
        pool_end(scene.pool);
        gate_fini(&gate);
        end_scene(&scene, 0);
    }
}

/* It has started, and a lane's cancel asks nobody. */
Test(failure_called_off, but_not_by_its_lane)
{
    struct scene scene;
    lanepool_lane *lane;
    size_t count = 0;

    set_scene(&scene, LANEPOOL_FAILURE_POISON);
    expect_ok(lanepool_lane_acquire(scene.pool, lanepool_key_id(KEY), &lane));
    expect_ok(lanepool_lane_cancel(lane, &count));
    lanepool_lane_release(lane);
    expect_eq(count, 1);
    expect_status(lanepool_future_wait(scene.future, 0, NULL), LANEPOOL_TIMED_OUT);
    ask_future(&scene);
    expect_cancelled(&scene);
    pool_end(scene.pool);
    end_scene(&scene, 0);
}

Test(failure_called_off, by_a_shutdown_now_or_a_destroy_now)
{
    for (int destroys = 0; destroys < 2; destroys++) {
        struct scene scene;

        set_scene(&scene, LANEPOOL_FAILURE_POISON);
        if (destroys) {
            expect_ok(lanepool_pool_destroy_now(scene.pool));
        } else {
            expect_ok(lanepool_pool_shutdown_now(scene.pool, NULL, NULL));
            pool_end(scene.pool);
        }
        expect_cancelled(&scene);
        end_scene(&scene, 0);
    }
}
