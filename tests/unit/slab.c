/* Blocks of fixed sizes: which blocks are reused, by which thread, and what memory they take. */
#include "unit/slab_blocks.h"

Test(slab, class_is_the_smallest_that_fits)
{
    expect_eq(lanepool_i_slab_class_of(0), 0);
    expect_eq(lanepool_i_slab_class_of(1), 0);
    for (size_t class = 0; class < CLASSES; class ++) {
        expect_eq(lanepool_i_slab_class_of(size_of(class)), class);
        expect_eq(lanepool_i_slab_class_of(size_of(class) + 1), class + 1);
    }
    expect_eq(lanepool_i_slab_class_of(2048), LARGEST);
    expect_eq(lanepool_i_slab_class_of(2049), LANEPOOL_I_SLAB_SYSTEM);
    expect_eq(lanepool_i_slab_class_of(SIZE_MAX), LANEPOOL_I_SLAB_SYSTEM);
}

Test(slab, blocks_are_aligned_and_do_not_overlap)
{
    enum { COUNT = 200 };

    for (size_t class = 0; class < CLASSES; class ++) {
        struct fixture *all = fixture_make();

        take_blocks(all, 0, class, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            expect_eq((uintptr_t)all->blocks[i] % 64, 0);
            memset(all->blocks[i], (int)i, size_of(class));
        }
        for (size_t i = 0; i < COUNT; i++) {
            const unsigned char *bytes = all->blocks[i];

            for (size_t at = 0; at < size_of(class); at++) {
                expect_eq(bytes[at], i);
            }
        }
        fixture_end(all);
    }
}

Test(slab, a_thread_reuses_the_blocks_that_it_gave_back)
{
    for (size_t class = 0; class < CLASSES; class ++) {
        struct fixture *all = fixture_make();
        size_t count = page_blocks(class);

        take_blocks(all, 0, class, count);
        give_blocks(all, 0, class, count);
        expect_eq(take_known(all, 0, class, count, count), count);
        fixture_end(all);
    }
}

Test(slab, steady_use_asks_for_no_more_memory)
{
    enum { ROUNDS = 5 };
    struct fixture *all = fixture_make();
    size_t count = REGION_PAGES * page_blocks(LARGEST) - lanepool_i_slab_chain_blocks(LARGEST);

    for (int round = 0; round < ROUNDS; round++) {
        take_blocks(all, 0, LARGEST, count);
        give_blocks(all, 1, LARGEST, count); /* one thread takes, another gives back */
        expect_eq(all->memory.given, 1);
    }
    fixture_end(all);
}

Test(slab, other_threads_reuse_a_whole_chain)
{
    for (size_t class = 0; class < CLASSES; class ++) {
        struct fixture *all = fixture_make();
        size_t chain = lanepool_i_slab_chain_blocks(class);

        expect_eq(chain * size_of(class), LANEPOOL_I_CHAIN_BYTES);
        take_blocks(all, 0, class, chain);
        give_blocks(all, 1, class, chain);
        expect_eq(take_known(all, 2, class, chain, chain), chain);
        fixture_end(all);
    }
}

Test(slab, less_than_a_chain_stays_with_its_thread)
{
    for (size_t class = 0; class < CLASSES; class ++) {
        struct fixture *all = fixture_make();
        size_t chain = lanepool_i_slab_chain_blocks(class);

        take_blocks(all, 0, class, chain);
        give_blocks(all, 1, class, chain - 1);
        expect_eq(take_known(all, 2, class, chain, chain), 0);
        expect_eq(take_known(all, 1, class, chain - 1, chain), chain - 1);
        fixture_end(all);
    }
}

Test(slab, flush_leaves_nothing_in_the_cache)
{
    struct fixture *all = fixture_make();
    size_t page = page_blocks(0);

    take_blocks(all, 0, 0, page);
    give_blocks(all, 0, 0, page);
    expect_eq(take_known(all, 0, 0, page - 5, page), page - 5); /* five are left to be taken */
    give(all, 0, 0, all->blocks[page - 1]); /* and one does not make a chain yet */
    lanepool_i_slab_flush(&all->slab, &all->caches[0]);
    expect_eq(take_known(all, 1, 0, 6, page), 6);
    expect_eq(take_known(all, 0, 0, 6, page), 0);
    fixture_end(all);
}

/* Takes blocks, and checks that each names the block taken eight later. */
static void expect_hints(struct fixture *all, size_t count)
{
    const void *early[BLOCKS_MAX];

    for (size_t i = 0; i < count; i++) {
        all->blocks[i] = take(all, 0, 0);
        early[i] = lanepool_i_slab_early(all->blocks[i]);
    }
    for (size_t i = 0; i + LANEPOOL_I_EARLY < count; i++) {
        expect(early[i] == all->blocks[i + LANEPOOL_I_EARLY]);
    }
}

Test(slab, a_block_names_the_one_that_is_taken_eight_later)
{
    struct fixture *all = fixture_make();
    size_t count = 2 * page_blocks(0);

    expect_hints(all, count); /* two fresh pages */
    give_blocks(all, 0, 0, count - 1);
    expect_hints(all, count - 1); /* blocks that were given back */
    fixture_end(all);
}

Test(slab, larger_blocks_are_the_systems)
{
    struct fixture *all = fixture_make();
    size_t size = size_of(LARGEST) + 1;
    void *block = lanepool_i_slab_take(&all->slab, &all->caches[0], LANEPOOL_I_SLAB_SYSTEM, size);

    expect(block != NULL);
    expect_eq((uintptr_t)block % 64, 0);
    memset(block, 1, size);
    give(all, 0, LANEPOOL_I_SLAB_SYSTEM, block);
    expect_eq(all->memory.given, 0);
    fixture_end(all);
}

Test(slab, a_region_is_used_up_before_the_next_is_asked_for)
{
    struct fixture *all = fixture_make();
    size_t count = REGION_PAGES * page_blocks(LARGEST);

    take_blocks(all, 0, LARGEST, count);
    expect_eq(all->memory.given, 1);
    take_blocks(all, 0, LARGEST, 1);
    expect_eq(all->memory.given, 2);
    fixture_end(all);
}

Test(slab, take_fails_without_memory_and_works_again_with_it)
{
    struct fixture *all = fixture_make();

    all->memory.refuses = true;
    expect(take(all, 0, 0) == NULL);
    expect(take(all, 0, LARGEST) == NULL);
    all->memory.refuses = false;
    take_blocks(all, 0, 0, page_blocks(0));
    all->memory.refuses = true;
    take_blocks(all, 0, 0, page_blocks(0)); /* the region has more pages */
    fixture_end(all);
}
