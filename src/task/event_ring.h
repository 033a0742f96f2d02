/*
 * The events of a pool: one ring for each thread, written by that thread alone.
 *
 * `written` counts the events that were ever written. A writer stores the words
 * of the next one over the oldest, then counts it. A reader copies events,
 * and then looks at the count: what may have been overwritten meanwhile it has
 * missed. Each word is stored with release and loaded with acquire, so that a
 * reader which has seen a word of event n also sees that n were counted.
 *
 * An event is written before other threads can see what it tells of. So what
 * caused it, on whichever thread, was written before its time was taken; on this
 * readers build (trace.c).
 *
 * Times are ticks (clock_anchors.h). To take one means to wait until all is there that the
 * thread was reading, which is most of what an event costs. An event that *follows*
 * gets the time of the one before it in the ring: when that one's was taken, the
 * thread had seen all of others that may have caused the new one, and the two are
 * but some instructions apart. It stands behind in the ring; that is enough for the
 * rule above.
 *
 * A thread that goes leaves its ring to the next one that comes; rings stay until
 * the pool ends.
 */
#ifndef LANEPOOL_SRC_TASK_EVENT_RING_H
#define LANEPOOL_SRC_TASK_EVENT_RING_H

#include "base/atomic.h"
#include "base/clock_anchors.h"
#include "lanepool/trace.h"
#include "task/task.h"

#define LANEPOOL_I_EVENT_WORDS 4

/* As the number of a lane, of which nothing is recorded. */
#define LANEPOOL_I_NO_LANE UINT64_MAX

/* Guards: I immutable, A atomic, T the thread that has the ring. */
typedef struct lanepool_i_ring {
    _Atomic uint64_t choice; /* A: a bit for each type that is wanted | of tickets, from bit 32, the
                                lowest bits that have to be 0 */
    _Atomic bool taken;      /* A: a thread has it */
    bool by_counter;         /* I: time is the counter's ticks, not the clock's */
    uint16_t thread;         /* I: its number in events */
    size_t number;           /* I: its place among the rings, from 0 */
    size_t capacity;         /* I: in events, a power of two */
    struct lanepool_i_ring *next;                             /* I: the one made before */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t written; /* A: T writes */
    uint64_t news; /* T: the inbox's, when the last ROUTE was written */
    /* A: T writes. No event lies on two lines. */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t words[];
} lanepool_i_ring;

/* Guards: I immutable, A atomic, L the lock, which is a leaf. */
typedef struct lanepool_i_rings {
    lanepool_i_mutex lock;
    size_t capacity;                   /* I: of each ring; 0: nothing is recorded */
    lanepool_i_clock_anchors *anchors; /* I: NULL: time is the clock's */
    size_t worker_count;               /* I */
    _Atomic(lanepool_i_ring *) first;  /* A: L writes: the newest */
    uint64_t choice;                   /* L: for rings to come */
} lanepool_i_rings;

bool lanepool_i_rings_init(lanepool_i_rings *rings, size_t events, size_t worker_count);
void lanepool_i_rings_fini(lanepool_i_rings *rings);

/* A ring for the calling thread, or for the worker to come; false: memory is lacking. NULL without
 * rings. */
bool lanepool_i_rings_join(lanepool_i_rings *rings, lanepool_i_ring **ring);
/* The ring's thread is gone. */
void lanepool_i_rings_leave(lanepool_i_ring *ring);

/* Later than whatever this thread has seen of others. */
static inline uint64_t lanepool_i_ticks_now(bool by_counter)
{
    return by_counter ? lanepool_i_counter() : lanepool_i_clock_now();
}

/* Out of the way of pools that record nothing. */
#define LANEPOOL_I_COLD __attribute__((cold, noinline))

/* Where it happens, the look at the ring is all that it costs a pool that records nothing: what the
 * event says is found out behind it. */
static inline bool lanepool_i_records(const lanepool_i_ring *ring, lanepool_event_type type)
{
    return __builtin_expect(ring != NULL, 0) && (load_relaxed(&ring->choice) >> type & 1) != 0;
}

/* The same for a task's event, where not all tasks are chosen. */
static inline bool lanepool_i_records_task(const lanepool_i_ring *ring, lanepool_event_type type,
                                           const lanepool_i_task *task)
{
    return lanepool_i_records(ring, type) &&
           (lanepool_i_task_ticket(task) & load_relaxed(&ring->choice) >> 32) == 0;
}

/* Writes an event; `ticket` is the task's, or 0. */
LANEPOOL_I_COLD void lanepool_i_ring_write(lanepool_i_ring *ring, lanepool_event_type type,
                                           uint64_t ticket, uint64_t object, uint8_t object_type,
                                           uint32_t detail);
/* The same for a task. */
LANEPOOL_I_COLD void lanepool_i_ring_write_task(lanepool_i_ring *ring, lanepool_event_type type,
                                                const lanepool_i_task *task, uint64_t object,
                                                uint8_t object_type, uint32_t detail);

/* The same for a task's event that follows: READY, when the task entered its last lane and all of
 * them were granted at once; RELEASE, when it has ended. */
LANEPOOL_I_COLD void lanepool_i_ring_write_next(lanepool_i_ring *ring, lanepool_event_type type,
                                                const lanepool_i_task *task, uint64_t object,
                                                uint8_t object_type);
/* ROUTE, by the role's holder; it follows what was written of the task before, if `news` (inbox.h)
 * are the same: then this one, too, was taken from the inbox before that. */
LANEPOOL_I_COLD void lanepool_i_ring_write_route(lanepool_i_ring *ring, const lanepool_i_task *task,
                                                 uint64_t news);

/* A worker's event, or one of a task that has no ticket yet. */
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

/* A task at a lane, or at what stands for one. */
static inline void lanepool_i_trace_at(lanepool_i_ring *ring, lanepool_event_type type,
                                       const lanepool_i_task *task, uint64_t object,
                                       uint8_t object_type, uint32_t detail)
{
    if (lanepool_i_records_task(ring, type, task))
        lanepool_i_ring_write_task(ring, type, task, object, object_type, detail);
}

/* See lanepool_i_ring_write_next(). */
static inline void lanepool_i_trace_next(lanepool_i_ring *ring, lanepool_event_type type,
                                         const lanepool_i_task *task, uint64_t object,
                                         uint8_t object_type)
{
    if (lanepool_i_records_task(ring, type, task))
        lanepool_i_ring_write_next(ring, type, task, object, object_type);
}

/* The name of a lane, in as many events as it takes. */
LANEPOOL_I_COLD void lanepool_i_trace_name(lanepool_i_ring *ring, uint64_t lane, uint8_t lane_type,
                                           const char *name, size_t size);

#endif
