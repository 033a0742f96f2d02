/*
 * Blocks of fixed sizes; see slab.h.
 *
 * Owns the regions of pages. The first page of a region is its header. Each other page is cut into
 * blocks of the region's size when it is first needed.
 *
 * Protocol of the stack. Any thread pushes by compare-and-swap. A pop is a compare-and-swap under
 * the lock, so there is one popper at a time. Between its read of the top and its swap no other
 * thread can pop the top chain. So the chain is not in use while its link is read, and cannot be
 * pushed again with another link: if the swap finds the same top, the link is right (no ABA).
 */
#include "base/slab.h"

#include "base/sizes.h"

#include <string.h>

#define REGION_SIZE  LANEPOOL_I_BLOCK_REGION
#define REGION_PAGES (REGION_SIZE / LANEPOOL_I_PAGE_SIZE)
#define WORDS        ((REGION_PAGES + 63) / 64)

/* Guard: L slab's lock. */
struct lanepool_i_region {
    lanepool_i_region *next;        /* L */
    size_t uncut_count;             /* L: pages not cut yet, without the header's */
    uint64_t uncut[WORDS];          /* L: a bit for each page: not cut into blocks yet */
    uint16_t free_in[REGION_PAGES]; /* L: free blocks in each page, while trimming; else 0 */
};

_Static_assert(sizeof(lanepool_i_region) <= LANEPOOL_I_PAGE_SIZE, "the header is one page");

size_t lanepool_i_slab_class_of(size_t size)
{
    size_t class = 0;
    while (class < LANEPOOL_I_SLAB_SYSTEM && (LANEPOOL_I_BLOCK_MIN << class) < size)
        class ++;
    return class;
}

static size_t page_blocks(size_t class)
{
    return LANEPOOL_I_PAGE_SIZE / (LANEPOOL_I_BLOCK_MIN << class);
}

static lanepool_i_region *region_of_block(const void *block)
{
    return (lanepool_i_region *)((uintptr_t)block & ~(uintptr_t)(REGION_SIZE - 1));
}

static size_t page_of(const void *block)
{
    return ((uintptr_t)block & (REGION_SIZE - 1)) / LANEPOOL_I_PAGE_SIZE;
}

bool lanepool_i_slab_init(lanepool_i_slab *slab, const lanepool_allocator *allocator)
{
    slab->allocator = allocator;
    for (size_t class = 0; class < LANEPOOL_I_SLAB_CLASSES; class ++) {
        atomic_init(&slab->classes[class].chains, NULL);
        slab->classes[class].open = NULL;
        slab->classes[class].full = NULL;
    }
    return lanepool_i_mutex_init(&slab->lock, LANEPOOL_I_LOCK_SLAB);
}

static void free_block_regions(const lanepool_allocator *allocator, lanepool_i_region *region)
{
    while (region != NULL) {
        lanepool_i_region *next = region->next;
        LANEPOOL_I_UNPOISON(region, REGION_SIZE);
        lanepool_i_region_free(allocator, region, REGION_SIZE);
        region = next;
    }
}

void lanepool_i_slab_fini(lanepool_i_slab *slab)
{
    for (size_t class = 0; class < LANEPOOL_I_SLAB_CLASSES; class ++) {
        free_block_regions(slab->allocator, slab->classes[class].open);
        free_block_regions(slab->allocator, slab->classes[class].full);
    }
    lanepool_i_mutex_fini(&slab->lock);
}

/* Release: what the last owner did to the blocks happens before the next one uses them. */
static void push_chain(lanepool_i_slab_class *of, lanepool_i_block *chain)
{
    lanepool_i_block *top = load_relaxed(&of->chains);
    do
        chain->next_chain = top;
    while (!cas_release(&of->chains, &top, chain));
}

/* Acquire: pairs with the release in push_chain(). */
static lanepool_i_block *pop_chain_locked(lanepool_i_slab_class *of)
{
    lanepool_i_block *top = load_acquire(&of->chains);
    while (top != NULL && !cas_acquire(&of->chains, &top, top->next_chain))
        continue;
    return top;
}

static void set_page_uncut(lanepool_i_region *region, size_t page)
{
    region->uncut[page / 64] |= (uint64_t)1 << page % 64;
    region->uncut_count++;
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
    lanepool_i_region *region = of->open;
    size_t page = take_lowest_uncut(region);
    if (region->uncut_count == 0) {
        of->open = region->next;
        region->next = of->full;
        of->full = region;
    }
    size_t size = LANEPOOL_I_BLOCK_MIN << class;
    char *start = (char *)region + page * LANEPOOL_I_PAGE_SIZE;
    char *end = (char *)region + REGION_SIZE;
    lanepool_i_block *chain = NULL;
    for (size_t i = page_blocks(class); i-- > 0;) {
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
    lanepool_i_region *region = lanepool_i_region_alloc(slab->allocator, REGION_SIZE);
    if (region == NULL)
        return false;
    for (size_t page = 1; page < REGION_PAGES; page++)
        set_page_uncut(region, page);
    lanepool_i_mutex_lock(&slab->lock);
    region->next = of->open;
    of->open = region;
    lanepool_i_mutex_unlock(&slab->lock);
    return true;
}

static lanepool_i_block *refill_cache(lanepool_i_slab *slab, size_t class)
{
    lanepool_i_slab_class *of = &slab->classes[class];
    for (;;) {
        lanepool_i_mutex_lock(&slab->lock);
        lanepool_i_block *chain = pop_chain_locked(of);
        if (chain == NULL && of->open != NULL)
            chain = cut_page_locked(of, class);
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
    push_chain(&slab->classes[class], from->freed);
    from->freed = NULL;
    from->freed_count = 0;
}

void lanepool_i_slab_flush(lanepool_i_slab *slab, lanepool_i_cache *cache)
{
    for (size_t class = 0; class < LANEPOOL_I_SLAB_CLASSES; class ++) {
        lanepool_i_cache_class *of = &cache->classes[class];
        if (of->spare != NULL)
            push_chain(&slab->classes[class], of->spare);
        if (of->freed != NULL)
            push_chain(&slab->classes[class], of->freed);
        memset(of, 0, sizeof *of);
    }
}

/* --- trimming: pages with only free blocks become uncut again --- */

static void count_free_locked(lanepool_i_block *chains)
{
    for (lanepool_i_block *chain = chains; chain != NULL; chain = chain->next_chain)
        for (lanepool_i_block *block = chain; block != NULL; block = block->next)
            region_of_block(block)->free_in[page_of(block)]++;
}

/* Pushes the blocks of pages that stay in use to the stack again; drops the others. */
static void push_used_locked(lanepool_i_slab_class *of, size_t class, lanepool_i_block *chains)
{
    lanepool_i_block *used = NULL;
    size_t used_count = 0;
    while (chains != NULL) {
        lanepool_i_block *chain = chains;
        chains = chain->next_chain;
        while (chain != NULL) {
            lanepool_i_block *block = chain;
            chain = chain->next;
            if (region_of_block(block)->free_in[page_of(block)] == page_blocks(class))
                continue;
            block->next = used;
            used = block;
            if (++used_count < lanepool_i_slab_chain_blocks(class))
                continue;
            push_chain(of, used);
            used = NULL;
            used_count = 0;
        }
    }
    if (used != NULL)
        push_chain(of, used);
}

static void discard_free_pages_locked(const lanepool_allocator *allocator,
                                      lanepool_i_region *region, size_t class)
{
    for (size_t page = 1; page < REGION_PAGES; page++) {
        if (region->free_in[page] == page_blocks(class)) {
            char *start = (char *)region + page * LANEPOOL_I_PAGE_SIZE;
            LANEPOOL_I_UNPOISON(start, LANEPOOL_I_PAGE_SIZE);
            lanepool_i_region_discard(allocator, start, LANEPOOL_I_PAGE_SIZE);
            set_page_uncut(region, page);
        }
        region->free_in[page] = 0;
    }
}

/* Sorts a class's regions into open and full again. Collects the wholly free ones in *unused. */
static void sort_regions_locked(lanepool_i_slab *slab, size_t class, lanepool_i_region *list,
                                lanepool_i_region **unused)
{
    lanepool_i_slab_class *of = &slab->classes[class];
    while (list != NULL) {
        lanepool_i_region *region = list;
        list = region->next;
        discard_free_pages_locked(slab->allocator, region, class);
        lanepool_i_region **to = region->uncut_count == REGION_PAGES - 1 ? unused
                                 : region->uncut_count != 0              ? &of->open
                                                                         : &of->full;
        region->next = *to;
        *to = region;
    }
}

/* Returns true if the stack has the reserve of chains or more. To give back memory that is soon
 * needed again would cost more than it saves. */
static bool is_worth_trimming_locked(const lanepool_i_slab_class *of)
{
    size_t count = 0;
    const lanepool_i_block *chain = load_acquire(&of->chains);
    for (; chain != NULL && count < LANEPOOL_I_RESERVE_CHAINS; chain = chain->next_chain)
        count++;
    return count == LANEPOOL_I_RESERVE_CHAINS;
}

void lanepool_i_slab_trim(lanepool_i_slab *slab)
{
    for (size_t class = 0; class < LANEPOOL_I_SLAB_CLASSES; class ++) {
        lanepool_i_slab_class *of = &slab->classes[class];
        lanepool_i_region *unused = NULL;
        lanepool_i_mutex_lock(&slab->lock);
        if (!is_worth_trimming_locked(of)) {
            lanepool_i_mutex_unlock(&slab->lock);
            continue;
        }
        lanepool_i_block *chains = exchange_acquire(&of->chains, NULL);
        count_free_locked(chains);
        push_used_locked(of, class, chains);
        lanepool_i_region *open = of->open;
        lanepool_i_region *full = of->full;
        of->open = NULL;
        of->full = NULL;
        sort_regions_locked(slab, class, open, &unused);
        sort_regions_locked(slab, class, full, &unused);
        lanepool_i_mutex_unlock(&slab->lock);
        free_block_regions(slab->allocator, unused);
    }
}
