/*
 * The source of a random test's decisions: a seed, or a string of bytes that a fuzzer varies. When
 * the bytes are used up, every decision is the first possibility. So a shorter string gives a
 * simpler test.
 */
#ifndef TESTS_PROPERTY_CHOICES_H
#define TESTS_PROPERTY_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/random.h"

struct choices {
    uint64_t state;       /* of the generator, if there are no bytes */
    const uint8_t *bytes; /* or NULL: decisions follow from the seed */
    size_t size;
};

static inline struct choices choices_from_seed(uint64_t seed)
{
    return (struct choices){ seed, 0, 0 };
}

static inline struct choices choices_from_bytes(const uint8_t *bytes, size_t size)
{
    return (struct choices){ 0, bytes, size };
}

static inline uint32_t choose_byte(struct choices *choices)
{
    if (choices->size == 0) {
        return 0;
    }
    choices->size--;
    return *choices->bytes++;
}

/* Returns a number from 0 to count - 1; count must not be 0. */
static inline uint32_t choose(struct choices *choices, uint32_t count)
{
    uint32_t number;

    if (!choices->bytes) {
        return random_below(&choices->state, count);
    }
    if (count == 1) {
        return 0;
    }
    number = choose_byte(choices);
    if (count > 256) {
        number = number << 8 | choose_byte(choices);
    }
    return number % count;
}

/* Returns true in one of `one_in` cases; false when the bytes are used up. */
static inline bool chance(struct choices *choices, uint32_t one_in)
{
    return choose(choices, one_in) == one_in - 1;
}

#endif
