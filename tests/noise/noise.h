/*
 * POSIX threads that are disturbed at the doors: before an atomic operation, a lock, a semaphore
 * or an allocation of the library a thread may yield, pause or sleep, at random. What depends on
 * two threads meeting in a short window then happens often; on an idle machine it hardly ever
 * does.
 *
 * A platform header (src/platform/platform.h): a build names it in LANEPOOL_PLATFORM.
 */
#ifndef TESTS_NOISE_NOISE_H
#define TESTS_NOISE_NOISE_H

#include <stdint.h>

/* From now on about one door in `one_in` is disturbed; 0: none. Each thread draws its own
 * disturbances, from the seed. Call it while no pool exists. */
void noise_set(uint64_t seed, uint32_t one_in);

/* The doors that the calling thread still passes undisturbed. */
extern _Thread_local uint32_t noise_doors_left;

/* Disturbs the calling thread and draws its next doors_left. */
void noise_make(void);

#define LANEPOOL_I_DOOR() (noise_doors_left-- == 0 ? noise_make() : (void)0)

#include "platform/posix.h"

#endif
