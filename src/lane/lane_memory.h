/*
 * The memory of lanes. A lane is reserved when a claim is submitted and used when the claim is
 * routed, so an accepted task cannot fail for want of memory.
 *
 * Two counters decide whether a reservation is covered:
 *
 *     `reserved`  the lanes that submitters have reserved, less those of tasks not accepted.
 *     `settled`   the routed claims that needed no new lane, plus the lanes removed again.
 *
 * reserved - settled counts the lanes that exist and those that may still be needed. It never
 * exceeds the capacity. A reader that sees an old `settled` reserves too much, never too little.
 *
 * Reserved memory is mapped but not touched: until it is used it costs addresses only.
 *
 * If a feature links the tasks of a lane, each lane has room *beside* it: as much memory again, at
 * a fixed distance.
 */
#ifndef LANEPOOL_SRC_LANE_LANE_MEMORY_H
#define LANEPOOL_SRC_LANE_LANE_MEMORY_H

#include "base/list.h"
#include "base/sizes.h"
#include "lane/lane.h"

/* Guards: A atomic, L the store's lock, R role's holder. */
typedef struct lanepool_i_lane_memory {
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_mutex lock;
    size_t region_bytes;   /* I */
    uint64_t reserved;     /* L */
    uint64_t capacity;     /* L */
    lanepool_i_list fresh; /* L: regions that the role's holder has not taken over yet */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t settled; /* A: R writes */
    uint64_t settled_so_far;                                  /* R: not yet published */
    lanepool_i_list partial; /* R: regions with free lanes, at the end those with no other */
    lanepool_i_list full;    /* R: regions without free lanes */
    const lanepool_allocator *allocator; /* I: NULL for the system's */
    _Atomic uint64_t trim_due_ns;        /* A: when to trim next; 0: there is nothing to trim */
} lanepool_i_lane_memory;

bool lanepool_i_lane_memory_init(lanepool_i_lane_memory *store, const lanepool_allocator *allocator,
                                 bool has_room_beside);
void lanepool_i_lane_memory_fini(lanepool_i_lane_memory *store);

/* Returns the room beside a lane. It is all zero when the lane is taken, and must be so again when
 * the lane is given back. */
static inline void *lanepool_i_lane_memory_beside(const lanepool_i_lane *lane)
{
    return (char *)lane + LANEPOOL_I_LANE_REGION;
}

/* Reserves `count` lanes. Any thread. Returns false, and changes nothing, if memory cannot be
 * allocated. */
bool lanepool_i_lane_memory_reserve(lanepool_i_lane_memory *store, uint64_t count);

/* Takes back `count` reservations that no task will use. Any thread. */
void lanepool_i_lane_memory_unreserve(lanepool_i_lane_memory *store, uint64_t count);

/* Settles `count` reservations that were not needed. Role's holder only. */
static inline void lanepool_i_lane_memory_settle(lanepool_i_lane_memory *store, uint64_t count)
{
    store->settled_so_far += count;
}
/* Lets submitters see what was settled. Role's holder only, once a batch. Another thread gives
 * reservations back by having the role's holder settle them. */
static inline void lanepool_i_lane_memory_publish(lanepool_i_lane_memory *store)
{
    store_relaxed(&store->settled, store->settled_so_far);
}

/* Takes a reserved lane; never fails. Role's holder only. */
lanepool_i_lane *lanepool_i_lane_memory_take(lanepool_i_lane_memory *store);
/* Gives back a lane that is no longer used, and settles its reservation. Role's holder only. */
void lanepool_i_lane_memory_return(lanepool_i_lane_memory *store, lanepool_i_lane *lane);
/* Returns when the lanes should be trimmed: once there has been no new region for a while. 0: there
 * is nothing to trim. Any thread. */
static inline uint64_t lanepool_i_lane_memory_trim_due(const lanepool_i_lane_memory *store)
{
    return load_relaxed(&store->trim_due_ns);
}
/* Gives an unused region back to the system. Role's holder only. Returns false if there is none. */
bool lanepool_i_lane_memory_trim_one(lanepool_i_lane_memory *store);
/* Ends a trim that has worked for so long. Role's holder only. */
void lanepool_i_lane_memory_end_trim(lanepool_i_lane_memory *store, uint64_t worked_ns);

#endif
