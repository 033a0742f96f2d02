/* Shared by the engines' benchmark and the probes: sleeping until a time, and quantiles. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stddef.h>

/* Makes this thread wake up on time from now on; usually it wakes up to 50 us later. */
void timing_be_punctual(void);

/* Sleeps until a time of the monotonic clock. */
void timing_sleep_until(double ns);

/* Sorts the values; then returns the value that a part of them does not exceed: 0.5 for the median,
 * 1 for the longest. */
void timing_sort(double *values, size_t count);
double timing_quantile(const double *sorted, size_t count, double part);

#endif
