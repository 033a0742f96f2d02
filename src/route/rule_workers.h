/*
 * The rule with a lane for each worker (PER_WORKER). A worker runs only the tasks of its own lane.
 *
 * A task that conflicts with no other enters the lane with the fewest entries. Any other task
 * enters a covering set of lanes: each unfinished task that it conflicts with has an entry in one
 * of them. Lanes are first-in first-out, so these tasks finish first. A task with several lanes is
 * a rollup. Each of their workers arrives when it reaches the task's entry. The worker that arrives
 * last runs the task; the others sleep, and still route.
 *
 * Conflicts are found in one of two ways:
 *   - By key: the task waits for the last EXCLUSIVE claim of the key and the SHARED claims since
 *     then. Tasks with older claims finish before those.
 *   - By the program's predicate, which is asked about every unfinished task.
 *
 * A finished task stays in these records until the role's holder reaps it.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_WORKERS_H
#define LANEPOOL_SRC_ROUTE_RULE_WORKERS_H

#include "route/claimants.h"

/* How a census has found an entry: not in its lane any more, behind others, or first. */
typedef enum lanepool_i_worker_lane_census {
    LANEPOOL_I_CENSUS_NONE,
    LANEPOOL_I_CENSUS_BEHIND,
    LANEPOOL_I_CENSUS_FIRST
} lanepool_i_worker_lane_census;

/* A task's entry in one worker's lane. Guards: Q that lane's lock, R role's holder. */
typedef struct lanepool_i_worker_lane_entry {
    struct lanepool_i_worker_lane_entry *next; /* Q */
    lanepool_i_task *task;                     /* R: or NULL if the task is not in this lane */
    bool arrived;                              /* Q: the worker has arrived here */
    lanepool_i_worker_lane_census census;      /* R: how the current census has found it */
} lanepool_i_worker_lane_entry;

/* One worker's lane. No lock is taken under its lock, except by a census. Guards: Q the lock, A
 * atomic, R. */
typedef struct lanepool_i_worker_lane {
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_mutex lock;
    lanepool_i_worker_lane_entry *first; /* Q */
    lanepool_i_worker_lane_entry *last;  /* Q */
    _Atomic size_t count;                /* A: Q writes */
    size_t covered_conflicts; /* R: while a covering set is chosen: conflicts with entries here */
} lanepool_i_worker_lane;

/* Behind the 64 bytes of a task; then its claims. Guards: A atomic, R. */
typedef struct lanepool_i_queued_task {
    _Atomic bool finished;                  /* A */
    uint32_t entry_count;                   /* R: lanes that the task is in */
    uint64_t conflict_stamp;                /* R: of the last task found to conflict with it */
    lanepool_i_task *older;                 /* R: with a predicate: among the unreaped tasks */
    lanepool_i_task *newer;                 /* R: with a predicate: among the unreaped tasks */
    lanepool_i_task *next_conflict;         /* R: among the conflicts of the task being routed */
    lanepool_i_worker_lane_entry entries[]; /* one for each worker */
} lanepool_i_queued_task;

/* Guards: I immutable, R. */
typedef struct lanepool_i_worker_lanes {
    lanepool_i_worker_lane *lanes; /* I: one for each worker */
    lanepool_i_task *unreaped;     /* R: with a predicate: tasks not yet reaped, newest first */
    lanepool_i_task *conflicts;    /* R: of the task being routed */
} lanepool_i_worker_lanes;

#endif
