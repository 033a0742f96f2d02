/* Blocks that are returned without a cache, also after the end of their slab. */
#include "base/slab_returns.h"

#include "unit/slab_blocks.h"

static void return_blocks(struct fixture *all, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        memset(all->blocks[i], (int)i, size_of(LARGEST)); /* the last use */
        lanepool_i_slab_return(all->blocks[i], LARGEST);
    }
}

Test(slab_returns, blocks_are_taken_again)
{
    size_t chain = lanepool_i_slab_chain_blocks(LARGEST);

    for (size_t count = 1; count <= 3 * chain; count++) {
        struct fixture *all = fixture_make();

        take_blocks(all, 0, LARGEST, count);
        return_blocks(all, 0, count);
        expect_eq(take_known(all, 1, LARGEST, count, count), count);
        return_blocks(all, 0, count);
        fixture_end_slab(all, 2 * count);
        fixture_free(all);
    }
}

Test(slab_returns, steady_use_asks_for_no_more_memory)
{
    enum { ROUNDS = 5 };
    struct fixture *all = fixture_make();
    size_t count = REGION_PAGES * page_blocks(LARGEST) - lanepool_i_slab_chain_blocks(LARGEST);

    for (int round = 0; round < ROUNDS; round++) {
        take_blocks(all, 0, LARGEST, count);
        return_blocks(all, 0, count);
        expect_eq(all->memory.given, 1);
    }
    fixture_end_slab(all, ROUNDS * count);
    fixture_free(all);
}

Test(slab_returns, a_trim_gives_their_memory_back)
{
    struct fixture *all = fixture_make();
    size_t count = REGION_PAGES * page_blocks(LARGEST) + page_blocks(LARGEST);

    take_blocks(all, 0, LARGEST, count);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    expect_eq(all->memory.live, 2);
    return_blocks(all, 0, count);
    lanepool_i_slab_trim(&all->slab);
    expect_eq(all->memory.live, 0);
    fixture_end_slab(all, count);
    fixture_free(all);
}

/* Each part of a trim puts at most a chain on the stack. */
Test(slab_returns, a_trim_needs_a_part_for_each_chain)
{
    enum { CHAINS = 8 };
    struct fixture *all = fixture_make();
    size_t count = CHAINS * lanepool_i_slab_chain_blocks(LARGEST);
    size_t parts = 0;

    take_blocks(all, 0, LARGEST, count);
    return_blocks(all, 0, count);
    while (lanepool_i_slab_trim_some(&all->slab)) {
        parts++;
    }
    expect(parts >= CHAINS);
    fixture_end_slab(all, count);
    fixture_free(all);
}

Test(slab_returns, memory_stays_until_the_last_block_is_returned)
{
    for (size_t before = 0; before < 3; before++) {
        struct fixture *all = fixture_make();

        take_blocks(all, 0, LARGEST, 3);
        return_blocks(all, 0, before);
        fixture_end_slab(all, 3);
        for (size_t i = before; i < 3; i++) {
            expect_eq(all->memory.live, 1);
            return_blocks(all, i, i + 1);
        }
        fixture_free(all);
    }
}

Test(slab_returns, only_regions_with_blocks_in_use_stay)
{
    struct fixture *all = fixture_make();
    size_t count = 2 * REGION_PAGES * page_blocks(LARGEST) + page_blocks(LARGEST);

    take_blocks(all, 0, LARGEST, count);
    take(all, 1, 0); /* of another class, and lost with the slab */
    expect_eq(all->memory.live, 4);
    return_blocks(all, 1, count);
    fixture_end_slab(all, count);
    expect_eq(all->memory.live, 1);
    return_blocks(all, 0, 1);
    fixture_free(all);
}

/* Fewer chains than a trim's reserve are free in the second region. */
Test(slab_returns, no_reserve_stays_behind_the_slab)
{
    struct fixture *all = fixture_make();
    size_t in_use = REGION_PAGES * page_blocks(LARGEST);
    size_t count = in_use + 4 * page_blocks(LARGEST);

    take_blocks(all, 0, LARGEST, count);
    return_blocks(all, in_use, count);
    fixture_end_slab(all, count);
    expect_eq(all->memory.live, 1);
    return_blocks(all, 0, in_use);
    fixture_free(all);
}

/* A chain costs the refill nothing but its first link. */
Test(slab_returns, chains_are_taken_before_returned_blocks)
{
    struct fixture *all = fixture_make();
    size_t chain = lanepool_i_slab_chain_blocks(LARGEST);

    take_blocks(all, 0, LARGEST, 2 * chain + 1);
    give_blocks(all, 0, LARGEST, 2 * chain);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    return_blocks(all, 2 * chain, 2 * chain + 1);
    void *returned = all->blocks[2 * chain];
    for (size_t i = 0; i < chain; i++) {
        all->blocks[i] = take(all, 1, LARGEST);
        expect(all->blocks[i] != returned);
    }
    give_blocks(all, 1, LARGEST, chain);
    fixture_end_slab(all, 1);
    fixture_free(all);
}
