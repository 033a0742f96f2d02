/* An array that grows. */
#ifndef LANEPOOL_SRC_BASE_VECTOR_H
#define LANEPOOL_SRC_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lanepool_i_vector {
    void *items;
    size_t count;
    size_t capacity;
} lanepool_i_vector;

/* Adds an item, not initialised. Returns NULL if memory cannot be allocated. */
void *lanepool_i_vector_add(lanepool_i_vector *array, size_t size);
/* Makes room for `more` items. Returns false if memory cannot be allocated. */
bool lanepool_i_vector_reserve(lanepool_i_vector *array, size_t more, size_t size);
void lanepool_i_vector_fini(lanepool_i_vector *array);

#endif
