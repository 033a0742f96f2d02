/*
 * The walk over the wait-for graph. It tells whether a wait inside a task would be a deadlock, and
 * finds the tasks that such a wait needs. Task A waits for task B in four cases:
 *
 * 1. A is behind B in a lane, or in another structure of the rule.
 * 2. A is the receiver of a hand-off by B.
 * 3. A is inside a wait for B.
 * 4. A is inside a wait, and its thread runs B during that wait.
 *
 * The walk starts at source tasks and sets VISITED in each task that waits for them, directly or
 * through others. From begin to end, the calling thread has the role and the lock of the waits.
 */
#ifndef LANEPOOL_SRC_WAIT_WAIT_GRAPH_H
#define LANEPOOL_SRC_WAIT_WAIT_GRAPH_H

#include "route/waiters.h"

/* One walk; on the stack. */
typedef struct lanepool_i_walk {
    lanepool_pool *pool;
    lanepool_i_waits *waits;
    const lanepool_i_task *target;
    uint64_t limit;            /* tasks with this ticket or a later one lead nowhere */
    lanepool_i_tasks found;    /* visited tasks that wait in lanes, in finding order */
    lanepool_i_task *unwalked; /* the next one of them to walk from */
    uint64_t target_ticket;
    bool past_barrier; /* there is a barrier: it and all that it holds back depend on the source */
    bool reached;      /* the target was found */
} lanepool_i_walk;

void lanepool_i_walk_begin(lanepool_i_walk *walk, lanepool_pool *pool,
                           const lanepool_i_task *target, uint64_t target_ticket);
/* Walks on from a task that has started, or that is ready and in no list. Returns true if the walk
 * reaches the target. */
bool lanepool_i_walk_from(lanepool_i_walk *walk, lanepool_i_task *source);
void lanepool_i_walk_end(lanepool_i_walk *walk, lanepool_i_grants *grants);

#endif
