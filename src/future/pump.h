/*
 * A pump: tasks that take their places in their lanes like any other, and when
 * they are ready wait here for a thread of the program's own to run them.
 *
 * To the pool a pump is one more caller that ready tasks are for: the list of
 * pumps, and what stands in them, are guarded by the waits' lock (waiters.h).
 *
 * A task that was cancelled has ended for the pump; its mark may still stand in
 * a lane, or come here. So the pump's memory stays until all blocks of its tasks
 * have gone, and marks that come after its end are left to the workers.
 */
#ifndef LANEPOOL_SRC_FUTURE_PUMP_H
#define LANEPOOL_SRC_FUTURE_PUMP_H

#include "task/task.h"

struct lanepool_i_pump_waiter;

/* Guards: I immutable, A atomic, L the waits' lock. */
struct lanepool_pump {
    lanepool_pool *pool;                    /* I */
    _Atomic size_t pending;                 /* A: tasks submitted for it that have not ended */
    _Atomic size_t references;              /* A: the program's, and one of each member */
    bool destroyed;                         /* L: by the program */
    lanepool_pump *next;                    /* L: of the pool's */
    lanepool_i_tasks ready;                 /* L: in the order in which they became ready */
    struct lanepool_i_pump_waiter *pumpers; /* L: the threads that wait for one */
    bool has_event;                         /* L */
    lanepool_i_event event;                 /* L: set while there are ready tasks */
};

/* Gives a reference back; the last one frees the pump. */
void lanepool_i_pump_release(lanepool_pump *pump);

#endif
