/*
 * Owns the readers of a pool's events, and the choice of recorded events.
 *
 * A read returns the events of all rings in order of time, up to its horizon: the time taken before
 * it read any ring. The causes of an event are written before the event's time is taken. So the
 * causes of every event before the horizon are in the rings that this read sees, and are returned
 * first. Younger events are left for the next read, unless no ring has changed since this read
 * scanned it.
 *
 * Times are ticks until an event is handed out (clock_anchors.h).
 */
#include "lanepool/inspect.h"

#include "base/misuse.h"
#include "route/pool.h"

#include <string.h>

/* Cursors for threads that start later, so that a read need not allocate. */
#define ROOM_MIN 16

/* One reader's position in one ring. */
struct cursor {
    lanepool_i_ring *ring;
    uint64_t next;    /* next event to read */
    uint64_t end;     /* where this read ends */
    uint64_t time_ns; /* of the last event handed out */
    bool has_event;   /* `event` is event `next`, its time in ticks */
    lanepool_event event;
};

struct lanepool_trace_reader {
    lanepool_i_rings *rings;
    struct cursor *cursors; /* by the ring's number */
    size_t count;
    size_t capacity;
    lanepool_i_clock_time time;
    uint64_t missed;
};

static size_t count_rings(const lanepool_trace_reader *reader)
{
    const lanepool_i_ring *newest = load_acquire(&reader->rings->first);
    return newest == NULL ? 0 : newest->number + 1;
}

static bool reserve_cursors(lanepool_trace_reader *reader, size_t count)
{
    if (count <= reader->capacity)
        return true;
    size_t capacity = 2 * count;
    struct cursor *cursors = lanepool_i_memory_alloc(capacity * sizeof *cursors);
    if (cursors == NULL)
        return false;
    if (reader->count > 0)
        memcpy(cursors, reader->cursors, reader->count * sizeof *cursors);
    lanepool_i_memory_free(reader->cursors);
    reader->cursors = cursors;
    reader->capacity = capacity;
    return true;
}

lanepool_status lanepool_trace_open(lanepool_pool *pool, lanepool_trace_reader **reader)
{
    if (reader != NULL)
        *reader = NULL;
    if (pool == NULL || reader == NULL || pool->rings.capacity == 0)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_trace_reader *made = lanepool_i_memory_alloc(sizeof *made);
    if (made == NULL)
        return LANEPOOL_NOMEM;
    *made = (lanepool_trace_reader){ .rings = &pool->rings,
                                     .time = lanepool_i_clock_time_begin(pool->rings.anchors) };
    if (!reserve_cursors(made, count_rings(made) + ROOM_MIN)) {
        lanepool_i_memory_free(made);
        return LANEPOOL_NOMEM;
    }
    *reader = made;
    return LANEPOOL_OK;
}

void lanepool_trace_close(lanepool_trace_reader *reader)
{
    if (reader == NULL)
        return;
    lanepool_i_memory_free(reader->cursors);
    lanepool_i_memory_free(reader);
}

uint64_t lanepool_trace_missed(const lanepool_trace_reader *reader)
{
    if (LANEPOOL_I_MISUSED(reader == NULL, "reader is NULL"))
        return 0;
    return reader->missed;
}

/* --- one ring --- */

/* Counts overwritten events as missed and skips them. Returns true if there were any. */
static bool skip_overwritten(lanepool_trace_reader *reader, struct cursor *cursor, uint64_t written)
{
    uint64_t first = lanepool_i_ring_oldest_intact(cursor->ring, written);
    if (cursor->next >= first)
        return false;
    reader->missed += first - cursor->next;
    cursor->next = first;
    return true;
}

/* Returns false if this read takes no more from the ring. */
static bool load_next_event(lanepool_trace_reader *reader, struct cursor *cursor)
{
    while (!cursor->has_event && cursor->next < cursor->end) {
        lanepool_i_ring_load(cursor->ring, cursor->next, &cursor->event);
        cursor->has_event = !skip_overwritten(reader, cursor, load_acquire(&cursor->ring->written));
    }
    return cursor->has_event;
}

/* --- all rings --- */

/* Rings never leave the list, so new rings are at its front. */
static bool add_new_rings(lanepool_trace_reader *reader)
{
    lanepool_i_ring *newest = load_acquire(&reader->rings->first);
    size_t count = newest == NULL ? 0 : newest->number + 1;
    if (!reserve_cursors(reader, count))
        return false;
    for (lanepool_i_ring *ring = newest; ring != NULL && ring->number >= reader->count;
         ring = ring->next)
        reader->cursors[ring->number] = (struct cursor){ .ring = ring };
    reader->count = count;
    return true;
}

static void update_ring_ends(lanepool_trace_reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        struct cursor *cursor = &reader->cursors[i];
        cursor->end = load_acquire(&cursor->ring->written);
        if (!cursor->has_event)
            skip_overwritten(reader, cursor, cursor->end);
    }
}

/* If nothing has changed, this read has seen all events that existed at one moment. */
static bool rings_are_unchanged(const lanepool_trace_reader *reader)
{
    const lanepool_i_ring *newest = load_acquire(&reader->rings->first);
    if (newest != NULL && newest->number >= reader->count)
        return false;
    for (size_t i = 0; i < reader->count; i++)
        if (load_acquire(&reader->cursors[i].ring->written) != reader->cursors[i].end)
            return false;
    return true;
}

static struct cursor *find_earliest_event(lanepool_trace_reader *reader)
{
    struct cursor *found = NULL;
    for (size_t i = 0; i < reader->count; i++) {
        struct cursor *cursor = &reader->cursors[i];
        if (load_next_event(reader, cursor) &&
            (found == NULL || cursor->event.time_ns < found->event.time_ns))
            found = cursor;
    }
    return found;
}

/* Anchors overwritten by other threads may convert the same ticks to slightly different times.
 * Within a ring, times never decrease. */
static lanepool_event hand_out_event(lanepool_trace_reader *reader, struct cursor *cursor)
{
    uint64_t time_ns = lanepool_i_clock_time_of(&reader->time, cursor->event.time_ns);
    if (time_ns > cursor->time_ns)
        cursor->time_ns = time_ns;
    cursor->event.time_ns = cursor->time_ns;
    cursor->next++;
    cursor->has_event = false;
    return cursor->event;
}

lanepool_status lanepool_trace_read(lanepool_trace_reader *reader, lanepool_event *events,
                                    size_t capacity, size_t *count)
{
    if (count != NULL)
        *count = 0;
    if (reader == NULL || count == NULL || (events == NULL && capacity > 0))
        return LANEPOOL_INVALID;
    uint64_t horizon = lanepool_i_ticks_now(reader->rings->anchors != NULL);
    if (!add_new_rings(reader))
        return LANEPOOL_NOMEM;
    update_ring_ends(reader);
    if (rings_are_unchanged(reader))
        horizon = UINT64_MAX;
    while (*count < capacity) {
        struct cursor *cursor = find_earliest_event(reader);
        if (cursor == NULL || cursor->event.time_ns >= horizon)
            break;
        events[(*count)++] = hand_out_event(reader, cursor);
    }
    return LANEPOOL_OK;
}

/* --- choice of events --- */

/* A sample has no SUBMIT events, because a submitted task has no ticket yet. */
lanepool_status lanepool_trace_choose(lanepool_pool *pool, uint32_t types, uint32_t every)
{
    if (pool == NULL || pool->rings.capacity == 0 || every == 0 || (every & (every - 1)) != 0)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    if (every > 1)
        types &= ~(1u << LANEPOOL_EVENT_SUBMIT);
    lanepool_i_rings *rings = &pool->rings;
    lanepool_i_mutex_lock(&rings->lock);
    rings->choice = types | (uint64_t)(every - 1) << 32;
    for (lanepool_i_ring *ring = load_relaxed(&rings->first); ring != NULL; ring = ring->next)
        store_relaxed(&ring->choice, rings->choice);
    lanepool_i_mutex_unlock(&rings->lock);
    return LANEPOOL_OK;
}
