/* Litmus programs of the slab: blocks pass from thread to thread in chains. */
#include <string.h>

#include "base/sizes.h"
#include "base/slab.h"
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

static void begin(void)
{
    memset(&all.caches, 0, sizeof all.caches);
    if (!lanepool_i_slab_init(&all.slab, NULL, 0))
        sim_fail("no slab");
    for (uint32_t i = 0; i < GIVERS; i++)
        for (uint32_t j = 0; j < 2 * CHAIN; j++)
            all.blocks[i][j] = take(i);
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
