/* The memory that the simulated platform gives to the engine. */
#ifndef TESTS_SIMULATOR_MEMORY_H
#define TESTS_SIMULATOR_MEMORY_H

#include <stddef.h>

/* Returns memory aligned to `alignment`, a power of two that divides the size. The memory is not
 * cleared. Ends the program if there is none. */
void *sim_memory_get(size_t size, size_t alignment);
void sim_memory_put(void *memory, size_t size);
/* Starts a new run: memory of the last run must not be used any more. */
void sim_memory_reset(void);

#endif
