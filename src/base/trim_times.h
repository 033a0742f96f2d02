/* When memory that is free goes back to the system. */
#ifndef LANEPOOL_SRC_BASE_TRIM_TIMES_H
#define LANEPOOL_SRC_BASE_TRIM_TIMES_H

#include "base/sizes.h"
#include "platform/platform.h"

/* A trim rests for so many times as long as it took, at most REST_MAX_NS. What is free beside
 * something in use may stay so, and would be searched again each time. */
#define LANEPOOL_I_REST_TIMES  64u
#define LANEPOOL_I_REST_MAX_NS UINT64_C(10000000000)

/* Returns when to trim next, after a trim that began at `start_ns` and has just ended. */
static inline uint64_t lanepool_i_trim_next_ns(uint64_t start_ns)
{
    uint64_t now_ns = lanepool_i_clock_coarse();
    uint64_t rest_ns = (now_ns - start_ns) * LANEPOOL_I_REST_TIMES;
    rest_ns = rest_ns < LANEPOOL_I_REST_MAX_NS ? rest_ns : LANEPOOL_I_REST_MAX_NS;
    return now_ns + LANEPOOL_I_TRIM_AFTER_NS + rest_ns;
}

#endif
