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

/* One wait inside a task; shared by the waiter, its message and its listener. Guards: I immutable,
 * A atomic, L the waits' lock, W the waiter. */
struct lanepool_i_wait {
    lanepool_i_message message;
    lanepool_i_wait *next;    /* L: in the pool's list */
    lanepool_i_task *task;    /* I: that waits */
    lanepool_i_task *awaited; /* L: the judge sets it, NULL if it may not wait; compared only */
    uint64_t awaited_ticket;  /* L: set by the judge */
    lanepool_i_task *helping; /* L: that the waiting thread runs meanwhile */
    lanepool_future *future;  /* I: the waiter's reference */
    lanepool_pump *pump;      /* I: that the waiting thread runs tasks of, or NULL */
    lanepool_i_waiter waiter;
    _Atomic uint32_t references; /* A */
    _Atomic uint32_t verdict;    /* A: L writes */
    _Atomic bool complete;       /* A: the future is */
    bool left;                   /* L: the waiter is gone: nothing to judge */
};

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
void lanepool_i_walk_end(lanepool_i_walk *walk, lanepool_i_local *local, lanepool_i_grants *grants);

#endif
