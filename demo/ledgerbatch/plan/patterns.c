/* Owns lists of patterns. */
#include "plan/patterns.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

void patterns_fini(struct patterns *patterns)
{
    free(patterns->items);
    *patterns = (struct patterns){ 0 };
}

void patterns_add(struct patterns *patterns, const char *pattern)
{
    patterns->items = memory_grow(patterns->items, &patterns->capacity, patterns->count + 1,
                                  sizeof *patterns->items);
    patterns->items[patterns->count++] = pattern;
}

bool patterns_match(const struct patterns *patterns, struct slice name)
{
    if (patterns->count == 0) {
        return false;
    }
    char *text = memory_zeroed(name.size + 1, 1);
    memcpy(text, name.data, name.size);
    bool matches = false;
    for (size_t i = 0; i < patterns->count && !matches; i++) {
        matches = fnmatch(patterns->items[i], text, 0) == 0;
    }
    free(text);
    return matches;
}

void patterns_hash(const struct patterns *patterns, struct sha256 *hash)
{
    sha256_add_number(hash, patterns->count);
    for (size_t i = 0; i < patterns->count; i++) {
        sha256_add_text(hash, patterns->items[i]);
    }
}
