/* A slab on counted memory with three caches. The test's thread uses them all. */
#ifndef TESTS_UNIT_SLAB_BLOCKS_H
#define TESTS_UNIT_SLAB_BLOCKS_H

#include "base/sizes.h"
#include "base/slab.h"
#include "support/memory.h"
#include "support/test.h"
#include "unit/counted_memory.h"

enum {
    CLASSES = LANEPOOL_I_SLAB_CLASSES,
    LARGEST = CLASSES - 1,
    REGION_PAGES = LANEPOOL_I_BLOCK_REGION / LANEPOOL_I_PAGE_SIZE - 1, /* without the header */
    THREADS = 3,
    BLOCKS_MAX = 4096
};

struct fixture {
    struct counted_memory memory;
    lanepool_i_slab slab;
    lanepool_i_cache caches[THREADS]; /* one for each simulated thread */
    void *blocks[BLOCKS_MAX];
};

/* Makes a slab of which the largest blocks may outlive it. */
static inline struct fixture *fixture_make(void)
{
    struct fixture *all = memory_get(1, sizeof *all);

    counted_memory_init(&all->memory);
    expect(lanepool_i_slab_init(&all->slab, &all->memory.allocator, LARGEST));
    return all;
}

/* Ends the slab, of which so many of the largest blocks were taken and not given back. */
static inline void fixture_end_slab(struct fixture *all, size_t outliving)
{
    for (int i = 0; i < THREADS; i++) {
        lanepool_i_slab_flush(&all->slab, &all->caches[i]);
    }
    lanepool_i_slab_fini(&all->slab, outliving);
}

static inline void fixture_free(struct fixture *all)
{
    expect_eq(all->memory.live, 0);
    expect_eq(all->memory.bytes, 0);
    free(all);
}

/* Ends a slab without blocks that outlive it. */
static inline void fixture_end(struct fixture *all)
{
    lanepool_i_slab_fini(&all->slab, 0);
    expect_eq(all->memory.live, 0);
    expect_eq(all->memory.bytes, 0);
    free(all);
}

static inline size_t size_of(size_t class)
{
    return LANEPOOL_I_BLOCK_MIN << class;
}

static inline size_t page_blocks(size_t class)
{
    return LANEPOOL_I_PAGE_SIZE / size_of(class);
}

static inline void *take(struct fixture *all, int thread, size_t class)
{
    return lanepool_i_slab_take(&all->slab, &all->caches[thread], class, size_of(class));
}

static inline void give(struct fixture *all, int thread, size_t class, void *block)
{
    lanepool_i_slab_give(&all->slab, &all->caches[thread], class, block);
}

static inline void take_blocks(struct fixture *all, int thread, size_t class, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        all->blocks[i] = take(all, thread, class);
        expect(all->blocks[i] != NULL);
    }
}

static inline void give_blocks(struct fixture *all, int thread, size_t class, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        give(all, thread, class, all->blocks[i]);
    }
}

/* Returns the block's index among the first `count` of the fixture, or `count`. */
static inline size_t index_of(const struct fixture *all, size_t count, const void *block)
{
    size_t i = 0;

    while (i < count && all->blocks[i] != block) {
        i++;
    }
    return i;
}

/*
 * Takes blocks. Returns how many of them are among the first `known` of the fixture. None of these
 * may be taken twice.
 */
static inline size_t take_known(struct fixture *all, int thread, size_t class, size_t count,
                                size_t known)
{
    bool is_taken[BLOCKS_MAX + 1] = { false };
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        void *block = take(all, thread, class);
        size_t index = index_of(all, known, block);

        expect(block != NULL);
        if (index < known) {
            expect(!is_taken[index]);
            is_taken[index] = true;
            found++;
        }
    }
    return found;
}

#endif
