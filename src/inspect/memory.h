/*
 * Memory of what is inspected. Tests replace memory.c by one whose allocations fail.
 */
#ifndef LANEPOOL_SRC_INSPECT_MEMORY_H
#define LANEPOOL_SRC_INSPECT_MEMORY_H

#include <stddef.h>
#include <string.h>

/* Not cleared. Returns NULL if memory cannot be allocated. */
void *lanepool_i_inspect_alloc(size_t size);
void lanepool_i_inspect_free(void *memory);

static inline void *lanepool_i_inspect_alloc_zeroed(size_t size)
{
    void *memory = lanepool_i_inspect_alloc(size);
    return memory != NULL ? memset(memory, 0, size) : NULL;
}

#endif
