/*
 * Many workers on few processors, and threads of unequal priority: a waiting thread sleeps, so that
 * the others can run.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { MANY = 64, STEPS = 2000 };

static struct step steps[STEPS];

/* Blocks in submits, in waits for futures, and in a wait for all. Returns false if a call fails. */
static bool work_through(lanepool_pool *pool)
{
    bool good = true;

    for (uint32_t i = 0; i < STEPS && good; i++) {
        lanepool_claim claims[2] = { lanepool_exclusive(i % 7), lanepool_shared(i % 5 + 10) };
        lanepool_task task;
        lanepool_future *future = NULL;

        steps[i] = (struct step){ .id = i };
        task = step_task(&steps[i], claims, 2);
        task.future = i % 50 == 0 ? &future : NULL;
        good = lanepool_pool_submit(pool, &task) == LANEPOOL_OK;
        if (good && future) {
            good = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL) == LANEPOOL_OK;
        }
        lanepool_future_release(future);
    }
    good = good && lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK;
    for (uint32_t i = 0; i < STEPS; i++) {
        good = good && steps[i].runs == 1;
    }
    return good;
}

static lanepool_options options_of(unsigned workers, lanepool_layout layout)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.layout = layout;
    options.pending_max = 4; /* submits block all the time */
    return options;
}

static void work_with(unsigned workers)
{
    static const lanepool_layout layouts[] = { LANEPOOL_PER_KEY, LANEPOOL_PER_WORKER };

    for (int i = 0; i < 2; i++) {
        lanepool_options options = options_of(workers, layouts[i]);
        lanepool_pool *pool = pool_make_with(&options);

        expect(work_through(pool));
        expect(process_other_threads_sleep()); /* no thread spins */
        pool_end(pool);
    }
}

Test(processors, one_worker_and_many_do_the_same_and_sleep_when_idle)
{
    work_with(1);
    work_with(MANY);
}

/* Returns a set with the first processor that this thread may use. */
static cpu_set_t first_processor(const cpu_set_t *allowed)
{
    cpu_set_t one;
    size_t number = 0;

    while (number < CPU_SETSIZE - 1 && !CPU_ISSET(number, allowed)) {
        number++;
    }
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    return one;
}

Test(processors, many_workers_share_one_processor)
{
    cpu_set_t allowed;
    cpu_set_t one;
    lanepool_pool *pool;

    expect_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    one = first_processor(&allowed);
    expect_eq(sched_setaffinity(0, sizeof one, &one), 0);
    pool = pool_make_with(NULL);
    expect_eq(lanepool_pool_worker_count(pool), 1); /* as many as there are usable processors */
    pool_end(pool);
    work_with(1);
    work_with(MANY);
    expect_eq(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

/* Priorities on one processor: a spinning thread would keep all threads with a lower priority from
 * running. */
struct priorities {
    bool permitted;
    bool good;
};

static bool set_priority(int policy, int priority)
{
    const struct sched_param parameters = { .sched_priority = priority };

    return sched_setscheduler(0, policy, &parameters) == 0;
}

/* Workers take over the priority of the thread that creates the pool; then it changes its own. */
static bool work_at(int workers_priority, int own_priority)
{
    bool good = true;

    for (int layout = LANEPOOL_PER_KEY; layout <= LANEPOOL_PER_WORKER && good; layout++) {
        lanepool_options options = options_of(4, (lanepool_layout)layout);
        lanepool_pool *pool;

        good = set_priority(workers_priority ? SCHED_FIFO : SCHED_OTHER, workers_priority) &&
               lanepool_pool_create(&options, &pool) == LANEPOOL_OK &&
               set_priority(own_priority ? SCHED_FIFO : SCHED_OTHER, own_priority) &&
               work_through(pool) && lanepool_pool_destroy(pool) == LANEPOOL_OK;
    }
    return good;
}

static void work_at_unequal_priorities(void *context)
{
    struct priorities *priorities = context;
    cpu_set_t allowed;
    cpu_set_t one;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    one = first_processor(&allowed);
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        return;
    }
    priorities->permitted = set_priority(SCHED_FIFO, 1);
    priorities->good = priorities->permitted && work_at(1, 1) && work_at(1, 2) && work_at(2, 1) &&
                       work_at(0, 1) && work_at(1, 0);
}

Test(processors, threads_of_any_real_time_priority_come_to_their_turn)
{
    struct priorities *priorities = process_shared_memory(sizeof *priorities);
    int status = process_run_apart(work_at_unequal_priorities, priorities);

    expect(WIFEXITED(status));
    if (!priorities->permitted) {
        printf("real-time priorities are not permitted here: not tested\n");
    } else {
        expect(priorities->good);
    }
    process_shared_memory_free(priorities, sizeof *priorities);
}
