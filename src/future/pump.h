/*
 * Pumps. A pump's tasks are routed like any others. When they are ready they wait in the pump for a
 * thread of the program to run them.
 *
 * The pool treats a pump as one more caller that ready tasks are given to. The waits' lock
 * (waiters.h) guards the list of pumps and the ready tasks in each of them.
 *
 * For its pump, a cancelled task has ended. Its tombstone may still be in a lane, and may become
 * ready later. Therefore each task's block holds a reference that keeps the pump's memory, and the
 * pump leaves ready tombstones to the workers.
 */
#ifndef LANEPOOL_SRC_FUTURE_PUMP_H
#define LANEPOOL_SRC_FUTURE_PUMP_H

#include "base/list.h"
#include "base/ready_flag.h"
#include "task/task.h"

/* Guards: I immutable, A atomic, L the waits' lock. */
struct lanepool_pump {
    lanepool_pool *pool;              /* I */
    _Atomic size_t pending;           /* A: tasks submitted to it that have not ended */
    _Atomic size_t references;        /* A: the program's, and one for each member */
    bool destroyed;                   /* L: by the program */
    lanepool_i_link link;             /* L: in the pool's list */
    lanepool_i_tasks ready;           /* L: in the order in which they became ready */
    lanepool_i_ready_flag ready_flag; /* L: set while there are ready tasks */
};

/* Gives a reference back; the last one frees the pump. */
void lanepool_i_pump_release(lanepool_pump *pump);

#endif
