/* How much work is done with more workers, and from more submitting threads. Efficiency is the time
 * of the bodies, divided by the time of as many processors as there are workers (or as there are at
 * all). */
#include <pthread.h>
#include <stdatomic.h>

#include "support/process.h"
#include "waits.h"

#define KEYS           1024
#define BATCH_MAX      64
#define SUBMITTERS_MAX 16
#define WORK_NS        100e6 /* of bodies, for each processor */
#define EMPTY_TASKS    400000
#define SEVERAL        4 /* the number of submitters in some curves */
#define EFFICIENCY     "of the processors' time"

/* One measurement. */
struct crowd {
    lanepool_pool *pool;
    unsigned workers, submitters; /* SUBMITTERS_MAX at most */
    size_t batch;                 /* 1: one by one */
    size_t tasks;                 /* for each submitter */
    atomic_uint seeds;            /* drawn so far: each submitter draws other keys */
    pthread_barrier_t all;        /* all threads start here together */
};

static uint64_t body_rounds; /* 0: empty bodies */

static int work(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    waits_body(body_rounds);
    return 0;
}

static void describe(lanepool_task *tasks, lanepool_claim *claims)
{
    for (size_t i = 0; i < BATCH_MAX; i++) {
        tasks[i] = (lanepool_task)LANEPOOL_TASK_INIT;
        tasks[i].function = work;
        tasks[i].claims = &claims[i];
        tasks[i].claim_count = 1;
    }
}

static void *submit_share(void *argument)
{
    struct crowd *crowd = argument;
    lanepool_task tasks[BATCH_MAX];
    lanepool_claim claims[BATCH_MAX];
    uint64_t state = 1 + atomic_fetch_add(&crowd->seeds, 1);
    describe(tasks, claims);
    pthread_barrier_wait(&crowd->all);
    for (size_t i = 0; i < crowd->tasks; i += crowd->batch) {
        for (size_t j = 0; j < crowd->batch; j++)
            claims[j] = lanepool_exclusive(probe_random(&state) % KEYS);
        lanepool_status status = crowd->batch == 1
                                     ? lanepool_pool_submit(crowd->pool, tasks)
                                     : lanepool_pool_submit_batch(crowd->pool, tasks, crowd->batch,
                                                                  LANEPOOL_FOREVER, NULL);
        probe_require(status == LANEPOOL_OK, "a submit");
    }
    return NULL;
}

/* For comparison: runs only the bodies. */
static void *run_share(void *argument)
{
    struct crowd *crowd = argument;
    pthread_barrier_wait(&crowd->all);
    for (size_t i = 0; i < crowd->tasks; i++)
        waits_body(body_rounds);
    return NULL;
}

/* Lets every submitter's thread do its share. Returns when they began. */
static double run_threads(struct crowd *crowd, void *(*thread_main)(void *))
{
    pthread_t threads[SUBMITTERS_MAX];
    pthread_barrier_init(&crowd->all, NULL, crowd->submitters + 1);
    for (unsigned i = 0; i < crowd->submitters; i++)
        probe_require(pthread_create(&threads[i], NULL, thread_main, crowd) == 0, "a thread");
    double begin_ns = probe_now_ns();
    pthread_barrier_wait(&crowd->all);
    for (unsigned i = 0; i < crowd->submitters; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crowd->all);
    return begin_ns;
}

/* Returns the time from the first submit until all tasks have run. */
static double run_crowd(struct crowd *crowd)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = crowd->workers;
    options.pending_max = LANEPOOL_UNLIMITED;
    crowd->pool = probe_pool_create(&options);
    double begin_ns = run_threads(crowd, submit_share);
    probe_require(lanepool_pool_quiesce(crowd->pool, LANEPOOL_FOREVER) == LANEPOOL_OK,
                  "all have run");
    double took_ns = probe_now_ns() - begin_ns;
    probe_pool_destroy(crowd->pool);
    return took_ns;
}

/* Returns the number of tasks for each submitter, in whole batches. */
static size_t share(const struct probe_options *options, double tasks, unsigned submitters)
{
    size_t each = probe_scaled(options, (size_t)(tasks / submitters), BATCH_MAX);
    return each / BATCH_MAX * BATCH_MAX;
}

/* Returns how long the submitted bodies keep that many processors busy. */
static double work_ns(const struct crowd *crowd, double body_ns, size_t processors)
{
    return body_ns * (double)crowd->tasks * crowd->submitters / (double)processors;
}

static void measure_efficiency(const struct probe_options *options, const char *curve,
                               double body_ns, unsigned workers)
{
    size_t processors = process_cpu_count();
    if (processors > workers)
        processors = workers;
    double tasks = WORK_NS * (double)processors / body_ns;
    struct crowd batches = { .workers = workers, .submitters = 1, .batch = BATCH_MAX };
    struct crowd several = { .workers = workers, .submitters = SEVERAL, .batch = 1 };
    struct crowd alone = { .submitters = (unsigned)processors }; /* there are at most 16 workers */
    body_rounds = waits_body_rounds(body_ns);
    batches.tasks = share(options, tasks, batches.submitters);
    several.tasks = share(options, tasks, several.submitters);
    alone.tasks = share(options, tasks, alone.submitters);
    double batches_ns = run_crowd(&batches), several_ns = run_crowd(&several);
    double alone_ns = -run_threads(&alone, run_share);
    alone_ns += probe_now_ns();
    probe_point(curve, "one submitter, batches of 64", workers,
                work_ns(&batches, body_ns, processors) / batches_ns, EFFICIENCY);
    probe_point(curve, "four submitters, one by one", workers,
                work_ns(&several, body_ns, processors) / several_ns, EFFICIENCY);
    probe_point(curve, "bodies without a pool", workers,
                work_ns(&alone, body_ns, processors) / alone_ns, EFFICIENCY);
}

static void measure_empty(const struct probe_options *options, const char *curve,
                          const char *series, double x, struct crowd crowd)
{
    body_rounds = 0;
    crowd.tasks = share(options, EMPTY_TASKS, crowd.submitters);
    double took_ns = run_crowd(&crowd);
    probe_point(curve, series, x, took_ns / (double)crowd.tasks / crowd.submitters, "ns");
}

static void measure_workers(const struct probe_options *options, unsigned workers)
{
    struct crowd batches = { .workers = workers, .submitters = 1, .batch = BATCH_MAX };
    struct crowd several = { .workers = workers, .submitters = SEVERAL, .batch = 1 };
    measure_efficiency(options, "workers_1us", 1000, workers);
    measure_efficiency(options, "workers_10us", 10000, workers);
    measure_empty(options, "workers_empty", "one submitter, batches of 64", workers, batches);
    measure_empty(options, "workers_empty", "four submitters, one by one", workers, several);
}

static void measure_submitters(const struct probe_options *options, unsigned submitters)
{
    struct crowd crowd = { .workers = 2, .submitters = submitters, .batch = 1 };
    measure_empty(options, "submitters_empty", "one by one", submitters, crowd);
    crowd.batch = BATCH_MAX;
    measure_empty(options, "submitters_empty", "batches of 64", submitters, crowd);
}

int main(int argc, char **argv)
{
    static const unsigned counts[] = { 1, 2, 4, 8, 16 };
    struct probe_options options = probe_options_read(argc, argv);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        measure_workers(&options, counts[i]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        measure_submitters(&options, counts[i]);
    return 0;
}
