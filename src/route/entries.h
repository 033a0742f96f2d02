/*
 * The entries of a task in lanes for keys, one for each lane, and the rarer things that happen to
 * them: a cancelled task's entries become tombstones; a running task releases one lane early; a
 * task that ends hands its lanes over to a receiver.
 *
 * Threads: R the role's holder, W the thread that ends the task.
 */
#ifndef LANEPOOL_SRC_ROUTE_ENTRIES_H
#define LANEPOOL_SRC_ROUTE_ENTRIES_H

#include "lane/lane.h"
#include "lane/visits.h"

static inline lanepool_i_wide_entry *lanepool_i_entries_wide(lanepool_i_task *task)
{
    return (lanepool_i_wide_entry *)(task + 1);
}

static inline lanepool_i_entry *lanepool_i_entry_at(lanepool_i_task *task, size_t i)
{
    return lanepool_i_task_is_wide(task) ? &lanepool_i_entries_wide(task)[i].entry
                                         : &task->as.plain[i];
}

/* The task has been routed. */
static inline lanepool_mode lanepool_i_entry_mode(lanepool_i_task *task, size_t i)
{
    if (lanepool_i_task_is_wide(task))
        return lanepool_i_mode_of_owner(lanepool_i_entries_wide(task)[i].owner);
    return lanepool_i_mode_at(load_relaxed(&task->word), lanepool_i_mode_shift(i));
}

/* The task has been routed. */
static inline lanepool_i_lane *lanepool_i_entry_lane(lanepool_i_task *task, size_t i)
{
    return (lanepool_i_lane *)(lanepool_i_entry_at(task, i)->at.bits & LANEPOOL_I_ENTRY_LANE);
}

/* The task has been routed. Returns the link to its entry. */
static inline uintptr_t lanepool_i_entry_link(lanepool_i_task *task, size_t i)
{
    uintptr_t format = lanepool_i_task_is_wide(task) ? LANEPOOL_I_LINK_WIDE : 0;
    return lanepool_i_link_to(lanepool_i_entry_at(task, i), format, lanepool_i_entry_mode(task, i));
}

/* Role's holder: returns true if the task's entry is granted, in a lane that was frozen if entries
 * wait in it. Tickets grow along a lane: granted entries are those before the first that waits. */
static inline bool lanepool_i_entry_is_granted(lanepool_i_task *task, size_t i)
{
    lanepool_i_lane *lane = lanepool_i_entry_lane(task, i);
    if (!lanepool_i_lane_is_frozen(lane))
        return true;
    uintptr_t head = load_relaxed(lanepool_i_lane_head(lane));
    return lanepool_i_ticket_before(lanepool_i_task_ticket(task),
                                    lanepool_i_task_ticket(lanepool_i_link_task(head)));
}

/* The cut's lock is held. */
static inline bool lanepool_i_entry_has_passed(lanepool_i_task *cut, size_t i)
{
    return load_relaxed(&lanepool_i_entries_wide(cut)[i].entry.next) == LANEPOOL_I_NEXT_PASSED;
}

/* Role's holder: the number of entries, and the i-th lane or NULL, of a task that may be starting.
 * A cut that has begun changes its entries under its lock. */
size_t lanepool_i_entries_read_count(lanepool_i_task *task);
lanepool_i_lane *lanepool_i_entries_read_lane(lanepool_i_task *task, size_t i);

/* Returns true if the granted entry makes tasks wait that conflict with its claim. */
static inline bool lanepool_i_entry_blocks(lanepool_i_task *task, size_t i)
{
    return !lanepool_i_lane_is_void(lanepool_i_entry_lane(task, i));
}

static inline void lanepool_i_entry_release_traced(lanepool_i_lane *lane,
                                                   const lanepool_i_task *task,
                                                   lanepool_i_grants *grants)
{
    lanepool_i_trace_next(grants->ring, LANEPOOL_EVENT_RELEASE, task, lanepool_i_lane_number(lane),
                          lanepool_i_lane_type(lane));
    lanepool_i_lane_release(lane, grants);
}

/* W: releases a granted entry of a plain task that has ended. */
static inline void lanepool_i_entry_release_plain(const lanepool_i_task *task, size_t i,
                                                  lanepool_i_grants *grants)
{
    lanepool_i_entry_release_traced(task->as.plain[i].at.lane, task, grants);
}

/* W: releases a granted entry of a wide task that has ended. */
static inline void lanepool_i_entry_release_wide(lanepool_i_task *task, size_t i,
                                                 lanepool_i_grants *grants)
{
    lanepool_i_entry_release_traced(lanepool_i_entries_wide(task)[i].entry.at.lane, task, grants);
}

/* R: releases a granted entry of a task that has not ended, or of a tombstone. */
static inline void lanepool_i_entry_release_early(lanepool_i_task *task, size_t i,
                                                  lanepool_i_grants *grants)
{
    lanepool_i_lane *lane = lanepool_i_entry_lane(task, i);
    lanepool_i_lane_trace_early(lane, task, grants->ring);
    lanepool_i_lane_release(lane, grants);
}

/* R: makes the entries of a cancelled task block nothing more; see `split_tombstone` in rule.h. */
void lanepool_i_entries_split_tombstone(lanepool_pool *pool, lanepool_i_task *task,
                                        lanepool_i_grants *grants);
/* R: sets the number of a tombstone's entries to 0. When the tombstone is ready, it has left all
 * its lanes already. */
void lanepool_i_entries_drop_all(lanepool_i_task *task);
/* R: releases the lane that the claim names while the task runs. Returns false if the task has no
 * such lane. */
bool lanepool_i_entries_release(lanepool_pool *pool, lanepool_i_task *task, lanepool_key key,
                                lanepool_i_grants *grants);
/* W: returns true if the running task has the claim, in its mode or EXCLUSIVE. */
bool lanepool_i_entries_have_claim(const lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_claim claim);
/* W: calls `found` for each claim that the running task has. */
void lanepool_i_entries_each_claim(const lanepool_pool *pool, lanepool_i_task *task,
                                   void (*found)(const lanepool_pool *pool,
                                                 const lanepool_i_lane *lane, lanepool_mode mode));
/* W: hands the lanes of a task that ends over to the receiver. */
void lanepool_i_entries_hand_over(lanepool_pool *pool, lanepool_i_task *task,
                                  lanepool_i_task *receiver);

#endif
