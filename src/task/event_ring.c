/* Owns the rings and their list; see event_ring.h. */
#include "task/event_ring.h"

#define ALL_TYPES UINT32_MAX

bool lanepool_i_rings_init(lanepool_i_rings *rings, size_t events, size_t worker_count)
{
    rings->capacity = 0;
    rings->anchors = NULL;
    rings->worker_count = worker_count;
    rings->choice = ALL_TYPES;
    atomic_init(&rings->first, NULL);
    if (events > 0)
        for (rings->capacity = 1; rings->capacity <= events;)
            rings->capacity *= 2; /* one event more: the slot written next cannot be read */
    if (events > 0 && lanepool_i_counter_is_usable() &&
        (rings->anchors = lanepool_i_clock_anchors_create()) == NULL)
        return false;
    if (lanepool_i_mutex_init(&rings->lock, LANEPOOL_I_LOCK_RINGS))
        return true;
    lanepool_i_clock_anchors_free(rings->anchors);
    return false;
}

void lanepool_i_rings_fini(lanepool_i_rings *rings)
{
    lanepool_i_ring *ring = load_acquire(&rings->first);
    while (ring != NULL) {
        lanepool_i_ring *next = ring->next;
        lanepool_i_memory_free(ring);
        ring = next;
    }
    lanepool_i_clock_anchors_free(rings->anchors);
    lanepool_i_mutex_fini(&rings->lock);
}

/* --- joining and leaving --- */

/* Takes a ring that its thread has left, or returns NULL. Acquire: that thread's events come before
 * this thread's. */
static lanepool_i_ring *take_free_ring(const lanepool_i_rings *rings)
{
    lanepool_i_ring *ring = load_acquire(&rings->first);
    while (ring != NULL && exchange_acquire(&ring->taken, true))
        ring = ring->next;
    return ring;
}

/* The words are not cleared: none is read before it is written. */
static lanepool_i_ring *create_ring(const lanepool_i_rings *rings)
{
    size_t words = rings->capacity * LANEPOOL_I_EVENT_WORDS;
    lanepool_i_ring *ring = lanepool_i_memory_alloc(sizeof *ring + words * sizeof ring->words[0]);
    if (ring == NULL)
        return NULL;
    atomic_init(&ring->taken, true);
    atomic_init(&ring->written, 0);
    ring->news = 0;
    ring->capacity = rings->capacity;
    ring->by_counter = rings->anchors != NULL;
    return ring;
}

static void add_ring_locked(lanepool_i_rings *rings, lanepool_i_ring *ring)
{
    ring->next = load_relaxed(&rings->first);
    ring->number = ring->next == NULL ? 0 : ring->next->number + 1;
    size_t thread = ring->number;
    if (thread >= rings->worker_count)
        thread = (thread - rings->worker_count) | LANEPOOL_EVENT_OUTSIDE;
    ring->thread = (uint16_t)thread;
    atomic_init(&ring->choice, rings->choice);
    store_release(&rings->first, ring);
}

bool lanepool_i_rings_join(lanepool_i_rings *rings, lanepool_i_ring **ring)
{
    *ring = NULL;
    if (rings->capacity == 0)
        return true;
    *ring = take_free_ring(rings);
    if (*ring != NULL)
        return true;
    *ring = create_ring(rings);
    if (*ring == NULL)
        return false;
    lanepool_i_mutex_lock(&rings->lock);
    add_ring_locked(rings, *ring);
    lanepool_i_mutex_unlock(&rings->lock);
    return true;
}

void lanepool_i_rings_leave(lanepool_i_ring *ring)
{
    if (ring != NULL)
        store_release(&ring->taken, false);
}

/* --- writing --- */

/* Fires the system's static probe of the event's type. */
static void fire_probe(lanepool_event_type type, uint64_t ticket, uint64_t object, uint32_t detail)
{
#if defined(LANEPOOL_I_PROBE)
    switch (type) {
#define PROBE(NAME, name)                               \
    case LANEPOOL_EVENT_##NAME:                         \
        LANEPOOL_I_PROBE(name, ticket, object, detail); \
        break;
        PROBE(SUBMIT, submit)
        PROBE(ROUTE, route)
        PROBE(ENTER, enter)
        PROBE(ARRIVE, arrive)
        PROBE(READY, ready)
        PROBE(START, start)
        PROBE(END, end)
        PROBE(RELEASE, release)
        PROBE(STEAL, steal)
        PROBE(SLEEP, sleep)
        PROBE(WAKE, wake)
        PROBE(CANCEL, cancel)
        PROBE(NAME, name)
        PROBE(RETRY, retry)
        PROBE(PARK, park)
        PROBE(VISIT, visit)
        PROBE(VISITED, visited)
#undef PROBE
    }
#else
    (void)type;
    (void)ticket;
    (void)object;
    (void)detail;
#endif
}

static _Atomic uint64_t *words_of(lanepool_i_ring *ring, uint64_t number)
{
    return &ring->words[(size_t)(number & (ring->capacity - 1)) * LANEPOOL_I_EVENT_WORDS];
}

static inline void write_event(lanepool_i_ring *ring, uint64_t time, lanepool_event_type type,
                               uint64_t ticket, uint64_t object, uint8_t object_type,
                               uint32_t detail)
{
    fire_probe(type, ticket, object, detail);
    uint64_t number = load_relaxed(&ring->written);
    _Atomic uint64_t *words = words_of(ring, number);
    store_release(&words[0], time);
    store_release(&words[1], ticket);
    store_release(&words[2], object);
    store_release(&words[3], detail | (uint64_t)ring->thread << 32 | (uint64_t)type << 48 |
                                 (uint64_t)object_type << 56);
    store_release(&ring->written, number + 1);
}

void lanepool_i_ring_write(lanepool_i_ring *ring, lanepool_event_type type, uint64_t ticket,
                           uint64_t object, uint8_t object_type, uint32_t detail)
{
    write_event(ring, lanepool_i_ticks_now(ring->by_counter), type, ticket, object, object_type,
                detail);
}

static bool is_void_lane(uint64_t object, uint8_t object_type)
{
    return object == LANEPOOL_I_NO_LANE && object_type == LANEPOOL_EVENT_LANE_WORKER;
}

void lanepool_i_ring_write_task(lanepool_i_ring *ring, lanepool_event_type type,
                                const lanepool_i_task *task, uint64_t object, uint8_t object_type,
                                uint32_t detail)
{
    if (!is_void_lane(object, object_type))
        lanepool_i_ring_write(ring, type, lanepool_i_task_ticket(task), object, object_type,
                              detail);
}

/* --- events that follow --- */

/* Returns true if the ring's last event is the one that the new event follows. Otherwise that one
 * was not recorded, or the thread has called the program since: its time cannot be reused. */
static bool leads_to(const _Atomic uint64_t *last, lanepool_event_type type, uint64_t ticket)
{
    uint64_t last_ticket = load_relaxed(&last[1]);
    uint64_t rest = load_relaxed(&last[3]);
    uint32_t detail = (uint32_t)rest;
    uint8_t last_type = (uint8_t)(rest >> 48);
    if (type == LANEPOOL_EVENT_ROUTE)
        return last_ticket + 1 == ticket &&
               (last_type == LANEPOOL_EVENT_ENTER || last_type == LANEPOOL_EVENT_READY);
    if (last_ticket != ticket)
        return false;
    if (type == LANEPOOL_EVENT_READY)
        return last_type == LANEPOOL_EVENT_ENTER && (detail & LANEPOOL_EVENT_GRANTED) != 0;
    return (last_type == type && detail == 0) ||
           (last_type == LANEPOOL_EVENT_END && detail == LANEPOOL_OK);
}

static uint64_t time_of_next(lanepool_i_ring *ring, lanepool_event_type type, uint64_t ticket)
{
    uint64_t number = load_relaxed(&ring->written);
    if (number > 0) {
        const _Atomic uint64_t *last = words_of(ring, number - 1);
        if (leads_to(last, type, ticket))
            return load_relaxed(&last[0]);
    }
    return lanepool_i_ticks_now(ring->by_counter);
}

void lanepool_i_ring_write_next(lanepool_i_ring *ring, lanepool_event_type type,
                                const lanepool_i_task *task, uint64_t object, uint8_t object_type)
{
    if (is_void_lane(object, object_type))
        return;
    uint64_t ticket = lanepool_i_task_ticket(task);
    write_event(ring, time_of_next(ring, type, ticket), type, ticket, object, object_type, 0);
}

void lanepool_i_ring_write_route(lanepool_i_ring *ring, const lanepool_i_task *task, uint64_t news)
{
    uint64_t ticket = lanepool_i_task_ticket(task);
    uint64_t time = ring->news == news ? time_of_next(ring, LANEPOOL_EVENT_ROUTE, ticket)
                                       : lanepool_i_ticks_now(ring->by_counter);
    ring->news = news;
    write_event(ring, time, LANEPOOL_EVENT_ROUTE, ticket, (uintptr_t)task, 0,
                lanepool_i_task_tag(task));
}

void lanepool_i_trace_name(lanepool_i_ring *ring, uint64_t lane, uint8_t lane_type,
                           const char *name, size_t size)
{
    if (size > LANEPOOL_EVENT_NAME_MAX)
        size = LANEPOOL_EVENT_NAME_MAX;
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t part = 0;
        for (size_t i = 0; i < sizeof part && at + i < size; i++)
            part |= (uint64_t)(unsigned char)name[at + i] << (8 * i);
        lanepool_i_ring_write(ring, LANEPOOL_EVENT_NAME, part, lane, lane_type,
                              (uint32_t)(at | size << 16));
    }
}

/* --- reading --- */

void lanepool_i_ring_load(const lanepool_i_ring *ring, uint64_t number, lanepool_event *event)
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

uint64_t lanepool_i_ring_oldest_intact(const lanepool_i_ring *ring, uint64_t written)
{
    return written >= ring->capacity ? written - ring->capacity + 1 : 0;
}
