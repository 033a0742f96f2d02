/*
 * Gives the memory of free blocks back to the system, page by page, in small parts.
 *
 * A trim makes a pass over the free blocks of each size. The pass takes chains off the stack and
 * counts the free blocks of each page. Then it separates the blocks of *free pages*, which have
 * only free blocks. At last it gives these pages back: they are uncut again.
 *
 * Before the pass over the blocks of futures, those that were returned (slab_returns.h) are put on
 * the stack, a chain in each part.
 *
 * Any thread may do the next part. The trim's lock is held for a part, the slab's lock for some
 * steps of it, never while memory goes back. A part handles one chain, or the pages of one region.
 * So a thread that needs blocks waits for a bounded number of steps.
 *
 * A thread that needs blocks gets those of the pass. If it finds the stack empty, it puts a list of
 * the pass on it again, which takes one step, and the pass is *interrupted*: it returns its other
 * chains, and its counts are void. Once all blocks are sorted, the pass has only free pages left.
 * Then a thread that finds no uncut page takes those of one region. Only two chains at most are out
 * of reach, in the hands of the thread that trims.
 *
 * The counts of a region are those of the pass whose number it bears. So nothing needs to be
 * cleared after an interruption.
 */
#include "base/slab_region.h"
#include "base/trim_times.h"

#include <string.h>

/* Chains returned in one part. */
#define RETURNED_AT_ONCE 64
/* Regions that a thread in need of blocks searches for free pages in one step. */
#define REGIONS_AT_ONCE 8

bool lanepool_i_trim_init(lanepool_i_trim *trim)
{
    memset(trim, 0, sizeof *trim);
    trim->reserve = LANEPOOL_I_RESERVE_CHAINS;
    atomic_init(&trim->due_ns, 0);
    atomic_init(&trim->busy_ns, 0);
    return lanepool_i_mutex_init(&trim->lock, LANEPOOL_I_LOCK_SLAB_TRIM);
}

static bool has_more_than_reserve_locked(const lanepool_i_slab *slab, size_t class)
{
    return slab->classes[class].cut_pages * LANEPOOL_I_PAGE_SIZE >
           LANEPOOL_I_RESERVE_CHAINS * LANEPOOL_I_CHAIN_BYTES;
}

void lanepool_i_trim_put_off_locked(lanepool_i_slab *slab, size_t class)
{
    if (has_more_than_reserve_locked(slab, class))
        store_relaxed(&slab->trim.due_ns, lanepool_i_trim_put_off());
}

/* The lock orders what others did to these blocks, so the swap needs no order. */
bool lanepool_i_trim_interrupt_locked(lanepool_i_slab *slab, size_t class)
{
    lanepool_i_trim *trim = &slab->trim;
    for (size_t i = 0; i < LANEPOOL_I_TRIM_LISTS && trim->class == class; i++) {
        lanepool_i_block *empty = NULL;
        if (trim->chains[i] == NULL)
            continue;
        if (cas_relaxed(&slab->classes[class].chains, &empty, trim->chains[i])) {
            trim->chains[i] = NULL;
            trim->is_interrupted = true;
            store_relaxed(&trim->due_ns, lanepool_i_trim_put_off());
        }
        return true;
    }
    return false;
}

static bool is_page_free(const lanepool_i_region *region, size_t page, size_t class)
{
    return region->free_in[page] == lanepool_i_page_blocks(class);
}

static size_t count_free_pages(const lanepool_i_region *region, size_t class)
{
    size_t count = 0;
    for (size_t page = 1; page < LANEPOOL_I_REGION_PAGES; page++)
        count += is_page_free(region, page, class);
    return count;
}

static lanepool_i_region *take_counted_locked(lanepool_i_trim *trim)
{
    lanepool_i_region *region = trim->counted;
    if (region != NULL)
        trim->counted = region->next_counted;
    return region;
}

static void set_free_pages_uncut_locked(lanepool_i_slab_class *of, size_t class,
                                        lanepool_i_region *region)
{
    for (size_t page = 1; page < LANEPOOL_I_REGION_PAGES; page++)
        if (is_page_free(region, page, class)) {
            lanepool_i_region_set_uncut(region, page);
            of->cut_pages--;
        }
    if (region->uncut_count == 0)
        return;
    lanepool_i_unlink(&region->link);
    lanepool_i_list_add(&of->open, &region->link);
}

void lanepool_i_trim_return_region_locked(lanepool_i_slab *slab, size_t class)
{
    lanepool_i_trim *trim = &slab->trim;
    lanepool_i_slab_class *of = &slab->classes[class];
    if (trim->class != class || !trim->is_discarding)
        return;
    for (int i = 0; i < REGIONS_AT_ONCE && lanepool_i_list_is_empty(&of->open); i++) {
        lanepool_i_region *region = take_counted_locked(trim);
        if (region != NULL)
            set_free_pages_uncut_locked(of, class, region);
    }
}

/* --- the pass's chains --- */

/* Takes a chain off a list. Returns NULL if the list is empty. */
static lanepool_i_block *take_chain_locked(lanepool_i_trim *trim, size_t list)
{
    lanepool_i_block *chain = trim->chains[list];
    if (chain != NULL)
        trim->chains[list] = chain->next_chain;
    return chain;
}

/* Takes a chain off a list, or else enters the phase that is next. */
static lanepool_i_block *take_chain(lanepool_i_slab *slab, size_t list, lanepool_i_trim_phase next)
{
    lanepool_i_trim *trim = &slab->trim;
    lanepool_i_mutex_lock(&slab->lock);
    lanepool_i_block *chain = trim->is_interrupted ? NULL : take_chain_locked(trim, list);
    if (chain == NULL)
        trim->phase = trim->is_interrupted ? LANEPOOL_I_TRIM_RETURN : next;
    if (trim->phase == LANEPOOL_I_TRIM_DISCARD) {
        trim->chains[LANEPOOL_I_TRIM_FREED] = NULL;
        trim->is_discarding = true;
    }
    lanepool_i_mutex_unlock(&slab->lock);
    return chain;
}

static void put_chain(lanepool_i_slab *slab, size_t list, lanepool_i_block *chain)
{
    lanepool_i_mutex_lock(&slab->lock);
    chain->next_chain = slab->trim.chains[list];
    slab->trim.chains[list] = chain;
    lanepool_i_mutex_unlock(&slab->lock);
}

/* --- the parts of a pass --- */

static void end_pass(lanepool_i_slab *slab)
{
    lanepool_i_trim *trim = &slab->trim;
    lanepool_i_mutex_lock(&slab->lock);
    trim->phase = LANEPOOL_I_TRIM_CHOOSE;
    trim->is_discarding = false;
    trim->class ++;
    lanepool_i_mutex_unlock(&slab->lock);
}

/* Returns the last chain of the reserve; NULL if the stack has fewer chains. To give back memory
 * that is soon needed again would cost more than it saves. */
static lanepool_i_block *last_of_reserve_locked(const lanepool_i_slab *slab,
                                                const lanepool_i_slab_class *of)
{
    size_t count = 1;
    lanepool_i_block *chain = load_acquire(&of->chains);
    for (; chain != NULL && count < slab->trim.reserve; chain = chain->next_chain)
        count++;
    return chain;
}

/* Takes the chains off the stack that a pass is about; NULL if there are not enough. Other threads
 * push in front of the reserve meanwhile, and read no link behind the first. */
static lanepool_i_block *take_chains_locked(const lanepool_i_slab *slab, lanepool_i_slab_class *of,
                                            bool all)
{
    lanepool_i_block *last = last_of_reserve_locked(slab, of);
    if (last == NULL)
        return NULL;
    if (all)
        return exchange_acquire(&of->chains, NULL);
    lanepool_i_block *chains = last->next_chain;
    last->next_chain = NULL;
    return chains;
}

static void choose_class(lanepool_i_slab *slab, bool all)
{
    lanepool_i_trim *trim = &slab->trim;
    lanepool_i_mutex_lock(&slab->lock);
    lanepool_i_block *chains = take_chains_locked(slab, &slab->classes[trim->class], all);
    if (chains != NULL) {
        trim->chains[LANEPOOL_I_TRIM_UNCOUNTED] = chains;
        trim->is_interrupted = false;
        trim->phase = LANEPOOL_I_TRIM_COUNT;
        trim->counted = NULL;
        trim->number++;
    } else {
        trim->class ++;
    }
    lanepool_i_mutex_unlock(&slab->lock);
}

static void count_chain(lanepool_i_slab *slab)
{
    lanepool_i_trim *trim = &slab->trim;
    lanepool_i_block *chain = take_chain(slab, LANEPOOL_I_TRIM_UNCOUNTED, LANEPOOL_I_TRIM_SORT);
    if (chain == NULL)
        return;
    for (const lanepool_i_block *block = chain; block != NULL; block = block->next) {
        lanepool_i_region *region = lanepool_i_region_of_block(block);
        if (region->number != trim->number) {
            region->number = trim->number;
            memset(region->free_in, 0, sizeof region->free_in);
            region->next_counted = trim->counted;
            trim->counted = region;
        }
        region->free_in[lanepool_i_page_of_block(block)]++;
    }
    put_chain(slab, LANEPOOL_I_TRIM_COUNTED, chain);
}

static void push_used(lanepool_i_slab *slab)
{
    lanepool_i_trim *trim = &slab->trim;
    if (trim->used != NULL)
        lanepool_i_slab_push_chain(&slab->classes[trim->class], trim->used);
    trim->used = NULL;
    trim->used_count = 0;
}

static void add_used(lanepool_i_slab *slab, lanepool_i_block *block)
{
    lanepool_i_trim *trim = &slab->trim;
    block->next = trim->used;
    trim->used = block;
    if (++trim->used_count == lanepool_i_slab_chain_blocks(trim->class))
        push_used(slab);
}

static void sort_chain(lanepool_i_slab *slab)
{
    lanepool_i_block *chain = take_chain(slab, LANEPOOL_I_TRIM_COUNTED, LANEPOOL_I_TRIM_DISCARD);
    lanepool_i_block *freed = NULL;
    if (chain == NULL)
        push_used(slab);
    while (chain != NULL) {
        lanepool_i_block *block = chain;
        chain = chain->next;
        if (!is_page_free(lanepool_i_region_of_block(block), lanepool_i_page_of_block(block),
                          slab->trim.class)) {
            add_used(slab, block);
            continue;
        }
        block->next = freed;
        freed = block;
    }
    if (freed != NULL)
        put_chain(slab, LANEPOOL_I_TRIM_FREED, freed);
}

/* Takes the next region with free pages; NULL if there is none. If none of its pages is in use,
 * also unlinks it. */
static lanepool_i_region *take_region(lanepool_i_slab *slab, bool *is_unused)
{
    lanepool_i_trim *trim = &slab->trim;
    lanepool_i_slab_class *of = &slab->classes[trim->class];
    *is_unused = false;
    lanepool_i_mutex_lock(&slab->lock);
    lanepool_i_region *region = take_counted_locked(trim);
    size_t free_count = region != NULL ? count_free_pages(region, trim->class) : 0;
    if (region != NULL && region->uncut_count + free_count == LANEPOOL_I_REGION_PAGES - 1) {
        lanepool_i_unlink(&region->link);
        of->cut_pages -= free_count;
        *is_unused = true;
    }
    lanepool_i_mutex_unlock(&slab->lock);
    return region;
}

/* Neighbouring pages go back together. */
static void discard_free_pages(const lanepool_i_slab *slab, lanepool_i_region *region)
{
    size_t class = slab->trim.class;
    size_t end;
    for (size_t page = 1; page < LANEPOOL_I_REGION_PAGES; page = end + 1) {
        for (end = page; end < LANEPOOL_I_REGION_PAGES && is_page_free(region, end, class); end++)
            continue;
        char *start = (char *)region + page * LANEPOOL_I_PAGE_SIZE;
        size_t size = (end - page) * LANEPOOL_I_PAGE_SIZE;
        if (size == 0)
            continue;
        LANEPOOL_I_UNPOISON(start, size);
        lanepool_i_region_discard(slab->allocator, start, size);
    }
}

/* Returns the region if it is not in use any more: the caller frees it. */
static lanepool_i_region *discard_region(lanepool_i_slab *slab)
{
    size_t class = slab->trim.class;
    bool is_unused;
    lanepool_i_region *region = take_region(slab, &is_unused);
    if (region == NULL)
        end_pass(slab);
    if (region == NULL || is_unused)
        return region;
    discard_free_pages(slab, region);
    lanepool_i_mutex_lock(&slab->lock);
    set_free_pages_uncut_locked(&slab->classes[class], class, region);
    lanepool_i_mutex_unlock(&slab->lock);
    return NULL;
}

static void return_chains(lanepool_i_slab *slab)
{
    lanepool_i_trim *trim = &slab->trim;
    for (int i = 0; i < RETURNED_AT_ONCE; i++) {
        lanepool_i_block *chain = NULL;
        lanepool_i_mutex_lock(&slab->lock);
        for (size_t list = 0; list < LANEPOOL_I_TRIM_LISTS && chain == NULL; list++)
            chain = take_chain_locked(trim, list);
        lanepool_i_mutex_unlock(&slab->lock);
        if (chain == NULL) {
            push_used(slab);
            end_pass(slab);
            return;
        }
        lanepool_i_slab_push_chain(&slab->classes[trim->class], chain);
    }
}

/* Puts a chain of blocks that were returned on the stack. Returns false if there is none. A trim
 * collects only once what other threads return, so that their returns do not keep it from its end.
 * A thread whose cache is empty may collect more, and takes a part of that itself. */
static bool push_returned(lanepool_i_slab *slab)
{
    lanepool_i_trim *trim = &slab->trim;
    if (trim->class != slab->outliving)
        return false;
    lanepool_i_mutex_lock(&slab->lock);
    if (!trim->has_returned)
        lanepool_i_slab_collect_returned_locked(slab);
    trim->has_returned = true;
    lanepool_i_block *chain = lanepool_i_slab_chain_returned_locked(slab, trim->class);
    lanepool_i_mutex_unlock(&slab->lock);
    if (chain != NULL)
        lanepool_i_slab_push_chain(&slab->classes[trim->class], chain);
    return chain != NULL;
}

/* --- a trim --- */

static void end_trim(lanepool_i_slab *slab)
{
    lanepool_i_trim *trim = &slab->trim;
    bool has_more = false;
    lanepool_i_mutex_lock(&slab->lock);
    trim->class = 0;
    for (size_t class = 0; class < LANEPOOL_I_SLAB_CLASSES; class ++)
        has_more |= has_more_than_reserve_locked(slab, class);
    store_relaxed(&trim->due_ns, has_more ? lanepool_i_trim_next_ns(trim->worked_ns) : 0);
    lanepool_i_mutex_unlock(&slab->lock);
    trim->worked_ns = 0;
    trim->has_returned = false;
}

/* Does a part, and unlocks the trim. Returns false at the end of a trim. */
static bool do_part_and_unlock(lanepool_i_slab *slab, bool all)
{
    lanepool_i_trim *trim = &slab->trim;
    lanepool_i_region *unused = NULL;
    uint64_t start_ns = lanepool_i_clock_now();
    switch (trim->phase) {
    case LANEPOOL_I_TRIM_CHOOSE:
        if (!push_returned(slab))
            choose_class(slab, all);
        break;
    case LANEPOOL_I_TRIM_COUNT:
        count_chain(slab);
        break;
    case LANEPOOL_I_TRIM_SORT:
        sort_chain(slab);
        break;
    case LANEPOOL_I_TRIM_DISCARD:
        unused = discard_region(slab);
        break;
    case LANEPOOL_I_TRIM_RETURN:
        return_chains(slab);
        break;
    }
    trim->worked_ns += lanepool_i_clock_now() - start_ns;
    bool more = trim->class < LANEPOOL_I_SLAB_CLASSES;
    if (!more)
        end_trim(slab);
    lanepool_i_mutex_unlock(&trim->lock);
    if (unused != NULL)
        lanepool_i_slab_free_region(slab->allocator, unused);
    return more;
}

bool lanepool_i_slab_trim_some(lanepool_i_slab *slab)
{
    return lanepool_i_mutex_try(&slab->trim.lock) && do_part_and_unlock(slab, false);
}

/* The first trim may have begun before this call. */
void lanepool_i_slab_trim(lanepool_i_slab *slab)
{
    bool more;
    for (int trims = 0; trims < 2; trims++)
        do {
            lanepool_i_mutex_lock(&slab->trim.lock);
            more = do_part_and_unlock(slab, true);
        } while (more);
}
