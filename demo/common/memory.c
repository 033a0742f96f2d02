/* Owns the message for the end of memory; otherwise only calls the allocator. */
#include "memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *end_message = "out of memory";

void memory_set_message(const char *message)
{
    end_message = message;
}

void memory_fail(void)
{
    fprintf(stderr, "%s\n", end_message);
    exit(1);
}

static void *require_memory(void *memory)
{
    if (!memory) {
        memory_fail();
    }
    return memory;
}

void *memory_zeroed(size_t count, size_t item_size)
{
    return require_memory(calloc(count ? count : 1, item_size));
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
        return require_memory(NULL);
    }
    *capacity = larger;
    return require_memory(realloc(items, larger * item_size));
}

char *memory_copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(memory_zeroed(size, 1), text, size);
}
