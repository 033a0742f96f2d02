/* Cancelling by the library itself; see cancel.c. */
#ifndef LANEPOOL_SRC_WAIT_CANCEL_H
#define LANEPOOL_SRC_WAIT_CANCEL_H

#include "future/tombstone.h"
#include "route/pool.h"

/* Cancels the tasks in all lanes of the parked tasks that a resolution drops, as
 * lanepool_lane_cancel() does in one lane. `dropped_by` names the resolution. */
lanepool_status lanepool_i_cancel_behind(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         const void *dropped_by);

/* Cancels the future's task, with TIMED_OUT as its result, unless it has started or was cancelled.
 * The caller has a reference to the future. */
void lanepool_i_cancel_expired(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_future *future);

/* Reserves the memory of a cancel; NULL if it cannot be allocated. Either of the other two gives it
 * back. */
lanepool_i_tombstone_message *lanepool_i_cancel_reserve(const lanepool_pool *pool);
void lanepool_i_cancel_unreserve(const lanepool_pool *pool, lanepool_i_tombstone_message *message);
/* Cancels the future's task like lanepool_future_cancel(), with memory that was reserved. The task
 * has only a future and was not delayed, and its pool is there. */
lanepool_status lanepool_i_cancel_reserved(lanepool_pool *pool, lanepool_future *future,
                                           lanepool_i_tombstone_message *message);

#endif
