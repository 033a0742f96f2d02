/*
 * Blocks of fixed sizes for one pool: a shared stack of chains per size, and a
 * cache per thread.
 *
 * A thread takes blocks from its cache and gives blocks back to its own,
 * whoever took them; the stack moves whole chains of LANEPOOL_I_CHAIN_BYTES
 * between threads. In steady state no memory comes from the system.
 *
 * Who may call at once: cache functions, the cache's thread; the rest, any
 * thread. Taking and trimming lock; giving back does not.
 */
#ifndef LANEPOOL_SRC_SLAB_H
#define LANEPOOL_SRC_SLAB_H

#include "atomic.h"
#include "platform/platform.h"

/* 64, 128, ... 2048 bytes; what is larger comes from the system. */
#define LANEPOOL_I_SLAB_CLASSES 6
#define LANEPOOL_I_SLAB_SYSTEM  LANEPOOL_I_SLAB_CLASSES
#define LANEPOOL_I_BLOCK_MIN    ((size_t)64)
#define LANEPOOL_I_CHAIN_BYTES  ((size_t)8192)

typedef struct lanepool_i_block lanepool_i_block;
typedef struct lanepool_i_region lanepool_i_region;

/* A free block. */
struct lanepool_i_block {
    lanepool_i_block *next;       /* in its chain */
    lanepool_i_block *next_chain; /* in a chain's first block: the stack's next chain */
};

/* One size. Guards: A atomic, L slab's lock. */
typedef struct lanepool_i_slab_class {
    _Alignas(LANEPOOL_I_APART) _Atomic(lanepool_i_block *) chains; /* A: push by all, pop under L */
    lanepool_i_region *open;                                       /* L: with pages not yet cut */
    lanepool_i_region *full;                                       /* L: without */
} lanepool_i_slab_class;

typedef struct lanepool_i_slab {
    lanepool_i_slab_class classes[LANEPOOL_I_SLAB_CLASSES];
    lanepool_i_mutex lock; /* L */
} lanepool_i_slab;

/* One thread's blocks of one size. */
typedef struct lanepool_i_cache_class {
    lanepool_i_block *spare; /* to take from */
    lanepool_i_block *freed; /* given back, on the way to a whole chain */
    size_t freed_count;
} lanepool_i_cache_class;

typedef struct lanepool_i_cache {
    lanepool_i_cache_class classes[LANEPOOL_I_SLAB_CLASSES];
} lanepool_i_cache;

bool lanepool_i_slab_init(lanepool_i_slab *slab);
/* Frees every region: blocks in caches are gone too. */
void lanepool_i_slab_fini(lanepool_i_slab *slab);
/* Gives memory of free blocks back to the system, page by page. O(free blocks). */
void lanepool_i_slab_trim(lanepool_i_slab *slab);

/* The class of blocks of `size` bytes; LANEPOOL_I_SLAB_SYSTEM beyond the largest. */
size_t lanepool_i_slab_class_of(size_t size);

/* A block aligned to 64, not cleared; NULL if memory is lacking. `size` counts for blocks of the
 * system only. */
void *lanepool_i_slab_take(lanepool_i_slab *slab, lanepool_i_cache *cache, size_t class,
                           size_t size);
/* `class` as it was taken with. */
void lanepool_i_slab_give(lanepool_i_slab *slab, lanepool_i_cache *cache, size_t class,
                          void *block);
/* Moves everything in a cache to the stack. */
void lanepool_i_slab_flush(lanepool_i_slab *slab, lanepool_i_cache *cache);

#endif
