/*
 * The two rules with a lane for each worker (PER_WORKER). A worker runs only the tasks of its own
 * lane. worker_lanes.c has what the two have in common; each finds conflicts in its own way.
 *
 * A task that conflicts with no other enters the lane with the fewest entries. Any other task
 * enters a covering set of lanes: each unfinished task that it conflicts with has an entry in one
 * of them. Lanes are first-in first-out, so these tasks finish first. All entries are EXCLUSIVE. A
 * task with several lanes is a rollup: each lane that is granted to it is latched until all are.
 *
 * The last grant makes the task ready and pins it to one worker: the one whose thread made the
 * grant, if its lane is among the task's, else the owner of the task's first lane. A pinned task
 * holds the lane of its worker until it has finished, so each worker has at most one
 * (ready_ring.h).
 *
 * No lane is released early, also not by a tombstone: a task behind a rollup is in any one of its
 * lanes, and relies on the rollup to finish after the tasks that the rollup waited for.
 *
 * By the program's predicate (rule_workers_predicate.c), which is asked about every unfinished
 * task. So a finished task stays in a list until the role's holder reaps it.
 *
 * By key (rule_workers_keys.c). No list has the tasks of a key. A key has *places* instead: a lane,
 * and a ticket. A lane's tasks finish in the order of their tickets, and each leaves its own in the
 * lane. So all tasks of the lane up to that ticket have finished once the lane's `finished` has
 * reached it: the place is *passed*. No task is reaped.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_WORKERS_H
#define LANEPOOL_SRC_ROUTE_RULE_WORKERS_H

#include "route/claimants.h"

/* One worker's lane. The router takes the number of entries as a hint where to append. Ending tasks
 * and the role's holder write to different cache lines. Guards: A atomic, R role's
 * holder, H the thread that has the lane. */
typedef struct lanepool_i_worker_lane {
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_lane lane;
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t finished; /* A: H writes: the ticket of the
                                                                  last task that has finished */
    _Atomic uint64_t left;                                     /* A: H writes: entries released */
    _Alignas(LANEPOOL_I_CACHE_LINE) uint64_t last_ticket;      /* R: of the last entry appended */
    uint64_t entered;                                          /* R: entries ever appended */
    uint64_t finished_before; /* R: `finished`, as read for the tasks routed now */
    uint64_t left_before;     /* R: likewise */
    bool is_busy;             /* R: then it had many entries, of tasks that are short */
    size_t covered_conflicts; /* R: while a covering set is chosen: conflicts with entries here */
    bool is_chosen;           /* R: while a covering set is chosen */
} lanepool_i_worker_lane;

/* Behind the entries of a task, one for each worker; then its claims. Guards: A atomic, R. */
typedef struct lanepool_i_queued_task {
    uint32_t claim_count; /* R */
    /* With a predicate only: */
    _Atomic bool finished;          /* A */
    uint64_t conflict_stamp;        /* R: of the last task found to conflict with it */
    lanepool_i_task *older;         /* R: among the unreaped tasks */
    lanepool_i_task *newer;         /* R: among the unreaped tasks */
    lanepool_i_task *next_conflict; /* R: among the conflicts of the task being routed */
} lanepool_i_queued_task;

/* Guards: I immutable, R. */
typedef struct lanepool_i_worker_lanes {
    lanepool_i_worker_lane *lanes; /* I: one for each worker */
    lanepool_i_task *unreaped;     /* R: with a predicate: tasks not yet reaped, newest first */
    lanepool_i_task *conflicts;    /* R: with a predicate: of the task being routed */
    uint64_t seen_moment;          /* R: the inbox's moment when what has finished was read */
} lanepool_i_worker_lanes;

#endif
