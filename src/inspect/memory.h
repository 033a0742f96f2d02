/*
 * Memory of what is inspected. Tests replace memory.c by one whose allocations fail.
 */
#ifndef LANEPOOL_SRC_INSPECT_MEMORY_H
#define LANEPOOL_SRC_INSPECT_MEMORY_H

#include <stddef.h>

/* Not cleared. Returns NULL if memory cannot be allocated. */
void *lanepool_i_inspect_alloc(size_t size);
void lanepool_i_inspect_free(void *memory);

#endif
