/*
 * Memory that grows with a pool's load. It comes from the program's allocator, if the pool has one,
 * else from the platform.
 */
#ifndef LANEPOOL_SRC_BASE_ALLOCATOR_H
#define LANEPOOL_SRC_BASE_ALLOCATOR_H

#include "lanepool/pool.h"
#include "platform/platform.h"

#include <string.h>

/* Aligned to LANEPOOL_I_CACHE_LINE, not cleared. Returns NULL if memory cannot be allocated. */
static inline void *lanepool_i_allocate(const lanepool_allocator *allocator, size_t size)
{
    return allocator != NULL ? allocator->allocate(allocator->user, size, LANEPOOL_I_CACHE_LINE)
                             : lanepool_i_memory_alloc(size);
}

static inline void lanepool_i_deallocate(const lanepool_allocator *allocator, void *memory,
                                         size_t size)
{
    if (allocator == NULL)
        lanepool_i_memory_free(memory);
    else if (memory != NULL)
        allocator->deallocate(allocator->user, memory, size);
}

/* Allocates pages: zeroed, aligned to `size`. Pages from the program's allocator are resident at
 * once. */
static inline void *lanepool_i_region_alloc(const lanepool_allocator *allocator, size_t size)
{
    if (allocator == NULL)
        return lanepool_i_pages_alloc(size);
    void *region = allocator->allocate(allocator->user, size, size);
    return region != NULL ? memset(region, 0, size) : NULL;
}

static inline void lanepool_i_region_free(const lanepool_allocator *allocator, void *region,
                                          size_t size)
{
    if (allocator == NULL)
        lanepool_i_pages_free(region, size);
    else
        allocator->deallocate(allocator->user, region, size);
}

/* Gives the memory of a part of a region back. Only the system takes a part. */
static inline void lanepool_i_region_discard(const lanepool_allocator *allocator, void *pages,
                                             size_t size)
{
    if (allocator == NULL)
        lanepool_i_pages_discard(pages, size);
}

#endif
