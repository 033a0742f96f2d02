/*
 * The places of a task in lanes per key: its entries, one for each lane, and
 * what becomes of them besides being granted and released.
 *
 * A cancelled task leaves *marks*; a running task may give one of its lanes up
 * early, or leave all of them to an heir. The marks are the role's holder's, as
 * is the early release; who runs a task leaves its places to the heir.
 */
#ifndef LANEPOOL_SRC_ROUTE_ENTRIES_H
#define LANEPOOL_SRC_ROUTE_ENTRIES_H

#include "lane/lane.h"

static inline lanepool_i_wide_entry *lanepool_i_entries_wide(lanepool_i_task *task)
{
    return (lanepool_i_wide_entry *)(task + 1);
}

/* Of a task that was routed. */
static inline bool lanepool_i_entry_is_shared(lanepool_i_task *task, size_t i)
{
    if (lanepool_i_task_is_wide(task))
        return (lanepool_i_entries_wide(task)[i].owner & LANEPOOL_I_OWNER_SHARED) != 0;
    return (load_relaxed(&task->word) >> (LANEPOOL_I_SHARED_SHIFT + i) & 1) != 0;
}

static inline lanepool_i_lane *lanepool_i_entry_lane(lanepool_i_task *task, size_t i)
{
    return lanepool_i_task_is_wide(task) ? lanepool_i_entries_wide(task)[i].entry.at.lane
                                         : task->as.narrow[i].at.lane;
}

/* In a lane where some wait, who stands before the first of them; tickets grow along a lane. */
static inline bool lanepool_i_entry_is_granted(lanepool_i_lane *lane, const lanepool_i_task *task)
{
    if (!lanepool_i_lane_is_frozen(lane))
        return true;
    uintptr_t head = load_relaxed(lanepool_i_lane_head(lane));
    return lanepool_i_ticket_before(lanepool_i_task_ticket(task),
                                    lanepool_i_task_ticket(lanepool_i_link_task(head)));
}

/* R: nothing of a cancelled task holds a lane up any more; see rule.h. */
void lanepool_i_entries_bury(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_grants *grants);
/* R: what is left of a cancelled task when it is ready has no place. */
void lanepool_i_entries_drop_all(lanepool_i_task *task);
/* R: a running task gives up the lane that the claim names; false: it has none. */
bool lanepool_i_entries_release(lanepool_pool *pool, lanepool_i_task *task,
                                const lanepool_claim *claim, lanepool_i_grants *grants);
/* W: a task that ends leaves its places to its heir. */
void lanepool_i_entries_hand_over(lanepool_pool *pool, lanepool_i_task *task,
                                  lanepool_i_task *receiver);

#endif
