/*
 * A worker's concurrent queue of ready tasks, first in first out.
 *
 * A ring. Anyone takes from its head by compare-and-swap, one task or several;
 * a slot is read before the swap and holds what was read if the swap succeeds,
 * since no one writes a slot that the head has not passed. Putting in is for
 * one thread at a time, which `putting` decides; nobody waits for it. What does
 * not fit, the caller keeps (worker.h: the spill).
 *
 * Progress: taking is lock-free, putting wait-free. A head that is read before
 * 2^32 takes and swapped after them could be mistaken; nothing else wraps.
 */
#ifndef LANEPOOL_SRC_SCHED_READY_RING_H
#define LANEPOOL_SRC_SCHED_READY_RING_H

#include "base/sizes.h"
#include "task/task.h"

/* Guards: A atomic, P whoever set `putting`. */
typedef struct lanepool_i_ready_ring {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint32_t head; /* A: takers */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint32_t tail; /* A: P writes */
    _Atomic uint32_t putting;                              /* A */
    _Alignas(
        LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) slots[LANEPOOL_I_READY_SLOTS]; /* P */
} lanepool_i_ready_ring;

/* One that takes none leaves all to the spill. */
void lanepool_i_ready_ring_init(lanepool_i_ready_ring *queue, bool takes_tasks);

/* Moves tasks from the front of the list to the queue's end, as many as fit; none if another
 * thread is putting. They are published in the total order of `seq` operations. */
void lanepool_i_ready_ring_put(lanepool_i_ready_ring *queue, lanepool_i_tasks *tasks);

#define LANEPOOL_I_READY_SLOT(position) ((position) & (LANEPOOL_I_READY_SLOTS - 1))

/* The oldest task, or NULL. */
static inline lanepool_i_task *lanepool_i_ready_ring_take(lanepool_i_ready_ring *queue)
{
    uint32_t head = load_acquire(&queue->head);
    for (;;) {
        /* Acquire: the slots, and what was done to the tasks, are visible. */
        if (head == load_acquire(&queue->tail))
            return NULL;
        lanepool_i_task *task = load_relaxed(&queue->slots[LANEPOOL_I_READY_SLOT(head)]);
        lanepool_i_prefetch(load_relaxed(&queue->slots[LANEPOOL_I_READY_SLOT(head + 2)]));
        if (cas_acq_rel(&queue->head, &head, head + 1))
            return task;
    }
}
/* The older half, at most LANEPOOL_I_TAKE_MAX, oldest first; returns how many. */
size_t lanepool_i_ready_ring_take_half(lanepool_i_ready_ring *queue, lanepool_i_tasks *taken);

/* Whoever sees to it that blocks of finished tasks stay: what stands here at some moment. */
void lanepool_i_ready_ring_each(const lanepool_i_ready_ring *queue,
                                void (*found)(lanepool_i_task *task, void *context), void *context);

/* How many tasks were ever taken, for telling whether some were: it wraps around. */
static inline uint32_t lanepool_i_ready_ring_taken(const lanepool_i_ready_ring *queue)
{
    return load_relaxed(&queue->head);
}

/* How many tasks stand here, at some moment during the call. */
static inline uint32_t lanepool_i_ready_ring_count(const lanepool_i_ready_ring *queue)
{
    uint32_t head = load_seq(&queue->head);
    uint32_t count = load_seq(&queue->tail) - head;
    return count <= LANEPOOL_I_READY_SLOTS ? count : LANEPOOL_I_READY_SLOTS;
}

#endif
