/*
 * The driver of a pool without threads. A thread that waits for such a pool runs its tasks itself,
 * step by step.
 */
#ifndef LANEPOOL_SRC_BASE_DRIVER_H
#define LANEPOOL_SRC_BASE_DRIVER_H

#include "platform/platform.h"

typedef struct lanepool_i_driver lanepool_i_driver;
struct lanepool_i_driver {
    /* Runs one step on the calling thread. Returns false if there is none to run. */
    bool (*step)(lanepool_i_driver *driver);
};

/* Waits for a post until the deadline. With a driver, runs steps until the post comes instead, and
 * returns false once there is no step left: no time passes during steps, and nothing would post
 * before the deadline. */
bool lanepool_i_driver_wait(lanepool_i_driver *driver, lanepool_i_semaphore *semaphore,
                            uint64_t deadline_ns);

#endif
