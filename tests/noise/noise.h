/*
 * POSIX threads that are disturbed at random: before an atomic operation, a lock, a semaphore
 * operation or an allocation of the library, a thread may yield, pause or sleep. So events that
 * need two threads to meet in a short window happen often. On an idle machine they hardly ever
 * happen.
 *
 * This is a platform header (src/platform/platform.h): a build names it in LANEPOOL_PLATFORM.
 */
#ifndef TESTS_NOISE_NOISE_H
#define TESTS_NOISE_NOISE_H

#include <stdbool.h>
#include <stdint.h>

/* Disturbs about one in `one_in` operations from now on; 0: none. Each thread draws its own
 * disturbances from the seed. To be called while no pool exists. */
void noise_set(uint64_t seed, uint32_t one_in);

/* How many operations the calling thread makes before the next disturbance. */
extern _Thread_local uint32_t noise_doors_left;

/* Disturbs the calling thread, and draws its next noise_doors_left. */
void noise_make(void);

#define LANEPOOL_I_DOOR() (noise_doors_left-- == 0 ? noise_make() : (void)0)

#include "platform/posix.h"

#endif
