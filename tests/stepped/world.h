/* The world of workloads that run in pools without threads; see world.c. */
#ifndef TESTS_STEPPED_WORLD_H
#define TESTS_STEPPED_WORLD_H

#include <stdint.h>

#include "lanepool/lanepool.h"

/* To be called before each run. The run stores its pool in *pool, as workload_run() does. The seed
 * draws the turns of its threads. */
void stepped_world_begin(lanepool_pool **pool, uint64_t seed);

#endif
