/*
 * How the pool puts ready tasks into its pumps, and takes them back.
 */
#ifndef LANEPOOL_SRC_FEATURE_PUMP_H
#define LANEPOOL_SRC_FEATURE_PUMP_H

#include "future/pump.h"
#include "route/waiters.h"

/* Puts a ready task into its pump. Returns false if it is a tombstone, or the pump is destroyed. */
bool lanepool_i_pump_add_ready(lanepool_pool *pool, lanepool_i_task *task);
/* With the waits' lock: shows the event loop whether there are ready tasks. */
void lanepool_i_pump_update_flag_locked(lanepool_pump *pump);
/* Returns the pump that the thread of a call is in, or NULL. */
lanepool_pump *lanepool_i_pump_of(const lanepool_run *run);
/* Returns true if there are ready tasks in pumps. */
bool lanepool_i_pumps_have_ready(lanepool_i_waits *waits);
/* With the waits' lock: each ready task in a pump. */
void lanepool_i_pumps_each_ready_locked(const lanepool_i_waits *waits,
                                        void (*found)(lanepool_i_task *task, void *context),
                                        void *context);
/* Role's holder: gives cancelled tasks in pumps to the workers. */
void lanepool_i_pumps_move_tombstones(lanepool_pool *pool);
/* Takes all tasks out of the pumps, when no thread runs them any more. */
void lanepool_i_pumps_take_all(lanepool_i_waits *waits, lanepool_i_tasks *tasks);

#endif
