/*
 * What the pool asks of its pumps: to take over ready tasks, and to give them back.
 */
#ifndef LANEPOOL_SRC_FEATURE_PUMP_H
#define LANEPOOL_SRC_FEATURE_PUMP_H

#include "future/pump.h"
#include "route/waiters.h"

/* A task has become ready that its pump is to run. False: it is a mark, or the pump is gone. */
bool lanepool_i_pump_put(lanepool_pool *pool, lanepool_i_task *task);
/* Under the lock: a task was taken from among the ready ones. */
void lanepool_i_pump_took_locked(lanepool_pump *pump);
/* The pump in which the thread is that makes a call, or NULL. */
lanepool_pump *lanepool_i_pump_of(const lanepool_run *run);
/* Under the lock: posts those who wait in pumps, as for callers. */
void lanepool_i_pumps_post_locked(const lanepool_i_waits *waits, lanepool_i_whom whom);
/* Under the lock: how many tasks stand in pumps, and each of them. */
size_t lanepool_i_pumps_ready_locked(const lanepool_i_waits *waits);
void lanepool_i_pumps_each_ready_locked(const lanepool_i_waits *waits,
                                        void (*found)(lanepool_i_task *task, void *context),
                                        void *context);
/* Role's holder: tasks were cancelled; what of them stands in pumps goes to the workers. */
void lanepool_i_pumps_give_tombstones(lanepool_pool *pool);
/* Takes everything out of the pumps, once nobody runs any of it. */
void lanepool_i_pumps_take_all(lanepool_i_waits *waits, lanepool_i_tasks *tasks);

#endif
