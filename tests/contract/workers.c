/* What a program says about the threads of its pool: how they are called. */
#define _GNU_SOURCE /* pthread_getname_np */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { NAME_SIZE = 16 };

#define HOUR_NS INT64_C(3600000000000)

/* How the system calls a thread of the pool, as seen in a call on it. */
struct look {
    struct gate *gate; /* may be NULL */
    size_t worker;
    char name[NAME_SIZE];
};

static int look_body(lanepool_run *run, void *context, lanepool_call call)
{
    struct look *look = context;

    (void)call;
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
    task.context = look;
    return task;
}

/* A delayed task that a shutdown cancels is called on the clock thread. */
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

/* What is left of the name stands before a worker's number, and before "/clock". */
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
