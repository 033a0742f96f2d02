#include "base/vector.h"

#include "platform/platform.h"

#include <string.h>

bool lanepool_i_vector_reserve(lanepool_i_vector *array, size_t more, size_t size)
{
    if (array->capacity - array->count >= more)
        return true;
    size_t capacity =
        2 * array->capacity > array->count + more ? 2 * array->capacity : array->count + more;
    void *items = lanepool_i_memory_alloc(capacity * size);
    if (items == NULL)
        return false;
    if (array->count > 0)
        memcpy(items, array->items, array->count * size);
    lanepool_i_memory_free(array->items);
    array->items = items;
    array->capacity = capacity;
    return true;
}

void *lanepool_i_vector_add(lanepool_i_vector *array, size_t size)
{
    if (!lanepool_i_vector_reserve(array, 1, size))
        return NULL;
    return (char *)array->items + array->count++ * size;
}

void lanepool_i_vector_fini(lanepool_i_vector *array)
{
    lanepool_i_memory_free(array->items);
    *array = (lanepool_i_vector){ NULL, 0, 0 };
}
