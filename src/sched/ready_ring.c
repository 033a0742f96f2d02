/* Owns the ring; ready_ring.h explains the protocol. */
#include "sched/ready_ring.h"

void lanepool_i_ready_ring_init(lanepool_i_ready_ring *ring, bool takes_tasks)
{
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    atomic_init(&ring->putting, takes_tasks ? 0 : 1);
    atomic_init(&ring->pinned, NULL);
    for (size_t i = 0; i < LANEPOOL_I_READY_SLOTS; i++)
        atomic_init(&ring->slots[i], NULL);
}

void lanepool_i_ready_ring_put(lanepool_i_ready_ring *ring, lanepool_i_tasks *tasks)
{
    if (load_relaxed(&ring->putting) != 0 || exchange_acquire(&ring->putting, 1) != 0)
        return;
    uint32_t tail = load_relaxed(&ring->tail);
    /* Acquire: a slot is written again only after the thread that took its task has read it. */
    uint32_t end = load_acquire(&ring->head) + LANEPOOL_I_READY_SLOTS;
    while (tail != end && tasks->count > 0) {
        store_relaxed(&ring->slots[LANEPOOL_I_READY_SLOT(tail)], lanepool_i_tasks_take(tasks));
        tail++;
    }
    store_seq(&ring->tail, tail);
    store_release(&ring->putting, 0);
}

static size_t half_of(uint32_t count)
{
    uint32_t half = count - count / 2;
    return half < LANEPOOL_I_TAKE_MAX ? half : LANEPOOL_I_TAKE_MAX;
}

size_t lanepool_i_ready_ring_take_half(lanepool_i_ready_ring *ring, lanepool_i_tasks *taken)
{
    lanepool_i_task *seen[LANEPOOL_I_TAKE_MAX];
    uint32_t head = load_acquire(&ring->head);
    for (;;) {
        uint32_t count = load_acquire(&ring->tail) - head;
        if (count == 0)
            return 0;
        /* A count larger than the ring means that `head` is stale; then the swap fails. */
        size_t half = half_of(count);
        for (uint32_t i = 0; i < half; i++)
            seen[i] = load_relaxed(&ring->slots[LANEPOOL_I_READY_SLOT(head + i)]);
        if (!cas_acq_rel(&ring->head, &head, head + (uint32_t)half))
            continue;
        for (size_t i = 0; i < half; i++)
            lanepool_i_tasks_add(taken, seen[i]);
        return half;
    }
}

void lanepool_i_ready_ring_each(const lanepool_i_ready_ring *ring,
                                void (*found)(lanepool_i_task *task, void *context), void *context)
{
    lanepool_i_task *pinned = load_seq(&ring->pinned);
    uint32_t head = load_seq(&ring->head);
    uint32_t tail = load_seq(&ring->tail);
    if (pinned != NULL)
        found(pinned, context);
    for (; tail - head > LANEPOOL_I_READY_SLOTS; tail = load_seq(&ring->tail))
        head = load_seq(&ring->head); /* the head moved before the tail was read */
    for (; head != tail; head++)
        found(load_relaxed(&ring->slots[LANEPOOL_I_READY_SLOT(head)]), context);
}
