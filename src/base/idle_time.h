/*
 * The mean of the gaps between uses, from which two things are decided: how long an unused context
 * stays open, and whether a worker searches for long (worker.h).
 *
 * The idle time of a key's context is estimated from how soon the key was used again in the past.
 * Closing a context and opening another one costs the same for every key. Leaving it open costs its
 * memory for as long as it is unused. So memory is spent on keys that are likely to be used again
 * soon. If the gaps between uses are exponentially distributed, 98 in 100 are shorter than four
 * times their mean, and the mean of the last few gaps may be half of the true mean. So a key that
 * is not used within eight times the mean has probably changed its behaviour. After a gap beyond
 * the upper bound, leaving the context open would not have helped. Then nothing is known of the key
 * any more, and its contexts are closed early.
 */
#ifndef LANEPOOL_SRC_BASE_IDLE_TIME_H
#define LANEPOOL_SRC_BASE_IDLE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define LANEPOOL_I_GAPS_BRIDGED 8u /* the idle time in mean gaps */
#define LANEPOOL_I_GAP_WEIGHT   4u /* the last gap has 1/4 of the weight in the mean */

/* The gaps between the uses of one key, or between a worker's tasks. All zero: none is known. */
typedef struct lanepool_i_gap_mean {
    uint64_t mean_ns; /* of the gaps */
    bool known;
} lanepool_i_gap_mean;

/* Records that a context, or a key whose context was closed, or a worker, was idle for `gap_ns`
 * before it was used again. After a gap beyond `max_ns` nothing is known any more. */
static inline void lanepool_i_gap_mean_note(lanepool_i_gap_mean *pace, uint64_t gap_ns,
                                            uint64_t max_ns)
{
    if (gap_ns > max_ns)
        *pace = (lanepool_i_gap_mean){ 0, false };
    else if (!pace->known)
        *pace = (lanepool_i_gap_mean){ gap_ns, true };
    else if (gap_ns > pace->mean_ns)
        pace->mean_ns += (gap_ns - pace->mean_ns) / LANEPOOL_I_GAP_WEIGHT;
    else
        pace->mean_ns -= (pace->mean_ns - gap_ns) / LANEPOOL_I_GAP_WEIGHT;
}

static inline uint64_t lanepool_i_gap_mean_idle_time(const lanepool_i_gap_mean *pace,
                                                     uint64_t min_ns, uint64_t max_ns)
{
    if (!pace->known)
        return min_ns;
    if (pace->mean_ns > max_ns / LANEPOOL_I_GAPS_BRIDGED)
        return max_ns;
    uint64_t idle_ns = pace->mean_ns * LANEPOOL_I_GAPS_BRIDGED;
    return idle_ns > min_ns ? idle_ns : min_ns;
}

#endif
