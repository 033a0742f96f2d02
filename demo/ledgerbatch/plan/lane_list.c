/* Owns lists of lanes. */
#include "plan/lane_list.h"

#include <stdbool.h>
#include <stdlib.h>

#include "memory.h"

/* A list of more lanes than this is sorted to find duplicates; a shorter one is searched. */
#define SHORT_LIST 32

void lane_list_add(struct lane_list *lanes, uint32_t lane)
{
    lanes->items =
        memory_grow(lanes->items, &lanes->capacity, lanes->count + 1, sizeof *lanes->items);
    lanes->items[lanes->count++] = lane;
}

static int compare_lanes(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

void lane_list_drop_duplicates(struct lane_list *lanes)
{
    size_t left = 0;
    bool is_sorted = lanes->count > SHORT_LIST;
    if (is_sorted) {
        qsort(lanes->items, lanes->count, sizeof *lanes->items, compare_lanes);
    }
    for (size_t i = 0; i < lanes->count; i++) {
        bool is_known = false;
        for (size_t j = is_sorted && left > 0 ? left - 1 : 0; j < left && !is_known; j++) {
            is_known = lanes->items[j] == lanes->items[i];
        }
        if (!is_known) {
            lanes->items[left++] = lanes->items[i];
        }
    }
    lanes->count = left;
}
