/*
 * Successors: who waits for a task, or for a group of tasks, to finish.
 *
 * A list that the role's holder pushes to, and that whoever finishes closes by
 * one exchange and then serves. An edge belongs to the task that waits; it has
 * been served before that task can run.
 */
#ifndef LANEPOOL_SRC_TASK_SUCCESSORS_H
#define LANEPOOL_SRC_TASK_SUCCESSORS_H

#include "task/task.h"

typedef struct lanepool_i_edge lanepool_i_edge;

struct lanepool_i_edge {
    lanepool_i_edge *next;
    lanepool_i_task *waiting;
};

typedef _Atomic(lanepool_i_edge *) lanepool_i_successors;

/* Stands for a closed list. Never dereferenced. */
#define LANEPOOL_I_CLOSED ((lanepool_i_edge *)1)

/* Whether what the list belongs to has finished. Acquire: what it did is visible. */
static inline bool lanepool_i_successors_closed(const lanepool_i_successors *successors)
{
    return load_acquire(successors) == LANEPOOL_I_CLOSED;
}

/* Role's holder. False: closed meanwhile. Release: the edge is whole when it is served. */
static inline bool lanepool_i_successors_push(lanepool_i_successors *successors,
                                              lanepool_i_edge *edge)
{
    lanepool_i_edge *top = load_acquire(successors);
    do {
        if (top == LANEPOOL_I_CLOSED)
            return false;
        edge->next = top;
    } while (!cas_acq_rel(successors, &top, edge));
    return true;
}

#endif
