/* Owns the regions of lanes; see lane_memory.h. */
#include "lane/lane_memory.h"

#include "base/trim_times.h"

#define REGION_SIZE  LANEPOOL_I_LANE_REGION
#define REGION_LANES (REGION_SIZE / sizeof(lanepool_i_lane) - 1)

/* A region's header, in the place of its first lane. Guards as in lane_memory.h. */
typedef struct lanepool_i_lane_region {
    lanepool_i_link link;  /* L while in `fresh`, then R */
    lanepool_i_lane *free; /* R: lanes given back */
    size_t cut;            /* R: lanes ever taken, counted from the front */
    size_t live;           /* R: lanes in use */
} lanepool_i_lane_region;

_Static_assert(sizeof(lanepool_i_lane_region) <= sizeof(lanepool_i_lane), "the header fits");

static lanepool_i_lane_region *region_of_lane(const lanepool_i_lane *lane)
{
    return (lanepool_i_lane_region *)((uintptr_t)lane & ~(uintptr_t)(REGION_SIZE - 1));
}

bool lanepool_i_lane_memory_init(lanepool_i_lane_memory *store, const lanepool_allocator *allocator,
                                 bool has_room_beside)
{
    store->allocator = allocator;
    store->region_bytes = has_room_beside ? 2 * REGION_SIZE : REGION_SIZE;
    store->reserved = 0;
    store->capacity = 0;
    lanepool_i_list_init(&store->fresh);
    atomic_init(&store->settled, 0);
    store->settled_so_far = 0;
    atomic_init(&store->trim_due_ns, 0);
    lanepool_i_list_init(&store->partial);
    lanepool_i_list_init(&store->full);
    return lanepool_i_mutex_init(&store->lock, LANEPOOL_I_LOCK_LANE_MEMORY);
}

static void free_lane_regions(const lanepool_i_lane_memory *store, const lanepool_i_list *regions)
{
    LANEPOOL_I_EACH(lanepool_i_lane_region, region, regions, link)
        lanepool_i_region_free(store->allocator, region, store->region_bytes);
}

void lanepool_i_lane_memory_fini(lanepool_i_lane_memory *store)
{
    free_lane_regions(store, &store->fresh);
    free_lane_regions(store, &store->partial);
    free_lane_regions(store, &store->full);
    lanepool_i_mutex_fini(&store->lock);
}

/* Returns true, and reserves the lanes, if the capacity covers them. */
static bool try_reserve(lanepool_i_lane_memory *store, uint64_t count)
{
    lanepool_i_mutex_lock(&store->lock);
    uint64_t open = store->reserved + count - load_relaxed(&store->settled);
    bool covered = open <= store->capacity;
    if (covered)
        store->reserved += count;
    lanepool_i_mutex_unlock(&store->lock);
    return covered;
}

/* A trim begins only with more memory than this, and keeps none of it. */
static bool has_spare_regions_locked(const lanepool_i_lane_memory *store)
{
    return store->capacity > LANEPOOL_I_RESERVE_LANES + REGION_LANES;
}

bool lanepool_i_lane_memory_reserve(lanepool_i_lane_memory *store, uint64_t count)
{
    while (!try_reserve(store, count)) {
        lanepool_i_lane_region *region =
            lanepool_i_region_alloc(store->allocator, store->region_bytes);
        if (region == NULL)
            return false;
        lanepool_i_mutex_lock(&store->lock);
        lanepool_i_list_add(&store->fresh, &region->link);
        store->capacity += REGION_LANES;
        if (has_spare_regions_locked(store))
            store_relaxed(&store->trim_due_ns, lanepool_i_trim_put_off());
        lanepool_i_mutex_unlock(&store->lock);
    }
    return true;
}

void lanepool_i_lane_memory_unreserve(lanepool_i_lane_memory *store, uint64_t count)
{
    lanepool_i_mutex_lock(&store->lock);
    store->reserved -= count;
    lanepool_i_mutex_unlock(&store->lock);
}

/* Moves the fresh regions to the partial ones. The region that covers a claim was added under the
 * lock before the claim was submitted, so it is found here. */
static void take_fresh(lanepool_i_lane_memory *store)
{
    lanepool_i_link *link;
    lanepool_i_mutex_lock(&store->lock);
    while ((link = lanepool_i_list_take(&store->fresh)) != NULL)
        lanepool_i_list_add(&store->partial, link);
    lanepool_i_mutex_unlock(&store->lock);
}

lanepool_i_lane *lanepool_i_lane_memory_take(lanepool_i_lane_memory *store)
{
    if (lanepool_i_list_is_empty(&store->partial))
        take_fresh(store);
    lanepool_i_lane_region *region =
        LANEPOOL_I_ITEM(store->partial.ends.next, lanepool_i_lane_region, link);
    lanepool_i_lane *lane = region->free;
    if (lane != NULL)
        region->free = lane->use.link;
    else
        lane = (lanepool_i_lane *)region + ++region->cut;
    if (++region->live == REGION_LANES) {
        lanepool_i_unlink(&region->link);
        lanepool_i_list_add(&store->full, &region->link);
    }
    return lane;
}

void lanepool_i_lane_memory_return(lanepool_i_lane_memory *store, lanepool_i_lane *lane)
{
    lanepool_i_lane_region *region = region_of_lane(lane);
    lane->use.link = region->free;
    region->free = lane;
    bool was_full = region->live-- == REGION_LANES;
    if (was_full || region->live == 0)
        lanepool_i_unlink(&region->link);
    if (region->live == 0)
        lanepool_i_list_add(&store->partial, &region->link);
    else if (was_full)
        lanepool_i_link_before(store->partial.ends.next, &region->link);
    store->settled_so_far++;
}

/* Takes one region off the capacity. Returns false if open reservations need it. */
static bool try_uncover(lanepool_i_lane_memory *store)
{
    lanepool_i_mutex_lock(&store->lock);
    bool spare = store->reserved - store->settled_so_far + REGION_LANES <= store->capacity;
    if (spare)
        store->capacity -= REGION_LANES;
    lanepool_i_mutex_unlock(&store->lock);
    return spare;
}

bool lanepool_i_lane_memory_trim_one(lanepool_i_lane_memory *store)
{
    take_fresh(store);
    if (lanepool_i_list_is_empty(&store->partial))
        return false;
    lanepool_i_lane_region *last =
        LANEPOOL_I_ITEM(store->partial.ends.previous, lanepool_i_lane_region, link);
    if (last->live > 0 || !try_uncover(store))
        return false;
    lanepool_i_unlink(&last->link);
    lanepool_i_region_free(store->allocator, last, store->region_bytes);
    return true;
}

void lanepool_i_lane_memory_end_trim(lanepool_i_lane_memory *store, uint64_t worked_ns)
{
    lanepool_i_mutex_lock(&store->lock);
    bool has_more = has_spare_regions_locked(store);
    store_relaxed(&store->trim_due_ns, has_more ? lanepool_i_trim_next_ns(worked_ns) : 0);
    lanepool_i_mutex_unlock(&store->lock);
}
