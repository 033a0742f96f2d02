/*
 * The tables of parked tasks: by ticket, and by the lanes that they poison. Both are part of the
 * failures and guarded by the lock of the suspended tasks.
 *
 * A parked task needs no memory that its submit has not allocated. The tables begin with a few
 * chains, and a thread that parks a task doubles them when there are more tasks than chains. If
 * memory for that cannot be allocated, the chains become longer.
 *
 * Later entries are at the end of a chain of lanes. So parked tasks that share a lane are found at
 * the front when the oldest is resolved first.
 */
#ifndef LANEPOOL_SRC_FEATURE_PARKED_H
#define LANEPOOL_SRC_FEATURE_PARKED_H

#include "future/attempts.h"

void lanepool_i_parked_init(lanepool_i_failures *failures);
void lanepool_i_parked_fini(lanepool_i_failures *failures);

/* Without the lock: doubles a table that is too small, if memory can be allocated. O(parked tasks)
 * then, and O(1) for each task on the average. */
void lanepool_i_parked_make_room(lanepool_pool *pool);

/* With the lock: suspend a task until its resolution, and end that; with lanes per key its lanes
 * are poisoned meanwhile. O(claims). */
void lanepool_i_parked_add_locked(lanepool_pool *pool, lanepool_i_attempts *attempts);
void lanepool_i_parked_remove_locked(lanepool_pool *pool, lanepool_i_attempts *attempts);
/* With the lock: returns the parked task with this ticket, or NULL. O(1). */
lanepool_i_attempts *lanepool_i_parked_find_locked(const lanepool_i_failures *failures,
                                                   uint64_t ticket);

/* Any thread: returns true if a parked task has the lane. */
bool lanepool_i_parked_has_lane(lanepool_pool *pool, const lanepool_i_lane *lane);
/* Any thread: returns true if a parked task that this resolution is dropping has the lane. */
bool lanepool_i_parked_is_dropping(lanepool_pool *pool, const lanepool_i_lane *lane,
                                   const void *dropped_by);

#endif
