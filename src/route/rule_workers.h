/*
 * The rule with a lane for each worker (PER_WORKER). A worker runs only the tasks of its own lane.
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
 * Conflicts are found in one of two ways:
 *   - By key: the task waits for the last claims of the key that do not overlap with its own. Tasks
 *     with older claims finish before those.
 *   - By the program's predicate, which is asked about every unfinished task.
 *
 * No lane is released early, also not by a tombstone: a task behind a rollup is in any one of its
 * lanes, and relies on the rollup to finish after the tasks that the rollup waited for.
 *
 * A finished task stays in these records until the role's holder reaps it.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_WORKERS_H
#define LANEPOOL_SRC_ROUTE_RULE_WORKERS_H

#include "route/claimants.h"

/* One worker's lane. Its number of entries is only a hint where to append. Guards: A atomic, R
 * role's holder. */
typedef struct lanepool_i_worker_lane {
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_lane lane;
    _Atomic uint64_t left;    /* A: entries ever released; the thread that has the lane writes */
    uint64_t entered;         /* R: entries ever appended */
    size_t covered_conflicts; /* R: while a covering set is chosen: conflicts with entries here */
} lanepool_i_worker_lane;

/* Behind the entries of a task, one for each worker; then its claims. Guards: A atomic, R. */
typedef struct lanepool_i_queued_task {
    _Atomic bool finished;          /* A */
    uint32_t claim_count;           /* R */
    uint64_t conflict_stamp;        /* R: of the last task found to conflict with it */
    lanepool_i_task *older;         /* R: with a predicate: among the unreaped tasks */
    lanepool_i_task *newer;         /* R: with a predicate: among the unreaped tasks */
    lanepool_i_task *next_conflict; /* R: among the conflicts of the task being routed */
} lanepool_i_queued_task;

/* Guards: I immutable, R. */
typedef struct lanepool_i_worker_lanes {
    lanepool_i_worker_lane *lanes; /* I: one for each worker */
    lanepool_i_task *unreaped;     /* R: with a predicate: tasks not yet reaped, newest first */
    lanepool_i_task *conflicts;    /* R: of the task being routed */
} lanepool_i_worker_lanes;

#endif
