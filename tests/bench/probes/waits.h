/* What the probes of waiting times share. */
#ifndef BENCH_WAITS_H
#define BENCH_WAITS_H

#include "probe.h"

/* From now on this thread wakes when it is time, not up to 50 us later as is usual. */
void waits_be_punctual(void);

/* Sleeps until then, by the clock of probe_now_ns(). */
void waits_sleep_until(double ns);
void waits_sleep(double ns);

/* A body of fixed work: goes around so often, each time waiting for the time before. */
void waits_body(uint64_t rounds);

/* How often a body must go around to take so long when nobody disturbs it. */
uint64_t waits_body_rounds(double ns);

/* Submits a task that claims one key for itself. */
void waits_submit(lanepool_pool *pool, lanepool_task_fn function, void *context, uint64_t key);

/* Sorts; then what a part of all does not exceed: 0.5 for the median, 1 for the longest. */
void waits_sort(double *values, size_t count);
double waits_quantile(const double *sorted, size_t count, double part);

/* Sorts, and prints a curve in microseconds whose x says "one in so many takes longer than this":
 * 2 is the median, 100 the 99th percentile. */
void waits_print_tail(const char *curve, const char *series, double *ns, size_t count);

#endif
