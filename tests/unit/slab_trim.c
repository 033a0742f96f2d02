/* Trimming a slab: memory that is given back, and memory that stays. */
#include "unit/slab_blocks.h"

Test(slab_trim, fewer_chains_than_the_reserve_stay)
{
    size_t chain = lanepool_i_slab_chain_blocks(LARGEST);
    size_t reserve = LANEPOOL_I_RESERVE_CHAINS * chain;

    for (size_t count = reserve - chain; count <= reserve; count += chain) {
        struct fixture *all = fixture_make();

        take_blocks(all, 0, LARGEST, count);
        give_blocks(all, 0, LARGEST, count);
        lanepool_i_slab_trim(&all->slab);
        expect_eq(all->memory.live, count < reserve ? 1 : 0);
        fixture_end(all);
    }
}

Test(slab_trim, gives_unused_regions_back)
{
    struct fixture *all = fixture_make();
    size_t count = REGION_PAGES * page_blocks(LARGEST) + page_blocks(LARGEST);

    take_blocks(all, 0, LARGEST, count);
    give_blocks(all, 0, LARGEST, count);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    expect_eq(all->memory.live, 2);
    lanepool_i_slab_trim(&all->slab);
    expect_eq(all->memory.live, 0);
    take_blocks(all, 0, LARGEST, count);
    expect_eq(all->memory.live, 2);
    fixture_end(all);
}

Test(slab_trim, spares_blocks_in_use_and_loses_no_free_one)
{
    struct fixture *all = fixture_make();
    size_t count = REGION_PAGES * page_blocks(LARGEST);
    void *in_use;

    take_blocks(all, 0, LARGEST, count);
    in_use = all->blocks[count - 1];
    memset(in_use, 7, size_of(LARGEST));
    give_blocks(all, 0, LARGEST, count - 1);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    lanepool_i_slab_trim(&all->slab);
    expect_eq(all->memory.live, 1);
    take_blocks(all, 0, LARGEST, count - 1);
    expect_eq(all->memory.given, 1);
    expect_eq(index_of(all, count - 1, in_use), count - 1);
    for (size_t at = 0; at < size_of(LARGEST); at++) {
        expect_eq(((unsigned char *)in_use)[at], 7);
    }
    fixture_end(all);
}

Test(slab_trim, free_blocks_beside_used_ones_stay)
{
    struct fixture *all = fixture_make();
    size_t pages = REGION_PAGES;

    take_blocks(all, 0, LARGEST, 2 * pages);
    for (size_t i = 0; i < pages; i++) { /* one of the two blocks of each page */
        give(all, 0, LARGEST, all->blocks[2 * i]);
    }
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    lanepool_i_slab_trim(&all->slab);
    expect_eq(take_known(all, 0, LARGEST, pages, 2 * pages), pages);
    expect_eq(all->memory.given, 1);
    expect_eq(take_known(all, 0, LARGEST, 1, 2 * pages), 0); /* each was there once */
    expect_eq(all->memory.given, 2);
    fixture_end(all);
}

Test(slab_trim, works_on_the_systems_pages)
{
    struct fixture *all = fixture_make();
    lanepool_i_slab slab;
    size_t chain = lanepool_i_slab_chain_blocks(LARGEST);

    expect(lanepool_i_slab_init(&slab, NULL));
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < LANEPOOL_I_RESERVE_CHAINS * chain; i++) {
            all->blocks[i] = lanepool_i_slab_take(&slab, &all->caches[0], LARGEST, 0);
            expect(all->blocks[i] != NULL);
            memset(all->blocks[i], 1, size_of(LARGEST));
        }
        for (size_t i = 0; i < LANEPOOL_I_RESERVE_CHAINS * chain; i++) {
            lanepool_i_slab_give(&slab, &all->caches[0], LARGEST, all->blocks[i]);
        }
        lanepool_i_slab_trim(&slab);
    }
    lanepool_i_slab_fini(&slab);
    fixture_end(all);
}
