/*
 * Periodic tasks: one block that runs again and again.
 *
 * Each run is a task like any other, with its own ticket. The block's word says PERIODIC. When a
 * run is disposed of, the block is rebuilt and its timer goes back to the heap. Nothing can fail
 * then: the claims are by handle, the timer is embedded, and the admission is forced.
 *
 * A periodic task is ended between two runs by making its timer due at once; the clock thread then
 * makes the last call. A run that was appended is stopped by setting `stopped` in the run future,
 * which all runs share. Under the future's lock, the run either starts or finds `stopped`.
 */
#ifndef LANEPOOL_SRC_FEATURE_DELAY_EVERY_H
#define LANEPOOL_SRC_FEATURE_DELAY_EVERY_H

#include "feature/delay.h"
#include "task/task.h"

/* Rebuilds the block, which no thread uses any more, and adds the timer for the next run. */
void lanepool_i_periodic_rearm(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task);

/* Returns true if a periodic task whose timer has fired is to end. */
bool lanepool_i_periodic_is_over(lanepool_i_periodic *periodic);
/* Ends a periodic task whose timer was taken out of the heap: calls `cancelled` and `release`. */
void lanepool_i_periodic_end(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_periodic *periodic, lanepool_status why);
/* On the clock thread, in a drain that waits for delayed tasks: ends all periodic tasks. */
void lanepool_i_periodic_end_all(lanepool_pool *pool);

/* Returns the callbacks that a task was submitted with; for runs of periodic tasks, too. */
lanepool_i_callbacks lanepool_i_periodic_callbacks(const lanepool_i_task *task);
/* Returns why a task is cancelled when its pool shuts down now: SHUT_DOWN; CANCELLED for a run of a
 * periodic task whose timer the program has cancelled before. */
lanepool_status lanepool_i_periodic_shutdown_reason(const lanepool_i_task *task);

#endif
