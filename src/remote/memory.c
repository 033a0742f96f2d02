/* Owns the way to the system's memory; see memory.h. */
#include "remote/memory.h"

#include <stdlib.h>
#include <string.h>

void *lanepool_i_remote_alloc(size_t size)
{
    return calloc(1, size != 0 ? size : 1);
}

void lanepool_i_remote_free(void *memory)
{
    free(memory);
}

bool lanepool_i_remote_grow(void *array, size_t *capacity, size_t count, size_t item_size)
{
    if (count <= *capacity)
        return true;
    size_t wanted = *capacity + *capacity / 2 + 8;
    if (wanted < count)
        wanted = count;
    void *items;
    memcpy(&items, array, sizeof items);
    items = realloc(items, wanted * item_size);
    if (items == NULL)
        return false;
    memcpy(array, &items, sizeof items);
    *capacity = wanted;
    return true;
}
