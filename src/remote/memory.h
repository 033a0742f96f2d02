/*
 * Memory of remote batches: blocks, and arrays that grow.
 */
#ifndef LANEPOOL_SRC_REMOTE_MEMORY_H
#define LANEPOOL_SRC_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed. Returns NULL if memory cannot be allocated. */
void *lanepool_i_remote_alloc(size_t size);
void lanepool_i_remote_free(void *memory);

/* Makes room for `count` items of an array. `array` points to the pointer to its first item.
 * Returns false, and changes nothing, if memory cannot be allocated. */
bool lanepool_i_remote_grow(void *array, size_t *capacity, size_t count, size_t item_size);

#endif
