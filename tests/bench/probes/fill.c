#include "fill.h"

#include <stdlib.h>

#define MEASURED_NS 5e6
#define TIMES_MAX   1000

void fill_begin(struct fill *fill)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = 1;
    options.pending_max = LANEPOOL_UNLIMITED;
    fill->pool = probe_pool_create(&options);
    fill->countdown = probe_countdown_create();
}

void fill_end(struct fill *fill)
{
    probe_pool_destroy(fill->pool);
    probe_countdown_destroy(fill->countdown);
}

static double clock_ns(void)
{
    static double measured;
    if (measured == 0)
        measured = probe_clock_ns();
    return measured;
}

struct probe_gate *fill_only(const struct fill *fill, double *submit_ns)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    bool are_accepted = true;
    task.function = probe_countdown_run;
    task.context = fill->countdown;
    task.claims = fill->claims;
    task.claim_count = fill->claim_count;
    struct probe_gate *gate = probe_gate_shut(fill->pool, 0);
    probe_countdown_set(fill->countdown, fill->task_count);
    double begin = probe_now_ns();
    for (size_t i = 0; i < fill->task_count; i++) {
        if (fill->futures != NULL)
            task.future = &fill->futures[i];
        are_accepted &= lanepool_pool_submit(fill->pool, &task) == LANEPOOL_OK;
        task.claims += fill->claim_count;
    }
    *submit_ns = probe_now_ns() - begin - clock_ns();
    probe_require(are_accepted, "submits");
    return gate;
}

struct fill_cost fill_and_drain(const struct fill *fill)
{
    struct fill_cost cost;
    struct probe_gate *gate = fill_only(fill, &cost.submit_ns);
    probe_gate_open(gate);
    double drained_ns = probe_countdown_wait(fill->countdown);
    cost.drain_ns = drained_ns - probe_gate_gone(gate) - clock_ns();
    for (size_t i = 0; fill->futures != NULL && i < fill->task_count; i++)
        lanepool_future_release(fill->futures[i]);
    return cost;
}

struct fill_cost fill_measure(const struct fill *fill)
{
    static double submits[TIMES_MAX], drains[TIMES_MAX];
    double sum = 0;
    size_t times = 0;
    fill_and_drain(fill);
    while (times == 0 || (sum < MEASURED_NS && times < TIMES_MAX)) {
        struct fill_cost cost = fill_and_drain(fill);
        sum += cost.submit_ns;
        submits[times] = cost.submit_ns;
        drains[times++] = cost.drain_ns;
    }
    return (struct fill_cost){ .submit_ns = probe_median(submits, times),
                               .drain_ns = probe_median(drains, times) };
}

lanepool_claim *fill_claims(size_t count, uint64_t key_count)
{
    lanepool_claim *claims = probe_memory(count, sizeof *claims);
    for (size_t i = 0; i < count; i++) /* an odd factor, so that each key is drawn once */
        claims[i] = lanepool_exclusive(i * 0x9e3779b1u % key_count);
    return claims;
}
