/* How long tasks wait that arrive at random (a Poisson process) and keep two workers busy for a
 * part of the time. Beside it, for the same arrivals, an ideal queue for two workers that costs
 * nothing: once with bodies as long as they should be, once as long as each was, since who
 * submits, and whatever else runs, takes processors away from them. */
#include <math.h>
#include <stdlib.h>

#include "waits.h"

#define WORKERS    2
#define BODY_NS    50e3
#define SECONDS    1.0 /* of arrivals, for each load */
#define LEAST      200 /* arrivals */
#define TASK_UNITS "task lengths"

static uint64_t body_rounds;

struct arrival {
    double submitted_ns, started_ns, ended_ns;
};

static int work(lanepool_run *run, void *context, lanepool_call call)
{
    struct arrival *arrival = context;
    (void)run;
    probe_require(call == LANEPOOL_CALL_RUN, "a task is run");
    arrival->started_ns = probe_now_ns();
    waits_body(body_rounds);
    arrival->ended_ns = probe_now_ns();
    return 0;
}

static void submit_all(lanepool_pool *pool, struct arrival *arrivals, size_t count,
                       double mean_gap_ns)
{
    uint64_t state = 1;
    double next_ns = probe_now_ns() + 1e6;
    for (size_t i = 0; i < count; i++) {
        double uniform = ((double)(probe_random(&state) >> 11) + 0.5) / 0x1p53;
        next_ns -= mean_gap_ns * log(uniform);
        if (probe_now_ns() < next_ns)
            waits_sleep_until(next_ns);
        arrivals[i].submitted_ns = probe_now_ns();
        waits_submit(pool, work, &arrivals[i], i);
    }
}

/* What each would wait for the first of the workers to be free. A length of 0 stands for the one
 * that was measured. */
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
    waits_sort(waited_ns, count);
    probe_point("load_p50", series, percent, waits_quantile(waited_ns, count, 0.5) / BODY_NS,
                TASK_UNITS);
    probe_point("load_p99", series, percent, waits_quantile(waited_ns, count, 0.99) / BODY_NS,
                TASK_UNITS);
    probe_point("load_p999", series, percent, waits_quantile(waited_ns, count, 0.999) / BODY_NS,
                TASK_UNITS);
}

static void measure(const struct probe_options *options, double percent)
{
    double mean_gap_ns = BODY_NS / WORKERS / (percent / 100);
    size_t count = probe_scaled(options, (size_t)(SECONDS * 1e9 / mean_gap_ns), LEAST);
    struct arrival *arrivals = probe_memory(count, sizeof *arrivals);
    double *waited_ns = probe_memory(count, sizeof *waited_ns);
    lanepool_options pool_options = LANEPOOL_OPTIONS_INIT;
    pool_options.workers = WORKERS;
    lanepool_pool *pool = probe_pool_create(&pool_options);
    submit_all(pool, arrivals, count, mean_gap_ns);
    probe_pool_destroy(pool);
    for (size_t i = 0; i < count; i++)
        waited_ns[i] = arrivals[i].started_ns - arrivals[i].submitted_ns;
    print("lanepool", percent, waited_ns, count);
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
    waits_be_punctual();
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        measure(&options, percents[i]);
    return 0;
}
