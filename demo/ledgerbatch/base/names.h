/*
 * Interned names: each distinct text gets a number, counted from 0 in the order of first use.
 */
#ifndef LEDGERBATCH_BASE_NAMES_H
#define LEDGERBATCH_BASE_NAMES_H

#include <stdint.h>

#include "base/slice.h"

#define NAME_NONE UINT32_MAX

struct names {
    struct slice *items; /* by number; this table has the bytes, and a zero byte behind each */
    uint64_t *hashes;
    size_t count, capacity, hash_capacity;
    uint32_t *slots; /* open addressing, NAME_NONE when empty */
    size_t slot_count;
    struct name_block *blocks; /* the bytes of all names */
};

void names_fini(struct names *names);

/* Returns the number of a text; adds the text if it is new. */
uint32_t names_intern(struct names *names, struct slice text);

/* Returns the number of a text, or NAME_NONE. */
uint32_t names_find(const struct names *names, struct slice text);

#endif
