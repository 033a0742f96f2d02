/*
 * What parked tasks cost others, and what resolving them costs.
 *
 * The process stays on one CPU. With two, most of a submit-and-wait is the time that the system
 * takes to wake the other CPU, and that varies.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>

#include "probe.h"

#define ROUNDS  2000
#define CLIENT  1
#define OTHER   2
#define PENDING ((uint64_t)1 << 40)

static int work(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

static int fail(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 1;
}

/* A task that another client completes later, so that a quiesce waits. */
static int detach(lanepool_run *run, void *context)
{
    probe_require(lanepool_run_detach(run, context) == LANEPOOL_OK, "a task detaches");
    return 0;
}

static void submit(lanepool_pool *pool, lanepool_task_fn function, void *context, uint64_t key,
                   lanepool_future **future)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.function = function;
    task.context = context;
    task.claims = &claim;
    task.claim_count = 1;
    task.future = future;
    task.on_failure = function == fail ? &policy : NULL;
    probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "a submit");
}

/* Returns the median time of a submit and wait of another client, in microseconds. */
static double round_trip(lanepool_pool *pool, size_t rounds)
{
    double *times = probe_memory(rounds, sizeof *times);
    for (size_t i = 0; i < rounds; i++) {
        lanepool_future *future;
        double begin_ns = probe_now_ns();
        submit(pool, work, NULL, OTHER, &future);
        probe_require(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL) == LANEPOOL_OK, "wait");
        lanepool_future_release(future);
        times[i] = (probe_now_ns() - begin_ns) / 1e3;
    }
    double median = probe_median(times, rounds);
    free(times);
    return median;
}

/* A quiesce that timed out, while a task is detached, is still looked at until the next check. */
static void measure_beside(size_t behind, size_t rounds)
{
    lanepool_pool *pool = probe_pool_create(NULL);
    lanepool_detached *detached;
    lanepool_future *future;
    submit(pool, fail, NULL, CLIENT, NULL);
    for (size_t i = 0; i < behind; i++)
        submit(pool, work, NULL, CLIENT, NULL);
    probe_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_PARKED, "parked");
    probe_point("beside_parked", "after a quiesce", (double)behind, round_trip(pool, rounds), "us");
    submit(pool, detach, &detached, PENDING, &future);
    probe_require(lanepool_pool_quiesce(pool, 1000000) == LANEPOOL_TIMED_OUT, "a task is detached");
    probe_point("beside_parked", "beside a detached task", (double)behind, round_trip(pool, rounds),
                "us");
    probe_require(lanepool_task_complete(detached, 0, NULL) == LANEPOOL_OK, "it completes");
    lanepool_future_release(future);
    probe_require(lanepool_pool_shutdown(pool) == LANEPOOL_OK, "a drain begins");
    probe_require(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, NULL) == LANEPOOL_OK,
                  "all are resolved");
    probe_pool_destroy(pool);
}

/* The mean time of resolving one parked task, oldest first. */
static void measure_resolve(size_t count)
{
    lanepool_pool *pool = probe_pool_create(NULL);
    lanepool_parked_tasks *parked;
    for (size_t i = 0; i < count; i++)
        submit(pool, fail, NULL, i, NULL);
    probe_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_PARKED, "parked");
    probe_require(lanepool_pool_parked(pool, &parked) == LANEPOOL_OK, "a list");
    double begin_ns = probe_now_ns();
    for (size_t i = 0; i < parked->count / 2; i++)
        probe_require(lanepool_pool_resolve(pool, parked->tasks[i].ticket, LANEPOOL_RESOLVE_SKIP) ==
                          LANEPOOL_OK,
                      "one is resolved");
    double middle_ns = probe_now_ns();
    probe_require(lanepool_pool_resolve_all(pool, LANEPOOL_RESOLVE_SKIP, NULL) == LANEPOOL_OK,
                  "the rest is resolved");
    double half = (double)(count / 2);
    probe_point("resolve", "one by one", (double)count, (middle_ns - begin_ns) / half, "ns");
    probe_point("resolve", "all at once", (double)count, (probe_now_ns() - middle_ns) / half, "ns");
    lanepool_parked_tasks_release(parked);
    probe_pool_destroy(pool);
}

static void stay_on_one_cpu(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    probe_require(sched_setaffinity(0, sizeof one, &one) == 0, "one CPU");
}

int main(int argc, char **argv)
{
    static const size_t counts[] = { 0, 100, 10000, 100000 };
    struct probe_options options = probe_options_read(argc, argv);
    stay_on_one_cpu();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        measure_beside(counts[i], probe_scaled(&options, ROUNDS, 10));
    for (size_t i = 1; i < sizeof counts / sizeof *counts; i++)
        measure_resolve(counts[i]);
    return 0;
}
