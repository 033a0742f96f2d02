/* Cancelling by the library itself; see cancel.c. */
#ifndef LANEPOOL_SRC_WAIT_CANCEL_H
#define LANEPOOL_SRC_WAIT_CANCEL_H

#include "route/pool.h"

/* Cancels the tasks in all lanes of the parked tasks that a resolution drops, as
 * lanepool_lane_cancel() does in one lane. `dropped_by` names the resolution. */
lanepool_status lanepool_i_cancel_behind(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         const void *dropped_by);

/* Cancels the future's task, with TIMED_OUT as its result, unless it has started or was cancelled.
 * The caller has a reference to the future. */
void lanepool_i_cancel_expired(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_future *future);

#endif
