/* Cancelling what waits behind a task that is kept; see cancel.c. */
#ifndef LANEPOOL_SRC_WAIT_CANCEL_H
#define LANEPOOL_SRC_WAIT_CANCEL_H

#include "route/pool.h"

/* As lanepool_lane_cancel(), of all lanes that a kept task holds. */
lanepool_status lanepool_i_cancel_behind(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         lanepool_i_task *kept);

#endif
