/* How long a single task of a cold key waits while other keys are flooded: a thread sees to it
 * that each of them always has a hundred thousand tasks of a microsecond pending. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "waits.h"

#define WORKERS       2
#define FLOODS_MAX    4
#define BACKLOG       100000
#define BATCH         64
#define BODY_NS       1000.0
#define QUANTUM_TASKS 64
#define REFILL_NS     200000.0
#define COLD_TASKS    250
#define COLD_GAP_NS   2000000 /* on average */
#define COLD_KEYS     1000    /* and those that follow */

static uint64_t body_rounds;

/* A key that always has tasks pending. They run one at a time, so that one of them writes. */
struct flood {
    _Alignas(PROBE_LINE) atomic_size_t finished;
    _Alignas(PROBE_LINE) size_t submitted;
    lanepool_claim claim;
    lanepool_task tasks[BATCH];
};

struct flooding {
    lanepool_pool *pool;
    struct flood *floods;
    size_t count;
    pthread_t thread;
    atomic_bool is_high; /* every key has had its backlog */
    atomic_bool stop;
};

static int run_flood(lanepool_run *run, void *context, lanepool_call call)
{
    struct flood *flood = context;
    (void)run;
    probe_require(call == LANEPOOL_CALL_RUN, "a task is run");
    waits_body(body_rounds);
    size_t finished = atomic_load_explicit(&flood->finished, memory_order_relaxed);
    atomic_store_explicit(&flood->finished, finished + 1, memory_order_relaxed);
    return 0;
}

static void flood_init(struct flood *flood, uint64_t key)
{
    flood->claim = lanepool_claim_id(key, LANEPOOL_EXCLUSIVE);
    for (size_t i = 0; i < BATCH; i++) {
        flood->tasks[i] = (lanepool_task)LANEPOOL_TASK_INIT;
        flood->tasks[i].function = run_flood;
        flood->tasks[i].context = flood;
        flood->tasks[i].claims = &flood->claim;
        flood->tasks[i].claim_count = 1;
    }
}

static void flood_fill(lanepool_pool *pool, struct flood *flood)
{
    while (flood->submitted - atomic_load_explicit(&flood->finished, memory_order_relaxed) +
               BATCH <=
           BACKLOG) {
        probe_require(lanepool_pool_submit_batch(pool, flood->tasks, BATCH, LANEPOOL_FOREVER,
                                                 NULL) == LANEPOOL_OK,
                      "the submit of a batch");
        flood->submitted += BATCH;
    }
}

static void *keep_high(void *argument)
{
    struct flooding *flooding = argument;
    waits_be_punctual();
    while (!atomic_load(&flooding->stop)) {
        for (size_t i = 0; i < flooding->count; i++)
            flood_fill(flooding->pool, &flooding->floods[i]);
        atomic_store(&flooding->is_high, true);
        waits_sleep(REFILL_NS);
    }
    return NULL;
}

static void flooding_start(struct flooding *flooding)
{
    if (flooding->count == 0)
        return;
    flooding->floods = aligned_alloc(PROBE_LINE, flooding->count * sizeof *flooding->floods);
    probe_require(flooding->floods != NULL, "memory");
    for (size_t i = 0; i < flooding->count; i++) {
        struct flood *flood = &flooding->floods[i];
        atomic_init(&flood->finished, 0);
        flood->submitted = 0;
        flood_init(flood, i);
    }
    probe_require(pthread_create(&flooding->thread, NULL, keep_high, flooding) == 0, "a thread");
    while (!atomic_load(&flooding->is_high))
        waits_sleep(REFILL_NS);
}

static void flooding_stop(struct flooding *flooding)
{
    if (flooding->count == 0)
        return;
    atomic_store(&flooding->stop, true);
    pthread_join(flooding->thread, NULL);
}

static int run_cold(lanepool_run *run, void *context, lanepool_call call)
{
    double *started_ns = context;
    (void)run;
    probe_require(call == LANEPOOL_CALL_RUN, "a task is run");
    *started_ns = probe_now_ns();
    return 0;
}

static void submit_cold(lanepool_pool *pool, double *submitted_ns, double *started_ns, size_t count)
{
    uint64_t state = 1;
    double next_ns = probe_now_ns();
    for (size_t i = 0; i < count; i++) {
        next_ns += (double)(probe_random(&state) % (2 * COLD_GAP_NS));
        waits_sleep_until(next_ns);
        submitted_ns[i] = probe_now_ns();
        waits_submit(pool, run_cold, &started_ns[i], COLD_KEYS + i);
    }
}

static void print(const char *series, size_t floods, double *waited_ns, size_t count)
{
    /* What may stand ready before it: of each flooded key one task, and after it its quantum. */
    double bound_ns = (double)(floods + 1) * (QUANTUM_TASKS + 1) * BODY_NS;
    waits_sort(waited_ns, count);
    double p99_ns = waits_quantile(waited_ns, count, 0.99);
    probe_point("cold_p50", series, (double)floods, waits_quantile(waited_ns, count, 0.5) / 1000,
                "us");
    probe_point("cold_p99", series, (double)floods, p99_ns / 1000, "us");
    probe_point("cold_max", series, (double)floods, waits_quantile(waited_ns, count, 1) / 1000,
                "us");
    probe_point("cold_to_bound", series, (double)floods, p99_ns / bound_ns, "times the bound");
}

static void measure(const struct probe_options *options, const char *series,
                    lanepool_routing routing, size_t floods)
{
    size_t count = probe_scaled(options, COLD_TASKS, 20);
    double *submitted_ns = probe_memory(count, sizeof *submitted_ns);
    double *started_ns = probe_memory(count, sizeof *started_ns);
    lanepool_options pool_options = LANEPOOL_OPTIONS_INIT;
    pool_options.workers = WORKERS;
    pool_options.routing = routing;
    pool_options.quantum_tasks = QUANTUM_TASKS;
    pool_options.pending_max = LANEPOOL_UNLIMITED;
    struct flooding flooding = { .pool = probe_pool_create(&pool_options), .count = floods };
    flooding_start(&flooding);
    submit_cold(flooding.pool, submitted_ns, started_ns, count);
    flooding_stop(&flooding);
    probe_pool_destroy(flooding.pool);
    for (size_t i = 0; i < count; i++)
        started_ns[i] -= submitted_ns[i];
    print(series, floods, started_ns, count);
    free(flooding.floods);
    free(started_ns);
    free(submitted_ns);
}

int main(int argc, char **argv)
{
    static const size_t floods[] = { 0, 1, 2, FLOODS_MAX };
    struct probe_options options = probe_options_read(argc, argv);
    body_rounds = waits_body_rounds(BODY_NS);
    waits_be_punctual();
    for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
        measure(&options, "workers route", LANEPOOL_ROUTING_DEFAULT, floods[i]);
        measure(&options, "submitters route", LANEPOOL_ROUTING_SUBMITTER, floods[i]);
    }
    return 0;
}
