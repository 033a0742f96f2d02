/* Owns the buckets of histograms; see histogram.h. */
#include "inspect/histogram.h"

/* The first 32 buckets hold one value each. After them, each power of two has 16 buckets. */
static size_t bucket_of_duration(uint64_t ns)
{
    size_t shift = 0;
    while (ns >> shift >= 2 * LANEPOOL_I_SUB_BUCKETS)
        shift++;
    size_t bucket = shift * LANEPOOL_I_SUB_BUCKETS + (size_t)(ns >> shift);
    return bucket < LANEPOOL_I_BUCKETS ? bucket : LANEPOOL_I_BUCKETS - 1;
}

static uint64_t bucket_upper_end(size_t bucket)
{
    if (bucket < 2 * LANEPOOL_I_SUB_BUCKETS)
        return bucket;
    size_t shift = bucket / LANEPOOL_I_SUB_BUCKETS - 1;
    uint64_t first = bucket % LANEPOOL_I_SUB_BUCKETS + LANEPOOL_I_SUB_BUCKETS;
    return ((first + 1) << shift) - 1;
}

void lanepool_i_histogram_add(lanepool_i_histogram *histogram, uint64_t ns)
{
    histogram->count++;
    histogram->sum_ns += ns;
    if (ns > histogram->max_ns)
        histogram->max_ns = ns;
    histogram->buckets[bucket_of_duration(ns)]++;
}

/* Returns a value that `share` percent of the durations do not exceed; 0 without durations. */
static uint64_t find_percentile(const lanepool_i_histogram *histogram, uint64_t share)
{
    uint64_t wanted = (histogram->count * share + 99) / 100;
    uint64_t seen = 0;
    for (size_t i = 0; i < LANEPOOL_I_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= wanted && seen > 0) {
            uint64_t end = bucket_upper_end(i);
            return end < histogram->max_ns && i < LANEPOOL_I_BUCKETS - 1 ? end : histogram->max_ns;
        }
    }
    return 0;
}

lanepool_durations lanepool_i_histogram_durations(const lanepool_i_histogram *histogram)
{
    return (lanepool_durations){ histogram->count, find_percentile(histogram, 50),
                                 find_percentile(histogram, 99), histogram->max_ns };
}

uint64_t lanepool_i_histogram_count_below(const lanepool_i_histogram *histogram, unsigned bits)
{
    size_t end = bucket_of_duration((UINT64_C(1) << bits) - 1) + 1;
    uint64_t count = 0;
    for (size_t i = 0; i < end; i++)
        count += histogram->buckets[i];
    return count;
}
