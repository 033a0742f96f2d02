#include "route/watch.h"

#include "route/pool.h"

/* Stands in `kept` while nobody looks. Never dereferenced. */
#define CLOSED ((lanepool_i_task *)1)

void lanepool_i_watch_init(lanepool_i_watch *watch, bool has_barrier)
{
    atomic_init(&watch->word, has_barrier ? 0 : LANEPOOL_I_NO_MEMBARRIER);
    atomic_init(&watch->kept, CLOSED);
}

/* Of a wide task that is where its release callback was, which has been called. */
static _Atomic(uintptr_t) *kept_link(lanepool_i_task *task)
{
    return &task->as.narrow[1].next;
}

bool lanepool_i_watch_keeps(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task)
{
    lanepool_i_watch *watch = &pool->watch;
    if ((load_seq(&watch->word) & LANEPOOL_I_NO_MEMBARRIER) != 0)
        store_seq(&local->running, load_relaxed(&local->running));
    lanepool_i_task *top = load_seq(&watch->kept);
    do {
        if (top == CLOSED)
            return false;
        /* Release: who reads it in place of the callback sees that the task is a mark. */
        store_release(kept_link(task), (uintptr_t)top);
    } while (!cas_seq(&watch->kept, &top, task));
    return true;
}

void lanepool_i_watch_begin(lanepool_i_watch *watch)
{
    uint32_t word = load_relaxed(&watch->word);
    store_seq(&watch->kept, NULL);
    store_seq(&watch->word, word | LANEPOOL_I_WATCHED);
    if ((word & LANEPOOL_I_NO_MEMBARRIER) == 0)
        lanepool_i_barrier_others();
}

lanepool_i_task *lanepool_i_watch_end(lanepool_i_watch *watch)
{
    uint32_t word = load_relaxed(&watch->word);
    store_seq(&watch->word, word & ~LANEPOOL_I_WATCHED);
    return exchange_seq(&watch->kept, CLOSED);
}

lanepool_i_task *lanepool_i_watch_next(lanepool_i_task *kept)
{
    return (lanepool_i_task *)load_relaxed(kept_link(kept));
}
