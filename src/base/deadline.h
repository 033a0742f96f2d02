/* Turns "at most so long" into a moment of the monotonic clock. */
#ifndef LANEPOOL_SRC_BASE_DEADLINE_H
#define LANEPOOL_SRC_BASE_DEADLINE_H

#include "platform/platform.h"

/* 0 gives a moment that has passed; what does not fit, and UINT64_MAX, one that never comes. */
static inline uint64_t lanepool_i_deadline(uint64_t wait_ns_max)
{
    if (wait_ns_max == 0 || wait_ns_max == UINT64_MAX)
        return wait_ns_max;
    uint64_t now_ns = lanepool_i_clock_now();
    return wait_ns_max < UINT64_MAX - now_ns ? now_ns + wait_ns_max : UINT64_MAX;
}

/* The way back: how long one may still wait; 0 once the moment has come. */
static inline uint64_t lanepool_i_deadline_left(uint64_t deadline_ns)
{
    if (deadline_ns == 0 || deadline_ns == UINT64_MAX)
        return deadline_ns;
    uint64_t now_ns = lanepool_i_clock_now();
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

#endif
