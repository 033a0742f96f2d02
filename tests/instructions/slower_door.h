/*
 * POSIX threads with a few additional instructions at each operation: an example of a change that
 * makes the library slower, for guard.py.
 *
 * This is a platform header (src/platform/platform.h): a build names it in LANEPOOL_PLATFORM.
 */
#ifndef TESTS_INSTRUCTIONS_SLOWER_DOOR_H
#define TESTS_INSTRUCTIONS_SLOWER_DOOR_H

static inline void slower_door(void)
{
    volatile int passed = 0;
    passed = passed + 1;
}

#define LANEPOOL_I_DOOR() slower_door()

#include "platform/posix.h"

#endif
