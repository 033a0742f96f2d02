/* Owns nothing: a thin layer over the allocator that never returns NULL. */
#include "memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (!memory) {
        fputs("laneview: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *memory_zeroed(size_t count, size_t item_size)
{
    return checked(calloc(count ? count : 1, item_size));
}

void *memory_grow(void *items, size_t *capacity, size_t needed, size_t item_size)
{
    if (needed <= *capacity && items) {
        return items;
    }
    size_t larger = *capacity + *capacity / 2 + 16;
    if (larger < needed) {
        larger = needed;
    }
    if (larger > SIZE_MAX / item_size) {
        return checked(NULL);
    }
    *capacity = larger;
    return checked(realloc(items, larger * item_size));
}

char *memory_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(memory_zeroed(size, 1), text, size);
}
