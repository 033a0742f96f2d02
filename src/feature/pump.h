/*
 * The functions by which the pool puts ready tasks into pumps and takes them back.
 */
#ifndef LANEPOOL_SRC_FEATURE_PUMP_H
#define LANEPOOL_SRC_FEATURE_PUMP_H

#include "future/pump.h"
#include "route/waiters.h"

/* Puts a ready task into its pump. Returns false if the task is a tombstone or the pump is
 * destroyed. */
bool lanepool_i_pump_put(lanepool_pool *pool, lanepool_i_task *task);
/* With the waits' lock: clears the pump's event if no ready task is left. */
void lanepool_i_pump_took_locked(lanepool_pump *pump);
/* Returns the pump whose task the thread runs, or NULL. */
lanepool_pump *lanepool_i_pump_of(const lanepool_run *run);
/* With the waits' lock: posts the threads that wait in pumps, if `whom` includes them. */
void lanepool_i_pumps_post_locked(const lanepool_i_waits *waits, lanepool_i_whom whom);
/* With the waits' lock: returns how many ready tasks are in pumps; calls `found` for each of them.
 */
size_t lanepool_i_pumps_ready_locked(const lanepool_i_waits *waits);
void lanepool_i_pumps_each_ready_locked(const lanepool_i_waits *waits,
                                        void (*found)(lanepool_i_task *task, void *context),
                                        void *context);
/* Role's holder: moves cancelled tasks from the pumps to the workers. */
void lanepool_i_pumps_give_tombstones(lanepool_pool *pool);
/* Takes all tasks out of the pumps, when no thread runs them any more. */
void lanepool_i_pumps_take_all(lanepool_i_waits *waits, lanepool_i_tasks *tasks);

#endif
