/* A slab's regions of pages, and what slab.c and slab_trim.c need from each other. */
#ifndef LANEPOOL_SRC_BASE_SLAB_REGION_H
#define LANEPOOL_SRC_BASE_SLAB_REGION_H

#include "base/sizes.h"
#include "base/slab.h"
#include "base/slab_returns.h"

#define LANEPOOL_I_REGION_PAGES (LANEPOOL_I_BLOCK_REGION / LANEPOOL_I_PAGE_SIZE)
#define LANEPOOL_I_REGION_WORDS ((LANEPOOL_I_REGION_PAGES + 63) / 64)

/* Guards: L slab's lock, T trim's lock; while free pages are given back, L guards T's fields. */
struct lanepool_i_region {
    lanepool_i_link link;                      /* L: in its class's list */
    lanepool_i_returns *returns;               /* I: of the slab */
    size_t uncut_count;                        /* L: pages not cut yet, without the header's */
    uint64_t uncut[LANEPOOL_I_REGION_WORDS];   /* L: a bit for each page: not cut into blocks yet */
    lanepool_i_region *next_counted;           /* T */
    uint64_t number;                           /* T: the pass that `free_in` belongs to */
    uint16_t free_in[LANEPOOL_I_REGION_PAGES]; /* T: free blocks counted in each page */
};

_Static_assert(sizeof(lanepool_i_region) <= LANEPOOL_I_PAGE_SIZE, "the header is one page");

static inline size_t lanepool_i_page_blocks(size_t class)
{
    return LANEPOOL_I_PAGE_SIZE / (LANEPOOL_I_BLOCK_MIN << class);
}

static inline lanepool_i_region *lanepool_i_region_of_block(const void *block)
{
    return (lanepool_i_region *)((uintptr_t)block & ~(uintptr_t)(LANEPOOL_I_BLOCK_REGION - 1));
}

static inline size_t lanepool_i_page_of_block(const void *block)
{
    return ((uintptr_t)block & (LANEPOOL_I_BLOCK_REGION - 1)) / LANEPOOL_I_PAGE_SIZE;
}

static inline void lanepool_i_region_set_uncut(lanepool_i_region *region, size_t page)
{
    region->uncut[page / 64] |= (uint64_t)1 << page % 64;
    region->uncut_count++;
}

static inline void lanepool_i_slab_free_region(const lanepool_allocator *allocator,
                                               lanepool_i_region *region)
{
    LANEPOOL_I_UNPOISON(region, LANEPOOL_I_BLOCK_REGION);
    lanepool_i_region_free(allocator, region, LANEPOOL_I_BLOCK_REGION);
}

/* Makes a chain of blocks that were returned. Returns NULL if there are none, or none of this
 * class.
 */
lanepool_i_block *lanepool_i_slab_chain_returned_locked(lanepool_i_slab *slab, size_t class);
/* Takes over what was returned since the last call, if the blocks of the last call are used up. */
void lanepool_i_slab_collect_returned_locked(lanepool_i_slab *slab);

void lanepool_i_slab_push_chain(lanepool_i_slab_class *of, lanepool_i_block *chain);

bool lanepool_i_trim_init(lanepool_i_trim *trim);
/* The stack of a class is empty: puts chains on it that a trim has taken. Returns false if there
 * are none. Another thread may have pushed a chain instead. */
bool lanepool_i_trim_interrupt_locked(lanepool_i_slab *slab, size_t class);
/* No page of a class is uncut: makes the free pages of a region uncut that a trim has yet to give
 * back. */
void lanepool_i_trim_return_region_locked(lanepool_i_slab *slab, size_t class);
/* The slab grows: it will be trimmed later. */
void lanepool_i_trim_put_off_locked(lanepool_i_slab *slab, size_t class);

#endif
