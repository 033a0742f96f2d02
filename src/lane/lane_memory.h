/*
 * The memory of lanes: reserved when a claim is submitted, used when it is
 * routed, so that an accepted task cannot fail for lack of it.
 *
 * Two counters decide whether a reservation is covered:
 *
 *     reserved   lanes that submitters have asked for, less those of tasks that came to nothing
 *     settled    claims routed that did not need their lane, or whose lane is gone again
 *
 * reserved - settled is at most the lanes alive plus the claims that may still
 * need one; it never exceeds the capacity. A reader that sees an old `settled`
 * reserves too much, never too little.
 *
 * Reserved memory is mapped but not touched: what is not used costs addresses only.
 *
 * In a pool with priorities each lane has room *beside* it, as much as its own, at a fixed
 * distance.
 */
#ifndef LANEPOOL_SRC_LANE_LANE_MEMORY_H
#define LANEPOOL_SRC_LANE_LANE_MEMORY_H

#include "base/sizes.h"
#include "lane/lane.h"

typedef struct lanepool_i_lane_region lanepool_i_lane_region;

/* Guards: A atomic, L the store's lock, R role's holder. */
typedef struct lanepool_i_lane_memory {
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_mutex lock;
    size_t region_bytes;           /* I */
    uint64_t reserved;             /* L */
    uint64_t capacity;             /* L */
    lanepool_i_lane_region *fresh; /* L: regions not yet seen by the role's holder */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t settled; /* A: R writes */
    uint64_t settled_so_far;                                  /* R: not yet published */
    lanepool_i_lane_region *partial;                          /* R: regions with lanes to take */
    lanepool_i_lane_region *full;                             /* R: regions without */
    const lanepool_allocator *allocator;                      /* I: NULL: the system */
} lanepool_i_lane_memory;

bool lanepool_i_lane_memory_init(lanepool_i_lane_memory *store, const lanepool_allocator *allocator,
                                 bool has_room_beside);
void lanepool_i_lane_memory_fini(lanepool_i_lane_memory *store);

/* What stands beside a lane: all zero when it is first taken, and to be so when it is given back.
 */
static inline void *lanepool_i_lane_memory_beside(const lanepool_i_lane *lane)
{
    return (char *)lane + LANEPOOL_I_LANE_REGION;
}

/* Any thread: makes sure of `count` further lanes. False: memory is lacking, nothing changed. */
bool lanepool_i_lane_memory_reserve(lanepool_i_lane_memory *store, uint64_t count);

/* Any thread: `count` reservations will not be used by anyone. */
void lanepool_i_lane_memory_give_back(lanepool_i_lane_memory *store, uint64_t count);

/* Role's holder: `count` reservations turned out not to be needed. */
static inline void lanepool_i_lane_memory_settle(lanepool_i_lane_memory *store, uint64_t count)
{
    store->settled_so_far += count;
}
/* Role's holder, once a batch: lets submitters see what was settled. Any thread may give
 * reservations back by having the role's holder settle them. */
static inline void lanepool_i_lane_memory_publish(lanepool_i_lane_memory *store)
{
    store_relaxed(&store->settled, store->settled_so_far);
}

/* Role's holder: the lane that a reservation stands for; never fails. */
lanepool_i_lane *lanepool_i_lane_memory_take(lanepool_i_lane_memory *store);
/* Role's holder: the lane is gone; its reservation is settled. */
void lanepool_i_lane_memory_give(lanepool_i_lane_memory *store, lanepool_i_lane *lane);
/* Role's holder: gives unused regions back to the system. */
void lanepool_i_lane_memory_trim(lanepool_i_lane_memory *store);

#endif
