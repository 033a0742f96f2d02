/*
 * What the role's holder does for a wait inside a task: says whether it may wait
 * at all, and finds a ready task that has to run before the awaited one can end.
 * Both walk over who waits for whom (wait_graph.h).
 */
#ifndef LANEPOOL_SRC_WAIT_DEADLOCK_H
#define LANEPOOL_SRC_WAIT_DEADLOCK_H

#include "wait/wait_graph.h"

/* A wait's verdict. NOT_KNOWN: for lack of memory, tasks do not stand yet behind all that they wait
 * for. */
enum {
    LANEPOOL_I_UNDECIDED,
    LANEPOOL_I_MAY_WAIT,
    LANEPOOL_I_WOULD_DEADLOCK,
    LANEPOOL_I_OUT_OF_MEMORY
};

/* The message of a wait: carried out when everything accepted before has its place. */
void lanepool_i_wait_check_deadlock(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    lanepool_i_message *message, lanepool_i_grants *grants);
/* Role's holder: takes a needed task out of the queues, if one stands there. */
lanepool_i_task *lanepool_i_wait_take_needed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                             lanepool_i_wait *wait);

#endif
