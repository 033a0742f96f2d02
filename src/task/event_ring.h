/*
 * The events of a pool: one ring for each thread, written by that thread alone.
 *
 * `written` counts the events ever written. The writer stores the words of the next event over the
 * oldest event, then counts it. A reader copies events, then reads the count, and discards those
 * that may have been overwritten since. Words are stored with release and loaded with acquire: a
 * reader that has seen a word of event n also sees that n events were counted before it.
 *
 * A thread writes an event before other threads can see the step that it records. So the events
 * that caused a step, on any thread, were written before the time of its event was taken. Readers
 * rely on this (trace.c).
 *
 * Times are ticks (clock_anchors.h). To take one, a thread waits for all its outstanding loads,
 * which is most of the cost of an event. So an event that *follows* another one of its thread
 * within a few instructions reuses that one's time. When that was taken, the thread had seen
 * everything that may have caused the new event, and the ring keeps the two in order: the rule
 * above holds.
 *
 * A thread that ends leaves its ring to the next new thread. Rings are freed with the pool.
 */
#ifndef LANEPOOL_SRC_TASK_EVENT_RING_H
#define LANEPOOL_SRC_TASK_EVENT_RING_H

#include "base/atomic.h"
#include "base/clock_anchors.h"
#include "lanepool/inspect.h"
#include "task/task.h"

#define LANEPOOL_I_EVENT_WORDS 4

/* The number of the void lane, of which nothing is recorded. */
#define LANEPOOL_I_NO_LANE UINT64_MAX

/* Guards: I immutable, A atomic, T the thread that has the ring. */
typedef struct lanepool_i_ring {
    _Atomic uint64_t choice; /* A: a bit for each type recorded; from bit 32: the bits that must be
                                0 in a ticket */
    _Atomic bool taken;      /* A: a thread uses it */
    bool by_counter;         /* I: ticks are the counter's, not the clock's */
    uint16_t thread;         /* I: the number that its events carry */
    size_t number;           /* I: its number among the rings, from 0 */
    size_t capacity;         /* I: in events, a power of two */
    struct lanepool_i_ring *next;                             /* I: the ring made before this one */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t written; /* A: T writes */
    uint64_t news; /* T: the inbox's `news` at the last ROUTE event */
    /* A: T writes. No event crosses a cache line. */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t words[];
} lanepool_i_ring;

/* Guards: I immutable, A atomic, L the lock. No other lock is taken under it. */
typedef struct lanepool_i_rings {
    lanepool_i_mutex lock;
    size_t capacity;                   /* I: of each ring; 0 if nothing is recorded */
    lanepool_i_clock_anchors *anchors; /* I: NULL if ticks are the clock's */
    size_t worker_count;               /* I */
    _Atomic(lanepool_i_ring *) first;  /* A: L writes: the newest ring */
    uint64_t choice;                   /* L: for new rings */
} lanepool_i_rings;

bool lanepool_i_rings_init(lanepool_i_rings *rings, size_t events, size_t worker_count);
void lanepool_i_rings_fini(lanepool_i_rings *rings);

/* Gets a ring for the calling thread, or for a worker before it starts; NULL if nothing is
 * recorded. Returns false if memory cannot be allocated. */
bool lanepool_i_rings_join(lanepool_i_rings *rings, lanepool_i_ring **ring);
/* Gives up the ring of a thread that ends. `ring` may be NULL. */
void lanepool_i_rings_leave(lanepool_i_ring *ring);

/* Returns a time later than everything this thread has seen of others. */
static inline uint64_t lanepool_i_ticks_now(bool by_counter)
{
    return by_counter ? lanepool_i_counter() : lanepool_i_clock_now();
}

/* For functions that a pool which records nothing never calls. */
#define LANEPOOL_I_COLD __attribute__((cold, noinline))
/* For functions on the way of plain tasks that the compiler would not inline everywhere. */
#define LANEPOOL_I_INLINE inline __attribute__((always_inline))

/* Returns true if the ring records events of this type. This check is all that an event costs a
 * pool that records nothing, so callers compute the event's contents after it. */
static inline bool lanepool_i_records(const lanepool_i_ring *ring, lanepool_event_type type)
{
    return __builtin_expect(ring != NULL, 0) && (load_relaxed(&ring->choice) >> type & 1) != 0;
}

/* Returns true if the ring records events of this type for this task. */
static inline bool lanepool_i_records_task(const lanepool_i_ring *ring, lanepool_event_type type,
                                           const lanepool_i_task *task)
{
    return lanepool_i_records(ring, type) &&
           (lanepool_i_task_ticket(task) & load_relaxed(&ring->choice) >> 32) == 0;
}

/* Writes an event. `ticket` is 0 if the event is of no task. */
LANEPOOL_I_COLD void lanepool_i_ring_write(lanepool_i_ring *ring, lanepool_event_type type,
                                           uint64_t ticket, uint64_t object, uint8_t object_type,
                                           uint32_t detail);
/* Writes a task's event, unless the object is the void lane. */
LANEPOOL_I_COLD void lanepool_i_ring_write_task(lanepool_i_ring *ring, lanepool_event_type type,
                                                const lanepool_i_task *task, uint64_t object,
                                                uint8_t object_type, uint32_t detail);

/* Writes a task's event that follows the thread's last one: READY after ENTER, if all the task's
 * entries were granted at once; RELEASE after END or another RELEASE. */
LANEPOOL_I_COLD void lanepool_i_ring_write_next(lanepool_i_ring *ring, lanepool_event_type type,
                                                const lanepool_i_task *task, uint64_t object,
                                                uint8_t object_type);
/* Writes ROUTE; role's holder only. The event follows the previous task's events if `news`
 * (inbox.h) is unchanged: then this task, too, was taken from the inbox before those were
 * written. */
LANEPOOL_I_COLD void lanepool_i_ring_write_route(lanepool_i_ring *ring, const lanepool_i_task *task,
                                                 uint64_t news);

/* Records a worker's event, or one of a task that has no ticket yet. */
static inline void lanepool_i_trace(lanepool_i_ring *ring, lanepool_event_type type,
                                    uint64_t object, uint32_t detail)
{
    if (lanepool_i_records(ring, type))
        lanepool_i_ring_write(ring, type, 0, object, 0, detail);
}

static inline void lanepool_i_trace_task(lanepool_i_ring *ring, lanepool_event_type type,
                                         const lanepool_i_task *task, uint32_t detail)
{
    if (lanepool_i_records_task(ring, type, task))
        lanepool_i_ring_write_task(ring, type, task, 0, 0, detail);
}

/* Records an event of a task in a lane, or in what is named like a lane. */
static inline void lanepool_i_trace_at(lanepool_i_ring *ring, lanepool_event_type type,
                                       const lanepool_i_task *task, uint64_t object,
                                       uint8_t object_type, uint32_t detail)
{
    if (lanepool_i_records_task(ring, type, task))
        lanepool_i_ring_write_task(ring, type, task, object, object_type, detail);
}

/* Records an event that follows; see lanepool_i_ring_write_next(). */
static inline void lanepool_i_trace_next(lanepool_i_ring *ring, lanepool_event_type type,
                                         const lanepool_i_task *task, uint64_t object,
                                         uint8_t object_type)
{
    if (lanepool_i_records_task(ring, type, task))
        lanepool_i_ring_write_next(ring, type, task, object, object_type);
}

/* Loads an event, its time in ticks. It is valid only if, by the count of written events that the
 * caller reads afterwards, it was intact. */
void lanepool_i_ring_load(const lanepool_i_ring *ring, uint64_t number, lanepool_event *event);
/* Returns the oldest event that no thread can be overwriting when `written` are counted. */
uint64_t lanepool_i_ring_oldest_intact(const lanepool_i_ring *ring, uint64_t written);

/* Writes the name of a lane, in as many events as needed. */
LANEPOOL_I_COLD void lanepool_i_trace_name(lanepool_i_ring *ring, uint64_t lane, uint8_t lane_type,
                                           const char *name, size_t size);

#endif
