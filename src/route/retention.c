#include "route/retention.h"

#include "route/pool.h"

/* Stands in `kept` while nobody looks. Never dereferenced. */
#define CLOSED ((lanepool_i_task *)1)

void lanepool_i_retention_init(lanepool_i_retention *retention, bool has_barrier)
{
    atomic_init(&retention->word, has_barrier ? 0 : LANEPOOL_I_NO_MEMBARRIER);
    atomic_init(&retention->first, CLOSED);
}

/* Of a wide task that is where its release callback was, which has been called. */
static _Atomic(uintptr_t) *retained_link(lanepool_i_task *task)
{
    return &task->as.narrow[1].next;
}

bool lanepool_i_retain_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task)
{
    lanepool_i_retention *retention = &pool->retention;
    if ((load_seq(&retention->word) & LANEPOOL_I_NO_MEMBARRIER) != 0)
        store_seq(&record->running, load_relaxed(&record->running));
    lanepool_i_task *top = load_seq(&retention->first);
    do {
        if (top == CLOSED)
            return false;
        /* Release: who reads it in place of the callback sees that the task is a mark. */
        store_release(retained_link(task), (uintptr_t)top);
    } while (!cas_seq(&retention->first, &top, task));
    return true;
}

void lanepool_i_retention_begin(lanepool_i_retention *retention)
{
    uint32_t word = load_relaxed(&retention->word);
    store_seq(&retention->first, NULL);
    store_seq(&retention->word, word | LANEPOOL_I_RETAINING);
    if ((word & LANEPOOL_I_NO_MEMBARRIER) == 0)
        lanepool_i_membarrier_others();
}

lanepool_i_task *lanepool_i_retention_end(lanepool_i_retention *retention)
{
    uint32_t word = load_relaxed(&retention->word);
    store_seq(&retention->word, word & ~LANEPOOL_I_RETAINING);
    return exchange_seq(&retention->first, CLOSED);
}

lanepool_i_task *lanepool_i_retention_next(lanepool_i_task *retained)
{
    return (lanepool_i_task *)load_relaxed(retained_link(retained));
}
