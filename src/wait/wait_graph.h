/*
 * The walk over who waits for whom, for judging waits inside tasks and for
 * finding the tasks that such a wait needs.
 *
 * A task waits for another if it stands behind it in a lane (or in whatever the
 * rule keeps), if it is its heir, if it is inside a wait for it, or if it is inside a wait and a
 * task that this wait made its thread run stands above it on the stack. The walk
 * goes forward from sources and marks what it reaches.
 *
 * Role's holder, with the waits' lock held, from begin to end.
 */
#ifndef LANEPOOL_SRC_WAIT_WAIT_GRAPH_H
#define LANEPOOL_SRC_WAIT_WAIT_GRAPH_H

#include "route/waiters.h"

/* Of one walk; on the stack. */
typedef struct lanepool_i_walk {
    lanepool_pool *pool;
    lanepool_i_waits *waits;
    const lanepool_i_task *target;
    uint64_t limit;            /* tickets from here on lead nowhere */
    lanepool_i_tasks found;    /* marked, waiting tasks, in the order of finding */
    lanepool_i_task *unwalked; /* the next of them to go on from */
    uint64_t target_ticket;
    bool past_barrier; /* all that the barrier holds back depends on the source, and it does */
    bool reached;      /* the target was found */
} lanepool_i_walk;

void lanepool_i_walk_begin(lanepool_i_walk *walk, lanepool_pool *pool,
                           const lanepool_i_task *target, uint64_t target_ticket);
/* Goes on from a task that has started, or stands ready in no list; true: to the target. */
bool lanepool_i_walk_from(lanepool_i_walk *walk, lanepool_i_task *source);
void lanepool_i_walk_end(lanepool_i_walk *walk, lanepool_i_thread_record *record,
                         lanepool_i_grants *grants);

#endif
