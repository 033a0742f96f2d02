/* Owns how a thread waits for a pool that may have no threads; see driver.h. */
#include "base/driver.h"

/* A deadline in the past takes a post that is there. The last step may have posted, too. */
bool lanepool_i_driver_wait(lanepool_i_driver *driver, lanepool_i_semaphore *semaphore,
                            uint64_t deadline_ns)
{
    if (driver == NULL)
        return lanepool_i_semaphore_wait_until(semaphore, deadline_ns);
    bool stepped = true;
    while (!lanepool_i_semaphore_wait_until(semaphore, 0)) {
        if (!stepped)
            return false;
        stepped = driver->step(driver);
    }
    return true;
}
