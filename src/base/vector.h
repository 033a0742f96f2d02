/*
 * An array that grows.
 */
#ifndef LANEPOOL_SRC_BASE_VECTOR_H
#define LANEPOOL_SRC_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lanepool_i_vector {
    void *items;
    size_t count;
    size_t capacity;
} lanepool_i_vector;

/* Room for one more item; NULL: memory is lacking. */
void *lanepool_i_vector_add(lanepool_i_vector *array, size_t size);
/* Room for some more; false: likewise. */
bool lanepool_i_vector_reserve(lanepool_i_vector *array, size_t more, size_t size);
void lanepool_i_vector_fini(lanepool_i_vector *array);

#endif
