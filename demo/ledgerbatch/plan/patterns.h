/*
 * Patterns: shell globs over the whole name of an account.
 */
#ifndef LEDGERBATCH_PLAN_PATTERNS_H
#define LEDGERBATCH_PLAN_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"
#include "base/slice.h"

struct patterns {
    const char **items; /* the texts belong to the caller */
    size_t count, capacity;
};

void patterns_fini(struct patterns *patterns);

void patterns_add(struct patterns *patterns, const char *pattern);

/* Returns true if one of the patterns matches the whole name. */
bool patterns_match(const struct patterns *patterns, struct slice name);

/* Adds the patterns to a hash of rules. */
void patterns_hash(const struct patterns *patterns, struct sha256 *hash);

#endif
