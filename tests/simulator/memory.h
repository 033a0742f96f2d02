/* The memory behind the simulated door. */
#ifndef TESTS_SIMULATOR_MEMORY_H
#define TESTS_SIMULATOR_MEMORY_H

#include <stddef.h>

/* Aligned to `alignment`, a power of two that divides the size; not cleared. Ends the program when
 * there is none. */
void *sim_memory_get(size_t size, size_t alignment);
void sim_memory_put(void *memory, size_t size);
/* Nothing of the last run is used any more. */
void sim_memory_reset(void);

#endif
