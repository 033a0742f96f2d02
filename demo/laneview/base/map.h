/*
 * A table from a pair of numbers to an index.
 */
#ifndef LANEVIEW_MAP_H
#define LANEVIEW_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_NONE ((size_t)-1)

struct map_slot {
    uint64_t number;
    size_t index; /* MAP_NONE: the slot is free */
    uint8_t type;
};

struct map {
    struct map_slot *slots;
    size_t slot_count, count;
};

void map_fini(struct map *map);

/* Returns MAP_NONE if the pair is not in the table. */
size_t map_get(const struct map *map, uint8_t type, uint64_t number);

/* Adds a pair, or replaces its index. */
void map_set(struct map *map, uint8_t type, uint64_t number, size_t index);

#endif
