/*
 * How long a key's context lingers: what is known of how soon the key comes back.
 *
 * To let a context go and open another one costs the same whether the key comes often or rarely;
 * to keep it costs its memory for as long as it stands idle. So the memory is to be spent on keys
 * that are likely to come back in little time. If the times between are spread as by chance (an
 * exponential distribution), 98 in 100 are shorter than four times their mean, and a mean of the
 * last few may be half of the true one; what has not come back within eight times it has probably
 * changed its ways. A gap beyond the upper bound says that keeping would
 * not have helped: the key counts as one that nothing is known of, and those are let go early.
 */
#ifndef LANEPOOL_SRC_BASE_IDLE_TIME_H
#define LANEPOOL_SRC_BASE_IDLE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define LANEPOOL_I_GAPS_BRIDGED 8u /* how many mean gaps it lingers */
#define LANEPOOL_I_GAP_WEIGHT   4u /* one over the weight of the last gap in the mean */

/* Of one key; zeroed: nothing is known. */
typedef struct lanepool_i_pace {
    uint64_t mean_ns; /* of the gaps */
    bool known;
} lanepool_i_pace;

/* A context, or the key that had one, was idle for so long before it was used again. */
static inline void lanepool_i_pace_note(lanepool_i_pace *pace, uint64_t gap_ns, uint64_t max_ns)
{
    if (gap_ns > max_ns)
        *pace = (lanepool_i_pace){ 0, false };
    else if (!pace->known)
        *pace = (lanepool_i_pace){ gap_ns, true };
    else if (gap_ns > pace->mean_ns)
        pace->mean_ns += (gap_ns - pace->mean_ns) / LANEPOOL_I_GAP_WEIGHT;
    else
        pace->mean_ns -= (pace->mean_ns - gap_ns) / LANEPOOL_I_GAP_WEIGHT;
}

static inline uint64_t lanepool_i_pace_idle_time(const lanepool_i_pace *pace, uint64_t min_ns,
                                                 uint64_t max_ns)
{
    if (!pace->known)
        return min_ns;
    if (pace->mean_ns > max_ns / LANEPOOL_I_GAPS_BRIDGED)
        return max_ns;
    uint64_t linger_ns = pace->mean_ns * LANEPOOL_I_GAPS_BRIDGED;
    return linger_ns > min_ns ? linger_ns : min_ns;
}

#endif
