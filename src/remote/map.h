/*
 * A table from numbers to items, which are linked into it.
 */
#ifndef LANEPOOL_SRC_REMOTE_MAP_H
#define LANEPOOL_SRC_REMOTE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of an item. */
typedef struct lanepool_i_remote_link {
    struct lanepool_i_remote_link *next; /* of the same bucket */
    uint64_t number;
} lanepool_i_remote_link;

/* Zeroed, it is empty. */
typedef struct lanepool_i_remote_map {
    lanepool_i_remote_link **buckets;
    size_t bucket_count; /* 0, or a power of two */
    size_t count;
} lanepool_i_remote_map;

/* Returns NULL if there is none. */
void *lanepool_i_remote_map_get(const lanepool_i_remote_map *map, uint64_t number);
/* Adds an item, whose number is not in the table. Returns false, and changes nothing, if memory
 * cannot be allocated. */
bool lanepool_i_remote_map_add(lanepool_i_remote_map *map, lanepool_i_remote_link *item);
/* Removes the items for which `goes` returns true, after which it may have freed them. */
void lanepool_i_remote_map_remove(lanepool_i_remote_map *map,
                                  bool (*goes)(lanepool_i_remote_link *item, void *context),
                                  void *context);
/* Removes one item, if it is there, and returns it. */
void *lanepool_i_remote_map_take(lanepool_i_remote_map *map, uint64_t number);
/* The items stay the caller's. */
void lanepool_i_remote_map_fini(lanepool_i_remote_map *map);

/* Mixes the bits of a number. */
uint64_t lanepool_i_remote_mix(uint64_t number);

#endif
