/* A small random number generator: a seed gives the same numbers everywhere. */
#ifndef TESTS_SUPPORT_RANDOM_H
#define TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static inline uint64_t random_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static inline uint64_t random_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return random_mix(*state);
}

/* Returns a number from 0 to bound - 1; bound must not be 0. */
static inline uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)((random_next(state) >> 32) % bound);
}

#endif
