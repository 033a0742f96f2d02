/* Owns the blocks that threads without a cache return; see slab_returns.h. */
#include "base/slab_region.h"

/* Guards: I immutable, A atomic, E the slab's end until it leaves, then the last return. */
struct lanepool_i_returns {
    _Atomic(lanepool_i_block *) blocks;  /* A: returned and not taken; then CLOSED */
    _Atomic uint64_t in_use;             /* A: from the slab's end on; below 0 until it has added */
    const lanepool_allocator *allocator; /* I: of the regions, or NULL */
    lanepool_i_list regions;             /* E */
};

/* No block is there. */
static lanepool_i_block closed;
#define CLOSED (&closed)

lanepool_i_returns *lanepool_i_returns_open(const lanepool_allocator *allocator)
{
    lanepool_i_returns *returns = lanepool_i_memory_alloc(sizeof *returns);
    if (returns == NULL)
        return NULL;
    atomic_init(&returns->blocks, NULL);
    atomic_init(&returns->in_use, 0);
    returns->allocator = allocator;
    lanepool_i_list_init(&returns->regions);
    return returns;
}

/* Acquire: pairs with the release in lanepool_i_slab_return(). Mostly there is nothing, and a load
 * leaves the line where it is. */
lanepool_i_block *lanepool_i_returns_take(lanepool_i_returns *returns)
{
    const lanepool_i_block *top = load_relaxed(&returns->blocks);
    return top != NULL && top != CLOSED ? exchange_acquire(&returns->blocks, NULL) : NULL;
}

/* Acquire, as above. */
lanepool_i_block *lanepool_i_returns_close(lanepool_i_returns *returns)
{
    return exchange_acquire(&returns->blocks, CLOSED);
}

void lanepool_i_returns_add_regions(lanepool_i_returns *returns, lanepool_i_list *regions)
{
    lanepool_i_link *link;
    while ((link = lanepool_i_list_take(regions)) != NULL)
        lanepool_i_list_add(&returns->regions, link);
}

static void free_returns(lanepool_i_returns *returns)
{
    LANEPOOL_I_EACH(lanepool_i_region, region, &returns->regions, link)
        lanepool_i_slab_free_region(returns->allocator, region);
    lanepool_i_memory_free(returns);
}

/* Release: the regions were added before. Acquire: all returns so far happen before the free. */
void lanepool_i_returns_leave(lanepool_i_returns *returns, uint64_t in_use)
{
    if (fetch_add_acq_rel(&returns->in_use, in_use) + in_use == 0)
        free_returns(returns);
}

/* Release: the last use of the block happens before its next owner's. If the stack is closed, the
 * count carries what others did, in both directions. The returns exist until the block is counted.
 */
void lanepool_i_slab_return(void *memory, size_t class)
{
    lanepool_i_block *block = memory;
    lanepool_i_returns *returns = lanepool_i_region_of_block(block)->returns;
    lanepool_i_block *top = load_relaxed(&returns->blocks);
    block->early = NULL;
    LANEPOOL_I_POISON(block + 1, (LANEPOOL_I_BLOCK_MIN << class) - sizeof *block);
    do {
        if (top == CLOSED) {
            if (fetch_sub_acq_rel(&returns->in_use, 1) == 1)
                free_returns(returns);
            return;
        }
        block->next = top;
    } while (!cas_release(&returns->blocks, &top, block));
}
