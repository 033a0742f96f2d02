/* The resident memory of pending tasks and of lanes. Each figure is measured in a process of its
 * own, because freed memory of an earlier measurement would be used again. */
#include "fill.h"
#include "support/process.h"

#define TASKS     1000000
#define KEYS      1024
#define LANES_MIN 10000
#define LANES_MAX 1000000
#define BURST     64

/* The job of a child, and its result. */
struct job {
    size_t count;
    size_t claim_count;
    uint64_t key_count;
    bool has_future;
    double bytes; /* of all tasks or lanes together */
};

static double resident_bytes(void)
{
    return (double)process_resident_bytes();
}

/* The bodies of the processes do not clean up: they leave a worker at its gate, and a pool. */

/* Tasks that wait in the inbox. */
static void fill_with_tasks(void *context)
{
    struct job *job = context;
    lanepool_claim *claims = fill_claims(job->count * job->claim_count, job->key_count);
    double submit_ns;
    struct fill fill = { .claims = claims,
                         .claim_count = job->claim_count,
                         .task_count = job->count };
    if (job->has_future)
        fill.futures = probe_memory(job->count, sizeof *fill.futures);
    fill_begin(&fill);
    double before = resident_bytes();
    fill_only(&fill, &submit_ns);
    job->bytes = resident_bytes() - before;
}

/* Routed tasks, in as many lanes as there are keys. */
static void fill_lanes(void *context)
{
    struct job *job = context;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    double submit_ns;
    options.workers = 1;
    options.routing = LANEPOOL_ROUTING_SUBMITTER;
    options.pending_max = LANEPOOL_UNLIMITED;
    struct fill fill = { .pool = probe_pool_create(&options),
                         .countdown = probe_countdown_create(),
                         .claims = fill_claims(job->count, job->key_count),
                         .claim_count = 1,
                         .task_count = job->count };
    double before = resident_bytes();
    fill_only(&fill, &submit_ns);
    job->bytes = resident_bytes() - before;
}

/* Lanes without tasks: one handle for each. */
static void hold_lanes(void *context)
{
    struct job *job = context;
    lanepool_claim *keys = fill_claims(job->count, job->key_count);
    lanepool_lane **lanes = probe_memory(job->count, sizeof *lanes);
    lanepool_pool *pool = probe_pool_create(NULL);
    double before = resident_bytes();
    for (size_t i = 0; i < job->count; i++)
        probe_require(lanepool_lane_acquire(pool, keys[i].key, &lanes[i]) == LANEPOOL_OK, "a lane");
    job->bytes = resident_bytes() - before;
}

/* Lanes that have become empty: only a few tasks are pending at any time. */
static void use_lanes(void *context)
{
    struct job *job = context;
    lanepool_claim *claims = fill_claims(job->count, job->key_count);
    struct fill fill = { .claims = claims, .claim_count = 1, .task_count = BURST };
    fill_begin(&fill);
    fill_and_drain(&fill);
    double before = resident_bytes();
    for (size_t i = 0; i + BURST <= job->count; i += BURST) {
        fill.claims = &claims[i];
        fill_and_drain(&fill);
    }
    job->bytes = resident_bytes() - before;
}

/* Returns the memory for each of `count` tasks or lanes. */
static double bytes_each(void (*body)(void *context), struct job what)
{
    struct job *job = process_shared_memory(sizeof *job);
    *job = what;
    probe_require(process_run_apart(body, job) == 0, "a process of its own");
    double bytes = job->bytes / (double)job->count;
    process_shared_memory_free(job, sizeof *job);
    return bytes;
}

static void measure_tasks(size_t tasks)
{
    static const size_t claim_counts[] = { 0, 1, 2, 3, 5, 10 };
    for (size_t i = 0; i < sizeof claim_counts / sizeof *claim_counts; i++) {
        struct job job = { .count = tasks, .claim_count = claim_counts[i], .key_count = KEYS };
        double x = (double)claim_counts[i];
        probe_point("memory_task", "a task", x, bytes_each(fill_with_tasks, job), "bytes");
        job.has_future = true;
        probe_point("memory_task", "with a future", x, bytes_each(fill_with_tasks, job), "bytes");
    }
}

static void measure_lanes(size_t lanes)
{
    uint64_t keys = 1;
    while (keys < lanes)
        keys *= 2;
    struct job apart = { .count = lanes, .key_count = keys };
    struct job crowded = { .count = lanes, .key_count = KEYS };
    double x = (double)lanes;
    probe_point("memory_lane", "with a pending task", x,
                bytes_each(fill_lanes, apart) - bytes_each(fill_lanes, crowded), "bytes");
    probe_point("memory_lane", "with a handle", x, bytes_each(hold_lanes, apart), "bytes");
    probe_point("memory_lane", "used once", x, bytes_each(use_lanes, apart), "bytes");
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t lanes_max = probe_scaled(&options, LANES_MAX, LANES_MIN);
    measure_tasks(probe_scaled(&options, TASKS, 10000));
    for (size_t lanes = LANES_MIN; lanes <= lanes_max; lanes *= 10)
        measure_lanes(lanes);
    return 0;
}
