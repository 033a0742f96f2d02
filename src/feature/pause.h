/*
 * Pausing a pool (the workers' `halt`), and pausing lanes (gates; see lane.h).
 *
 * A worker checks `halt` before it takes a task; that check is a hint. It checks again between
 * setting its sleep flag and sleeping. The resuming thread clears `halt`, then wakes all workers.
 * These steps are in the total order of seq_cst operations. So either the worker sees `halt` clear,
 * or the resuming thread sees the flag and wakes it.
 */
#ifndef LANEPOOL_SRC_FEATURE_PAUSE_H
#define LANEPOOL_SRC_FEATURE_PAUSE_H

#include "route/lane_table.h"
#include "route/router.h"

/* Role's holder: returns true if any lane is paused. */
bool lanepool_i_gates_any_closed(const lanepool_i_lane_table *table);
/* Role's holder: pauses a lane. Returns false if it is paused already: the gate is still the
 * caller's. If the gate is of a failure, the lane is paused by a failure in either case. */
bool lanepool_i_gate_close(lanepool_pool *pool, lanepool_i_lane *lane, lanepool_i_gate *gate,
                           lanepool_i_grants *grants);
/* Role's holder, in a drain: opens all gates except those of failures. */
void lanepool_i_gates_open(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Frees all gates at the end of the pool. */
void lanepool_i_gates_fini(lanepool_pool *pool);

#endif
