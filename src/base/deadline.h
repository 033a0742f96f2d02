/* Conversion between durations and deadlines of the monotonic clock. */
#ifndef LANEPOOL_SRC_BASE_DEADLINE_H
#define LANEPOOL_SRC_BASE_DEADLINE_H

#include "platform/platform.h"

/* Returns the moment after this wait; UINT64_MAX if no clock shows it. */
static inline uint64_t lanepool_i_deadline_from(uint64_t now_ns, uint64_t wait_max_ns)
{
    return wait_max_ns < UINT64_MAX - now_ns ? now_ns + wait_max_ns : UINT64_MAX;
}

/* Returns the deadline after this wait. 0 gives a deadline that has passed. UINT64_MAX, or a wait
 * beyond the clock's range, gives one that never passes. */
static inline uint64_t lanepool_i_deadline(uint64_t wait_max_ns)
{
    if (wait_max_ns == 0 || wait_max_ns == UINT64_MAX)
        return wait_max_ns;
    return lanepool_i_deadline_from(lanepool_i_clock_now(), wait_max_ns);
}

#endif
