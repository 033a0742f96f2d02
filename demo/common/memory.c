/* Owns what is said when memory runs out; else a thin layer over the allocator. */
#include "memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *lack_message = "out of memory";

void memory_set_message(const char *message)
{
    lack_message = message;
}

static void *checked(void *memory)
{
    if (!memory) {
        fprintf(stderr, "%s\n", lack_message);
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
