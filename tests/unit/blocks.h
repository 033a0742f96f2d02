/* Tasks as the library's parts see them: blocks with entries, made without a pool. */
#ifndef TESTS_UNIT_BLOCKS_H
#define TESTS_UNIT_BLOCKS_H

#include <string.h>

#include "lane/lane.h"

enum { WIDE_ENTRIES_MAX = 3 };

struct plain_block {
    _Alignas(64) lanepool_i_task task;
};

struct wide_block {
    _Alignas(64) lanepool_i_task task;
    lanepool_i_wide_entry entries[WIDE_ENTRIES_MAX];
};

/* Makes a plain task with at most two claims. Its countdown is the submitter's. */
static inline void plain_init(struct plain_block *block, uint64_t ticket, uint32_t claim_count)
{
    memset(block, 0, sizeof *block);
    atomic_init(&block->task.word, ticket << LANEPOOL_I_TICKET_SHIFT |
                                       (uint64_t)claim_count << LANEPOOL_I_COUNT_SHIFT);
    lanepool_i_countdown_set(&block->task, lanepool_i_countdown_start(claim_count));
}

/* Makes a wide task. Its countdown counts the claims and the router's own one. */
static inline void wide_init(struct wide_block *block, uint64_t ticket, uint32_t claim_count)
{
    memset(block, 0, sizeof *block);
    atomic_init(&block->task.word, ticket << LANEPOOL_I_TICKET_SHIFT | LANEPOOL_I_WIDE);
    block->task.as.wide.count = claim_count & LANEPOOL_I_WIDE_COUNT_MASK;
    lanepool_i_countdown_set(&block->task, claim_count + 1);
}

/* Returns the link to entry `i`, as the router appends it. */
static inline uintptr_t plain_link(struct plain_block *block, size_t i, lanepool_mode mode)
{
    return lanepool_i_link_to(&block->task.as.plain[i], 0, mode);
}

static inline uintptr_t wide_link(struct wide_block *block, size_t i, lanepool_mode mode)
{
    block->entries[i].owner = lanepool_i_mode_owner(&block->task, mode);
    return lanepool_i_link_to(&block->entries[i].entry, LANEPOOL_I_LINK_WIDE, mode);
}

/* Makes entry `i` a tombstone, as the router does for a cancelled task. */
static inline void plain_make_tombstone(struct plain_block *block, size_t i)
{
    block->task.as.plain[i].at.bits |= LANEPOOL_I_ENTRY_TOMBSTONE;
}

static inline void wide_make_tombstone(struct wide_block *block, size_t i)
{
    block->entries[i].owner |= LANEPOOL_I_OWNER_TOMBSTONE;
}

#endif
