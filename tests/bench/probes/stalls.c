/*
 * How long a submit takes at worst while memory goes back: after a burst of four million tasks, a
 * thread submits one task after the other, and a second one waits for the pool and trims it.
 *
 * Submits in which the system took the processor from the thread are counted, but left out.
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "waits.h"

#define BURST       4000000
#define KEYS        1024
#define SAMPLES_MAX 20000000
#define LOOK_NS     10000 /* a submit of this length or longer may have been interrupted */
#define AFTER_NS    1e9

struct stalls {
    lanepool_pool *pool;
    double *taken_ns;
    size_t sample_count;
    size_t interrupted;
    _Atomic bool ends;
};

static int do_nothing(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

static void submit_one(lanepool_pool *pool, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key % KEYS);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = do_nothing;
    task.claims = &claim;
    task.claim_count = 1;
    probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "a submit");
}

static long switches(void)
{
    struct rusage usage;
    probe_require(getrusage(RUSAGE_THREAD, &usage) == 0, "the thread's usage");
    return usage.ru_nivcsw;
}

static void *submit_and_measure(void *argument)
{
    struct stalls *stalls = argument;
    long seen = switches();
    for (uint64_t i = 0; !atomic_load(&stalls->ends) && stalls->sample_count < SAMPLES_MAX; i++) {
        double begin_ns = probe_now_ns();
        submit_one(stalls->pool, i);
        double taken_ns = probe_now_ns() - begin_ns;
        long now = taken_ns >= LOOK_NS || i % 64 == 0 ? switches() : seen;
        if (taken_ns >= LOOK_NS && now != seen)
            stalls->interrupted++;
        else
            stalls->taken_ns[stalls->sample_count++] = taken_ns;
        seen = now;
    }
    return NULL;
}

static void measure(struct stalls *stalls, size_t burst, bool trims, const char *series)
{
    pthread_t thread;
    stalls->sample_count = 0;
    stalls->interrupted = 0;
    atomic_store(&stalls->ends, false);
    struct probe_gate *gates[2] = { probe_gate_shut(stalls->pool, 0),
                                    probe_gate_shut(stalls->pool, 0) };
    for (size_t i = 0; i < burst; i++)
        submit_one(stalls->pool, i);
    for (int i = 0; i < 2; i++) {
        probe_gate_open(gates[i]);
        (void)probe_gate_gone(gates[i]);
    }
    probe_require(lanepool_pool_quiesce(stalls->pool, LANEPOOL_FOREVER) == LANEPOOL_OK,
                  "a quiesce");
    probe_require(pthread_create(&thread, NULL, submit_and_measure, stalls) == 0, "a thread");
    double begin_ns = probe_now_ns();
    while (probe_now_ns() - begin_ns < AFTER_NS) {
        lanepool_status status = trims ? lanepool_pool_trim(stalls->pool)
                                       : lanepool_pool_quiesce(stalls->pool, LANEPOOL_FOREVER);
        probe_require(status == LANEPOOL_OK, series);
    }
    atomic_store(&stalls->ends, true);
    probe_require(pthread_join(thread, NULL) == 0, "the thread's end");
    waits_print_tail("submit_stall", series, stalls->taken_ns, stalls->sample_count);
    probe_point("submit_stall", series, 10000,
                timing_quantile(stalls->taken_ns, stalls->sample_count, 0.9999) / 1e3, "us");
    probe_point("submit_stall_max", series, 0,
                timing_quantile(stalls->taken_ns, stalls->sample_count, 1) / 1e3, "us");
    probe_point("submit_interrupted", series, 0, (double)stalls->interrupted, "submits");
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t burst = probe_scaled(&options, BURST, 100000);
    lanepool_options pool_options = LANEPOOL_OPTIONS_INIT;
    pool_options.workers = 2;
    pool_options.pending_max = LANEPOOL_UNLIMITED;
    struct stalls stalls = { .pool = probe_pool_create(&pool_options),
                             .taken_ns = probe_memory(SAMPLES_MAX, sizeof(double)) };
    measure(&stalls, burst, false, "beside quiesce");
    measure(&stalls, burst, true, "beside trim");
    probe_pool_destroy(stalls.pool);
    free(stalls.taken_ns);
    return 0;
}
