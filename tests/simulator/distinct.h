/* Counts distinct numbers. */
#ifndef TESTS_SIMULATOR_DISTINCT_H
#define TESTS_SIMULATOR_DISTINCT_H

#include <stdint.h>
#include <stdlib.h>

#include "support/memory.h"

struct distinct {
    uint64_t *seen; /* a hash table with open addressing; 0: free */
    uint64_t mask;
    uint64_t count;
};

/* Prepares for at most `most` numbers. */
static inline void distinct_init(struct distinct *distinct, uint64_t most)
{
    uint64_t size = 16;

    while (size < 2 * most)
        size *= 2;
    distinct->seen = memory_get(size, sizeof *distinct->seen);
    distinct->mask = size - 1;
    distinct->count = 0;
}

static inline void distinct_fini(struct distinct *distinct)
{
    free(distinct->seen);
}

static inline void distinct_add(struct distinct *distinct, uint64_t number)
{
    uint64_t value = number ? number : 1;
    uint64_t at = value & distinct->mask;

    while (distinct->seen[at] && distinct->seen[at] != value)
        at = (at + 1) & distinct->mask;
    distinct->count += distinct->seen[at] == 0;
    distinct->seen[at] = value;
}

#endif
