/*
 * Lists of lanes.
 */
#ifndef LEDGERBATCH_PLAN_LANE_LIST_H
#define LEDGERBATCH_PLAN_LANE_LIST_H

#include <stddef.h>
#include <stdint.h>

/* A list of lanes. The memory is reused from task to task. */
struct lane_list {
    uint32_t *items;
    size_t count, capacity;
};

void lane_list_add(struct lane_list *lanes, uint32_t lane);

/* Removes duplicates. Sorts a long list; a short one keeps the order of first occurrences. */
void lane_list_drop_duplicates(struct lane_list *lanes);

#endif
