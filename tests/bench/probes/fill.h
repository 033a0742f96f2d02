/* Fills a pool of one worker while the worker waits at a gate; then lets the worker drain the
 * pool. */
#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include "probe.h"

/* The claims of task i begin at index i * claim_count. */
struct fill {
    lanepool_pool *pool;
    struct probe_countdown *countdown;
    const lanepool_claim *claims;
    size_t claim_count;
    size_t task_count;
    lanepool_future **futures; /* one for each task, released after the drain; or NULL */
};

/* The times of all tasks together, in nanoseconds, without the time for reading the clock. */
struct fill_cost {
    double submit_ns;
    double drain_ns; /* from the worker's start until the last task has run */
};

/* Creates a pool of one worker, without a limit on pending tasks, and a countdown. */
void fill_begin(struct fill *fill);
void fill_end(struct fill *fill);

/* Fills and drains once. */
struct fill_cost fill_and_drain(const struct fill *fill);

/* Fills only. Returns the gate at which the worker waits. */
struct probe_gate *fill_only(const struct fill *fill, double *submit_ns);

/* Fills and drains once to warm up, then so often that the submits take 5 ms in all, within limits.
 * Returns the medians. */
struct fill_cost fill_measure(const struct fill *fill);

/* Makes claims; every `key_count` consecutive claims are different. `key_count` must be a power of
 * two. */
lanepool_claim *fill_claims(size_t count, uint64_t key_count);

#endif
