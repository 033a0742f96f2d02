/* Pools whose workers start on demand and end when they are idle. */
#include <stdio.h>
#include <string.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { MOST = 4 };

/* The counts of worker_start and worker_stop for each worker. */
struct shifts {
    _Atomic unsigned begun[MOST];
    _Atomic unsigned ended[MOST];
    _Atomic bool overlap;            /* a worker started before its previous thread had ended */
    _Atomic bool foreign;            /* worker_stop got the context of another worker */
    lanepool_pool *pool;             /* if not NULL, worker_stop submits to it */
    _Atomic unsigned submitted, run; /* the tasks that worker_stop submitted */
};

/* Several may run at once: a task that an ending worker has submitted may still wait when the
 * worker ends again. */
static int count_run(lanepool_run *run, void *context)
{
    struct shifts *shifts = context;

    (void)run;
    atomic_fetch_add(&shifts->run, 1);
    return 0;
}

static void *begin_shift(void *user, size_t worker_index)
{
    struct shifts *shifts = user;

    if (atomic_fetch_add(&shifts->begun[worker_index], 1) !=
        atomic_load(&shifts->ended[worker_index])) {
        atomic_store(&shifts->overlap, true);
    }
    return &shifts->begun[worker_index];
}

static void end_shift(void *user, size_t worker_index, void *context)
{
    struct shifts *shifts = user;

    if (context != &shifts->begun[worker_index]) {
        atomic_store(&shifts->foreign, true);
    }
    if (shifts->pool != NULL && worker_index > 0) {
        lanepool_task task = LANEPOOL_TASK_INIT;
        task.function = count_run;
        task.context = shifts;
        if (lanepool_pool_submit(shifts->pool, &task) == LANEPOOL_OK) {
            atomic_fetch_add(&shifts->submitted, 1);
        }
    }
    atomic_fetch_add(&shifts->ended[worker_index], 1);
}

/* Returns the number of threads without a pool's. A sanitizer's own thread starts with the
 * program's first one. */
static size_t threads_at_rest(void)
{
    size_t count = process_thread_count();

    return count > PROCESS_THREADS_AT_REST ? count : PROCESS_THREADS_AT_REST;
}

static lanepool_options elastic_options(struct shifts *shifts)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = MOST;
    options.workers_min = 1;
    options.worker_idle_ns = 1; /* a worker without work ends at once */
    options.user = shifts;
    options.worker_start = begin_shift;
    options.worker_stop = end_shift;
    return options;
}

/* Submits `count` tasks without keys, which stop at the gate at the same time. */
static void fill(lanepool_pool *pool, struct step *steps, struct gate *gate, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        memset(&steps[i], 0, sizeof steps[i]);
        steps[i].gate = gate;
        expect_ok(step_submit(pool, &steps[i]));
    }
    expect(gate_await(gate, count));
}

static size_t threads_of(lanepool_pool *pool)
{
    lanepool_stats stats;

    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    return stats.threads;
}

Test(elastic, workers_begin_and_end_in_turn_each_time_they_come)
{
    enum { ROUNDS = 20 };
    static struct shifts shifts;
    lanepool_options options = elastic_options(&shifts);
    struct step steps[MOST];
    size_t threads_before = threads_at_rest();
    lanepool_pool *pool = pool_make_with(&options);
    struct gate gate;

    gate_init(&gate);
    for (int round = 0; round < ROUNDS; round++) {
        fill(pool, steps, &gate, MOST);
        expect_eq(threads_of(pool), MOST);
        gate_open(&gate, MOST);
        pool_settle(pool); /* no task is left at the gate */
        expect(process_has_threads(threads_before + 1));
    }
    pool_end(pool);
    for (int i = 0; i < MOST; i++) {
        expect_eq(shifts.begun[i], shifts.ended[i]);
        expect_eq(shifts.begun[i] >= (i == 0 ? 1 : ROUNDS), true);
    }
    expect_eq(shifts.begun[0], 1); /* the resident worker */
    expect(!shifts.overlap);
    expect(!shifts.foreign);
    gate_fini(&gate);
}

Test(elastic, worker_that_leaves_may_submit_and_be_wanted_again_at_once)
{
    static struct shifts shifts;
    lanepool_options options = elastic_options(&shifts);
    struct step steps[MOST];
    lanepool_pool *pool = pool_make_with(&options);
    struct gate gate;

    gate_init(&gate);
    shifts.pool = pool; /* only the first worker has started so far */
    for (int round = 0; round < 50; round++) {
        fill(pool, steps, &gate, 2);
        gate_open(&gate, 2);
        pool_settle(pool); /* no task is left at the gate */
    }
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    for (int i = 0; i < MOST; i++) {
        expect_eq(shifts.begun[i], shifts.ended[i]);
    }
    expect(!shifts.overlap);
    expect_eq(shifts.run, shifts.submitted);
    pool_end(pool);
    gate_fini(&gate);
}

Test(elastic, snapshot_and_counters_show_who_is_absent)
{
    struct shifts none = { { 0 }, { 0 }, false, false, NULL, 0, 0 };
    lanepool_options options = elastic_options(&none);
    struct step steps[2];
    lanepool_snapshot *snapshot = NULL;
    lanepool_pool *pool;
    struct gate gate;
    size_t absent = 0, running = 0;

    options.worker_idle_ns = LANEPOOL_FOREVER; /* no worker ends */
    pool = pool_make_with(&options);
    gate_init(&gate);
    expect_eq(lanepool_pool_worker_count(pool), MOST);
    expect_eq(threads_of(pool), 1);
    for (int i = 0; i < 2; i++) {
        expect(process_other_threads_sleep());
        expect_eq(threads_of(pool), 1);
        fill(pool, &steps[i], &gate, 1);
    }
    expect_eq(threads_of(pool), 2);
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    for (size_t i = 0; i < snapshot->worker_count; i++) {
        absent += snapshot->workers[i].absent;
        running += snapshot->workers[i].task != LANEPOOL_SNAPSHOT_NONE;
        expect(!snapshot->workers[i].absent || !snapshot->workers[i].asleep);
    }
    expect_eq(snapshot->worker_count, MOST);
    expect_eq(absent, 2);
    expect_eq(running, 2);
    lanepool_snapshot_release(snapshot);
    gate_open(&gate, 2);
    pool_end(pool);
    gate_fini(&gate);
}

Test(elastic, workers_that_always_stay_have_their_threads_from_the_beginning)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    size_t threads_before = threads_at_rest();
    lanepool_pool *pool;

    options.workers = MOST;
    options.workers_min = MOST - 1;
    pool = pool_make_with(&options);
    expect(process_has_threads(threads_before + MOST - 1));
    expect_eq(threads_of(pool), MOST - 1);
    pool_end(pool);
    options.workers_min = 0;
    pool = pool_make_with(&options);
    expect(process_has_threads(threads_before + MOST));
    expect_eq(threads_of(pool), MOST);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(threads_of(pool), 0);
    pool_end(pool);
}

Test(elastic, what_does_not_fit_together_is_refused)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    options.workers = 2;
    options.workers_min = 3;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    expect(pool == NULL);
    options.workers_min = 1;
    options.layout = LANEPOOL_PER_WORKER;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_UNSUPPORTED);
    expect(pool == NULL);
    options.workers_min = 2; /* no worker starts or ends */
    pool_end(pool_make_with(&options));
    options.workers_min = 0;
    options.worker_idle_ns = 1;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
    expect(pool == NULL);
}

/* The tasks of one key run in order and never two at once, while workers start and end. */
Test(elastic, keys_keep_their_order_while_workers_come_and_go)
{
    enum { KEYS = 8, EACH = 200 };
    static struct journal journals[KEYS];
    static struct step steps[KEYS][EACH];
    static struct shifts shifts;
    lanepool_options options = elastic_options(&shifts);
    lanepool_pool *pool = pool_make_with(&options);

    for (uint32_t i = 0; i < EACH; i++) {
        for (uint32_t key = 0; key < KEYS; key++) {
            steps[key][i].id = i;
            steps[key][i].journal = &journals[key];
            expect_ok(step_submit_on(pool, &steps[key][i], key));
        }
        if (i % 10 == 0) {
            pool_settle(pool);
        }
    }
    pool_end(pool);
    for (uint32_t key = 0; key < KEYS; key++) {
        expect_eq(journals[key].count, EACH);
        expect_eq(journals[key].most_running, 1);
        for (uint32_t i = 0; i < EACH; i++) {
            expect_eq(journal_place(&journals[key], i), i);
        }
    }
    for (int i = 0; i < MOST; i++) {
        expect_eq(shifts.begun[i], shifts.ended[i]);
    }
}
