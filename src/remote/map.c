/* Owns the table from numbers to items; see map.h. */
#include "remote/map.h"

#include "remote/memory.h"

#define BUCKETS_MIN ((size_t)64)

/* The finalizer of SplitMix64. All programs of a batch must mix alike: it chooses the shards. */
uint64_t lanepool_i_remote_mix(uint64_t number)
{
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
    return number ^ (number >> 31);
}

static lanepool_i_remote_link **bucket_of_number(const lanepool_i_remote_map *map, uint64_t number)
{
    return &map->buckets[lanepool_i_remote_mix(number) & (map->bucket_count - 1)];
}

static lanepool_i_remote_link **place_of(const lanepool_i_remote_map *map, uint64_t number)
{
    lanepool_i_remote_link **place = bucket_of_number(map, number);
    while (*place != NULL && (*place)->number != number)
        place = &(*place)->next;
    return place;
}

void *lanepool_i_remote_map_get(const lanepool_i_remote_map *map, uint64_t number)
{
    return map->count > 0 ? *place_of(map, number) : NULL;
}

static bool double_buckets(lanepool_i_remote_map *map)
{
    lanepool_i_remote_map wider = { NULL, map->bucket_count * 2, map->count };
    if (wider.bucket_count == 0)
        wider.bucket_count = BUCKETS_MIN;
    wider.buckets = lanepool_i_remote_alloc(wider.bucket_count * sizeof *wider.buckets);
    if (wider.buckets == NULL)
        return false;
    for (size_t i = 0; i < map->bucket_count; i++) {
        lanepool_i_remote_link *item = map->buckets[i];
        while (item != NULL) {
            lanepool_i_remote_link *next = item->next;
            lanepool_i_remote_link **bucket = bucket_of_number(&wider, item->number);
            item->next = *bucket;
            *bucket = item;
            item = next;
        }
    }
    lanepool_i_remote_free(map->buckets);
    *map = wider;
    return true;
}

bool lanepool_i_remote_map_add(lanepool_i_remote_map *map, lanepool_i_remote_link *item)
{
    if (map->count >= map->bucket_count && !double_buckets(map))
        return false;
    lanepool_i_remote_link **bucket = bucket_of_number(map, item->number);
    item->next = *bucket;
    *bucket = item;
    map->count++;
    return true;
}

void lanepool_i_remote_map_remove(lanepool_i_remote_map *map,
                                  bool (*goes)(lanepool_i_remote_link *item, void *context),
                                  void *context)
{
    for (size_t i = 0; i < map->bucket_count; i++) {
        lanepool_i_remote_link **place = &map->buckets[i];
        while (*place != NULL) {
            lanepool_i_remote_link *item = *place;
            lanepool_i_remote_link *next = item->next;
            if (goes(item, context)) {
                *place = next;
                map->count--;
            } else {
                place = &item->next;
            }
        }
    }
}

void *lanepool_i_remote_map_take(lanepool_i_remote_map *map, uint64_t number)
{
    if (map->count == 0)
        return NULL;
    lanepool_i_remote_link **place = place_of(map, number);
    lanepool_i_remote_link *item = *place;
    if (item != NULL) {
        *place = item->next;
        map->count--;
    }
    return item;
}

void lanepool_i_remote_map_fini(lanepool_i_remote_map *map)
{
    lanepool_i_remote_free(map->buckets);
    *map = (lanepool_i_remote_map){ 0 };
}
