/* An allocator that counts its pieces of memory, and refuses while the test wants that. */
#ifndef TESTS_UNIT_COUNTED_MEMORY_H
#define TESTS_UNIT_COUNTED_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include "lanepool/pool.h"

/* Only one thread may use it. */
struct counted_memory {
    lanepool_allocator allocator;
    size_t live;  /* pieces given out and not returned */
    size_t bytes; /* of these pieces */
    size_t given; /* pieces ever given out */
    bool refuses;
};

/* Fills the memory, because an allocator need not clear it. */
static inline void *counted_memory_take(void *user, size_t size, size_t alignment)
{
    struct counted_memory *memory = user;
    void *piece = NULL;

    if (!memory->refuses) {
        piece = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    if (piece != NULL) {
        memset(piece, 0xa5, size);
        memory->live++;
        memory->given++;
        memory->bytes += size;
    }
    return piece;
}

static inline void counted_memory_give(void *user, void *piece, size_t size)
{
    struct counted_memory *memory = user;

    memory->live--;
    memory->bytes -= size;
    free(piece);
}

static inline void counted_memory_init(struct counted_memory *memory)
{
    *memory = (struct counted_memory){ .allocator = { sizeof memory->allocator, counted_memory_take,
                                                      counted_memory_give, memory } };
}

#endif
