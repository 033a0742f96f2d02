/*
 * A worker's ready ring: a concurrent first-in first-out queue of ready tasks.
 *
 * Any thread takes from the head by compare-and-swap, one task or several. It reads the slots
 * before the swap. If the swap succeeds, they still hold what was read, since no thread writes a
 * slot that the head has not passed. One thread at a time puts tasks in, decided by `putting`.
 * Tasks that do not fit, or find another thread putting, go to the overflow list (worker.h).
 *
 * Beside the ring: the pinned task, which only the ring's worker takes. The caller pins a task only
 * if none is pinned: a pinned task holds its worker's lane until it has finished, and the release
 * of that lane happens before the next task of the lane is pinned.
 *
 * Progress: taking is lock-free, putting is wait-free. A head that is read before 2^32 takes and
 * swapped after them could be mistaken for unchanged; nothing else wraps around.
 */
#ifndef LANEPOOL_SRC_SCHED_READY_RING_H
#define LANEPOOL_SRC_SCHED_READY_RING_H

#include "base/sizes.h"
#include "task/task.h"

/* Guards: A atomic, P the thread that has set `putting`. */
typedef struct lanepool_i_ready_ring {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint32_t head; /* A: advanced by takers */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint32_t tail; /* A: P writes */
    _Atomic uint32_t putting;                              /* A */
    _Atomic(lanepool_i_task *) pinned;                     /* A: or NULL */
    _Alignas(
        LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) slots[LANEPOOL_I_READY_SLOTS]; /* P */
} lanepool_i_ready_ring;

/* A ring that takes no tasks leaves all to the overflow list. */
void lanepool_i_ready_ring_init(lanepool_i_ready_ring *ring, bool takes_tasks);

/* Moves tasks from the front of the list to the end of the ring, as many as fit; none while another
 * thread puts. Publishes them in the total order of seq_cst operations. */
void lanepool_i_ready_ring_put(lanepool_i_ready_ring *ring, lanepool_i_tasks *tasks);

#define LANEPOOL_I_READY_SLOT(position) ((position) & (LANEPOOL_I_READY_SLOTS - 1))

/* Takes the oldest task, or returns NULL. */
static inline lanepool_i_task *lanepool_i_ready_ring_take(lanepool_i_ready_ring *ring)
{
    uint32_t head = load_acquire(&ring->head);
    for (;;) {
        /* Acquire: the slots, and what was done to the tasks, are visible. */
        if (head == load_acquire(&ring->tail))
            return NULL;
        lanepool_i_task *task = load_relaxed(&ring->slots[LANEPOOL_I_READY_SLOT(head)]);
        lanepool_i_prefetch(load_relaxed(&ring->slots[LANEPOOL_I_READY_SLOT(head + 2)]));
        if (cas_acq_rel(&ring->head, &head, head + 1))
            return task;
    }
}
/* Publishes the pinned task in the total order of seq_cst operations. */
static inline void lanepool_i_ready_ring_pin(lanepool_i_ready_ring *ring, lanepool_i_task *task)
{
    store_seq(&ring->pinned, task);
}

static inline bool lanepool_i_ready_ring_has_pinned(const lanepool_i_ready_ring *ring)
{
    return load_seq(&ring->pinned) != NULL;
}

/* Takes the pinned task, or returns NULL. Only the ring's worker, or a thread after the last
 * worker has ended. */
static inline lanepool_i_task *lanepool_i_ready_ring_take_pinned(lanepool_i_ready_ring *ring)
{
    /* Acquire: what was done to the task is visible. */
    lanepool_i_task *task = load_acquire(&ring->pinned);
    if (task != NULL)
        store_relaxed(&ring->pinned, NULL);
    return task;
}

/* Takes the older half, at most LANEPOOL_I_TAKE_MAX tasks, oldest first. Returns how many. */
size_t lanepool_i_ready_ring_take_half(lanepool_i_ready_ring *ring, lanepool_i_tasks *taken);

/* Calls `found` for the pinned task, and for each task in the ring at one moment. The caller has
 * blocks of finished tasks retained. */
void lanepool_i_ready_ring_each(const lanepool_i_ready_ring *ring,
                                void (*found)(lanepool_i_task *task, void *context), void *context);

/* Returns how many tasks were ever taken, modulo 2^32. */
static inline uint32_t lanepool_i_ready_ring_taken(const lanepool_i_ready_ring *ring)
{
    return load_relaxed(&ring->head);
}

/* Returns how many tasks are in the ring at one moment of the call. */
static inline uint32_t lanepool_i_ready_ring_count(const lanepool_i_ready_ring *ring)
{
    uint32_t head = load_seq(&ring->head);
    uint32_t count = load_seq(&ring->tail) - head;
    return count <= LANEPOOL_I_READY_SLOTS ? count : LANEPOOL_I_READY_SLOTS;
}

#endif
