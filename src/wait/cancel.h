/* Cancelling the tasks behind a parked task; see cancel.c. */
#ifndef LANEPOOL_SRC_WAIT_CANCEL_H
#define LANEPOOL_SRC_WAIT_CANCEL_H

#include "route/pool.h"

/* Cancels the tasks in all lanes that a parked task has, as lanepool_lane_cancel() does in one
 * lane. */
lanepool_status lanepool_i_cancel_behind(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         lanepool_i_task *parked);

#endif
