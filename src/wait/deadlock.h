/*
 * The part of a wait inside a task that the role's holder does. It decides whether the wait would
 * be a deadlock, and it finds a ready task that has to run before the awaited task can end. Both
 * walk over the wait-for graph (wait_graph.h).
 */
#ifndef LANEPOOL_SRC_WAIT_DEADLOCK_H
#define LANEPOOL_SRC_WAIT_DEADLOCK_H

#include "wait/wait_graph.h"

/* The verdict on a wait. OUT_OF_MEMORY: for lack of memory, some tasks do not wait for all their
 * conflicts yet, so the walk may have missed a deadlock. */
enum {
    LANEPOOL_I_UNDECIDED,
    LANEPOOL_I_MAY_WAIT,
    LANEPOOL_I_WOULD_DEADLOCK,
    LANEPOOL_I_OUT_OF_MEMORY
};

/* Carries out the message of a wait, when everything accepted before has been routed: sets the
 * wait's verdict and posts its thread. */
void lanepool_i_wait_check_deadlock(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    lanepool_i_message *message, lanepool_i_grants *grants);
/* Checks all waits again, when everything accepted before has been routed: those behind a lane that
 * a cut keeps after a failed visit wait for its other lanes, too. */
void lanepool_i_waits_recheck(lanepool_pool *pool, lanepool_i_thread_record *record);
/* The waiting thread, with the role: takes a ready task that the wait needs, if there is one, and
 * sets `helping` to it. */
void lanepool_i_wait_find_needed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_wait *wait);

#endif
