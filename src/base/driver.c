/* Owns how a thread waits for a pool that may have no threads; see driver.h. */
#include "base/driver.h"

/* A deadline in the past takes a post that is there. */
static bool take_post(lanepool_i_semaphore *semaphore)
{
    return lanepool_i_semaphore_wait_until(semaphore, 0);
}

/* The last attempt to step or to pass time may have posted, too. */
bool lanepool_i_driver_wait(lanepool_i_driver *driver, lanepool_i_semaphore *semaphore,
                            uint64_t deadline_ns)
{
    if (driver == NULL)
        return lanepool_i_semaphore_wait_until(semaphore, deadline_ns);
    bool is_over = false;
    while (!take_post(semaphore)) {
        if (is_over || lanepool_i_driver_now(driver) >= deadline_ns)
            return false;
        if (driver->step(driver))
            continue;
        if (take_post(semaphore))
            return true;
        is_over = !driver->pass_time(driver, deadline_ns);
    }
    return true;
}
