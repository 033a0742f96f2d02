/*
 * Finds the number of the cell of an account in a commodity. An account can have cells in any
 * number of commodities. A search of a list of them would take quadratic time.
 */
#ifndef LEDGERBATCH_BASE_CELL_INDEX_H
#define LEDGERBATCH_BASE_CELL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#define CELL_NONE UINT32_MAX

struct cell_slot {
    uint32_t account, commodity, cell; /* cell: CELL_NONE if the slot is empty */
};

struct cell_index {
    struct cell_slot *slots; /* open addressing */
    size_t count, slot_count;
};

void cell_index_fini(struct cell_index *index);

/* Returns the cell's number, or CELL_NONE. */
uint32_t cell_index_find(const struct cell_index *index, uint32_t account, uint32_t commodity);

/* Adds a cell that is not in the index yet. */
void cell_index_add(struct cell_index *index, uint32_t account, uint32_t commodity, uint32_t cell);

#endif
