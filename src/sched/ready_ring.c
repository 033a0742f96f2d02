/* Owns the ring; the protocol is in ready_ring.h. */
#include "sched/ready_ring.h"

void lanepool_i_ready_ring_init(lanepool_i_ready_ring *queue, bool takes_tasks)
{
    atomic_init(&queue->head, 0);
    atomic_init(&queue->tail, 0);
    atomic_init(&queue->putting, takes_tasks ? 0 : 1);
    for (size_t i = 0; i < LANEPOOL_I_READY_SLOTS; i++)
        atomic_init(&queue->slots[i], NULL);
}

void lanepool_i_ready_ring_put(lanepool_i_ready_ring *queue, lanepool_i_tasks *tasks)
{
    if (load_relaxed(&queue->putting) != 0 || exchange_acquire(&queue->putting, 1) != 0)
        return;
    uint32_t tail = load_relaxed(&queue->tail);
    /* Acquire: a slot is written again only after its taker's read. */
    uint32_t end = load_acquire(&queue->head) + LANEPOOL_I_READY_SLOTS;
    while (tail != end && tasks->count > 0) {
        store_relaxed(&queue->slots[LANEPOOL_I_READY_SLOT(tail)], lanepool_i_tasks_take(tasks));
        tail++;
    }
    store_seq(&queue->tail, tail);
    store_release(&queue->putting, 0);
}

static size_t half_of(uint32_t count)
{
    uint32_t half = count - count / 2;
    return half < LANEPOOL_I_TAKE_MAX ? half : LANEPOOL_I_TAKE_MAX;
}

size_t lanepool_i_ready_ring_take_half(lanepool_i_ready_ring *queue, lanepool_i_tasks *taken)
{
    lanepool_i_task *seen[LANEPOOL_I_TAKE_MAX];
    uint32_t head = load_acquire(&queue->head);
    for (;;) {
        uint32_t count = load_acquire(&queue->tail) - head;
        if (count == 0)
            return 0;
        /* A head older than the tail by more than the ring is stale: the swap will say so. */
        size_t half = half_of(count);
        for (uint32_t i = 0; i < half; i++)
            seen[i] = load_relaxed(&queue->slots[LANEPOOL_I_READY_SLOT(head + i)]);
        if (!cas_acq_rel(&queue->head, &head, head + (uint32_t)half))
            continue;
        for (size_t i = 0; i < half; i++)
            lanepool_i_tasks_add(taken, seen[i]);
        return half;
    }
}

void lanepool_i_ready_ring_each(const lanepool_i_ready_ring *queue,
                                void (*found)(lanepool_i_task *task, void *context), void *context)
{
    uint32_t head = load_seq(&queue->head);
    uint32_t tail = load_seq(&queue->tail);
    for (; tail - head > LANEPOOL_I_READY_SLOTS; tail = load_seq(&queue->tail))
        head = load_seq(&queue->head); /* it had moved on when the tail was read */
    for (; head != tail; head++)
        found(load_relaxed(&queue->slots[LANEPOOL_I_READY_SLOT(head)]), context);
}
