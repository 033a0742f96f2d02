/*
 * Successors: the tasks that wait for a task, or for a batch of a kind, to finish.
 *
 * The role's holder pushes edges to the list. The thread that finishes the task, or the batch's
 * last one, closes the list by one exchange and then serves the edges. An edge belongs to the task
 * that waits, and is served before that task can run.
 */
#ifndef LANEPOOL_SRC_TASK_SUCCESSORS_H
#define LANEPOOL_SRC_TASK_SUCCESSORS_H

#include "task/task.h"

typedef struct lanepool_i_edge lanepool_i_edge;

/* Guards: A atomic, R role's holder. */
struct lanepool_i_edge {
    _Atomic(lanepool_i_edge *) next; /* A */
    lanepool_i_task *waiting;        /* R */
};

typedef _Atomic(lanepool_i_edge *) lanepool_i_successors;

/* The value of a closed list. Never dereferenced. */
#define LANEPOOL_I_CLOSED ((lanepool_i_edge *)1)

/* Returns true if the task or batch has finished. Acquire: what it did is visible. */
static inline bool lanepool_i_successors_closed(const lanepool_i_successors *successors)
{
    return load_acquire(successors) == LANEPOOL_I_CLOSED;
}

/* Pushes an edge. Role's holder only. Returns false if the list is closed. Release: the edge is
 * whole when it is served. */
static inline bool lanepool_i_successors_push(lanepool_i_successors *successors,
                                              lanepool_i_edge *edge)
{
    lanepool_i_edge *top = load_acquire(successors);
    do {
        if (top == LANEPOOL_I_CLOSED)
            return false;
        store_relaxed(&edge->next, top);
    } while (!cas_acq_rel(successors, &top, edge));
    return true;
}

#endif
