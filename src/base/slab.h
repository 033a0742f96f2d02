/*
 * Blocks of fixed sizes for one pool: a shared stack of chains for each size, a cache for each
 * thread.
 *
 * A thread takes blocks from its own cache and gives blocks back to it, no matter which thread took
 * them. The stack moves whole chains of LANEPOOL_I_CHAIN_BYTES between threads. In steady state no
 * memory comes from the system. Pages with only free blocks go back to it when a thread trims the
 * slab (slab_trim.c).
 *
 * Blocks of one size may outlive the slab: those of futures. Any thread may return such a block, at
 * any time, also without a cache of this slab (slab_returns.h).
 *
 * Callers: a cache's thread for functions with a cache, any thread for the others. Taking from the
 * stack and trimming lock; pushing to it does not.
 */
#ifndef LANEPOOL_SRC_BASE_SLAB_H
#define LANEPOOL_SRC_BASE_SLAB_H

#include "base/allocator.h"
#include "base/atomic.h"
#include "base/list.h"
#include "platform/platform.h"

/* 64, 128, ... 2048 bytes. Larger blocks come from the system. */
#define LANEPOOL_I_SLAB_CLASSES 6
#define LANEPOOL_I_SLAB_SYSTEM  LANEPOOL_I_SLAB_CLASSES
#define LANEPOOL_I_BLOCK_MIN    ((size_t)64)
#define LANEPOOL_I_CHAIN_BYTES  ((size_t)8192)

typedef struct lanepool_i_block lanepool_i_block;
typedef struct lanepool_i_region lanepool_i_region;
typedef struct lanepool_i_returns lanepool_i_returns;

/* A free block. */
struct lanepool_i_block {
    lanepool_i_block *next;       /* in its chain */
    lanepool_i_block *next_chain; /* in a chain's first block: the stack's next chain */
    lanepool_i_block *early;      /* a block probably taken a little later, or NULL */
};

/* How many blocks later. */
#define LANEPOOL_I_EARLY 8

/* The blocks of one size. Guards: A atomic, L slab's lock. */
typedef struct lanepool_i_slab_class {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_block *)
        chains;           /* A: pushed by all, popped under L */
    lanepool_i_list open; /* L: regions with uncut pages */
    lanepool_i_list full; /* L: regions without */
    size_t cut_pages;     /* L */
} lanepool_i_slab_class;

/* The phases of a trim. Each part of it belongs to one. */
typedef enum lanepool_i_trim_phase {
    LANEPOOL_I_TRIM_CHOOSE,  /* takes a size's chains off the stack, if there are enough */
    LANEPOOL_I_TRIM_COUNT,   /* counts the free blocks of each page */
    LANEPOOL_I_TRIM_SORT,    /* sorts the blocks: those of free pages, and the others */
    LANEPOOL_I_TRIM_DISCARD, /* gives the free pages back */
    LANEPOOL_I_TRIM_RETURN   /* pushes the chains to the stack again, since a thread needed some */
} lanepool_i_trim_phase;

/* The chains that a trim has taken off the stack. */
enum {
    LANEPOOL_I_TRIM_UNCOUNTED,
    LANEPOOL_I_TRIM_COUNTED,
    LANEPOOL_I_TRIM_FREED, /* of pages with only free blocks */
    LANEPOOL_I_TRIM_LISTS
};

/* A trim in progress; slab_trim.c explains it. Guards: A atomic, L slab's lock, T trim's lock. */
typedef struct lanepool_i_trim {
    lanepool_i_mutex lock;                           /* T */
    lanepool_i_trim_phase phase;                     /* T */
    size_t class;                                    /* T and L to write, either to read */
    lanepool_i_block *chains[LANEPOOL_I_TRIM_LISTS]; /* L */
    bool is_interrupted;        /* L: a thread has put one of the lists on the stack again */
    bool is_discarding;         /* L: the free pages of `counted` are to be given back */
    lanepool_i_block *used;     /* T: a chain being made of blocks of other pages */
    size_t used_count;          /* T */
    lanepool_i_region *counted; /* T, L while discarding: the regions of the counted blocks */
    uint64_t number;            /* T: of this pass over a size's blocks */
    bool has_returned;          /* T: this trim has looked for blocks that were returned */
    uint64_t worked_ns;         /* T: by this trim so far */
    size_t reserve;             /* L: with fewer chains than this a size is not trimmed */
    _Atomic uint64_t due_ns;    /* A: when to trim next; 0: there is nothing to trim */
    _Atomic uint64_t busy_ns;   /* A: when a busy worker has last trimmed */
} lanepool_i_trim;

typedef struct lanepool_i_slab {
    lanepool_i_slab_class classes[LANEPOOL_I_SLAB_CLASSES];
    lanepool_i_mutex lock;               /* L */
    const lanepool_allocator *allocator; /* I: NULL for the system's */
    size_t outliving;                    /* I: the class of blocks that may outlive the slab */
    lanepool_i_returns *returns;         /* I: where other threads return such blocks */
    lanepool_i_block *returned;          /* L: such blocks, taken from `returns` */
    uint64_t returned_count;             /* L: such blocks ever made part of a chain */
    lanepool_i_trim trim;
} lanepool_i_slab;

/* A thread's blocks of one size. */
typedef struct lanepool_i_cache_class {
    lanepool_i_block *spare; /* blocks to take */
    lanepool_i_block *freed; /* blocks given back, until they are a whole chain */
    size_t freed_count;
    lanepool_i_block *recent[LANEPOOL_I_EARLY]; /* ring of the last blocks given back */
} lanepool_i_cache_class;

typedef struct lanepool_i_cache {
    lanepool_i_cache_class classes[LANEPOOL_I_SLAB_CLASSES];
} lanepool_i_cache;

/* Returns false if memory cannot be allocated. Blocks of the class `outliving` may outlive the
 * slab.
 */
bool lanepool_i_slab_init(lanepool_i_slab *slab, const lanepool_allocator *allocator,
                          size_t outliving);
/* Frees all regions without blocks that outlive the slab, and with them the blocks in caches. The
 * program may have `outliving` such blocks, less those that were returned. If so, the caches must
 * be flushed, and the last return frees the rest. O(regions), otherwise O(free blocks). */
void lanepool_i_slab_fini(lanepool_i_slab *slab, uint64_t outliving);

/* Does a part of a trim, or begins one, which keeps a reserve of chains. Returns false if it has
 * come to the end of a trim, or if another thread does a part. */
bool lanepool_i_slab_trim_some(lanepool_i_slab *slab);
/* Trims the whole slab, without a reserve, even if another thread is trimming it. O(free blocks).
 */
void lanepool_i_slab_trim(lanepool_i_slab *slab);
/* Returns when the slab should be trimmed: once it has not grown for a while. 0: there is nothing
 * to trim. */
static inline uint64_t lanepool_i_slab_trim_due(const lanepool_i_slab *slab)
{
    return load_relaxed(&slab->trim.due_ns);
}

/* Returns the class of blocks of `size` bytes; LANEPOOL_I_SLAB_SYSTEM beyond the largest. */
size_t lanepool_i_slab_class_of(size_t size);

/* Takes a block if the cache has none to take: from those given back, the stack, or the system. */
void *lanepool_i_slab_take_slowly(lanepool_i_slab *slab, lanepool_i_cache *cache, size_t class,
                                  size_t size);
/* Pushes the blocks given back, now a whole chain, to the stack. */
void lanepool_i_slab_give_chain(lanepool_i_slab *slab, lanepool_i_cache *cache, size_t class);

static inline size_t lanepool_i_slab_chain_blocks(size_t class)
{
    return LANEPOOL_I_CHAIN_BYTES / (LANEPOOL_I_BLOCK_MIN << class);
}

/* Takes a block, aligned to 64, not cleared. Returns NULL if memory cannot be allocated. `size`
 * counts only for blocks of the system. */
static inline void *lanepool_i_slab_take(lanepool_i_slab *slab, lanepool_i_cache *cache,
                                         size_t class, size_t size)
{
    if (class == LANEPOOL_I_SLAB_SYSTEM || cache->classes[class].spare == NULL)
        return lanepool_i_slab_take_slowly(slab, cache, class, size);
    lanepool_i_block *block = cache->classes[class].spare;
    cache->classes[class].spare = block->next;
    lanepool_i_prefetch(block->early);
    LANEPOOL_I_UNPOISON(block, LANEPOOL_I_BLOCK_MIN << class);
    return block;
}

/* Returns a block that will probably be taken a little later, or NULL; never dereferenced. `block`
 * was taken and not written to yet. */
static inline const void *lanepool_i_slab_early(const void *block)
{
    return ((const lanepool_i_block *)block)->early;
}

/* Gives a block back. `class` is the one that it was taken with. */
static inline void lanepool_i_slab_give(lanepool_i_slab *slab, lanepool_i_cache *cache,
                                        size_t class, void *memory)
{
    if (class == LANEPOOL_I_SLAB_SYSTEM) {
        lanepool_i_memory_free(memory);
        return;
    }
    lanepool_i_cache_class *to = &cache->classes[class];
    lanepool_i_block *block = memory;
    lanepool_i_block **recent = &to->recent[to->freed_count % LANEPOOL_I_EARLY];
    block->next = to->freed;
    block->early = *recent;
    *recent = block;
    to->freed = block;
    LANEPOOL_I_POISON(block + 1, (LANEPOOL_I_BLOCK_MIN << class) - sizeof *block);
    if (++to->freed_count == lanepool_i_slab_chain_blocks(class))
        lanepool_i_slab_give_chain(slab, cache, class);
}

/* Moves all blocks of a cache to the stack. */
void lanepool_i_slab_flush(lanepool_i_slab *slab, lanepool_i_cache *cache);

#endif
