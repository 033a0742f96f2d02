/* The program's settings for the threads of its pool: their names, and what each of them prepares
 * and cleans up. */
#define _GNU_SOURCE /* pthread_getname_np */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { NAME_SIZE = 16 };

#define HOUR_NS INT64_C(3600000000000)

/* The name of a thread of the pool, read in a call on it. */
struct look {
    struct gate *gate; /* or NULL */
    size_t worker;
    char name[NAME_SIZE];
};

static void look_when_cancelled(void *context, lanepool_status why)
{
    struct look *look = context;

    (void)why;
    pthread_getname_np(pthread_self(), look->name, sizeof look->name);
}

static int look_body(lanepool_run *run, void *context)
{
    struct look *look = context;

    look->worker = lanepool_run_worker(run);
    pthread_getname_np(pthread_self(), look->name, sizeof look->name);
    if (look->gate) {
        gate_pass(look->gate);
    }
    return 0;
}

static lanepool_task look_task(struct look *look)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = look_body;
    task.cancelled = look_when_cancelled;
    task.context = look;
    return task;
}

/* Returns a pool in which a look runs on the clock thread: a delayed task that a shutdown cancels
 * is called there. */
static lanepool_pool *pool_with_a_look_at_its_clock(const char *name, unsigned workers,
                                                    struct look *clock)
{
    char passing[64];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = look_task(clock);
    lanepool_pool *pool;

    options.workers = workers;
    options.name = passing;
    snprintf(passing, sizeof passing, "%s", name);
    pool = pool_make_with(&options);
    memset(passing, '?', sizeof passing - 1);
    expect_ok(lanepool_pool_submit_after(pool, &task, HOUR_NS));
    return pool;
}

/* A long name is cut off before the worker's number, and before "/clock". */
static void threads_are_named(const char *name, unsigned workers, const char *before_number,
                              const char *before_clock)
{
    enum { WORKERS_MAX = 12 };
    struct look looks[WORKERS_MAX], clock = { NULL, 0, "" };
    struct gate gate;
    char wanted[64];
    lanepool_pool *pool = pool_with_a_look_at_its_clock(name, workers, &clock);

    gate_init(&gate);
    for (unsigned i = 0; i < workers; i++) {
        lanepool_task task = look_task(&looks[i]);

        looks[i].gate = &gate;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect(gate_await(&gate, workers)); /* each worker has one of them */
    gate_open(&gate, workers);
    pool_end(pool);
    for (unsigned i = 0; i < workers; i++) {
        snprintf(wanted, sizeof wanted, "%s/%zu", before_number, looks[i].worker);
        expect(strcmp(looks[i].name, wanted) == 0);
    }
    snprintf(wanted, sizeof wanted, "%s/clock", before_clock);
    expect(strcmp(clock.name, wanted) == 0);
    gate_fini(&gate);
}

Test(workers, threads_carry_the_name_of_the_pool)
{
    threads_are_named("ledger", 12, "ledger", "ledger");
    threads_are_named("x", 1, "x", "x");
    threads_are_named("ninebytes", 2, "ninebytes", "ninebytes");
}

Test(workers, a_long_name_is_cut_between_characters)
{
    threads_are_named("accounts-of-the-north-and-of-the-south", 2, "accounts-of-t", "accounts-");
    threads_are_named("abcdefgh\xC3\xA9", 2, "abcdefgh\xC3\xA9", "abcdefgh");
    threads_are_named("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", 1,
                      "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC",
                      "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC");
}

Test(workers, without_a_name_threads_are_called_like_who_starts_them)
{
    char own[NAME_SIZE];
    struct look worker = { NULL, 0, "" }, clock = { NULL, 0, "" };
    lanepool_task task = look_task(&worker);
    lanepool_pool *pool = pool_with_a_look_at_its_clock("", 1, &clock);

    expect_eq(pthread_getname_np(pthread_self(), own, sizeof own), 0);
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect(strcmp(worker.name, own) == 0);
    expect(strcmp(clock.name, own) == 0);
}

/* The records of one worker's worker_start and worker_stop. */
struct bench {
    pthread_t thread;
    _Atomic unsigned starts;
    _Atomic unsigned stops;
    void *stopped_with;
    bool stopped_elsewhere;
};

enum { BENCHES = 4 };

struct shop {
    struct bench benches[BENCHES];
    _Atomic unsigned tasks;       /* tasks that have found their worker's bench */
    _Atomic unsigned wrong_tasks; /* tasks that have found any other context */
};

static void *set_up(void *user, size_t worker_index)
{
    struct shop *shop = user;
    struct bench *bench = &shop->benches[worker_index];

    bench->thread = pthread_self();
    atomic_fetch_add(&bench->starts, 1);
    return bench;
}

static void clear_up(void *user, size_t worker_index, void *context)
{
    struct shop *shop = user;
    struct bench *bench = &shop->benches[worker_index];

    bench->stopped_with = context;
    bench->stopped_elsewhere = !pthread_equal(bench->thread, pthread_self());
    atomic_fetch_add(&bench->stops, 1);
}

static int work_body(lanepool_run *run, void *context)
{
    struct shop *shop = context;
    struct bench *bench = lanepool_run_worker_context(run);
    bool is_right = bench && bench == &shop->benches[lanepool_run_worker(run)] &&
                    atomic_load(&bench->starts) == 1 && atomic_load(&bench->stops) == 0 &&
                    pthread_equal(bench->thread, pthread_self());

    atomic_fetch_add(is_right ? &shop->tasks : &shop->wrong_tasks, 1);
    return 0;
}

static lanepool_pool *open_shop(struct shop *shop, unsigned workers, lanepool_layout layout)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.layout = layout;
    options.user = shop;
    options.worker_start = set_up;
    options.worker_stop = clear_up;
    return pool_make_with(&options);
}

static void shop_was_left_clean(const struct shop *shop, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++) {
        expect_eq(atomic_load(&shop->benches[i].starts), 1);
        expect_eq(atomic_load(&shop->benches[i].stops), 1);
        expect(shop->benches[i].stopped_with == &shop->benches[i]);
        expect(!shop->benches[i].stopped_elsewhere);
    }
}

static void submit_work(lanepool_pool *pool, struct shop *shop, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        lanepool_claim claim = lanepool_exclusive(i % 7);
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = work_body;
        task.context = shop;
        task.claims = &claim;
        task.claim_count = 1;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
}

static void workers_have_contexts(lanepool_layout layout)
{
    enum { TASKS = 500 };
    struct shop shop = { .tasks = 0 };
    lanepool_pool *pool = open_shop(&shop, BENCHES, layout);

    submit_work(pool, &shop, TASKS);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    shop_was_left_clean(&shop, BENCHES);
    expect_eq(atomic_load(&shop.tasks), TASKS);
    expect_eq(atomic_load(&shop.wrong_tasks), 0);
    pool_end(pool);
    shop_was_left_clean(&shop, BENCHES);
}

Test(workers, each_begins_and_ends_once_and_its_tasks_find_its_context)
{
    workers_have_contexts(LANEPOOL_PER_KEY);
}

Test(workers, each_begins_and_ends_once_and_its_tasks_find_its_context_per_worker)
{
    workers_have_contexts(LANEPOOL_PER_WORKER);
}

Test(workers, each_begins_and_ends_in_a_pool_that_is_never_used)
{
    struct shop shop = { .tasks = 0 };

    pool_end(open_shop(&shop, BENCHES, LANEPOOL_PER_KEY));
    shop_was_left_clean(&shop, BENCHES);
}

static int shut_down_body(lanepool_run *run, void *context)
{
    gate_pass(context);
    return lanepool_pool_shutdown_now(lanepool_run_pool(run), NULL, NULL);
}

static int wrong_body(lanepool_run *run, void *context)
{
    struct shop *shop = context;

    (void)run;
    atomic_fetch_add(&shop->wrong_tasks, 1);
    return 0;
}

static void note_cancelled(void *context, lanepool_status why)
{
    struct shop *shop = context;
    const struct bench *bench = &shop->benches[0];
    bool is_late = pthread_equal(bench->thread, pthread_self()) && atomic_load(&bench->stops) > 0;

    (void)why;
    atomic_fetch_add(is_late ? &shop->wrong_tasks : &shop->tasks, 1);
}

Test(workers, nothing_is_called_on_a_worker_after_its_end)
{
    struct gate gate;
    struct shop shop = { .tasks = 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = open_shop(&shop, 1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    task.function = shut_down_body;
    task.context = &gate;
    expect_ok(lanepool_pool_submit(pool, &task));
    task.function = wrong_body;
    task.cancelled = note_cancelled;
    task.context = &shop;
    expect_ok(lanepool_pool_submit(pool, &task));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    shop_was_left_clean(&shop, 1);
    expect_eq(atomic_load(&shop.tasks), 1);
    expect_eq(atomic_load(&shop.wrong_tasks), 0);
    pool_end(pool);
    gate_fini(&gate);
}

static int exit_body(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    pthread_exit(NULL);
}

Test(workers, a_task_that_ends_its_thread_leaves_the_context_to_the_next)
{
    struct shop shop = { .tasks = 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = open_shop(&shop, 1, LANEPOOL_PER_KEY);

    task.function = exit_body;
    submit_work(pool, &shop, 1);
    expect_ok(lanepool_pool_submit(pool, &task));
    submit_work(pool, &shop, 1);
    pool_end(pool);
    shop_was_left_clean(&shop, 1);
    expect_eq(atomic_load(&shop.tasks), 2);
    expect_eq(atomic_load(&shop.wrong_tasks), 0);
}

/* The worker context that a call finds. */
struct finding {
    void *context;
    unsigned calls;
};

static int find_body(lanepool_run *run, void *context)
{
    struct finding *finding = context;

    finding->context = lanepool_run_worker_context(run);
    finding->calls++;
    return 0;
}

static lanepool_task find_task(struct finding *finding)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = find_body;
    task.context = finding;
    return task;
}

Test(workers, without_the_option_there_is_no_context)
{
    struct finding finding = { &finding, 0 };
    lanepool_task task = find_task(&finding);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(finding.calls, 1);
    expect(finding.context == NULL);
}

static void *get_user(void *user, size_t worker_index)
{
    (void)worker_index;
    return user;
}

/* The worker waits at the gate, and the pool is full. */
Test(workers, calls_on_other_threads_have_no_context)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct finding by_caller = { &by_caller, 0 }, cancelled = { &cancelled, 0 };
    lanepool_task run_task = find_task(&by_caller), cancelled_task = find_task(&cancelled);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_future *future;
    lanepool_pool *pool;

    gate_init(&gate);
    options.workers = 1;
    options.pending_max = 2;
    options.user = &gate;
    options.worker_start = get_user;
    pool = pool_make_with(&options);
    cancelled_task.future = &future;
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_submit(pool, &cancelled_task));
    expect_ok(lanepool_pool_submit_or_run(pool, &run_task));
    expect_ok(lanepool_future_cancel(future));
    expect_eq(by_caller.calls, 1);
    expect(by_caller.context == NULL);
    expect_eq(cancelled.calls, 0);
    gate_open(&gate, 1);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&gate);
}

/* The answers of the pool's calls while one of its workers starts and ends. */
struct answers {
    struct gate gate; /* arrivals: the pool is known */
    lanepool_pool *pool;
    struct step step;
    lanepool_status submit_at_start;
    lanepool_status quiesce_at_start;
    lanepool_status submit_at_stop;
    lanepool_status await_at_stop;
    lanepool_status destroy_at_stop;
};

static void *ask_at_start(void *user, size_t worker_index)
{
    struct answers *answers = user;

    (void)worker_index;
    gate_pass(&answers->gate);
    answers->submit_at_start = step_submit_on(answers->pool, &answers->step, 1);
    answers->quiesce_at_start = lanepool_pool_quiesce(answers->pool, LANEPOOL_FOREVER);
    gate_arrive(&answers->gate);
    return answers;
}

static void ask_at_stop(void *user, size_t worker_index, void *context)
{
    struct answers *answers = context;

    (void)user, (void)worker_index;
    answers->submit_at_stop = step_submit_on(answers->pool, &answers->step, 1);
    answers->await_at_stop = lanepool_pool_await(answers->pool, LANEPOOL_FOREVER);
    answers->destroy_at_stop = lanepool_pool_destroy(answers->pool);
}

static void ask_in_callbacks(lanepool_layout layout)
{
    struct answers answers = { .pool = NULL };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    gate_init(&answers.gate);
    options.workers = 1;
    options.layout = layout;
    options.user = &answers;
    options.worker_start = ask_at_start;
    options.worker_stop = ask_at_stop;
    answers.pool = pool_make_with(&options);
    gate_open(&answers.gate, 1);
    expect(gate_await(&answers.gate, 2)); /* it has started, and has its answers */
    pool_end(answers.pool);
    expect_ok(answers.submit_at_start);
    expect_status(answers.quiesce_at_start, LANEPOOL_DEADLOCK);
    expect_status(answers.submit_at_stop, LANEPOOL_SHUT_DOWN);
    expect_status(answers.await_at_stop, LANEPOOL_DEADLOCK);
    expect_status(answers.destroy_at_stop, LANEPOOL_DEADLOCK);
    expect_eq(answers.step.runs, 1);
    gate_fini(&answers.gate);
}

Test(workers, callbacks_may_submit_at_the_beginning_and_never_wait)
{
    ask_in_callbacks(LANEPOOL_PER_KEY);
}

Test(workers, callbacks_may_submit_at_the_beginning_and_never_wait_per_worker)
{
    ask_in_callbacks(LANEPOOL_PER_WORKER);
}
