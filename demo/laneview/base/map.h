/*
 * From pairs of numbers to indexes.
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

/* MAP_NONE if there is none. */
size_t map_get(const struct map *map, uint8_t type, uint64_t number);

/* Replaces what was there. */
void map_set(struct map *map, uint8_t type, uint64_t number, size_t index);

#endif
