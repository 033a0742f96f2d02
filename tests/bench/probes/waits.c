#include "waits.h"

#include <math.h>

void waits_sleep(double ns)
{
    timing_sleep_until(probe_now_ns() + ns);
}

static volatile uint64_t body_result;

void waits_body(uint64_t rounds)
{
    uint64_t value = rounds;
    for (uint64_t i = 0; i < rounds; i++)
        value = value * 0x9e3779b97f4a7c15u + 1;
    if (value == 0) /* hardly ever true; but the compiler cannot know that */
        body_result = value;
}

uint64_t waits_body_rounds(double ns)
{
    const uint64_t rounds = 20000;
    double least = 1e12;
    for (int i = 0; i < 200; i++) {
        double begin = probe_now_ns();
        waits_body(rounds);
        least = fmin(least, probe_now_ns() - begin);
    }
    return (uint64_t)(ns * (double)rounds / least + 0.5);
}

void waits_submit(lanepool_pool *pool, lanepool_task_fn function, void *context, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = function;
    task.context = context;
    task.claims = &claim;
    task.claim_count = 1;
    probe_require(lanepool_pool_submit(pool, &task) == LANEPOOL_OK, "a submit");
}

void waits_print_tail(const char *curve, const char *series, double *ns, size_t count)
{
    static const double one_in[] = { 2, 10, 100, 1000 };
    timing_sort(ns, count);
    for (size_t i = 0; i < sizeof one_in / sizeof *one_in; i++)
        probe_point(curve, series, one_in[i], timing_quantile(ns, count, 1 - 1 / one_in[i]) / 1000,
                    "us");
}
