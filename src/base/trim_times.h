/* When memory that is free goes back to the system. */
#ifndef LANEPOOL_SRC_BASE_TRIM_TIMES_H
#define LANEPOOL_SRC_BASE_TRIM_TIMES_H

#include "base/sizes.h"
#include "platform/platform.h"

/* The pause after a trim is this factor times the trim's duration, but at most TRIM_REST_MAX_NS.
 * Free blocks in pages that are in use cannot go back, and each trim counts them again. */
#define LANEPOOL_I_REST_TIMES 64u

/* Returns when the pool may trim memory next, if a thread has just needed some. */
static inline uint64_t lanepool_i_trim_put_off(void)
{
    return lanepool_i_clock_coarse() + LANEPOOL_I_TRIM_AFTER_NS;
}

/* Returns when to trim next, after a trim that has worked for so long. */
static inline uint64_t lanepool_i_trim_next_ns(uint64_t worked_ns)
{
    uint64_t rest_ns = worked_ns * LANEPOOL_I_REST_TIMES;
    rest_ns = rest_ns < LANEPOOL_I_TRIM_REST_MAX_NS ? rest_ns : LANEPOOL_I_TRIM_REST_MAX_NS;
    return lanepool_i_trim_put_off() + rest_ns;
}

#endif
