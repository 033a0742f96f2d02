/*
 * The driver of a pool without threads. A thread that waits for such a pool runs its tasks itself,
 * step by step. Such a pool has a clock of its own, in *virtual time*: the clock advances when
 * nothing else is left to do, or when the program says so.
 */
#ifndef LANEPOOL_SRC_BASE_DRIVER_H
#define LANEPOOL_SRC_BASE_DRIVER_H

#include "base/atomic.h"
#include "base/deadline.h"

typedef struct lanepool_i_driver lanepool_i_driver;

/* Guards: I immutable, A atomic. */
struct lanepool_i_driver {
    /* I: runs one step on the calling thread, in which no time passes. Returns false if there was
     * no step to make. The attempt may have posted a waiting thread nevertheless. */
    bool (*step)(lanepool_i_driver *driver);
    /* I: advances the clock to the next timer, but not beyond `until_ns`, and serves the timer.
     * Returns false if no timer is due by then. The clock then shows `until_ns`; with UINT64_MAX it
     * has not moved. */
    bool (*pass_time)(lanepool_i_driver *driver, uint64_t until_ns);
    /* I: draws a number below `count`. Called with the overflow list's lock. */
    uint64_t (*draw)(lanepool_i_driver *driver, uint64_t count);
    _Atomic uint64_t now_ns; /* A: virtual time; never 0 */
};

/* The time of the driver's clock; without a driver, of the monotonic clock. */
static inline uint64_t lanepool_i_driver_now(const lanepool_i_driver *driver)
{
    return driver != NULL ? load_relaxed(&driver->now_ns) : lanepool_i_clock_now();
}

/* As lanepool_i_deadline() and lanepool_i_deadline_left(), by that clock. */
static inline uint64_t lanepool_i_driver_deadline(const lanepool_i_driver *driver,
                                                  uint64_t wait_max_ns)
{
    if (wait_max_ns == 0 || wait_max_ns == UINT64_MAX)
        return wait_max_ns;
    return lanepool_i_deadline_from(lanepool_i_driver_now(driver), wait_max_ns);
}

static inline uint64_t lanepool_i_driver_deadline_left(const lanepool_i_driver *driver,
                                                       uint64_t deadline_ns)
{
    if (deadline_ns == 0 || deadline_ns == UINT64_MAX)
        return deadline_ns;
    uint64_t now_ns = lanepool_i_driver_now(driver);
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

/* Waits for a post until the deadline. With a driver, runs steps until the post comes instead, and
 * returns false once there is no step left before the deadline: nothing would post. */
bool lanepool_i_driver_wait(lanepool_i_driver *driver, lanepool_i_semaphore *semaphore,
                            uint64_t deadline_ns);

#endif
