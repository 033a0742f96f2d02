/*
 * Owns priorities: the order of the ready tasks, the links between the tasks of a lane, and the
 * tasks' levels.
 *
 * Priority inheritance: a task gets the level of a more urgent task that waits for it. So a task
 * that blocks an urgent one runs before tasks that are less urgent than that one.
 *
 * Links. In each lane, the rank entries (rank.h) of all its tasks, granted ones included, are
 * linked from the newest to the oldest. A task is linked before it enters the lane, and unlinked
 * before it leaves the lane. So every linked task is alive, and no task that another one may wait
 * for is missing. These links are not the lane's own list: they change under the overflow list's
 * lock alone. That lock also guards the order of the ready tasks. So a task whose level is raised
 * either becomes ready later, at its new level, or is moved in that order at once.
 *
 * Invariant, while the lock is free and the role's holder raises no levels: a task's level is not
 * below the level of any task that waits for it.
 *
 * Raising. From each entry of a task, the role's holder walks towards the lane's head and raises
 * the tasks there. It first skips the entries ahead whose modes overlap: the task does not wait for
 * them. It may stop at an EXCLUSIVE entry whose level is not lower: by the invariant, no level
 * ahead of that one is lower. A task that is raised raises those ahead of it in its other lanes.
 * Levels never fall, so an EXCLUSIVE entry is passed at most seven times.
 *
 * A wait inside a task raises the awaited task. A barrier raises no task: while it waits, every
 * task that can be ready is one that it waits for. A tombstone raises no more tasks; those that it
 * has raised keep their level.
 *
 * Cuts. Each entry of a cut is visited for itself, so a task that waits there raises that entry
 * alone: its level is in the cut's listing (lane/visits.h). The level of the entry's place in the
 * lane is the higher one of this and the cut's. The invariant holds for that level, lane by lane. A
 * listed entry that is raised raises a ready visitor, which then visits it first: see `noted`. The
 * lane of a failed visit waits for all other lanes. So from the first failed visit on, the cut is
 * raised as a whole, like a rollup; and so is a progressive rollup from the start. A visitor has
 * the level of the highest entry that is listed, and at least the cut's.
 *
 * With a rule of the program's own, only waits inside tasks raise levels. There, a task is linked
 * to the tasks that wait for it, not to those that it waits for.
 */
#include "base/planted.h"
#include "feature/priority/visitors.h"
#include "lane/lane_memory.h"
#include "route/entries.h"

#define AGE_NS_DEFAULT UINT64_C(1000000000)

/* --- links --- */

/* Where a lane links its newest rank entry from. */
static uintptr_t *newest_of(const lanepool_i_lane *lane)
{
    return lanepool_i_lane_memory_beside(lane);
}

/* Puts a rank entry into a chain, in front of what `at` leads to. */
static void link_at(uintptr_t *at, lanepool_i_rank_entry *rank_entry, uintptr_t link,
                    uintptr_t ahead)
{
    rank_entry->ahead = ahead;
    rank_entry->at = at;
    if (ahead != 0)
        lanepool_i_rank_link_entry(ahead)->at = &rank_entry->ahead;
    *at = link;
}

static void unlink_rank_entry(lanepool_i_rank_entry *rank_entry)
{
    if (rank_entry->at == NULL)
        return;
    *rank_entry->at = rank_entry->ahead;
    if (rank_entry->ahead != 0)
        lanepool_i_rank_link_entry(rank_entry->ahead)->at = rank_entry->at;
    rank_entry->at = NULL;
    rank_entry->ahead = 0;
}

/* Moves entry `from` of a rank to the place `to` of the same or another rank. */
static void move_rank_entry(lanepool_i_rank *rank, uint32_t from, lanepool_i_rank *receiver,
                            uint32_t to)
{
    lanepool_i_rank_entry *old = lanepool_i_rank_entry_at(rank, from);
    lanepool_i_rank_entry *new = lanepool_i_rank_entry_at(receiver, to);
    *new = (lanepool_i_rank_entry){ 0, NULL };
    if (receiver->is_wide)
        lanepool_i_rank_wide(receiver)->entries[to].rank = receiver;
    if (old->at == NULL)
        return;
    lanepool_mode mode = lanepool_i_link_mode(*old->at);
    link_at(old->at, new, lanepool_i_rank_link_to(receiver, new, mode), old->ahead);
    *old = (lanepool_i_rank_entry){ 0, NULL };
}

static void unlink_all_entries(lanepool_i_rank *rank)
{
    for (uint32_t i = 0; i < rank->count; i++)
        unlink_rank_entry(lanepool_i_rank_entry_at(rank, i));
    rank->count = 0;
}

static void link_all_entries(lanepool_i_rank *rank, lanepool_i_task *task)
{
    rank->count = (uint32_t)lanepool_i_task_count(task) & LANEPOOL_I_WIDE_COUNT_MASK;
    for (uint32_t i = 0; i < rank->count; i++) {
        lanepool_i_rank_entry *rank_entry = lanepool_i_rank_entry_at(rank, i);
        uintptr_t *newest = newest_of(lanepool_i_entry_lane(task, i));
        if (rank->is_wide)
            lanepool_i_rank_wide(rank)->entries[i].rank = rank;
        link_at(newest, rank_entry,
                lanepool_i_rank_link_to(rank, rank_entry, lanepool_i_entry_mode(task, i)), *newest);
    }
}

/* --- raising levels --- */

/* Tasks that were raised to `level`, and have not raised others yet. */
struct inheritance {
    lanepool_i_priority_queue *priority_queue;
    lanepool_i_rank *first;
    uint64_t now_ns;
    uint8_t level;
    bool any; /* a task was raised */
};

/* Returns the level of a task in the lane of one of its entries. */
static uint32_t level_at(lanepool_i_rank *rank, uint32_t entry)
{
    uint32_t level =
        rank->by_lane ? lanepool_i_visits_of(lanepool_i_rank_task(rank))->listings[entry].level : 0;
    return rank->level > level ? rank->level : level;
}

static void raise_visitor(struct inheritance *inheritance, lanepool_i_rank *rank)
{
    lanepool_i_priority_queue_raise(inheritance->priority_queue, rank, inheritance->level,
                                    inheritance->now_ns);
}

static void raise_visit(struct inheritance *inheritance, lanepool_i_rank *rank, uint32_t entry)
{
    lanepool_i_visits_raise(lanepool_i_rank_task(rank), entry, inheritance->level);
}

static void raise_all_visitors(struct inheritance *inheritance, lanepool_i_rank *rank)
{
    if (!rank->is_wide || !lanepool_i_task_is_cut(lanepool_i_rank_task(rank)))
        return;
    const lanepool_i_visits *visits = lanepool_i_visits_of(lanepool_i_rank_task(rank));
    for (size_t i = 0; i < visits->visitor_count; i++) {
        lanepool_i_rank *visitor =
            &lanepool_i_rank_of_visitor(lanepool_i_visits_visitor(visits, i))->rank;
        if (visitor->is_ready && visitor->level < inheritance->level)
            raise_visitor(inheritance, visitor);
    }
}

/* Entry `through` has led to the task. A ready task waits for no other, so it raises none. A cut
 * that is not raised as a whole raises none in its other lanes. In this one the caller does so. */
static void raise_rank(struct inheritance *inheritance, lanepool_i_rank *rank, uint32_t through)
{
    inheritance->any = true;
    if (rank->by_lane && through != LANEPOOL_I_RANK_NO_ENTRY) {
        raise_visit(inheritance, rank, through);
        return;
    }
    lanepool_i_priority_queue_raise(inheritance->priority_queue, rank, inheritance->level,
                                    inheritance->now_ns);
    if (rank->is_ready)
        return;
    raise_all_visitors(inheritance, rank);
    rank->through = through & LANEPOOL_I_WIDE_COUNT_MASK;
    rank->next = inheritance->first;
    inheritance->first = rank;
}

/* Raises all tasks that this entry waits for. */
static void raise_entries_ahead(struct inheritance *inheritance,
                                const lanepool_i_rank_entry *rank_entry)
{
    if (rank_entry->at == NULL)
        return;
    lanepool_mode mode = lanepool_i_link_mode(*rank_entry->at);
    uintptr_t link = rank_entry->ahead;
    for (; link != 0; link = lanepool_i_rank_link_entry(link)->ahead) {
        lanepool_mode other = lanepool_i_link_mode(link);
        if (lanepool_modes_overlap(mode, other))
            continue;
        mode = lanepool_i_mode_merge(mode, other);
        lanepool_i_rank *rank = lanepool_i_rank_link_rank(link);
        uint32_t entry = lanepool_i_rank_link_index(link);
        if (level_at(rank, entry) < inheritance->level)
            raise_rank(inheritance, rank, entry);
        else if (lanepool_i_mode_is_alone(other))
            return;
    }
}

static void raise_transitively(struct inheritance *inheritance)
{
    while (inheritance->first != NULL) {
        lanepool_i_rank *rank = inheritance->first;
        inheritance->first = rank->next;
        for (uint32_t i = 0; i < rank->count; i++)
            if (i != rank->through)
                raise_entries_ahead(inheritance, lanepool_i_rank_entry_at(rank, i));
    }
}

static struct inheritance begin_inheritance(lanepool_pool *pool, uint8_t level)
{
    return (struct inheritance){ lanepool_i_priorities_queue(pool), NULL,
                                 lanepool_i_priorities_now(pool), level, false };
}

/* Raises all tasks that this one waits for. Returns true if a level has changed. */
static bool raise_all_ahead(lanepool_pool *pool, lanepool_i_rank *rank)
{
    if (rank->level == 0 || PLANTED(PASSES_NO_PRIORITY))
        return false;
    struct inheritance inheritance = begin_inheritance(pool, rank->level);
    for (uint32_t i = 0; i < rank->count; i++)
        raise_entries_ahead(&inheritance, lanepool_i_rank_entry_at(rank, i));
    raise_transitively(&inheritance);
    return inheritance.any;
}

/* Raises one task and all that it waits for. Returns true if its level was lower. */
static bool raise_task(lanepool_pool *pool, lanepool_i_task *task, uint8_t level)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, task);
    bool any = rank->level < level;
    if (any) {
        struct inheritance inheritance = begin_inheritance(pool, level);
        raise_rank(&inheritance, rank, LANEPOOL_I_RANK_NO_ENTRY);
        raise_transitively(&inheritance);
    }
    lanepool_i_priorities_unlock(pool);
    return any;
}

static uint8_t read_level(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_priorities_lock(pool);
    uint8_t level = lanepool_i_priorities_rank(pool, task)->level;
    lanepool_i_priorities_unlock(pool);
    return level;
}

/* --- waits inside tasks --- */

/* While the future's lock is held, the awaited task cannot go away; see deadlock.c. */
static bool raise_awaited(lanepool_pool *pool, const lanepool_i_wait *wait)
{
    lanepool_future *future = wait->future;
    if (wait->awaited == NULL)
        return false;
    uint8_t level = read_level(pool, wait->task);
    lanepool_i_word_lock_lock(&future->lock);
    bool any = lanepool_i_future_task_locked(future) == wait->awaited &&
               raise_task(pool, wait->awaited, level);
    lanepool_i_word_lock_unlock(&future->lock);
    return any;
}

/* Repeats until no level changes: an awaited task may block another task that waits inside. */
static void inherit_through_waits_locked(lanepool_pool *pool)
{
    bool any = true;
    while (any) {
        any = false;
        LANEPOOL_I_EACH(const lanepool_i_wait, wait, &pool->waits.inside, inside)
            any |= raise_awaited(pool, wait);
    }
}

static void inherit_through_waits(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->waits.lock);
    inherit_through_waits_locked(pool);
    lanepool_i_mutex_unlock(&pool->waits.lock);
}

/* --- steps in the life of a task --- */

/* Raises the tasks ahead of the entries, too. */
static void link_task(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, task);
    link_all_entries(rank, task);
    bool any = raise_all_ahead(pool, rank);
    lanepool_i_priorities_unlock(pool);
    if (any)
        inherit_through_waits(pool);
}

static void unlink_task(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_visitors_take_notes(lanepool_i_priorities_of(pool));
    unlink_all_entries(lanepool_i_priorities_rank(pool, task));
    lanepool_i_priorities_unlock(pool);
}

/* The last entry takes the index of the one that is unlinked. */
static void unlink_entry(lanepool_pool *pool, lanepool_i_task *task, size_t entry)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, task);
    uint32_t i = (uint32_t)entry;
    uint32_t last = rank->count - 1;
    unlink_rank_entry(lanepool_i_rank_entry_at(rank, i));
    if (i != last)
        move_rank_entry(rank, last, rank, i);
    rank->count = last & LANEPOOL_I_WIDE_COUNT_MASK;
    lanepool_i_priorities_unlock(pool);
}

static void unlink_waiting_entry(lanepool_pool *pool, lanepool_i_task *task, size_t entry)
{
    lanepool_i_priorities_lock(pool);
    unlink_rank_entry(
        lanepool_i_rank_entry_at(lanepool_i_priorities_rank(pool, task), (uint32_t)entry));
    lanepool_i_priorities_unlock(pool);
}

/* The lane now waits for all lanes of the cut, so from now on the cut is raised as a whole. */
static void keep_entry(lanepool_pool *pool, lanepool_i_task *cut, size_t entry)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, cut);
    uint8_t level = (uint8_t)level_at(rank, (uint32_t)entry);
    struct inheritance inheritance = begin_inheritance(pool, level);
    rank->by_lane = false;
    if (rank->level < level) {
        raise_rank(&inheritance, rank, LANEPOOL_I_RANK_NO_ENTRY);
        raise_transitively(&inheritance);
    }
    lanepool_i_priorities_unlock(pool);
    if (inheritance.any)
        inherit_through_waits(pool);
}

/* An entry that was withdrawn is not linked. */
static void end_round(lanepool_pool *pool, lanepool_i_task *cut)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, cut);
    uint32_t left = cut->as.wide.count;
    uint32_t to = 0;
    for (uint32_t i = 0; i < rank->count && to < left && left < rank->count; i++) {
        if (lanepool_i_rank_entry_at(rank, i)->at == NULL)
            continue;
        if (i != to)
            move_rank_entry(rank, i, rank, to);
        to++;
    }
    if (left < rank->count)
        rank->count = left & LANEPOOL_I_WIDE_COUNT_MASK;
    lanepool_i_priorities_unlock(pool);
}

/* Moves a task's entries and its level to its receiver. */
static void move_to_receiver(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *from = lanepool_i_priorities_rank(pool, task);
    lanepool_i_rank *to = lanepool_i_priorities_rank(pool, receiver);
    for (uint32_t i = 0; i < from->count; i++)
        move_rank_entry(from, i, to, i);
    to->count = from->count;
    from->count = 0;
    if (to->level < from->level)
        to->level = from->level;
    lanepool_i_priorities_unlock(pool);
}

/* Forgets how far the task had risen by waiting. */
static void reset_waiting(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, task);
    rank->standing = 0;
    rank->since_ns = 0;
    lanepool_i_priorities_unlock(pool);
}

/* Raises the task to the top: if it is ready by now, it only has to be disposed of, and that should
 * be first. */
static void unlink_tombstone(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, task);
    unlink_all_entries(rank);
    struct inheritance inheritance = begin_inheritance(pool, LANEPOOL_PRIORITY_MAX);
    raise_rank(&inheritance, rank, LANEPOOL_I_RANK_NO_ENTRY);
    lanepool_i_priorities_unlock(pool);
}

/* --- descriptions --- */

static void describe_rank(lanepool_pool *pool, lanepool_i_task *task,
                          lanepool_snapshot_task *described)
{
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, task);
    described->priority = rank->priority;
    described->level = rank->level;
    lanepool_i_priorities_unlock(pool);
}

/* No worker is left. */
static void hand_back_priority(lanepool_pool *pool, lanepool_i_task *task,
                               lanepool_task *description)
{
    description->priority = lanepool_i_priorities_rank(pool, task)->priority;
}

/* --- the order of the ready tasks --- */

static void add_by_level(lanepool_i_ready_order *order, lanepool_i_tasks *ready)
{
    lanepool_i_priorities *priorities = (lanepool_i_priorities *)order;
    uint64_t now_ns = lanepool_i_priorities_now(priorities->pool);
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(ready)) != NULL) {
        if (lanepool_i_task_is_visitor(task))
            lanepool_i_visitor_set_level(priorities->pool, (lanepool_i_visitor *)task);
        lanepool_i_priority_queue_add(&priorities->queue,
                                      lanepool_i_priorities_rank(priorities->pool, task), now_ns);
    }
}

static lanepool_i_task *take_highest(lanepool_i_ready_order *order, uint32_t urgent)
{
    lanepool_i_priorities *priorities = (lanepool_i_priorities *)order;
    lanepool_i_visitors_take_notes(priorities);
    return lanepool_i_priority_queue_take(&priorities->queue, lanepool_i_clock_coarse(), urgent);
}

/* In a pool without threads, any task of the highest level: with several workers, each of them
 * might have become ready first. */
static lanepool_i_task *draw_highest(lanepool_i_ready_order *order, uint32_t urgent)
{
    (void)urgent;
    lanepool_i_priorities *priorities = (lanepool_i_priorities *)order;
    lanepool_i_visitors_take_notes(priorities);
    return lanepool_i_priority_queue_draw(&priorities->queue, priorities->pool->driver);
}

static void visit_by_level(lanepool_i_ready_order *order,
                           void (*found)(lanepool_i_task *task, void *context), void *context)
{
    lanepool_i_priorities *priorities = (lanepool_i_priorities *)order;
    lanepool_i_priority_queue_each(&priorities->queue, found, context);
}

/* --- the feature --- */

static bool has_priorities(const lanepool_options *options)
{
    return options->priorities;
}

static void open_priorities(lanepool_pool *pool, void *part)
{
    uint64_t age_ns = pool->options.priority_age_ns;
    lanepool_i_priorities *priorities = part;
    *priorities = (lanepool_i_priorities){
        .order = { .add = add_by_level,
                   .take = pool->options.step_seed != 0 ? draw_highest : take_highest,
                   .each = visit_by_level },
        .queue = { .age_ns = age_ns != 0 ? age_ns : AGE_NS_DEFAULT },
        .pool = pool,
    };
    pool->workers.order = &priorities->order;
}

static void init_rank(lanepool_pool *pool, const lanepool_task *task, lanepool_i_task *block)
{
    lanepool_i_rank *rank = lanepool_i_priorities_rank(pool, block);
    bool is_wide = lanepool_i_task_is_wide(block);
    lanepool_i_rank_init(rank, task->priority, is_wide);
    if (is_wide)
        lanepool_i_rank_wide(rank)->task = block;
    rank->by_lane = task->at_lane != NULL;
    if (task->at_lane != NULL || task->at_grant != NULL)
        lanepool_i_visitors_init(pool, lanepool_i_visits_of(block));
}

/* A task without a priority cannot precede a ready one. */
static lanepool_status note_urgency(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_task *task, lanepool_i_task *block)
{
    (void)pool;
    (void)block;
    if (task->priority > 0 && record->urgent <= task->priority)
        record->urgent = task->priority + 1;
    return LANEPOOL_OK;
}

const lanepool_i_feature lanepool_i_feature_priority = {
    .is_wanted = has_priorities,
    .offer = LANEPOOL_I_PRIORITIES,
    .part_size = sizeof(lanepool_i_priorities),
    .open = open_priorities,
    .room_size = sizeof(lanepool_i_wide_rank),
    .room_per_entry = sizeof(lanepool_i_wide_rank_entry),
    .plain_use = LANEPOOL_I_PLAIN_LINE,
    .init_room = init_rank,
    .build = note_urgency,
    .place = link_task,
    .leave = unlink_task,
    .leave_entry = unlink_entry,
    .withdraw_entry = unlink_waiting_entry,
    .leave_tombstone = unlink_tombstone,
    .move_lanes = move_to_receiver,
    .visitor_room = sizeof(lanepool_i_wide_rank),
    .keep_entry = keep_entry,
    .end_round = end_round,
    .may_visit_on = lanepool_i_visitor_may_visit_on,
    .retried = reset_waiting,
    .wait_inside = inherit_through_waits_locked,
    .hand_back = hand_back_priority,
    .describe = describe_rank,
};
