/* Owns a hash table with open addressing. Nothing is ever removed from the table. */
#include "base/map.h"

#include <stdlib.h>

#include "memory.h"

void map_fini(struct map *map)
{
    free(map->slots);
    *map = (struct map){ 0 };
}

/* Returns the slot of a key, or the free slot where the key belongs. */
static struct map_slot *find_slot(const struct map *map, uint8_t type, uint64_t number)
{
    uint64_t hash = (number ^ (uint64_t)type << 56) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash ^ hash >> 29) & (map->slot_count - 1);
    while (map->slots[at].index != MAP_NONE &&
           (map->slots[at].number != number || map->slots[at].type != type)) {
        at = (at + 1) & (map->slot_count - 1);
    }
    return &map->slots[at];
}

size_t map_get(const struct map *map, uint8_t type, uint64_t number)
{
    return map->slot_count == 0 ? MAP_NONE : find_slot(map, type, number)->index;
}

static void enlarge_table(struct map *map)
{
    struct map larger = { NULL, map->slot_count ? map->slot_count * 2 : 64, map->count };
    larger.slots = memory_zeroed(larger.slot_count, sizeof *larger.slots);
    for (size_t i = 0; i < larger.slot_count; i++) {
        larger.slots[i].index = MAP_NONE;
    }
    for (size_t i = 0; i < map->slot_count; i++) {
        const struct map_slot *slot = &map->slots[i];
        if (slot->index != MAP_NONE) {
            *find_slot(&larger, slot->type, slot->number) = *slot;
        }
    }
    free(map->slots);
    *map = larger;
}

void map_set(struct map *map, uint8_t type, uint64_t number, size_t index)
{
    if ((map->count + 1) * 2 > map->slot_count) {
        enlarge_table(map);
    }
    struct map_slot *slot = find_slot(map, type, number);
    map->count += slot->index == MAP_NONE;
    *slot = (struct map_slot){ number, index, type };
}
