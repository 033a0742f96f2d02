/*
 * Arrays that grow, and a table from pairs of numbers to indexes.
 */
#ifndef LANEPOOL_SRC_INSPECT_GROWING_H
#define LANEPOOL_SRC_INSPECT_GROWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANEPOOL_I_NO_INDEX SIZE_MAX /* also LANEPOOL_REPLAY_NONE */

/* Makes room for `count` items of an array. `array` points to the pointer to its first item.
 * Returns false, and changes nothing, if memory cannot be allocated. */
bool lanepool_i_inspect_grow(void *array, size_t *capacity, size_t count, size_t item_size);

struct lanepool_i_table_slot;

/* From a type and a number to an index; zeroed, it is empty. */
typedef struct lanepool_i_table {
    struct lanepool_i_table_slot *slots;
    size_t slot_count; /* 0, or a power of two */
    size_t count;
} lanepool_i_table;

/* Returns NO_INDEX if the pair is not in the table. */
size_t lanepool_i_table_get(const lanepool_i_table *table, uint8_t type, uint64_t number);

/* Makes room for `more` pairs. Returns false if memory cannot be allocated. */
bool lanepool_i_table_reserve(lanepool_i_table *table, size_t more);

/* Adds a pair, for which there is room, or replaces its index. */
void lanepool_i_table_set(lanepool_i_table *table, uint8_t type, uint64_t number, size_t index);

/* Removes a pair if it is in the table with this index. */
void lanepool_i_table_remove(lanepool_i_table *table, uint8_t type, uint64_t number, size_t index);

void lanepool_i_table_clear(lanepool_i_table *table);
void lanepool_i_table_fini(lanepool_i_table *table);

/* Returns a number by which a table knows a byte string. Others may have the same number. */
uint64_t lanepool_i_number_of_bytes(const void *bytes, size_t size);

#endif
