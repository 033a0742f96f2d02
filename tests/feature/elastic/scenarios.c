/* Elastic pools: workers start when there is more to do, and end when they are idle. */
#include "simulated/scenarios.h"
#include "lanepool/lanepool.h"
#include "property/world.h"
#include "simulated/scene.h"

#include <string.h>

enum { WORKERS_MAX = 3 };

/* For each worker: how many of its threads are between worker_start and worker_stop. */
static _Atomic int at_work[WORKERS_MAX];
static _Atomic uint32_t starts, stops;

static void *begin_work(void *user, size_t worker)
{
    (void)user;
    atomic_fetch_add(&starts, 1);
    EXPECT(atomic_fetch_add(&at_work[worker], 1) == 0);
    return &at_work[worker];
}

/* Takes a while, so that a new task may need this worker before it has ended. */
static void end_work(void *user, size_t worker, void *context)
{
    (void)user;
    EXPECT(context == &at_work[worker]);
    sim_sleep(scene_variant(3) * 5);
    EXPECT(atomic_fetch_sub(&at_work[worker], 1) == 1);
    atomic_fetch_add(&stops, 1);
}

static lanepool_options elastic(unsigned workers, uint64_t idle_ns)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.workers_min = 1;
    options.worker_idle_ns = idle_ns;
    return options;
}

static void count_threads(lanepool_options *options)
{
    atomic_store(&starts, 0);
    atomic_store(&stops, 0);
    memset(at_work, 0, sizeof at_work);
    options->worker_start = begin_work;
    options->worker_stop = end_work;
}

static void open_elastic(unsigned workers, uint64_t idle_ns)
{
    lanepool_options options = elastic(workers, idle_ns);

    scene_open(&options);
    scene_make_gates(2);
}

static size_t threads_of_pool(void)
{
    lanepool_stats stats;

    EXPECT_STATUS(OK, lanepool_pool_stats(scene.pool, &stats, NULL, 0));
    return stats.threads;
}

static void submit(void *task)
{
    EXPECT_STATUS(OK, scene_submit(task));
}

static void wait_at_first_gate(struct scene_task *self)
{
    (void)self;
    scene_wait_at_gate(0);
}

static void open_first_gate(struct scene_task *self)
{
    (void)self;
    scene_open_gate(0);
}

static struct scene_task *task_with(const char *claims, void (*body)(struct scene_task *self))
{
    struct scene_task *task = scene_task(claims);

    task->body = body;
    return task;
}

/* The task of one worker waits for a task that only the other worker can run. */
static void need_two_workers(void)
{
    struct scene_task *waits = task_with("A", wait_at_first_gate);
    struct scene_task *opens = task_with("B", open_first_gate);

    scene_spawn(submit, waits);
    submit(opens);
    scene_join();
}

SCENARIO(scenario_elastic_pool_grows_for_two_submitters, EXHAUSTIVE)
{
    open_elastic(2, 1000);
    sim_explore_from_here();
    need_two_workers();
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    scene_close();
}

static void open_second_gate(struct scene_task *self)
{
    (void)self;
    scene_open_gate(1);
}

/* The second worker has just ended, or is about to end, when a task needs it again. */
SCENARIO(scenario_elastic_worker_comes_and_leaves_beside_a_busy_one, EXHAUSTIVE)
{
    open_elastic(2, 1);
    submit(task_with("A", wait_at_first_gate));
    sim_sleep(1);
    sim_explore_from_here();
    for (int i = 0; i < 2; i++) {
        submit(task_with("B", open_second_gate));
        scene_wait_at_gate(1);
    }
    sim_explore_to_here();
    scene_open_gate(0);
    scene_close();
}

/* The idle time is so short that a worker that finds no task ends at once. */
SCENARIO(scenario_elastic_worker_leaves_as_work_comes, EXHAUSTIVE)
{
    open_elastic(2, 1);
    need_two_workers();
    sim_explore_from_here();
    need_two_workers();
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    sim_explore_to_here();
    scene_close();
}

SCENARIO(scenario_elastic_pool_shrinks_and_grows_again, RANDOM)
{
    lanepool_options options = elastic(WORKERS_MAX, 50);

    count_threads(&options);
    scene_open(&options);
    scene_make_gates(2);
    EXPECT(threads_of_pool() == 1);
    for (int i = 0; i < 4; i++) {
        need_two_workers();
        EXPECT(threads_of_pool() <= WORKERS_MAX);
        sim_sleep(25 * scene_variant(4));
    }
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    /* A worker may come once more while the threads are counted, and leave again. */
    while (threads_of_pool() > 1 || atomic_load(&starts) != atomic_load(&stops) + 1)
        sim_sleep(10);
    EXPECT_STATUS(OK, lanepool_pool_shutdown(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    EXPECT(atomic_load(&starts) == atomic_load(&stops));
    EXPECT(threads_of_pool() == 0);
    scene_end();
}

/* --- ends --- */

static void submit_or_be_refused(void *task)
{
    lanepool_status status = scene_submit(task);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

static void end_while_submitting(bool drains)
{
    scene_spawn(submit_or_be_refused, scene_task("A"));
    sim_explore_from_here();
    EXPECT_STATUS(OK, drains ? lanepool_pool_shutdown(scene.pool) : scene_stop(true));
    EXPECT_STATUS(OK, lanepool_pool_await(scene.pool, LANEPOOL_FOREVER));
    scene_join();
    sim_explore_to_here();
    scene_end();
}

/* The only worker is busy, so that the submit needs another one. */
static void end_while_growing(bool drains)
{
    struct scene_task *busy;

    open_elastic(2, 1000);
    busy = scene_task("B");
    busy->takes = 20;
    submit(busy);
    end_while_submitting(drains);
}

SCENARIO(scenario_elastic_drain_while_the_pool_grows, EXHAUSTIVE)
{
    end_while_growing(true);
}

SCENARIO(scenario_elastic_shutdown_now_while_the_pool_grows, EXHAUSTIVE)
{
    end_while_growing(false);
}

static void end_while_shrinking(bool drains)
{
    open_elastic(2, 1);
    need_two_workers();
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    end_while_submitting(drains);
}

SCENARIO(scenario_elastic_drain_while_the_pool_shrinks, EXHAUSTIVE)
{
    end_while_shrinking(true);
}

SCENARIO(scenario_elastic_shutdown_now_while_the_pool_shrinks, EXHAUSTIVE)
{
    end_while_shrinking(false);
}

/* --- with other features --- */

static void say_so_and_wait(struct scene_task *self)
{
    (void)self;
    scene_open_gate(1);
    scene_wait_at_gate(0);
}

/* All workers that have a thread are busy when the pool is resumed. */
SCENARIO(scenario_elastic_paused_pool_grows_when_it_is_resumed, RANDOM)
{
    struct scene_task *busy;

    open_elastic(WORKERS_MAX, 20);
    busy = task_with("C", say_so_and_wait);
    submit(busy);
    sim_sleep(1 + scene_variant(2) * 100);
    EXPECT_STATUS(OK, lanepool_pool_pause(scene.pool));
    submit(task_with("A", say_so_and_wait));
    submit(task_with("B", say_so_and_wait));
    EXPECT_STATUS(OK, lanepool_pool_resume(scene.pool));
    for (int i = 0; i < 3; i++)
        scene_wait_at_gate(1);
    EXPECT(threads_of_pool() == 3);
    for (int i = 0; i < 3; i++)
        scene_open_gate(0);
    scene_close();
}

static void submit_and_wait(struct scene_task *self)
{
    lanepool_status status = scene_submit(self + 1);

    if (status == LANEPOOL_OK)
        status = lanepool_future_wait((self + 1)->future, LANEPOOL_FOREVER, NULL);
    EXPECT(status == LANEPOOL_OK || world_has_refused());
}

static void say_so_and_submit_and_wait(struct scene_task *self)
{
    scene_open_gate(1);
    submit_and_wait(self);
}

static _Atomic uint32_t paused_calls;

static int count_paused_call(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    atomic_fetch_add(&paused_calls, 1);
    return 0;
}

/* In a paused pool ready tasks may not run. A thread that waits inside a task searches them, and
 * puts them back. No thread may be started for these tasks, because it would end at once. */
SCENARIO(scenario_elastic_paused_pool_starts_no_threads_beside_a_wait, RANDOM)
{
    lanepool_options options = elastic(WORKERS_MAX, 1);
    lanepool_task paused = LANEPOOL_TASK_INIT;

    paused.function = count_paused_call;
    atomic_store(&paused_calls, 0);
    count_threads(&options);
    options.priorities = scene_variant(2) == 1;
    scene_open(&options);
    scene_make_gates(2);
    submit(task_with("C", say_so_and_wait));
    struct scene_task *waits = task_with("A", say_so_and_submit_and_wait);
    scene_task("C")->has_future = true;
    submit(waits);
    scene_wait_at_gate(1);
    scene_wait_at_gate(1);
    EXPECT_STATUS(OK, lanepool_pool_pause(scene.pool));
    EXPECT_STATUS(OK, lanepool_pool_submit(scene.pool, &paused));
    sim_sleep(50);
    uint32_t started = atomic_load(&starts);
    sim_sleep(1000);
    EXPECT(atomic_load(&starts) <= started + WORKERS_MAX);
    EXPECT_STATUS(OK, lanepool_pool_resume(scene.pool));
    scene_open_gate(0);
    scene_close();
    EXPECT(atomic_load(&paused_calls) == 1);
}

/* The awaited task is run by the waiting thread, or by another worker that is started. If no thread
 * can be started, the waiting thread runs it. */
static void wait_inside(void)
{
    static const char *const claims[] = { "A", "B", "C", "D" };

    for (int i = 0; i < 4; i++) {
        struct scene_task *waits = task_with(claims[i], submit_and_wait);
        struct scene_task *inner = scene_task(i % 2 == 0 ? "E" : "");
        inner->has_future = true;
        inner->takes = 3;
        lanepool_status status = scene_submit(waits);
        EXPECT(status == LANEPOOL_OK || world_has_refused());
    }
}

SCENARIO(scenario_elastic_waits_inside_tasks_of_an_elastic_pool, RANDOM)
{
    lanepool_options options = elastic(WORKERS_MAX, 1 + scene_variant(40));

    options.is_compatible = scene_variant(2) == 1 ? scene_rule : NULL;
    scene_open(&options);
    wait_inside();
    scene_close();
}

SCENARIO(scenario_elastic_each_failure_while_the_pool_grows, FAULTS)
{
    lanepool_options options = elastic(WORKERS_MAX, 1 + scene_variant(40));

    options.is_compatible = scene_variant(3) == 1 ? scene_rule : NULL;
    options.pending_max = scene_variant(2) == 1 ? 2 : 0;
    if (!scene_try_open(&options))
        return;
    wait_inside();
    world_stop_refusing();
    scene_close();
}

/* When threads can be started again, a worker that searches for work starts one. */
SCENARIO(scenario_elastic_thread_is_tried_for_again, FAULTS)
{
    struct scene_task *busy;
    lanepool_options options = elastic(2, 1000);

    if (!scene_try_open(&options))
        return;
    busy = scene_task("C");
    busy->takes = 10;
    EXPECT(scene_submit(busy) == LANEPOOL_OK || world_has_refused());
    EXPECT(scene_submit(scene_task("D")) == LANEPOOL_OK || world_has_refused());
    sim_sleep(100);
    world_stop_refusing();
    scene_make_gates(1);
    need_two_workers();
    scene_close();
}
