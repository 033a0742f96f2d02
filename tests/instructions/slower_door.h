/*
 * POSIX threads with a few instructions more at each door: what a change that makes the library
 * slower looks like to guard.py.
 *
 * A platform header (src/platform/platform.h): a build names it in LANEPOOL_PLATFORM.
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
