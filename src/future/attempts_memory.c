/* Owns the regions of failed tasks' records; see attempts_memory.h. */
#include "future/attempts_memory.h"

#include "future/attempts.h"

#define REGION_SIZE LANEPOOL_I_LANE_REGION
#define RECORD_SIZE                                                                      \
    ((sizeof(lanepool_i_attempts) + LANEPOOL_I_CACHE_LINE - 1) / LANEPOOL_I_CACHE_LINE * \
     LANEPOOL_I_CACHE_LINE)
#define REGION_RECORDS ((REGION_SIZE - LANEPOOL_I_CACHE_LINE) / RECORD_SIZE)

/* A region's header. Its records follow after a cache line. */
typedef struct record_region {
    lanepool_i_link link; /* L */
    size_t cut;           /* L: records ever taken */
} record_region;

_Static_assert(sizeof(record_region) <= LANEPOOL_I_CACHE_LINE, "the header is one line");
_Static_assert(REGION_RECORDS >= 1, "a region has room for a record");

void lanepool_i_attempts_memory_init(lanepool_i_attempts_memory *memory,
                                     const lanepool_allocator *allocator)
{
    lanepool_i_mutex_init_static(&memory->lock, LANEPOOL_I_LOCK_ATTEMPTS_MEMORY);
    lanepool_i_list_init(&memory->partial);
    lanepool_i_list_init(&memory->full);
    memory->given = NULL;
    memory->unreserved = 0;
    memory->allocator = allocator;
}

static void free_record_regions(const lanepool_i_attempts_memory *memory,
                                const lanepool_i_list *regions)
{
    LANEPOOL_I_EACH(record_region, region, regions, link)
        lanepool_i_region_free(memory->allocator, region, REGION_SIZE);
}

void lanepool_i_attempts_memory_fini(lanepool_i_attempts_memory *memory)
{
    free_record_regions(memory, &memory->partial);
    free_record_regions(memory, &memory->full);
    lanepool_i_mutex_fini(&memory->lock);
}

/* Returns true, and reserves the records, if there are so many. */
static bool try_to_reserve_records(lanepool_i_attempts_memory *memory, uint64_t count)
{
    lanepool_i_mutex_lock(&memory->lock);
    bool has_enough = count <= memory->unreserved;
    if (has_enough)
        memory->unreserved -= count;
    lanepool_i_mutex_unlock(&memory->lock);
    return has_enough;
}

bool lanepool_i_attempts_memory_reserve(lanepool_i_attempts_memory *memory, uint64_t count)
{
    while (!try_to_reserve_records(memory, count)) {
        record_region *region = lanepool_i_region_alloc(memory->allocator, REGION_SIZE);
        if (region == NULL)
            return false;
        lanepool_i_mutex_lock(&memory->lock);
        lanepool_i_list_add(&memory->partial, &region->link);
        memory->unreserved += REGION_RECORDS;
        lanepool_i_mutex_unlock(&memory->lock);
    }
    return true;
}

void lanepool_i_attempts_memory_unreserve(lanepool_i_attempts_memory *memory, uint64_t count)
{
    lanepool_i_mutex_lock(&memory->lock);
    memory->unreserved += count;
    lanepool_i_mutex_unlock(&memory->lock);
}

static void *cut_record_locked(lanepool_i_attempts_memory *memory)
{
    record_region *region = LANEPOOL_I_FIRST(&memory->partial, record_region, link);
    void *record = (char *)region + LANEPOOL_I_CACHE_LINE + region->cut * RECORD_SIZE;
    if (++region->cut == REGION_RECORDS) {
        lanepool_i_unlink(&region->link);
        lanepool_i_list_add(&memory->full, &region->link);
    }
    return record;
}

lanepool_i_attempts *lanepool_i_attempts_memory_take(lanepool_i_attempts_memory *memory)
{
    lanepool_i_mutex_lock(&memory->lock);
    void *record = memory->given;
    if (record != NULL)
        memory->given = *(void **)record;
    else
        record = cut_record_locked(memory);
    lanepool_i_mutex_unlock(&memory->lock);
    return record;
}

void lanepool_i_attempts_memory_give(lanepool_i_attempts_memory *memory, void *record)
{
    lanepool_i_mutex_lock(&memory->lock);
    *(void **)record = memory->given;
    memory->given = record;
    memory->unreserved++;
    lanepool_i_mutex_unlock(&memory->lock);
}
