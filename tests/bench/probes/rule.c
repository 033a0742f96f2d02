/* The cost of a submit in a pool with a conflict rule of the program, with 32 to 32,000 pending
 * tasks. The only worker waits at a gate; the submitter calls the rule. */
#include "probe.h"

#include <stdlib.h>

#define DEPTH_MAX   32000
#define KINDS       16
#define MEASURED_NS 5e6 /* the least time for each point, within limits */
#define TIMES_MAX   500

/* Tasks with a client in common conflict; the rule knows nothing else. */
struct request {
    uint64_t client;
};

struct series {
    const char *name;
    uint64_t clients; /* requests use them in turn; 0: each has its own client */
    bool has_kinds;   /* each client has a kind */
};

static const struct series all[] = {
    { "no conflict", 0, false },
    { "conflicts with the newest", 1, false },
    { "16 kinds", KINDS, true },
};

static lanepool_pool *pool;
static struct probe_countdown *countdown;
static struct request *requests;
static lanepool_task_view *views; /* the views that the bare loop walks over */
static double clock_ns;

static int run_request(lanepool_run *run, void *context)
{
    (void)context;
    return probe_countdown_run(run, countdown);
}

static bool is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct request *one = a->context, *other = b->context;
    (void)user;
    if (a->function == probe_gate_run || b->function == probe_gate_run)
        return true;
    return one->client != other->client;
}

/* volatile, because the compiler must not know which rule it is; the library does not know
 * either. */
static lanepool_compatible_fn volatile rule = is_compatible;

static void submit(const struct series *series, size_t from, size_t to)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    bool are_accepted = true;
    task.function = run_request;
    for (size_t i = from; i < to; i++) {
        task.context = &requests[i];
        task.kind = series->has_kinds ? requests[i].client + 1 : 0;
        are_accepted &= lanepool_pool_submit(pool, &task) == LANEPOOL_OK;
    }
    probe_require(are_accepted, "submits");
}

/* Returns how many submits are measured at once: few, compared with the pending tasks. */
static size_t measured_at_once(size_t depth)
{
    return depth / 32 > 8 ? depth / 32 : 8;
}

/* Returns the time of each of some submits with `depth` pending tasks. */
static double submit_once_ns(const struct series *series, size_t depth)
{
    size_t measured = measured_at_once(depth);
    struct probe_gate *gate = probe_gate_shut(pool, KINDS + 1);
    probe_countdown_set(countdown, depth + measured);
    submit(series, 0, depth);
    double begin = probe_now_ns();
    submit(series, depth, depth + measured);
    double took = probe_now_ns() - begin - clock_ns;
    probe_gate_open(gate);
    probe_countdown_wait(countdown);
    probe_gate_gone(gate);
    return took / (double)measured;
}

/* Returns the time of the same calls of the rule without a pool: for each new task and each pending
 * one, the newest first, in both directions. */
static double ask_once_ns(const struct series *series, size_t depth)
{
    size_t measured = measured_at_once(depth);
    bool are_compatible = true;
    (void)series;
    double begin = probe_now_ns();
    for (size_t i = depth; i < depth + measured; i++) {
        lanepool_compatible_fn ask = rule;
        for (size_t old = i; old-- > 0;)
            are_compatible &=
                ask(&views[i], &views[old], NULL) && ask(&views[old], &views[i], NULL);
    }
    double took = probe_now_ns() - begin - clock_ns;
    probe_require(are_compatible, "requests of different clients are compatible");
    return took / (double)measured;
}

/* Small depths are measured many times. */
static void measure(const struct series *series, const char *name, size_t depth,
                    double (*once_ns)(const struct series *series, size_t depth))
{
    static double measured[TIMES_MAX];
    double sum = 0;
    size_t times = 0;
    while (times == 0 || (sum < MEASURED_NS && times < TIMES_MAX)) {
        measured[times] = once_ns(series, depth);
        sum += measured[times++] * (double)measured_at_once(depth);
    }
    probe_point("rule", name, (double)depth, probe_median(measured, times), "ns");
}

static void draw_requests(uint64_t clients, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        requests[i].client = clients == 0 ? i : i % clients;
        views[i] = (lanepool_task_view){ .function = run_request, .context = &requests[i] };
    }
}

static void measure_series(const struct series *series, size_t depth_max)
{
    size_t count = depth_max + measured_at_once(depth_max);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 1;
    options.pending_max = LANEPOOL_UNLIMITED;
    options.is_compatible = is_compatible;
    pool = probe_pool_create(&options);
    draw_requests(1, count); /* fills the pool once, at the least cost */
    submit_once_ns(series, depth_max);
    draw_requests(series->clients, count);
    for (size_t depth = 32; depth <= depth_max; depth *= 10)
        measure(series, series->name, depth, submit_once_ns);
    if (series->clients == 0)
        for (size_t depth = 32; depth <= depth_max; depth *= 10)
            measure(series, "a bare loop, no conflict", depth, ask_once_ns);
    probe_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t depth_max = probe_scaled(&options, DEPTH_MAX, 320);
    size_t count = depth_max + measured_at_once(depth_max);
    requests = probe_memory(count, sizeof *requests);
    views = probe_memory(count, sizeof *views);
    countdown = probe_countdown_create();
    clock_ns = probe_clock_ns();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        measure_series(&all[i], depth_max);
    probe_countdown_destroy(countdown);
    free(requests);
    free(views);
    return 0;
}
