/* Owns the list of retained blocks and the word that opens it; the protocol is in retention.h. */
#include "route/retention.h"

#include "route/pool.h"

/* The value of `first` while the list is closed. Never dereferenced. */
#define CLOSED ((lanepool_i_task *)1)

void lanepool_i_retention_init(lanepool_i_retention *retention, bool has_barrier)
{
    atomic_init(&retention->word, has_barrier ? 0 : LANEPOOL_I_NO_MEMBARRIER);
    atomic_init(&retention->first, CLOSED);
}

/* Returns the link of a retained block. In a wide task's block this is where the release callback
 * was, which is not needed any more. */
static _Atomic(uintptr_t) *retained_link(lanepool_i_task *task)
{
    return &task->as.plain[1].next;
}

bool lanepool_i_retain_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task)
{
    lanepool_i_retention *retention = &pool->retention;
    /* Without membarrier() this store is (1) of retention.h, and the next reading of `first` (2).
     */
    if ((load_seq(&retention->word) & LANEPOOL_I_NO_MEMBARRIER) != 0)
        store_seq(&record->running, load_relaxed(&record->running));
    lanepool_i_task *top = load_seq(&retention->first);
    do {
        if (top == CLOSED)
            return false;
        /* Release: a thread that reads this link as a release callback acquires it, and sees that
         * the task is a tombstone. */
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
