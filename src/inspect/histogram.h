/*
 * A histogram of durations, of fixed size. Each power of two has 16 buckets, so a bucket's upper
 * end is at most a sixteenth above its lower end.
 */
#ifndef LANEPOOL_SRC_INSPECT_HISTOGRAM_H
#define LANEPOOL_SRC_INSPECT_HISTOGRAM_H

#include "lanepool/inspect.h"

#define LANEPOOL_I_SUB_BUCKETS 16
/* Up to 2^43 ns, two and a half hours; the last bucket counts all longer durations, too. */
#define LANEPOOL_I_BUCKETS (40 * LANEPOOL_I_SUB_BUCKETS)

typedef struct lanepool_i_histogram {
    uint64_t count;
    uint64_t max_ns;
    uint64_t sum_ns;
    uint32_t buckets[LANEPOOL_I_BUCKETS];
} lanepool_i_histogram;

void lanepool_i_histogram_add(lanepool_i_histogram *histogram, uint64_t ns);
lanepool_durations lanepool_i_histogram_durations(const lanepool_i_histogram *histogram);

/* Returns how many durations are shorter than a power of two: 2 to the power of `bits`, from 5 up
 * to 42. */
uint64_t lanepool_i_histogram_count_below(const lanepool_i_histogram *histogram, unsigned bits);

#endif
