/*
 * A piece of a longer text, which it does not own; not zero-terminated.
 */
#ifndef LEDGERBATCH_BASE_SLICE_H
#define LEDGERBATCH_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *data;
    size_t size;
};

/* The two arguments that "%.*s" takes in printf(). */
#define SLICE_ARGUMENTS(slice) (int)(slice).size, (slice).data

static inline struct slice slice_of(const char *text)
{
    return (struct slice){ text, strlen(text) };
}

static inline struct slice slice_between(const char *begin, const char *end)
{
    return (struct slice){ begin, (size_t)(end - begin) };
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Compares bytewise; a prefix is less. All sorted outputs have this order. */
static inline int slice_compare(struct slice a, struct slice b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

#endif
