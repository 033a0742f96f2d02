/*
 * How long tasks wait that arrive at random (a Poisson process), and keep two workers busy for a
 * part of the time.
 *
 * For comparison, right afterwards: two threads with a plain queue that knows no keys, one mutex
 * and one condition. And for the pool's arrivals, an ideal queue with two workers and no costs is
 * computed: once with bodies of the intended length, once of the measured length. These differ
 * because the submitter and other programs take processors away from the bodies.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "waits.h"

#define WORKERS    2
#define BODY_NS    50e3
#define SECONDS    0.6 /* of arrivals, for each load */
#define LEAST      200 /* the least number of arrivals */
#define TASK_UNITS "task lengths"

static uint64_t body_rounds;

struct arrival {
    double submitted_ns, started_ns, ended_ns;
};

static void run_arrival(struct arrival *arrival)
{
    arrival->started_ns = probe_now_ns();
    waits_body(body_rounds);
    arrival->ended_ns = probe_now_ns();
}

/* --- the pool --- */

static int work(lanepool_run *run, void *context)
{
    (void)run;
    run_arrival(context);
    return 0;
}

static lanepool_pool *pool;

static void submit_to_pool(struct arrival *arrival, size_t index)
{
    waits_submit(pool, work, arrival, index);
}

/* --- the plain queue --- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct arrival **waiting; /* in the order of arrival */
    size_t submitted, started;
    size_t count; /* of all arrivals */
    pthread_t threads[WORKERS];
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static void *serve_queue(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&queue.lock);
    while (queue.started < queue.count) {
        if (queue.started == queue.submitted) {
            pthread_cond_wait(&queue.more, &queue.lock);
            continue;
        }
        struct arrival *arrival = queue.waiting[queue.started++];
        pthread_mutex_unlock(&queue.lock);
        run_arrival(arrival);
        pthread_mutex_lock(&queue.lock);
    }
    pthread_cond_broadcast(&queue.more); /* wakes all threads, because no more arrivals follow */
    pthread_mutex_unlock(&queue.lock);
    return NULL;
}

static void submit_to_queue(struct arrival *arrival, size_t index)
{
    (void)index;
    pthread_mutex_lock(&queue.lock);
    queue.waiting[queue.submitted++] = arrival;
    pthread_cond_signal(&queue.more);
    pthread_mutex_unlock(&queue.lock);
}

/* --- arrivals --- */

static void submit_all(struct arrival *arrivals, size_t count, double mean_gap_ns,
                       void (*submit)(struct arrival *arrival, size_t index))
{
    uint64_t state = 1;
    double next_ns = probe_now_ns() + 1e6;
    for (size_t i = 0; i < count; i++) {
        double uniform = ((double)(probe_random(&state) >> 11) + 0.5) / 0x1p53;
        next_ns -= mean_gap_ns * log(uniform);
        if (probe_now_ns() < next_ns)
            timing_sleep_until(next_ns);
        arrivals[i].submitted_ns = probe_now_ns();
        submit(&arrivals[i], i);
    }
}

static void run_with_pool(struct arrival *arrivals, size_t count, double mean_gap_ns)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = WORKERS;
    pool = probe_pool_create(&options);
    submit_all(arrivals, count, mean_gap_ns, submit_to_pool);
    probe_pool_destroy(pool);
}

static void run_with_queue(struct arrival *arrivals, size_t count, double mean_gap_ns)
{
    queue.waiting = probe_memory(count, sizeof *queue.waiting);
    queue.submitted = queue.started = 0;
    queue.count = count;
    for (size_t i = 0; i < WORKERS; i++)
        probe_require(pthread_create(&queue.threads[i], NULL, serve_queue, NULL) == 0, "a thread");
    submit_all(arrivals, count, mean_gap_ns, submit_to_queue);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(queue.threads[i], NULL);
    free(queue.waiting);
}

/* --- results --- */

/* Computes how long each arrival would wait for the first free worker. A length of 0 means the
 * measured one. */
static void wait_ideally(const struct arrival *arrivals, size_t count, double length_ns,
                         double *waited_ns)
{
    double free_ns[WORKERS] = { 0 };
    for (size_t i = 0; i < count; i++) {
        size_t first = 0;
        for (size_t worker = 1; worker < WORKERS; worker++)
            if (free_ns[worker] < free_ns[first])
                first = worker;
        double start_ns = fmax(arrivals[i].submitted_ns, free_ns[first]);
        double took_ns = arrivals[i].ended_ns - arrivals[i].started_ns;
        waited_ns[i] = start_ns - arrivals[i].submitted_ns;
        free_ns[first] = start_ns + (length_ns > 0 ? length_ns : took_ns);
    }
}

static void print(const char *series, double percent, double *waited_ns, size_t count)
{
    timing_sort(waited_ns, count);
    probe_point("load_p50", series, percent, timing_quantile(waited_ns, count, 0.5) / BODY_NS,
                TASK_UNITS);
    probe_point("load_p99", series, percent, timing_quantile(waited_ns, count, 0.99) / BODY_NS,
                TASK_UNITS);
    probe_point("load_p999", series, percent, timing_quantile(waited_ns, count, 0.999) / BODY_NS,
                TASK_UNITS);
}

static void print_waits(const char *series, double percent, const struct arrival *arrivals,
                        double *waited_ns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        waited_ns[i] = arrivals[i].started_ns - arrivals[i].submitted_ns;
    print(series, percent, waited_ns, count);
}

static void measure(const struct probe_options *options, double percent)
{
    double mean_gap_ns = BODY_NS / WORKERS / (percent / 100);
    size_t count = probe_scaled(options, (size_t)(SECONDS * 1e9 / mean_gap_ns), LEAST);
    struct arrival *arrivals = probe_memory(count, sizeof *arrivals);
    double *waited_ns = probe_memory(count, sizeof *waited_ns);
    run_with_queue(arrivals, count, mean_gap_ns);
    print_waits("plain queue", percent, arrivals, waited_ns, count);
    run_with_pool(arrivals, count, mean_gap_ns);
    print_waits("lanepool", percent, arrivals, waited_ns, count);
    wait_ideally(arrivals, count, BODY_NS, waited_ns);
    print("ideal queue", percent, waited_ns, count);
    wait_ideally(arrivals, count, 0, waited_ns);
    print("ideal queue, bodies as they took", percent, waited_ns, count);
    free(waited_ns);
    free(arrivals);
}

int main(int argc, char **argv)
{
    static const double percents[] = { 10, 30, 50, 70, 80 };
    struct probe_options options = probe_options_read(argc, argv);
    body_rounds = waits_body_rounds(BODY_NS);
    timing_be_punctual();
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        measure(&options, percents[i]);
    return 0;
}
