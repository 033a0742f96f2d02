/*
 * Where the memory comes from that grows with a pool's load: from the program's
 * allocator, if the pool has one, else through the platform's door.
 */
#ifndef LANEPOOL_SRC_BASE_ALLOCATOR_H
#define LANEPOOL_SRC_BASE_ALLOCATOR_H

#include "lanepool/pool.h"
#include "platform/platform.h"

#include <string.h>

/* Aligned to LANEPOOL_I_CACHE_LINE, not cleared; NULL: lacking. */
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

/* Pages: zeroed, aligned to `size`. The program's are resident from then on. */
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

/* Of a part of a region: only the system takes a part. */
static inline void lanepool_i_region_discard(const lanepool_allocator *allocator, void *pages,
                                             size_t size)
{
    if (allocator == NULL)
        lanepool_i_pages_discard(pages, size);
}

#endif
