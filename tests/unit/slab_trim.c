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

/* Takes and gives so many blocks that each of `regions` regions is full, and nothing is cached. */
static size_t fill_regions(struct fixture *all, size_t regions)
{
    size_t count = regions * REGION_PAGES * page_blocks(LARGEST);

    take_blocks(all, 0, LARGEST, count);
    give_blocks(all, 0, LARGEST, count);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    return count;
}

/* Does parts of a trim until it is in this phase. Returns false if there is no such moment. */
static bool trim_to(struct fixture *all, lanepool_i_trim_phase phase)
{
    while (lanepool_i_slab_trim_some(&all->slab)) {
        if (all->slab.trim.phase == phase) {
            return true;
        }
    }
    return false;
}

/* No thread has to ask for memory while a trim has the free blocks. */
Test(slab_trim, free_blocks_can_be_taken_in_each_phase)
{
    static const lanepool_i_trim_phase phases[] = { LANEPOOL_I_TRIM_COUNT, LANEPOOL_I_TRIM_SORT };

    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        for (int parts = 0; parts < 3; parts++) {
            struct fixture *all = fixture_make();
            size_t count = fill_regions(all, 1);

            expect(trim_to(all, phases[i]));
            for (int part = 0; part < parts; part++) {
                expect(lanepool_i_slab_trim_some(&all->slab));
            }
            expect_eq(take_known(all, 0, LARGEST, count, count), count);
            expect_eq(all->memory.given, 1);
            lanepool_i_slab_trim(&all->slab);
            expect_eq(all->memory.live, 1);
            fixture_end(all);
        }
    }
}

Test(slab_trim, an_interrupted_trim_loses_no_block_and_a_later_one_gives_all_back)
{
    struct fixture *all = fixture_make();
    size_t count = fill_regions(all, 1);
    void *taken;

    expect(trim_to(all, LANEPOOL_I_TRIM_SORT));
    for (int part = 0; part < 3; part++) {
        expect(lanepool_i_slab_trim_some(&all->slab));
    }
    taken = take(all, 0, LARGEST);
    expect(taken != NULL);
    while (lanepool_i_slab_trim_some(&all->slab)) {
        continue;
    }
    expect_eq(all->memory.live, 1);
    give(all, 0, LARGEST, taken);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    expect_eq(take_known(all, 0, LARGEST, count, count), count);
    give_blocks(all, 0, LARGEST, count);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    lanepool_i_slab_trim(&all->slab);
    expect_eq(all->memory.live, 0);
    fixture_end(all);
}

/* Blocks of one size do not interrupt the trim of another. The parts keep a reserve. */
Test(slab_trim, other_sizes_are_not_disturbed)
{
    struct fixture *all = fixture_make();

    fill_regions(all, 2);
    expect(trim_to(all, LANEPOOL_I_TRIM_SORT));
    expect(take(all, 0, 0) != NULL);
    expect(!all->slab.trim.is_interrupted);
    while (lanepool_i_slab_trim_some(&all->slab)) {
        continue;
    }
    expect_eq(all->memory.live, 2); /* the reserve's and the other size's */
    fixture_end(all);
}

Test(slab_trim, gives_one_region_back_at_a_time)
{
    struct fixture *all = fixture_make();

    fill_regions(all, 3);
    expect(trim_to(all, LANEPOOL_I_TRIM_DISCARD));
    for (size_t live = 3; live > 1;) {
        size_t before = all->memory.live;

        expect(lanepool_i_slab_trim_some(&all->slab));
        expect(before - all->memory.live <= 1);
        live = all->memory.live;
    }
    while (lanepool_i_slab_trim_some(&all->slab)) {
        continue;
    }
    expect_eq(all->memory.live, 1); /* the reserve's */
    fixture_end(all);
}

/* What an earlier trim has counted says nothing about a later, interrupted one. */
Test(slab_trim, an_interrupted_trim_after_a_whole_one_hands_no_block_out_twice)
{
    struct fixture *all = fixture_make();
    size_t count = fill_regions(all, 2);

    while (lanepool_i_slab_trim_some(&all->slab)) {
        continue;
    }
    take_blocks(all, 0, LARGEST, count);
    give_blocks(all, 0, LARGEST, count);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    expect(trim_to(all, LANEPOOL_I_TRIM_SORT));
    for (size_t taken = 0; taken < count + BLOCKS_MAX / 4; taken++) {
        all->blocks[taken] = take(all, 0, LARGEST);
        expect(all->blocks[taken] != NULL);
        memset(all->blocks[taken], 0, size_of(LARGEST));
        *(size_t *)all->blocks[taken] = taken;
    }
    for (size_t taken = 0; taken < count + BLOCKS_MAX / 4; taken++) {
        expect_eq(*(size_t *)all->blocks[taken], taken);
    }
    fixture_end(all);
}

/* Free pages that a trim has not given back yet are used before new memory. */
Test(slab_trim, free_pages_can_be_taken_before_they_are_given_back)
{
    struct fixture *all = fixture_make();
    size_t count = fill_regions(all, 3);

    expect(trim_to(all, LANEPOOL_I_TRIM_DISCARD));
    take_blocks(all, 0, LARGEST, count);
    expect_eq(all->memory.given, 3);
    while (lanepool_i_slab_trim_some(&all->slab)) {
        continue;
    }
    give_blocks(all, 0, LARGEST, count);
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    lanepool_i_slab_trim(&all->slab);
    expect_eq(all->memory.live, 0);
    fixture_end(all);
}

Test(slab_trim, is_due_only_after_growth_beyond_the_reserve)
{
    struct fixture *all = fixture_make();
    size_t reserve = LANEPOOL_I_RESERVE_CHAINS * lanepool_i_slab_chain_blocks(LARGEST);
    uint64_t now_ns = lanepool_i_clock_coarse();

    take_blocks(all, 0, LARGEST, reserve);
    expect_eq(lanepool_i_slab_trim_due(&all->slab), 0);
    take_blocks(all, 1, LARGEST, 1);
    expect(lanepool_i_slab_trim_due(&all->slab) >= now_ns + LANEPOOL_I_TRIM_AFTER_NS);
    lanepool_i_slab_trim(&all->slab); /* nothing is free, which may change */
    expect(lanepool_i_slab_trim_due(&all->slab) >= now_ns + LANEPOOL_I_TRIM_AFTER_NS);
    fixture_end(all);
}

Test(slab_trim, is_not_due_once_all_is_back)
{
    struct fixture *all = fixture_make();

    fill_regions(all, 1);
    expect(lanepool_i_slab_trim_due(&all->slab) > 0);
    lanepool_i_slab_trim(&all->slab);
    expect_eq(lanepool_i_slab_trim_due(&all->slab), 0);
    fixture_end(all);
}

Test(slab_trim, works_on_the_systems_pages)
{
    struct fixture *all = fixture_make();
    lanepool_i_slab slab;
    size_t chain = lanepool_i_slab_chain_blocks(LARGEST);

    expect(lanepool_i_slab_init(&slab, NULL, 0));
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
    lanepool_i_slab_fini(&slab, 0);
    fixture_end(all);
}
