/*
 * Periodic tasks: one block that is run again and again.
 *
 * Each run is a task like any other, with a ticket of its own. The block's word
 * says PERIODIC; when the run is let go of, the block is made as it was and goes
 * back to the heap of timers. Nothing is lacking then: its claims are held lanes,
 * its timer is embedded, it is admitted over the limit.
 *
 * Between two runs the series is ended by putting it into the heap as due at
 * once: the clock thread makes the last call. A run that is on its way is
 * stopped through the future that every run has, the *gate*: under its lock the
 * run either starts or finds that it is not to.
 */
#ifndef LANEPOOL_SRC_FEATURE_DELAY_EVERY_H
#define LANEPOOL_SRC_FEATURE_DELAY_EVERY_H

#include "feature/delay.h"
#include "task/task.h"

/* Whoever lets go of a run; counts it as delayed, and has it wait for its next turn, unless the
 * pool is watched: then the surveyor does so. */
void lanepool_i_periodic_ran(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task);
/* A run was cancelled, or handed back, and with it its series: nothing is left but the block. */
void lanepool_i_periodic_free(lanepool_pool *pool, lanepool_i_task *task);
/* A run's block is nobody's any more: it waits for its next turn. */
void lanepool_i_periodic_rearm(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task);

/* Whether a series that has fired is to end. */
bool lanepool_i_periodic_is_over(lanepool_i_periodic *series);
/* The clock thread has taken a series out of the heap: makes its last call. */
void lanepool_i_periodic_end(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_periodic *series);
/* The clock thread, in a drain that waits for delayed tasks: ends all series. */
void lanepool_i_periodic_end_all(lanepool_pool *pool);

/* The release callback of a wide task as it was submitted. */
lanepool_release_fn lanepool_i_periodic_release_of(const lanepool_i_task *task);

#endif
