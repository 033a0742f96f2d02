/* What a submit and a drain cost while more and more tasks are pending: 1 to a million, each with
 * one of 1,024 keys. One worker, which stands at a gate until all are submitted. The pool has been
 * filled and drained before. */
#include "probe.h"

#include <stdlib.h>

#define KEYS          1024
#define DEPTH_MAX     1000000
#define MEASURED_NS   5e6 /* at least, for each point */
#define REPEATED_MOST 1000

static lanepool_pool *pool;
static struct probe_countdown *countdown;
static lanepool_claim *claims; /* of the tasks, in their order */

struct cost {
    double submit_ns, drain_ns; /* of all tasks together */
};

static struct cost fill_and_drain(size_t depth)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    bool are_accepted = true;
    task.function = probe_countdown_run;
    task.context = countdown;
    task.claim_count = 1;
    struct probe_gate *gate = probe_gate_shut(pool, 0);
    probe_countdown_set(countdown, depth);
    double begin = probe_now_ns();
    for (size_t i = 0; i < depth; i++) {
        task.claims = &claims[i];
        are_accepted &= lanepool_pool_submit(pool, &task) == LANEPOOL_OK;
    }
    double end = probe_now_ns();
    probe_require(are_accepted, "submits");
    probe_gate_open(gate);
    double drained = probe_countdown_wait(countdown);
    return (struct cost){ .submit_ns = end - begin, .drain_ns = drained - probe_gate_gone(gate) };
}

/* Small depths are measured often. */
static void measure(size_t depth, double clock_ns)
{
    static double submits[REPEATED_MOST], drains[REPEATED_MOST];
    double sum = 0;
    size_t times = 0;
    fill_and_drain(depth);
    while (times == 0 || (sum < MEASURED_NS && times < REPEATED_MOST)) {
        struct cost cost = fill_and_drain(depth);
        submits[times] = (cost.submit_ns - clock_ns) / (double)depth;
        drains[times++] = (cost.drain_ns - clock_ns) / (double)depth;
        sum += cost.submit_ns;
    }
    probe_point("depth", "submit", (double)depth, probe_median(submits, times), "ns");
    probe_point("depth", "drain", (double)depth, probe_median(drains, times), "ns");
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t depth_max = probe_scaled(&options, DEPTH_MAX, 1000);
    double clock_ns = probe_clock_ns();
    lanepool_options pool_options = LANEPOOL_OPTIONS_INIT;
    uint64_t state = 1;
    pool_options.workers = 1;
    pool_options.pending_max = LANEPOOL_UNLIMITED;
    claims = probe_memory(depth_max, sizeof *claims);
    for (size_t i = 0; i < depth_max; i++)
        claims[i] = lanepool_claim_id(probe_random(&state) % KEYS, LANEPOOL_EXCLUSIVE);
    countdown = probe_countdown_create();
    pool = probe_pool_create(&pool_options);
    for (size_t depth = 1; depth <= depth_max; depth *= 10)
        measure(depth, clock_ns);
    probe_pool_destroy(pool);
    probe_countdown_destroy(countdown);
    free(claims);
    return 0;
}
