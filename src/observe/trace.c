/*
 * Owns the readers of a pool's events, and the choice of what is recorded.
 *
 * A read takes the events of all rings in the order of their times, up to its
 * horizon: the moment at which it began, taken before it looked at any ring.
 * An event from before the horizon was caused by events that were written before
 * its own time was taken, so before this read looked at their rings: they come
 * first. What is younger is left for the next read, unless no ring has changed
 * since this one looked: then all that there is can be taken.
 *
 * Up to here times are ticks; they become the clock's when an event is handed out
 * (clock_anchors.h).
 */
#include "lanepool/trace.h"

#include "route/pool.h"

#include <string.h>

/* For threads to come: until there are more, a read allocates nothing. */
#define ROOM 16

/* One ring as a reader sees it. */
struct place {
    lanepool_i_ring *ring;
    uint64_t next;    /* the event to be read */
    uint64_t end;     /* of what this read may take */
    uint64_t time_ns; /* of the last event that was handed out */
    bool has;         /* `event` is event `next`, its time still in ticks */
    lanepool_event event;
};

struct lanepool_trace_reader {
    lanepool_i_rings *rings;
    struct place *places; /* by the ring's number */
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

static bool make_room(lanepool_trace_reader *reader, size_t count)
{
    if (count <= reader->capacity)
        return true;
    size_t capacity = 2 * count;
    struct place *places = lanepool_i_memory_alloc(capacity * sizeof *places);
    if (places == NULL)
        return false;
    if (reader->count > 0)
        memcpy(places, reader->places, reader->count * sizeof *places);
    lanepool_i_memory_free(reader->places);
    reader->places = places;
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
    if (!make_room(made, count_rings(made) + ROOM)) {
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
    lanepool_i_memory_free(reader->places);
    lanepool_i_memory_free(reader);
}

uint64_t lanepool_trace_missed(const lanepool_trace_reader *reader)
{
    return reader->missed;
}

/* --- one ring --- */

static void load_event(const lanepool_i_ring *ring, uint64_t number, lanepool_event *event)
{
    size_t at = (size_t)(number & (ring->capacity - 1)) * LANEPOOL_I_EVENT_WORDS;
    event->time_ns = load_acquire(&ring->words[at]);
    event->task = load_acquire(&ring->words[at + 1]);
    event->object = load_acquire(&ring->words[at + 2]);
    uint64_t rest = load_acquire(&ring->words[at + 3]);
    event->detail = (uint32_t)rest;
    event->thread = (uint16_t)(rest >> 32);
    event->type = (uint8_t)(rest >> 48);
    event->object_type = (uint8_t)(rest >> 56);
}

/* The oldest event that cannot be being overwritten, after `written` were counted. */
static uint64_t oldest(const lanepool_i_ring *ring, uint64_t written)
{
    return written >= ring->capacity ? written - ring->capacity + 1 : 0;
}

/* True: some were, and `next` is now one that was not. */
static bool skip_overwritten(lanepool_trace_reader *reader, struct place *place, uint64_t written)
{
    uint64_t first = oldest(place->ring, written);
    if (place->next >= first)
        return false;
    reader->missed += first - place->next;
    place->next = first;
    return true;
}

/* Makes `event` the next one; false: this read takes no more here. */
static bool look(lanepool_trace_reader *reader, struct place *place)
{
    while (!place->has && place->next < place->end) {
        load_event(place->ring, place->next, &place->event);
        place->has = !skip_overwritten(reader, place, load_acquire(&place->ring->written));
    }
    return place->has;
}

/* --- all rings --- */

/* Rings are never taken out of the list: those that are not known yet are in front. */
static bool find_rings(lanepool_trace_reader *reader)
{
    lanepool_i_ring *newest = load_acquire(&reader->rings->first);
    size_t count = newest == NULL ? 0 : newest->number + 1;
    if (!make_room(reader, count))
        return false;
    for (lanepool_i_ring *ring = newest; ring != NULL && ring->number >= reader->count;
         ring = ring->next)
        reader->places[ring->number] = (struct place){ .ring = ring };
    reader->count = count;
    return true;
}

static void find_ends(lanepool_trace_reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        struct place *place = &reader->places[i];
        place->end = load_acquire(&place->ring->written);
        if (!place->has)
            skip_overwritten(reader, place, place->end);
    }
}

/* Whether what was found is all that there was at one moment. */
static bool is_whole(const lanepool_trace_reader *reader)
{
    const lanepool_i_ring *newest = load_acquire(&reader->rings->first);
    if (newest != NULL && newest->number >= reader->count)
        return false;
    for (size_t i = 0; i < reader->count; i++)
        if (load_acquire(&reader->places[i].ring->written) != reader->places[i].end)
            return false;
    return true;
}

static struct place *earliest(lanepool_trace_reader *reader)
{
    struct place *found = NULL;
    for (size_t i = 0; i < reader->count; i++) {
        struct place *place = &reader->places[i];
        if (look(reader, place) && (found == NULL || place->event.time_ns < found->event.time_ns))
            found = place;
    }
    return found;
}

/* Anchors that others have overwritten meanwhile may make the same ticks another time, by little.
 */
static lanepool_event hand_out(lanepool_trace_reader *reader, struct place *place)
{
    uint64_t time_ns = lanepool_i_clock_time_of(&reader->time, place->event.time_ns);
    if (time_ns > place->time_ns)
        place->time_ns = time_ns;
    place->event.time_ns = place->time_ns;
    place->next++;
    place->has = false;
    return place->event;
}

lanepool_status lanepool_trace_read(lanepool_trace_reader *reader, lanepool_event *events,
                                    size_t capacity, size_t *count)
{
    if (count != NULL)
        *count = 0;
    if (reader == NULL || count == NULL || (events == NULL && capacity > 0))
        return LANEPOOL_INVALID;
    uint64_t horizon = lanepool_i_ticks_now(reader->rings->anchors != NULL);
    if (!find_rings(reader))
        return LANEPOOL_NOMEM;
    find_ends(reader);
    if (is_whole(reader))
        horizon = UINT64_MAX;
    while (*count < capacity) {
        struct place *place = earliest(reader);
        if (place == NULL || place->event.time_ns >= horizon)
            break;
        events[(*count)++] = hand_out(reader, place);
    }
    return LANEPOOL_OK;
}

/* --- the choice --- */

/* A task that is handed in has no ticket yet. */
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
