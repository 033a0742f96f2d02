/* Owns the links between the tasks of a lane, and the tasks' levels; see priority.h. */
#include "feature/priority.h"

#include "base/planted.h"
#include "route/entries.h"

static lanepool_i_rank *task_rank(lanepool_pool *pool, lanepool_i_task *task)
{
    return lanepool_i_priority_queue_rank_of(&pool->priority_queue, task);
}

static void lock_ranks(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->workers.overflow_lock);
}

static void unlock_ranks(lanepool_pool *pool)
{
    lanepool_i_mutex_unlock(&pool->workers.overflow_lock);
}

/* --- links --- */

/* Where the newest entry of a lane is linked from. */
static lanepool_i_rank_entry **newest_of(const lanepool_i_lane *lane)
{
    return lanepool_i_lane_memory_beside(lane);
}

static void link_newest(lanepool_i_rank_entry *rank_entry, lanepool_i_rank_entry **newest)
{
    rank_entry->ahead = *newest;
    rank_entry->at = newest;
    if (rank_entry->ahead != NULL)
        rank_entry->ahead->at = &rank_entry->ahead;
    *newest = rank_entry;
}

/* Replaces an entry in its chain by a copy, or removes it if `by` is NULL. */
static void replace_in_chain(const lanepool_i_rank_entry *rank_entry, lanepool_i_rank_entry *by)
{
    if (rank_entry->at == NULL)
        return;
    *rank_entry->at = by != NULL ? by : rank_entry->ahead;
    if (rank_entry->ahead != NULL)
        rank_entry->ahead->at = by != NULL ? &by->ahead : rank_entry->at;
}

static void move_rank_entry(const lanepool_i_rank_entry *from, lanepool_i_rank_entry *to,
                            lanepool_i_rank *rank)
{
    *to = *from;
    to->rank = rank;
    replace_in_chain(from, to);
}

static void unlink_all_entries(lanepool_i_rank *rank)
{
    while (rank->rank_entry_count > 0)
        replace_in_chain(&rank->rank_entries[--rank->rank_entry_count], NULL);
}

/* While a task is routed, the stamps of its lanes say whether it claims them EXCLUSIVE. */
static void link_all_entries(lanepool_i_rank *rank, lanepool_i_task *task)
{
    const lanepool_i_wide_entry *entries = lanepool_i_entries_wide(task);
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        const lanepool_i_lane *lane = entries[i].entry.at.lane;
        lanepool_i_rank_entry *rank_entry = &rank->rank_entries[i];
        rank_entry->rank = rank;
        rank_entry->shared = (lane->use.stamp & 1) == 0;
        link_newest(rank_entry, newest_of(lane));
    }
    rank->rank_entry_count = task->as.wide.count;
}

/* --- raising levels --- */

/* Tasks that were raised to `level`, and have not raised others yet. */
struct inheritance {
    lanepool_i_priority_queue *priority_queue;
    lanepool_i_rank *first;
    uint64_t now_ns;
    uint8_t level;
};

static void raise_rank(struct inheritance *inheritance, lanepool_i_rank *rank,
                       const lanepool_i_rank_entry *through)
{
    lanepool_i_priority_queue_raise(inheritance->priority_queue, rank, inheritance->level,
                                    inheritance->now_ns);
    rank->through = through;
    rank->raised_next = inheritance->first;
    inheritance->first = rank;
}

/* Raises all tasks that this entry waits for. */
static void raise_entries_ahead(struct inheritance *inheritance,
                                const lanepool_i_rank_entry *rank_entry)
{
    const lanepool_i_rank_entry *other = rank_entry->ahead;
    while (rank_entry->shared && other != NULL && other->shared)
        other = other->ahead;
    for (; other != NULL; other = other->ahead) {
        if (other->rank->level < inheritance->level)
            raise_rank(inheritance, other->rank, other);
        else if (!other->shared)
            return;
    }
}

static void raise_transitively(struct inheritance *inheritance)
{
    while (inheritance->first != NULL) {
        lanepool_i_rank *rank = inheritance->first;
        inheritance->first = rank->raised_next;
        for (uint32_t i = 0; i < rank->rank_entry_count; i++)
            if (&rank->rank_entries[i] != rank->through)
                raise_entries_ahead(inheritance, &rank->rank_entries[i]);
    }
}

static struct inheritance begin_inheritance(lanepool_pool *pool, uint8_t level)
{
    return (struct inheritance){ &pool->priority_queue, NULL, lanepool_i_clock_coarse(), level };
}

/* Raises all tasks that this one waits for. Returns true if a level has changed. */
static bool raise_all_ahead(lanepool_pool *pool, lanepool_i_rank *rank)
{
    struct inheritance inheritance = begin_inheritance(pool, rank->level);
    bool passes_level = rank->level > 0 && !PLANTED(PASSES_NO_PRIORITY);
    for (uint32_t i = 0; i < rank->rank_entry_count && passes_level; i++)
        raise_entries_ahead(&inheritance, &rank->rank_entries[i]);
    bool any = inheritance.first != NULL;
    raise_transitively(&inheritance);
    return any;
}

/* Raises one task and all that it waits for. Returns true if its level was lower. */
static bool raise_task(lanepool_pool *pool, lanepool_i_task *task, uint8_t level)
{
    lock_ranks(pool);
    lanepool_i_rank *rank = task_rank(pool, task);
    bool any = rank->level < level;
    if (any) {
        struct inheritance inheritance = begin_inheritance(pool, level);
        raise_rank(&inheritance, rank, NULL);
        raise_transitively(&inheritance);
    }
    unlock_ranks(pool);
    return any;
}

void lanepool_i_priority_read(lanepool_pool *pool, lanepool_i_task *task, uint32_t *priority,
                              uint32_t *level)
{
    lock_ranks(pool);
    const lanepool_i_rank *rank = task_rank(pool, task);
    *priority = rank->priority;
    *level = rank->level;
    unlock_ranks(pool);
}

/* --- waits inside tasks --- */

/* While the future's lock is held, the awaited task cannot go away; see deadlock.c. */
static bool raise_awaited(lanepool_pool *pool, const lanepool_i_wait *wait)
{
    lanepool_future *future = wait->future;
    if (wait->awaited == NULL)
        return false;
    uint32_t priority, level;
    lanepool_i_priority_read(pool, wait->task, &priority, &level);
    lanepool_i_mutex_lock(&future->lock);
    bool any = future->task == wait->awaited && raise_task(pool, wait->awaited, (uint8_t)level);
    lanepool_i_mutex_unlock(&future->lock);
    return any;
}

/* Repeats until no level changes: an awaited task may block another task that waits inside. */
void lanepool_i_priority_inherit_through_waits_locked(lanepool_pool *pool)
{
    bool any = true;
    while (any) {
        any = false;
        LANEPOOL_I_EACH(const lanepool_i_wait, wait, &pool->waits.inside, inside)
            any |= raise_awaited(pool, wait);
    }
}

/* --- steps in the life of a task --- */

/* Raises the tasks ahead of the entries, too. */
static void link_task(lanepool_pool *pool, lanepool_i_task *task)
{
    lock_ranks(pool);
    lanepool_i_rank *rank = task_rank(pool, task);
    link_all_entries(rank, task);
    bool any = raise_all_ahead(pool, rank);
    unlock_ranks(pool);
    if (!any)
        return;
    lanepool_i_mutex_lock(&pool->waits.lock);
    lanepool_i_priority_inherit_through_waits_locked(pool);
    lanepool_i_mutex_unlock(&pool->waits.lock);
}

static void unlink_task(lanepool_pool *pool, lanepool_i_task *task)
{
    lock_ranks(pool);
    unlink_all_entries(task_rank(pool, task));
    unlock_ranks(pool);
}

/* The last entry takes the index of the one that is unlinked. */
static void unlink_entry(lanepool_pool *pool, lanepool_i_task *task, size_t entry)
{
    lock_ranks(pool);
    lanepool_i_rank *rank = task_rank(pool, task);
    uint32_t last = --rank->rank_entry_count;
    replace_in_chain(&rank->rank_entries[entry], NULL);
    if (entry != last)
        move_rank_entry(&rank->rank_entries[last], &rank->rank_entries[entry], rank);
    unlock_ranks(pool);
}

void lanepool_i_priority_withdraw(lanepool_pool *pool, lanepool_i_task *task, size_t entry)
{
    lock_ranks(pool);
    lanepool_i_rank_entry *rank_entry = &task_rank(pool, task)->rank_entries[entry];
    replace_in_chain(rank_entry, NULL);
    rank_entry->ahead = NULL;
    rank_entry->at = NULL;
    unlock_ranks(pool);
}

/* Moves a task's entries and its level to its receiver. */
static void move_to_receiver(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver)
{
    lock_ranks(pool);
    lanepool_i_rank *from = task_rank(pool, task);
    lanepool_i_rank *to = task_rank(pool, receiver);
    for (uint32_t i = 0; i < from->rank_entry_count; i++)
        move_rank_entry(&from->rank_entries[i], &to->rank_entries[i], to);
    to->rank_entry_count = from->rank_entry_count;
    from->rank_entry_count = 0;
    if (to->level < from->level)
        to->level = from->level;
    unlock_ranks(pool);
}

void lanepool_i_priority_wait_again(lanepool_pool *pool, lanepool_i_task *task)
{
    lock_ranks(pool);
    lanepool_i_rank *rank = task_rank(pool, task);
    rank->standing = 0;
    rank->since_ns = 0;
    unlock_ranks(pool);
}

/* Raises the task to the top: if it is ready by now, it only has to be disposed of, and that should
 * be first. */
static void unlink_tombstone(lanepool_pool *pool, lanepool_i_task *task)
{
    lock_ranks(pool);
    lanepool_i_rank *rank = task_rank(pool, task);
    unlink_all_entries(rank);
    lanepool_i_priority_queue_raise(&pool->priority_queue, rank, LANEPOOL_PRIORITY_MAX,
                                    lanepool_i_clock_coarse());
    unlock_ranks(pool);
}

static bool has_priorities(const lanepool_options *options)
{
    return options->priorities;
}

const lanepool_i_feature lanepool_i_feature_priority = {
    .is_wanted = has_priorities,
    .place = link_task,
    .leave = unlink_task,
    .leave_entry = unlink_entry,
    .leave_tombstone = unlink_tombstone,
    .move_lanes = move_to_receiver,
};
