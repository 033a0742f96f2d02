/* Owns the way to the system's memory; see memory.h. */
#include "inspect/memory.h"

#include <stdlib.h>

void *lanepool_i_inspect_alloc(size_t size)
{
    return malloc(size);
}

void lanepool_i_inspect_free(void *memory)
{
    free(memory);
}
