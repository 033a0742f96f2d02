/* Owns the hash table from account and commodity to cell. */
#include "base/cell_index.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define SLOT_COUNT_MIN 64

void cell_index_fini(struct cell_index *index)
{
    free(index->slots);
    *index = (struct cell_index){ 0 };
}

/* Returns the slot of a cell, or the empty slot that it would be put into. */
static size_t find_cell_slot(const struct cell_index *index, uint32_t account, uint32_t commodity)
{
    uint64_t hash = ((uint64_t)account << 32 | commodity) * 0x9e3779b97f4a7c15u;
    size_t mask = index->slot_count - 1;
    size_t slot = (size_t)(hash >> 32) & mask;
    for (;; slot = (slot + 1) & mask) {
        const struct cell_slot *found = &index->slots[slot];
        if (found->cell == CELL_NONE ||
            (found->account == account && found->commodity == commodity)) {
            return slot;
        }
    }
}

static void grow_cell_slots(struct cell_index *index)
{
    struct cell_index larger = { NULL, index->count,
                                 index->slot_count ? index->slot_count * 2 : SLOT_COUNT_MIN };
    larger.slots = memory_zeroed(larger.slot_count, sizeof *larger.slots);
    memset(larger.slots, 0xff, larger.slot_count * sizeof *larger.slots);
    for (size_t i = 0; i < index->slot_count; i++) {
        const struct cell_slot *old = &index->slots[i];
        if (old->cell != CELL_NONE) {
            larger.slots[find_cell_slot(&larger, old->account, old->commodity)] = *old;
        }
    }
    free(index->slots);
    *index = larger;
}

uint32_t cell_index_find(const struct cell_index *index, uint32_t account, uint32_t commodity)
{
    return index->slot_count ? index->slots[find_cell_slot(index, account, commodity)].cell
                             : CELL_NONE;
}

void cell_index_add(struct cell_index *index, uint32_t account, uint32_t commodity, uint32_t cell)
{
    if (index->count * 2 >= index->slot_count) {
        grow_cell_slots(index);
    }
    index->slots[find_cell_slot(index, account, commodity)] =
        (struct cell_slot){ account, commodity, cell };
    index->count++;
}
