/*
 * Blocks of fixed sizes; see slab.h.
 *
 * Owns the caches, the stacks, and the regions of pages. The first page of a region is its header.
 * Each other page is cut into blocks of the region's size when it is first needed.
 *
 * Protocol of the stack. Any thread pushes by compare-and-swap. A pop is a compare-and-swap under
 * the lock, so there is one popper at a time. Between its read of the top and its swap no other
 * thread can pop the top chain. So the chain is not in use while its link is read, and cannot be
 * pushed again with another link: if the swap finds the same top, the link is right (no ABA).
 */
#include "base/slab_region.h"

#include <string.h>

size_t lanepool_i_slab_class_of(size_t size)
{
    size_t class = 0;
    while (class < LANEPOOL_I_SLAB_SYSTEM && (LANEPOOL_I_BLOCK_MIN << class) < size)
        class ++;
    return class;
}

bool lanepool_i_slab_init(lanepool_i_slab *slab, const lanepool_allocator *allocator,
                          size_t outliving)
{
    slab->allocator = allocator;
    slab->outliving = outliving;
    slab->returned = NULL;
    slab->returned_count = 0;
    slab->returns = lanepool_i_returns_open(allocator);
    if (slab->returns == NULL)
        return false;
    for (size_t class = 0; class < LANEPOOL_I_SLAB_CLASSES; class ++) {
        atomic_init(&slab->classes[class].chains, NULL);
        slab->classes[class].cut_pages = 0;
        lanepool_i_list_init(&slab->classes[class].open);
        lanepool_i_list_init(&slab->classes[class].full);
    }
    if (!lanepool_i_trim_init(&slab->trim))
        goto close_returns;
    if (lanepool_i_mutex_init(&slab->lock, LANEPOOL_I_LOCK_SLAB))
        return true;
    lanepool_i_mutex_fini(&slab->trim.lock);
close_returns:
    (void)lanepool_i_returns_close(slab->returns);
    lanepool_i_returns_leave(slab->returns, 0);
    return false;
}

static void free_block_regions(const lanepool_allocator *allocator, const lanepool_i_list *regions)
{
    LANEPOOL_I_EACH(lanepool_i_region, region, regions, link)
        lanepool_i_slab_free_region(allocator, region);
}

static void free_class(const lanepool_i_slab *slab, const lanepool_i_slab_class *of)
{
    free_block_regions(slab->allocator, &of->open);
    free_block_regions(slab->allocator, &of->full);
}

/* Puts the blocks that were returned last into `returned`, behind those that are there. */
static uint64_t close_returns(lanepool_i_slab *slab)
{
    lanepool_i_block **end = &slab->returned;
    uint64_t count = 0;
    for (; *end != NULL; end = &(*end)->next)
        count++;
    *end = lanepool_i_returns_close(slab->returns);
    for (; *end != NULL; end = &(*end)->next)
        count++;
    return slab->returned_count + count;
}

/* Trims without a reserve, and leaves the regions to the blocks in use. */
static void leave_outliving(lanepool_i_slab *slab)
{
    lanepool_i_slab_class *of = &slab->classes[slab->outliving];
    slab->trim.reserve = 1;
    lanepool_i_slab_trim(slab);
    lanepool_i_returns_add_regions(slab->returns, &of->open);
    lanepool_i_returns_add_regions(slab->returns, &of->full);
}

void lanepool_i_slab_fini(lanepool_i_slab *slab, uint64_t outliving)
{
    uint64_t in_use = outliving - close_returns(slab);
    if (in_use != 0)
        leave_outliving(slab);
    lanepool_i_returns_leave(slab->returns, in_use);
    for (size_t class = 0; class < LANEPOOL_I_SLAB_CLASSES; class ++)
        if (class != slab->outliving || in_use == 0)
            free_class(slab, &slab->classes[class]);
    lanepool_i_mutex_fini(&slab->trim.lock);
    lanepool_i_mutex_fini(&slab->lock);
}

/* Release: what the last owner did to the blocks happens before the next one uses them. */
void lanepool_i_slab_push_chain(lanepool_i_slab_class *of, lanepool_i_block *chain)
{
    lanepool_i_block *top = load_relaxed(&of->chains);
    do
        chain->next_chain = top;
    while (!cas_release(&of->chains, &top, chain));
}

/* Acquire: pairs with the release in lanepool_i_slab_push_chain(). */
static lanepool_i_block *pop_chain_locked(lanepool_i_slab_class *of)
{
    lanepool_i_block *top = load_acquire(&of->chains);
    while (top != NULL && !cas_acquire(&of->chains, &top, top->next_chain))
        continue;
    return top;
}

/* The stack of returned blocks gives all of them at once, so that no taker reads a link in it. A
 * chain is made here, of a bounded number of them. */
void lanepool_i_slab_collect_returned_locked(lanepool_i_slab *slab)
{
    if (slab->returned == NULL)
        slab->returned = lanepool_i_returns_take(slab->returns);
}

lanepool_i_block *lanepool_i_slab_chain_returned_locked(lanepool_i_slab *slab, size_t class)
{
    lanepool_i_block *chain = class == slab->outliving ? slab->returned : NULL;
    lanepool_i_block *last = chain;
    size_t count = 1;
    if (chain == NULL)
        return NULL;
    for (; count < lanepool_i_slab_chain_blocks(class) && last->next != NULL; count++)
        last = last->next;
    slab->returned = last->next;
    slab->returned_count += count;
    last->next = NULL;
    return chain;
}

static size_t take_lowest_uncut(lanepool_i_region *region)
{
    size_t word = 0;
    while (region->uncut[word] == 0)
        word++;
    size_t page = word * 64 + (size_t)__builtin_ctzll(region->uncut[word]);
    region->uncut[word] &= region->uncut[word] - 1;
    region->uncut_count--;
    return page;
}

/* Cuts a page into a chain, lowest address first. For the last blocks, `early` leads into the next
 * page, which will probably be cut next. */
static lanepool_i_block *cut_page_locked(lanepool_i_slab_class *of, size_t class)
{
    lanepool_i_region *region = LANEPOOL_I_FIRST(&of->open, lanepool_i_region, link);
    size_t page = take_lowest_uncut(region);
    if (region->uncut_count == 0) {
        lanepool_i_unlink(&region->link);
        lanepool_i_list_add(&of->full, &region->link);
    }
    of->cut_pages++;
    size_t size = LANEPOOL_I_BLOCK_MIN << class;
    char *start = (char *)region + page * LANEPOOL_I_PAGE_SIZE;
    char *end = (char *)region + LANEPOOL_I_BLOCK_REGION;
    lanepool_i_block *chain = NULL;
    for (size_t i = lanepool_i_page_blocks(class); i-- > 0;) {
        lanepool_i_block *block = (lanepool_i_block *)(start + i * size);
        char *early = start + (i + LANEPOOL_I_EARLY) * size;
        block->early = early < end ? (lanepool_i_block *)early : NULL;
        block->next = chain;
        chain = block;
        LANEPOOL_I_POISON(block + 1, size - sizeof *block);
    }
    return chain;
}

static bool add_region(lanepool_i_slab *slab, lanepool_i_slab_class *of)
{
    lanepool_i_region *region = lanepool_i_region_alloc(slab->allocator, LANEPOOL_I_BLOCK_REGION);
    if (region == NULL)
        return false;
    region->returns = slab->returns;
    for (size_t page = 1; page < LANEPOOL_I_REGION_PAGES; page++)
        lanepool_i_region_set_uncut(region, page);
    lanepool_i_mutex_lock(&slab->lock);
    lanepool_i_list_add(&of->open, &region->link);
    lanepool_i_mutex_unlock(&slab->lock);
    return true;
}

static lanepool_i_block *refill_cache(lanepool_i_slab *slab, size_t class)
{
    lanepool_i_slab_class *of = &slab->classes[class];
    for (;;) {
        lanepool_i_mutex_lock(&slab->lock);
        lanepool_i_block *chain = pop_chain_locked(of);
        if (chain == NULL && class == slab->outliving) {
            lanepool_i_slab_collect_returned_locked(slab);
            chain = lanepool_i_slab_chain_returned_locked(slab, class);
        }
        while (chain == NULL && lanepool_i_trim_interrupt_locked(slab, class))
            chain = pop_chain_locked(of);
        if (chain == NULL && lanepool_i_list_is_empty(&of->open))
            lanepool_i_trim_return_region_locked(slab, class);
        if (chain == NULL && !lanepool_i_list_is_empty(&of->open)) {
            chain = cut_page_locked(of, class);
            lanepool_i_trim_put_off_locked(slab, class);
        }
        lanepool_i_mutex_unlock(&slab->lock);
        if (chain != NULL)
            return chain;
        if (!add_region(slab, of))
            return NULL;
    }
}

void *lanepool_i_slab_take_slowly(lanepool_i_slab *slab, lanepool_i_cache *cache, size_t class,
                                  size_t size)
{
    if (class == LANEPOOL_I_SLAB_SYSTEM)
        return lanepool_i_memory_alloc(size);
    lanepool_i_cache_class *from = &cache->classes[class];
    from->spare = from->freed;
    from->freed = NULL;
    from->freed_count = 0;
    if (from->spare == NULL)
        from->spare = refill_cache(slab, class);
    return from->spare != NULL ? lanepool_i_slab_take(slab, cache, class, size) : NULL;
}

void lanepool_i_slab_give_chain(lanepool_i_slab *slab, lanepool_i_cache *cache, size_t class)
{
    lanepool_i_cache_class *from = &cache->classes[class];
    lanepool_i_slab_push_chain(&slab->classes[class], from->freed);
    from->freed = NULL;
    from->freed_count = 0;
}

void lanepool_i_slab_flush(lanepool_i_slab *slab, lanepool_i_cache *cache)
{
    for (size_t class = 0; class < LANEPOOL_I_SLAB_CLASSES; class ++) {
        lanepool_i_cache_class *of = &cache->classes[class];
        if (of->spare != NULL)
            lanepool_i_slab_push_chain(&slab->classes[class], of->spare);
        if (of->freed != NULL)
            lanepool_i_slab_push_chain(&slab->classes[class], of->freed);
        memset(of, 0, sizeof *of);
    }
}
