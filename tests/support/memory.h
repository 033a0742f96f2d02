/* Memory for tests: a test that cannot have it cannot go on. */
#ifndef TESTS_SUPPORT_MEMORY_H
#define TESTS_SUPPORT_MEMORY_H

#include <stdio.h>
#include <stdlib.h>

/* Zeroed memory for count items; never NULL. The caller frees it. */
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
