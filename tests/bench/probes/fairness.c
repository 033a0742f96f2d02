/* How long a single task of a cold key waits while other keys are flooded: a thread keeps a number
 * of tasks of one microsecond pending on each of them. In turn with the cold tasks, a thread that
 * sleeps on a bare semaphore is woken, which shows the system's share. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "meeting.h"

#define WORKERS       2
#define BACKLOG       100000
#define BATCH         64
#define BODY_NS       1000.0
#define QUANTUM_TASKS 64
#define REFILL_NS     200000.0
#define COLD_TASKS    200
#define COLD_GAP_NS   700000 /* on average */
#define COLD_KEYS     1000   /* the first of the cold keys */

static uint64_t body_rounds;

/* A key that always has pending tasks. They run one at a time, so that only one of them writes. */
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
    size_t backlog; /* how many tasks are pending on each */
    pthread_t thread;
    atomic_bool is_high; /* every key has reached its backlog */
    atomic_bool stop;
};

static int run_flood(lanepool_run *run, void *context)
{
    struct flood *flood = context;
    (void)run;
    waits_body(body_rounds);
    size_t finished = atomic_load_explicit(&flood->finished, memory_order_relaxed);
    atomic_store_explicit(&flood->finished, finished + 1, memory_order_relaxed);
    return 0;
}

static void flood_init(struct flood *flood, uint64_t key)
{
    flood->claim = lanepool_exclusive(key);
    for (size_t i = 0; i < BATCH; i++) {
        flood->tasks[i] = (lanepool_task)LANEPOOL_TASK_INIT;
        flood->tasks[i].function = run_flood;
        flood->tasks[i].context = flood;
        flood->tasks[i].claims = &flood->claim;
        flood->tasks[i].claim_count = 1;
    }
}

static size_t pending(const struct flood *flood)
{
    return flood->submitted - atomic_load_explicit(&flood->finished, memory_order_relaxed);
}

static void flood_fill(struct flooding *flooding, struct flood *flood)
{
    while (pending(flood) + BATCH <= flooding->backlog) {
        probe_require(lanepool_pool_submit_batch(flooding->pool, flood->tasks, BATCH,
                                                 LANEPOOL_FOREVER, NULL) == LANEPOOL_OK,
                      "the submit of a batch");
        flood->submitted += BATCH;
    }
}

static void *keep_high(void *argument)
{
    struct flooding *flooding = argument;
    timing_be_punctual();
    while (!atomic_load(&flooding->stop)) {
        for (size_t i = 0; i < flooding->count; i++)
            flood_fill(flooding, &flooding->floods[i]);
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

static int run_cold(lanepool_run *run, void *context)
{
    double *started_ns = context;
    (void)run;
    *started_ns = probe_now_ns();
    return 0;
}

/* One configuration, and its results. */
struct measurement {
    lanepool_routing routing;
    size_t floods, backlog;
    size_t count;      /* of cold tasks */
    double *cold_ns;   /* how long each task waited */
    double *thread_ns; /* how long the bare semaphore's thread waited */
};

static void wait_for_gap(double *next_ns, uint64_t *state)
{
    *next_ns += (double)(probe_random(state) % (2 * COLD_GAP_NS));
    timing_sleep_until(*next_ns);
}

static void submit_cold(const struct measurement *measurement, lanepool_pool *pool)
{
    size_t count = measurement->count;
    double *submitted_ns = probe_memory(count, sizeof *submitted_ns);
    struct meeting *posted = probe_memory(count, sizeof *posted);
    struct meeting_thread *thread = meeting_thread_start();
    uint64_t state = 1;
    double next_ns = probe_now_ns();
    for (size_t i = 0; i < count; i++) {
        wait_for_gap(&next_ns, &state);
        submitted_ns[i] = probe_now_ns();
        waits_submit(pool, run_cold, &measurement->cold_ns[i], COLD_KEYS + i);
        wait_for_gap(&next_ns, &state);
        meeting_prepare(&posted[i], 0);
        measurement->thread_ns[i] = -probe_now_ns();
        meeting_thread_post(thread, &posted[i]);
        meeting_wait(&posted[i]);
        measurement->thread_ns[i] += posted[i].started_ns;
    }
    meeting_thread_end(thread);
    probe_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK, "all have run");
    for (size_t i = 0; i < count; i++)
        measurement->cold_ns[i] -= submitted_ns[i];
    free(posted);
    free(submitted_ns);
}

static void measure(const struct measurement *measurement)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = WORKERS;
    options.routing = measurement->routing;
    options.quantum_tasks = QUANTUM_TASKS;
    options.pending_max = LANEPOOL_UNLIMITED;
    struct flooding flooding = { .pool = probe_pool_create(&options),
                                 .count = measurement->floods,
                                 .backlog = measurement->backlog };
    flooding_start(&flooding);
    submit_cold(measurement, flooding.pool);
    flooding_stop(&flooding);
    probe_pool_destroy(flooding.pool);
    free(flooding.floods);
    timing_sort(measurement->cold_ns, measurement->count);
    timing_sort(measurement->thread_ns, measurement->count);
}

static void print(const char *series, double floods, const double *sorted_ns, size_t count)
{
    probe_point("cold_p50", series, floods, timing_quantile(sorted_ns, count, 0.5) / 1000, "us");
    probe_point("cold_p99", series, floods, timing_quantile(sorted_ns, count, 0.99) / 1000, "us");
    probe_point("cold_max", series, floods, timing_quantile(sorted_ns, count, 1) / 1000, "us");
}

static void print_backlog(const char *series, const struct measurement *measurement)
{
    probe_point("cold_by_backlog", series, (double)measurement->backlog,
                timing_quantile(measurement->cold_ns, measurement->count, 0.99) / 1000, "us");
}

static void measure_floods(const char *series, struct measurement measurement, size_t floods)
{
    size_t count = measurement.count;
    measurement.floods = floods;
    measurement.backlog = BACKLOG;
    measure(&measurement);
    print(series, (double)floods, measurement.cold_ns, count);
    if (measurement.routing == LANEPOOL_ROUTING_DEFAULT)
        print("bare semaphore", (double)floods, measurement.thread_ns, count);
    /* The tasks that may be ready before it: one task of each flooded key, and its quantum. */
    double bound_ns = (double)(floods + 1) * (QUANTUM_TASKS + 1) * BODY_NS;
    probe_point("cold_to_bound", series, (double)floods,
                timing_quantile(measurement.cold_ns, count, 0.99) / bound_ns, "times the bound");
    if (floods == WORKERS)
        print_backlog(series, &measurement);
}

/* There are as many flooded keys as workers. */
static void measure_backlog(const char *series, struct measurement measurement, size_t backlog)
{
    measurement.floods = WORKERS;
    measurement.backlog = backlog;
    measure(&measurement);
    print_backlog(series, &measurement);
}

int main(int argc, char **argv)
{
    static const size_t floods[] = { 0, 1, 2, 4 };
    static const size_t backlogs[] = { 100, 1000, 10000 }; /* and BACKLOG */
    struct probe_options options = probe_options_read(argc, argv);
    size_t count = probe_scaled(&options, COLD_TASKS, 20);
    struct measurement workers_route = { .routing = LANEPOOL_ROUTING_DEFAULT, .count = count };
    workers_route.cold_ns = probe_memory(count, sizeof(double));
    workers_route.thread_ns = probe_memory(count, sizeof(double));
    struct measurement submitters_route = workers_route;
    submitters_route.routing = LANEPOOL_ROUTING_SUBMITTER;
    body_rounds = waits_body_rounds(BODY_NS);
    timing_be_punctual();
    for (size_t i = 0; i < sizeof floods / sizeof *floods; i++) {
        measure_floods("workers route", workers_route, floods[i]);
        measure_floods("submitters route", submitters_route, floods[i]);
    }
    for (size_t i = 0; i < sizeof backlogs / sizeof *backlogs; i++) {
        measure_backlog("workers route", workers_route, backlogs[i]);
        measure_backlog("submitters route", submitters_route, backlogs[i]);
    }
    free(workers_route.thread_ns);
    free(workers_route.cold_ns);
    return 0;
}
