/*
 * Pausing: the pool as a whole (the crew's halt), and lanes (gates, see lane.h).
 *
 * Workers look at the halt before they take a task, which is a hint, and with their flag set before
 * they sleep, in the total order: who resumes clears it first and then wakes everybody.
 */
#ifndef LANEPOOL_SRC_FEATURE_PAUSE_H
#define LANEPOOL_SRC_FEATURE_PAUSE_H

#include "route/lane_table.h"
#include "route/router.h"

/* Role's holder: whether any lane is paused. */
bool lanepool_i_gates_some_closed(const lanepool_i_lane_table *table);
/* Role's holder: a task has failed, and its lane is paused before it ends; false: it is already. */
bool lanepool_i_gate_close(lanepool_pool *pool, lanepool_i_lane *lane, lanepool_i_gate *gate,
                           lanepool_i_grants *grants);
/* Role's holder, of a pool that is drained: opens all gates, but those of failures. */
void lanepool_i_gates_open(lanepool_pool *pool, lanepool_i_thread_record *record);
/* At the pool's end: their memory. */
void lanepool_i_gates_fini(lanepool_pool *pool);

#endif
