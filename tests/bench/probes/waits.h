/* Shared by the probes of waiting times. */
#ifndef BENCH_WAITS_H
#define BENCH_WAITS_H

#include "bench/timing.h"
#include "probe.h"

/* Sleeps for a duration. */
void waits_sleep(double ns);

/* A body of fixed work: spins `rounds` times; each round waits for the one before. */
void waits_body(uint64_t rounds);

/* Returns how many rounds a body needs to take `ns` if it is not disturbed. */
uint64_t waits_body_rounds(double ns);

/* Submits a task that claims one key exclusively. */
void waits_submit(lanepool_pool *pool, lanepool_task_fn function, void *context, uint64_t key);

/* Sorts the values, and prints a curve in microseconds. Its x means "one in x takes longer than
 * this": 2 is the median, 100 the 99th percentile. */
void waits_print_tail(const char *curve, const char *series, double *ns, size_t count);

#endif
