/* Owns who stands before whom in lanes, and the levels of tasks; see priority.h. */
#include "feature/priority.h"

#include "base/planted.h"
#include "route/entries.h"

static lanepool_i_rank *rank_of(lanepool_pool *pool, lanepool_i_task *task)
{
    return lanepool_i_priority_queue_rank_of(&pool->priority_queue, task);
}

static void lock(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->workers.overflow_lock);
}

static void unlock(lanepool_pool *pool)
{
    lanepool_i_mutex_unlock(&pool->workers.overflow_lock);
}

/* --- places --- */

/* Where the newest place in a lane is linked from. */
static lanepool_i_rank_entry **newest_of(const lanepool_i_lane *lane)
{
    return lanepool_i_lane_memory_beside(lane);
}

static void link_newest(lanepool_i_rank_entry *borrower, lanepool_i_rank_entry **newest)
{
    borrower->ahead = *newest;
    borrower->at = newest;
    if (borrower->ahead != NULL)
        borrower->ahead->at = &borrower->ahead;
    *newest = borrower;
}

/* Those around it are linked to one another, or to a copy of it that is made elsewhere. */
static void replace(const lanepool_i_rank_entry *borrower, lanepool_i_rank_entry *by)
{
    if (borrower->at == NULL)
        return;
    *borrower->at = by != NULL ? by : borrower->ahead;
    if (borrower->ahead != NULL)
        borrower->ahead->at = by != NULL ? &by->ahead : borrower->at;
}

static void move(const lanepool_i_rank_entry *from, lanepool_i_rank_entry *to,
                 lanepool_i_rank *rank)
{
    *to = *from;
    to->rank = rank;
    replace(from, to);
}

static void leave_all(lanepool_i_rank *rank)
{
    while (rank->rank_entry_count > 0)
        replace(&rank->rank_entries[--rank->rank_entry_count], NULL);
}

/* While a task is routed, its lanes' stamps say whether it claims them EXCLUSIVE. */
static void enter_all(lanepool_i_rank *rank, lanepool_i_task *task)
{
    const lanepool_i_wide_entry *entries = lanepool_i_entries_wide(task);
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        const lanepool_i_lane *lane = entries[i].entry.at.lane;
        lanepool_i_rank_entry *borrower = &rank->rank_entries[i];
        borrower->rank = rank;
        borrower->shared = (lane->use.stamp & 1) == 0;
        link_newest(borrower, newest_of(lane));
    }
    rank->rank_entry_count = task->as.wide.count;
}

/* --- lending --- */

/* Tasks that were lent something and have not lent it on yet. */
struct lending {
    lanepool_i_priority_queue *priority_queue;
    lanepool_i_rank *first;
    uint64_t now_ns;
    uint8_t level;
};

static void lend(struct lending *lending, lanepool_i_rank *rank,
                 const lanepool_i_rank_entry *through)
{
    lanepool_i_priority_queue_raise(lending->priority_queue, rank, lending->level, lending->now_ns);
    rank->through = through;
    rank->raised_next = lending->first;
    lending->first = rank;
}

/* To all whom this place has to wait for. */
static void lend_ahead(struct lending *lending, const lanepool_i_rank_entry *borrower)
{
    const lanepool_i_rank_entry *other = borrower->ahead;
    while (borrower->shared && other != NULL && other->shared)
        other = other->ahead;
    for (; other != NULL; other = other->ahead) {
        if (other->rank->level < lending->level)
            lend(lending, other->rank, other);
        else if (!other->shared)
            return;
    }
}

static void lend_on(struct lending *lending)
{
    while (lending->first != NULL) {
        lanepool_i_rank *rank = lending->first;
        lending->first = rank->raised_next;
        for (uint32_t i = 0; i < rank->rank_entry_count; i++)
            if (&rank->rank_entries[i] != rank->through)
                lend_ahead(lending, &rank->rank_entries[i]);
    }
}

static struct lending begin(lanepool_pool *pool, uint8_t level)
{
    return (struct lending){ &pool->priority_queue, NULL, lanepool_i_clock_coarse(), level };
}

/* True: others were lent something. */
static bool lend_for(lanepool_pool *pool, lanepool_i_rank *rank)
{
    struct lending lending = begin(pool, rank->level);
    bool lends = rank->level > 0 && !PLANTED(PASSES_NO_PRIORITY);
    for (uint32_t i = 0; i < rank->rank_entry_count && lends; i++)
        lend_ahead(&lending, &rank->rank_entries[i]);
    bool any = lending.first != NULL;
    lend_on(&lending);
    return any;
}

/* True: it had less before. */
static bool lend_to(lanepool_pool *pool, lanepool_i_task *task, uint8_t level)
{
    lock(pool);
    lanepool_i_rank *rank = rank_of(pool, task);
    bool any = rank->level < level;
    if (any) {
        struct lending lending = begin(pool, level);
        lend(&lending, rank, NULL);
        lend_on(&lending);
    }
    unlock(pool);
    return any;
}

void lanepool_i_priority_read(lanepool_pool *pool, lanepool_i_task *task, uint32_t *priority,
                              uint32_t *level)
{
    lock(pool);
    const lanepool_i_rank *rank = rank_of(pool, task);
    *priority = rank->priority;
    *level = rank->level;
    unlock(pool);
}

/* --- through waits --- */

/* The awaited task cannot go while the future's lock is held; see deadlock.c. */
static bool lend_through(lanepool_pool *pool, const lanepool_i_wait *wait)
{
    lanepool_future *future = wait->future;
    if (wait->awaited == NULL)
        return false;
    uint32_t priority, level;
    lanepool_i_priority_read(pool, wait->task, &priority, &level);
    lanepool_i_mutex_lock(&future->lock);
    bool any = future->task == wait->awaited && lend_to(pool, wait->awaited, (uint8_t)level);
    lanepool_i_mutex_unlock(&future->lock);
    return any;
}

/* Again and again, since the awaited task may hold up another one that waits. */
void lanepool_i_priority_inherit_through_waits_locked(lanepool_pool *pool)
{
    bool any = true;
    while (any) {
        any = false;
        for (const lanepool_i_wait *wait = pool->waits.first; wait != NULL; wait = wait->next)
            any |= lend_through(pool, wait);
    }
}

/* --- what becomes of tasks --- */

void lanepool_i_priority_enter(lanepool_pool *pool, lanepool_i_task *task)
{
    lock(pool);
    lanepool_i_rank *rank = rank_of(pool, task);
    enter_all(rank, task);
    bool any = lend_for(pool, rank);
    unlock(pool);
    if (!any)
        return;
    lanepool_i_mutex_lock(&pool->waits.lock);
    lanepool_i_priority_inherit_through_waits_locked(pool);
    lanepool_i_mutex_unlock(&pool->waits.lock);
}

void lanepool_i_priority_leave(lanepool_pool *pool, lanepool_i_task *task)
{
    lock(pool);
    leave_all(rank_of(pool, task));
    unlock(pool);
}

void lanepool_i_priority_drop(lanepool_pool *pool, lanepool_i_task *task, size_t entry)
{
    lock(pool);
    lanepool_i_rank *rank = rank_of(pool, task);
    uint32_t last = --rank->rank_entry_count;
    replace(&rank->rank_entries[entry], NULL);
    if (entry != last)
        move(&rank->rank_entries[last], &rank->rank_entries[entry], rank);
    unlock(pool);
}

void lanepool_i_priority_withdraw(lanepool_pool *pool, lanepool_i_task *task, size_t entry)
{
    lock(pool);
    lanepool_i_rank_entry *borrower = &rank_of(pool, task)->rank_entries[entry];
    replace(borrower, NULL);
    borrower->ahead = NULL;
    borrower->at = NULL;
    unlock(pool);
}

void lanepool_i_priority_hand_over(lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_i_task *receiver)
{
    lock(pool);
    lanepool_i_rank *from = rank_of(pool, task);
    lanepool_i_rank *to = rank_of(pool, receiver);
    for (uint32_t i = 0; i < from->rank_entry_count; i++)
        move(&from->rank_entries[i], &to->rank_entries[i], to);
    to->rank_entry_count = from->rank_entry_count;
    from->rank_entry_count = 0;
    if (to->level < from->level)
        to->level = from->level;
    unlock(pool);
}

void lanepool_i_priority_wait_again(lanepool_pool *pool, lanepool_i_task *task)
{
    lock(pool);
    lanepool_i_rank *rank = rank_of(pool, task);
    rank->standing = 0;
    rank->since_ns = 0;
    unlock(pool);
}

void lanepool_i_priority_bury(lanepool_pool *pool, lanepool_i_task *task)
{
    lock(pool);
    lanepool_i_rank *rank = rank_of(pool, task);
    leave_all(rank);
    lanepool_i_priority_queue_raise(&pool->priority_queue, rank, LANEPOOL_PRIORITY_MAX,
                                    lanepool_i_clock_coarse());
    unlock(pool);
}
