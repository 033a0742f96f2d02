/* Fills a pool of one worker while the worker stands at a gate, then lets it drain the pool. */
#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include "probe.h"

/* Task i has the claims from i * claim_count on. */
struct fill {
    lanepool_pool *pool;
    struct probe_countdown *countdown;
    const lanepool_claim *claims;
    size_t claim_count;
    size_t task_count;
    lanepool_future **futures; /* one for each task, released after the drain; NULL: none */
};

/* Of all tasks together, in nanoseconds, without the time that looking at the clock takes. */
struct fill_cost {
    double submit_ns;
    double drain_ns; /* from the moment when the worker goes on until the last task has run */
};

/* A pool of one worker, without a limit on pending tasks, and a countdown. */
void fill_begin(struct fill *fill);
void fill_end(struct fill *fill);

/* Once. */
struct fill_cost fill_and_drain(const struct fill *fill);

/* Only the fill: the worker stands at the gate that is returned. */
struct probe_gate *fill_only(const struct fill *fill, double *submit_ns);

/* Fills and drains once to warm up, then so often that the submits take 5 ms in all, within reason:
 * the medians. */
struct fill_cost fill_measure(const struct fill *fill);

/* Different within each `key_count` claims in a row; 2 to the power of something. */
lanepool_claim *fill_claims(size_t count, uint64_t key_count);

#endif
