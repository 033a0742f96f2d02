/* Allocates memory for tests. Ends the test if memory cannot be allocated. */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include <stdio.h>
#include <stdlib.h>

/* Returns zeroed memory for `count` items; never NULL. The caller frees it. */
static inline void *memory_get(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory) {
        fprintf(stderr, "the test is out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

#endif
