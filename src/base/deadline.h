/* Conversion between durations and deadlines of the monotonic clock. */
#ifndef LANEPOOL_SRC_BASE_DEADLINE_H
#define LANEPOOL_SRC_BASE_DEADLINE_H

#include "platform/platform.h"

/* Returns the deadline after this wait. 0 gives a deadline that has passed. UINT64_MAX, or a wait
 * beyond the clock's range, gives one that never passes. */
static inline uint64_t lanepool_i_deadline(uint64_t wait_max_ns)
{
    if (wait_max_ns == 0 || wait_max_ns == UINT64_MAX)
        return wait_max_ns;
    uint64_t now_ns = lanepool_i_clock_now();
    return wait_max_ns < UINT64_MAX - now_ns ? now_ns + wait_max_ns : UINT64_MAX;
}

/* Returns how long to wait until the deadline; 0 if it has passed. */
static inline uint64_t lanepool_i_deadline_left(uint64_t deadline_ns)
{
    if (deadline_ns == 0 || deadline_ns == UINT64_MAX)
        return deadline_ns;
    uint64_t now_ns = lanepool_i_clock_now();
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

#endif
