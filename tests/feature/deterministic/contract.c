/* Pools without threads, whose seed draws the order (`step_seed`). */
#include <pthread.h>
#include <string.h>

#include "support/memory.h"
#include "support/process.h"
#include "support/random.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_options stepped(uint64_t seed)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.step_seed = seed;
    return options;
}

static lanepool_pool *stepped_pool(uint64_t seed)
{
    lanepool_options options = stepped(seed);

    return pool_make_with(&options);
}

/* Records the order of starts; the pool has no threads, so plain members do. */
struct order {
    uint32_t count;
    uint32_t ids[64];
};

struct noted {
    struct order *order;
    uint32_t id;
};

static int note(lanepool_run *run, void *context)
{
    struct noted *noted = context;

    (void)run;
    noted->order->ids[noted->order->count++ % 64] = noted->id;
    return 0;
}

static lanepool_task note_task(struct noted *noted, struct order *order, uint32_t id)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    *noted = (struct noted){ .order = order, .id = id };
    task.function = note;
    task.context = noted;
    return task;
}

static void submit_noted(lanepool_pool *pool, struct noted *noted, struct order *order, uint32_t id,
                         uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = note_task(noted, order, id);

    task.claims = &claim;
    task.claim_count = key != 0;
    expect_ok(lanepool_pool_submit(pool, &task));
}

/* --- steps --- */

Test(deterministic, tasks_run_on_the_thread_that_steps_and_on_no_other)
{
    struct noted noted[2];
    struct order order = { 0 };
    lanepool_stats stats;
    size_t threads_before = process_thread_count();
    lanepool_pool *pool = stepped_pool(1);

    expect_eq(process_thread_count(), threads_before);
    expect_eq(lanepool_pool_worker_count(pool), 1);
    expect_status(lanepool_pool_step(pool), LANEPOOL_TIMED_OUT);
    submit_noted(pool, &noted[0], &order, 0, 0);
    submit_noted(pool, &noted[1], &order, 1, 0);
    expect_eq(order.count, 0);
    expect_ok(lanepool_pool_step(pool));
    expect_eq(order.count, 1);
    expect_ok(lanepool_pool_step(pool));
    expect_eq(order.count, 2);
    expect_status(lanepool_pool_step(pool), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.finished, 2);
    expect_eq(stats.threads, 0);
    pool_end(pool);
}

struct inside {
    lanepool_pool *pool;
    lanepool_status step;
    lanepool_status quiesce;
    lanepool_status from_thread;
    size_t worker;
};

static void *step_from_thread(void *context)
{
    struct inside *inside = context;

    inside->from_thread = lanepool_pool_step(inside->pool);
    return NULL;
}

static int step_inside(lanepool_run *run, void *context)
{
    struct inside *inside = context;
    pthread_t thread;

    inside->worker = lanepool_run_worker(run);
    inside->step = lanepool_pool_step(inside->pool);
    inside->quiesce = lanepool_pool_quiesce(inside->pool, LANEPOOL_FOREVER);
    return pthread_create(&thread, NULL, step_from_thread, inside) || pthread_join(thread, NULL);
}

Test(deterministic, only_one_thread_steps_and_none_inside_a_task)
{
    lanepool_pool *pool = stepped_pool(1);
    lanepool_pool *threaded = pool_make(1, LANEPOOL_PER_KEY);
    struct inside inside = { .pool = pool };

    expect_ok(lanepool_pool_run(pool, lanepool_key_none(), step_inside, &inside));
    expect_ok(lanepool_pool_step(pool));
    expect_eq(inside.worker, 0);
    expect_status(inside.step, LANEPOOL_DEADLOCK);
    expect_status(inside.quiesce, LANEPOOL_DEADLOCK);
    expect_status(inside.from_thread, LANEPOOL_BUSY);
    expect_status(lanepool_pool_step(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_step(threaded), LANEPOOL_UNSUPPORTED);
    pool_end(threaded);
    pool_end(pool);
}

struct calls {
    uint32_t starts;
    uint32_t stops;
};

static void *count_start(void *user, size_t worker)
{
    struct calls *calls = user;

    (void)worker;
    calls->starts++;
    return calls;
}

static void count_stop(void *user, size_t worker, void *context)
{
    struct calls *calls = user;

    (void)worker;
    calls->stops += context == user;
}

Test(deterministic, the_worker_begins_with_the_first_step_and_ends_with_the_pool)
{
    struct calls calls = { 0 };
    struct noted noted;
    struct order order = { 0 };
    lanepool_options options = stepped(3);
    lanepool_pool *pool;

    options.worker_start = count_start;
    options.worker_stop = count_stop;
    options.user = &calls;
    pool = pool_make_with(&options);
    expect_eq(calls.starts, 0);
    submit_noted(pool, &noted, &order, 0, 0);
    pool_settle(pool);
    expect_eq(calls.starts, 1);
    expect_eq(calls.stops, 0);
    pool_end(pool);
    expect_eq(calls.starts, 1);
    expect_eq(calls.stops, 1);
}

/* --- what a pool without threads does not offer --- */

static void ignore_slow(void *user, const lanepool_slow_task *task)
{
    (void)user, (void)task;
}

static void ignore_stall(void *user, const lanepool_stall *stall)
{
    (void)user, (void)stall;
}

static void expect_unsupported(const lanepool_options *options)
{
    lanepool_pool *pool;

    expect_status(lanepool_pool_create(options, &pool), LANEPOOL_UNSUPPORTED);
    expect(pool == NULL);
}

Test(deterministic, options_that_need_threads_are_unsupported)
{
    lanepool_options options = stepped(1);

    options.workers = 4; /* ignored: there is one worker */
    pool_end(pool_make_with(&options));
    options.workers_min = 2;
    expect_unsupported(&options);
    options = stepped(1);
    options.layout = LANEPOOL_PER_WORKER;
    expect_unsupported(&options);
    options = stepped(1);
    options.on_slow_task = ignore_slow;
    expect_unsupported(&options);
    options = stepped(1);
    options.on_stalled = ignore_stall;
    expect_unsupported(&options);
}

/* --- calls that wait --- */

Test(deterministic, every_wait_runs_what_it_waits_for)
{
    struct step steps[6] = { { 0 } };
    lanepool_pool *pool = stepped_pool(7);
    lanepool_group *group = group_make(true);
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_future *futures[2];
    lanepool_completion completion;
    size_t index;

    for (int i = 0; i < 2; i++) {
        lanepool_task task = step_task(&steps[i], &claim, 1);

        task.future = &futures[i];
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_future_wait_any(futures, 2, LANEPOOL_FOREVER, &index));
    expect_eq(index, 0);
    expect_ok(lanepool_future_wait(futures[1], LANEPOOL_FOREVER, NULL));
    expect_eq(steps[1].runs, 1);
    for (int i = 2; i < 4; i++) {
        lanepool_task task = member_task(group, &steps[i], &claim);

        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_group_next(group, LANEPOOL_FOREVER, &completion));
    expect(completion.context == &steps[2]);
    expect_ok(lanepool_group_wait(group, LANEPOOL_FOREVER));
    expect_eq(steps[3].runs, 1);
    expect_ok(step_submit_on(pool, &steps[4], 1));
    expect_ok(lanepool_pool_wait_claims(pool, &claim, 1, LANEPOOL_FOREVER));
    expect_eq(steps[4].runs, 1);
    expect_ok(step_submit_on(pool, &steps[5], 1));
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(steps[5].runs, 1);
    expect(lanepool_pool_is_terminated(pool));
    lanepool_future_release(futures[0]);
    lanepool_future_release(futures[1]);
    pool_end(pool);
    lanepool_group_destroy(group);
}

Test(deterministic, a_wait_with_nothing_to_run_has_timed_out)
{
    struct step step = { 0 };
    lanepool_pool *pool = stepped_pool(7);
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_future *future;
    size_t index;

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pool_pause(pool));
    expect_status(lanepool_pool_step(pool), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_wait_any(&future, 1, LANEPOOL_FOREVER, &index),
                  LANEPOOL_TIMED_OUT);
    expect_status(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_pool_await(pool, LANEPOOL_FOREVER), LANEPOOL_TIMED_OUT);
    expect_eq(step.runs, 0);
    expect_ok(lanepool_pool_resume(pool));
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(future);
    pool_end(pool);
}

Test(deterministic, a_submit_to_a_full_pool_makes_room)
{
    struct step steps[8] = { { 0 } };
    lanepool_options options = stepped(5);
    lanepool_pool *pool;
    uint32_t ran = 0;

    options.pending_max = 2;
    pool = pool_make_with(&options);
    for (int i = 0; i < 7; i++) {
        expect_ok(step_submit_on(pool, &steps[i], 1));
    }
    for (int i = 0; i < 7; i++) {
        ran += steps[i].runs;
    }
    expect_eq(ran, 5);
    expect_eq(steps[4].runs, 1);
    lanepool_task task = step_task(&steps[7], NULL, 0);
    expect_status(lanepool_pool_submit_within(pool, &task, 0), LANEPOOL_FULL);
    lanepool_claim claim = lanepool_exclusive(1);
    task = step_task(&steps[7], &claim, 1);
    expect_ok(lanepool_pool_submit_or_run(pool, &task));
    expect_eq(steps[6].runs, 1);
    expect_eq(steps[7].runs, 1);
    pool_end(pool);
}

struct outer {
    struct step inner;
    lanepool_status waited;
};

static int wait_for_inner(lanepool_run *run, void *context)
{
    struct outer *outer = context;
    lanepool_task task = step_task(&outer->inner, NULL, 0);
    lanepool_future *future;

    task.future = &future;
    if (lanepool_pool_submit(lanepool_run_pool(run), &task) != LANEPOOL_OK) {
        return 1;
    }
    outer->waited = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL);
    lanepool_future_release(future);
    return 0;
}

Test(deterministic, a_wait_inside_a_task_runs_the_task_that_it_needs)
{
    struct outer outer = { .waited = LANEPOOL_INVALID };
    lanepool_pool *pool = stepped_pool(5);

    expect_ok(lanepool_pool_run(pool, lanepool_key_id(1), wait_for_inner, &outer));
    expect_ok(lanepool_pool_step(pool));
    expect_ok(outer.waited);
    expect_eq(outer.inner.runs, 1);
    pool_end(pool);
}

struct handed {
    uint32_t count;
    void *contexts[4];
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct handed *handed = context;

    (void)ticket;
    handed->contexts[handed->count++ % 4] = task->context;
}

Test(deterministic, a_shutdown_now_hands_back_what_no_step_has_run)
{
    struct step steps[3] = { { 0 } };
    struct handed handed = { 0 };
    lanepool_pool *pool = stepped_pool(5);

    for (int i = 0; i < 3; i++) {
        expect_ok(step_submit_on(pool, &steps[i], 1));
    }
    expect_ok(lanepool_pool_step(pool));
    expect_ok(lanepool_pool_shutdown_now(pool, take_back, &handed));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(lanepool_pool_step(pool), LANEPOOL_TIMED_OUT);
    expect_eq(steps[0].runs, 1);
    expect_eq(handed.count, 2);
    expect(handed.contexts[0] == &steps[1]);
    expect(handed.contexts[1] == &steps[2]);
    pool_end(pool);
}

struct submitter {
    lanepool_pool *pool;
    struct step step;
    lanepool_status status;
};

static void *submit_from_thread(void *context)
{
    struct submitter *submitter = context;

    submitter->status = step_submit_on(submitter->pool, &submitter->step, 1);
    return NULL;
}

Test(deterministic, tasks_of_another_thread_wait_for_the_thread_that_steps)
{
    struct submitter submitter = { .pool = stepped_pool(5) };
    pthread_t thread;

    expect_eq(pthread_create(&thread, NULL, submit_from_thread, &submitter), 0);
    expect_eq(pthread_join(thread, NULL), 0);
    expect_ok(submitter.status);
    expect_eq(submitter.step.runs, 0);
    pool_end(submitter.pool);
    expect_eq(submitter.step.runs, 1);
}
