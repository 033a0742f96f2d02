/*
 * Blocks that may outlive their slab, and that any thread may return: also one without a cache of
 * the slab, and after the slab's end.
 *
 * A block's region leads to the *returns*, memory of its own. It lasts until the slab has ended and
 * all such blocks are returned.
 *
 *   while the slab exists: a stack. A thread that returns a block pushes it by compare-and-swap.
 * The slab takes all blocks at once, by an exchange. So no thread reads a link of a block that
 *     another thread may take, and a push that finds the same block on top again links rightly (no
 *     ABA).
 *   from the slab's end on: CLOSED, and a count. The slab's end adds the blocks in use, and each
 *     return subtracts one, also before that. The operation that makes the count 0 frees the
 *     regions: the slab's last one if no block is in use by then, otherwise the last return. Before
 *     the slab's end has added, no return can find a 1.
 *
 * Callers: any thread for a return; the slab, under its lock, for the others.
 */
#ifndef LANEPOOL_SRC_BASE_SLAB_RETURNS_H
#define LANEPOOL_SRC_BASE_SLAB_RETURNS_H

#include "base/slab.h"

/* Returns NULL if memory cannot be allocated. */
lanepool_i_returns *lanepool_i_returns_open(const lanepool_allocator *allocator);
/* Takes all blocks that were returned, linked. */
lanepool_i_block *lanepool_i_returns_take(lanepool_i_returns *returns);

/* At the slab's end: takes all blocks for the last time. */
lanepool_i_block *lanepool_i_returns_close(lanepool_i_returns *returns);
/* Then: adds regions with blocks in use, and empties the list. */
void lanepool_i_returns_add_regions(lanepool_i_returns *returns, lanepool_i_list *regions);
/* At last: so many blocks are in use, less those that were returned since it was closed. */
void lanepool_i_returns_leave(lanepool_i_returns *returns, uint64_t in_use);

/* Returns a block of this class, which must be the outliving one of its slab. */
void lanepool_i_slab_return(void *memory, size_t class);

#endif
