/* Litmus programs of the slab: blocks pass from thread to thread in chains. */
#include <string.h>

#include "base/sizes.h"
#include "base/slab.h"
#include "base/slab_returns.h"
#include "simulator/litmus.h"

enum { CLASS = LANEPOOL_I_SLAB_CLASSES - 1, CHAIN = 4, GIVERS = 2, THREADS = 3 };

static struct {
    lanepool_i_slab slab;
    lanepool_i_cache caches[THREADS];
    void *blocks[GIVERS][2 * CHAIN];
} all;

static size_t size_of_block(void)
{
    return LANEPOOL_I_BLOCK_MIN << CLASS;
}

static void *take(uint32_t thread)
{
    void *block = lanepool_i_slab_take(&all.slab, &all.caches[thread], CLASS, size_of_block());

    if (block == NULL)
        sim_fail("no block");
    return block;
}

static void use(void *block, uint32_t thread)
{
    uint32_t *words = block;

    words[0] = thread;
    words[size_of_block() / sizeof *words - 1] = thread;
}

static void begin_with(const lanepool_allocator *allocator)
{
    memset(&all.caches, 0, sizeof all.caches);
    if (!lanepool_i_slab_init(&all.slab, allocator, CLASS))
        sim_fail("no slab");
    for (uint32_t i = 0; i < GIVERS; i++)
        for (uint32_t j = 0; j < 2 * CHAIN; j++)
            all.blocks[i][j] = take(i);
}

static void begin(void)
{
    begin_with(NULL);
}

static void end(void)
{
    lanepool_i_slab_fini(&all.slab, 0);
}

static void give_chains(uint32_t giver)
{
    for (uint32_t i = 0; i < 2 * CHAIN; i++) {
        use(all.blocks[giver][i], giver);
        lanepool_i_slab_give(&all.slab, &all.caches[giver], CLASS, all.blocks[giver][i]);
    }
}

static void give_or_take(uint32_t thread)
{
    if (thread < GIVERS) {
        give_chains(thread);
        return;
    }
    for (uint32_t i = 0; i < 3 * CHAIN; i++)
        use(take(thread), thread);
}

/* One thread takes what the others give. */
LITMUS(slab_give_take)
{
    (void)unused;
    begin();
    litmus_threads(THREADS, give_or_take);
    end();
}

static void give_or_trim(uint32_t thread)
{
    if (thread < GIVERS) {
        give_chains(thread);
        return;
    }
    for (uint32_t i = 0; i < 3; i++)
        lanepool_i_slab_trim(&all.slab);
    use(take(thread), thread);
}

/* One thread trims what the others give. */
LITMUS(slab_give_trim)
{
    (void)unused;
    begin();
    litmus_threads(THREADS, give_or_trim);
    end();
}

static void take_or_trim(uint32_t thread)
{
    if (thread == GIVERS) {
        for (int trims = 0; trims < 3; trims++)
            while (lanepool_i_slab_trim_some(&all.slab))
                continue;
        return;
    }
    give_chains(thread);
    for (uint32_t i = 0; i < 2 * CHAIN; i++)
        use(take(thread), thread);
}

/* One thread trims what the others give and take. */
LITMUS(slab_take_trim)
{
    (void)unused;
    begin();
    litmus_threads(THREADS, take_or_trim);
    end();
}

static void return_blocks(uint32_t thread)
{
    for (uint32_t i = 0; i < 2 * CHAIN; i++) {
        use(all.blocks[thread][i], thread);
        lanepool_i_slab_return(all.blocks[thread][i], CLASS);
    }
}

static void return_or_take(uint32_t thread)
{
    if (thread < GIVERS) {
        return_blocks(thread);
        return;
    }
    for (uint32_t i = 0; i < 3 * CHAIN; i++) {
        void *block = take(thread);

        use(block, thread);
        lanepool_i_slab_give(&all.slab, &all.caches[thread], CLASS, block);
    }
}

/* One thread takes what the others return. */
LITMUS(slab_return_take)
{
    (void)unused;
    begin();
    litmus_threads(THREADS, return_or_take);
    lanepool_i_slab_fini(&all.slab, GIVERS * 2 * CHAIN);
}

static void *get_region(void *user, size_t size, size_t alignment)
{
    (void)user;
    (void)alignment;
    return lanepool_i_pages_alloc(size);
}

/* The region's next owner uses all of it. */
static void free_region(void *user, void *region, size_t size)
{
    (void)user;
    for (uint32_t i = 0; i < GIVERS; i++)
        for (uint32_t j = 0; j < 2 * CHAIN; j++)
            if ((uintptr_t)all.blocks[i][j] - (uintptr_t)region < size)
                use(all.blocks[i][j], THREADS);
    lanepool_i_pages_free(region, size);
}

static void return_or_end(uint32_t thread)
{
    if (thread < GIVERS)
        return_blocks(thread);
    else
        lanepool_i_slab_fini(&all.slab, GIVERS * 2 * CHAIN);
}

/* One thread ends the slab while the others return their blocks. */
LITMUS(slab_return_end)
{
    static const lanepool_allocator allocator = { sizeof allocator, get_region, free_region, NULL };

    (void)unused;
    begin_with(&allocator);
    litmus_threads(THREADS, return_or_end);
}
