/*
 * Lanes per worker (PER_WORKER): each worker owns a lane, and tasks of a lane
 * run on that worker's thread only.
 *
 * A task that conflicts with nothing goes to the worker with the fewest
 * entries. Else it enters a small set of lanes that covers its conflicts: each
 * unfinished conflicting task has a place in at least one of them, and since
 * lanes are first-in first-out that one finishes first. With several lanes it
 * is a rollup: each of the workers that reaches its place there arrives; the
 * last one runs it, the others sleep, and still route.
 *
 * The conflicts are found by key, with the default rule (the last EXCLUSIVE
 * claim and the SHARED ones since: what is older is implied), or by asking the
 * caller's rule about every unfinished task.
 *
 * A finished task stays where it is recorded until the role's holder reaps it.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_WORKERS_H
#define LANEPOOL_SRC_ROUTE_RULE_WORKERS_H

#include "route/router.h"

/* What a survey has found of a place: it was gone already, behind others, or the first. */
typedef enum lanepool_i_worker_lane_census {
    LANEPOOL_I_CENSUS_NONE,
    LANEPOOL_I_CENSUS_BEHIND,
    LANEPOOL_I_CENSUS_FIRST
} lanepool_i_worker_lane_census;

/* A task's place in one worker's lane. Guards: Q that lane's lock, R role's holder. */
typedef struct lanepool_i_worker_lane_entry {
    struct lanepool_i_worker_lane_entry *next; /* Q */
    lanepool_i_task *task;                     /* R: NULL: the task is not in this lane */
    bool arrived;                              /* Q: the worker has reached it */
    lanepool_i_worker_lane_census census;      /* R: how the survey that goes on has found it */
} lanepool_i_worker_lane_entry;

/* One worker's lane. The lock is a leaf. Guards: Q the lock, A atomic, R. */
typedef struct lanepool_i_worker_lane {
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_mutex lock;
    lanepool_i_worker_lane_entry *first; /* Q */
    lanepool_i_worker_lane_entry *last;  /* Q */
    _Atomic size_t count;                /* A: Q writes */
    size_t covered_conflicts; /* R: conflicts that it would cover, while a cover is chosen */
} lanepool_i_worker_lane;

/* What a key's lane memory holds in this layout. Guard: R. */
typedef struct lanepool_i_claimants {
    lanepool_i_key key;
    lanepool_i_task *exclusive;             /* R: the last that claimed it so; unreaped, or NULL */
    struct lanepool_i_claim_entry *readers; /* R: SHARED claims since */
    uint64_t stamp;                         /* R: of the task that is being placed; see merge() */
} lanepool_i_claimants;

/* A claim of a task in this layout. Guard: R. */
typedef struct lanepool_i_claim_entry {
    lanepool_i_wide_entry claim; /* its link is the next reader, its lane the claimants */
    struct lanepool_i_claim_entry *previous; /* R: reader; itself: no longer among the readers */
} lanepool_i_claim_entry;

/* Behind the 64 bytes of a task; then its claims. Guards: A atomic, R. */
typedef struct lanepool_i_queued_task {
    _Atomic bool finished;                  /* A */
    uint32_t entry_count;                   /* R: lanes that it is in */
    uint64_t conflict_stamp;                /* R: the last placing that it was a conflict of */
    lanepool_i_task *older;                 /* R: among the unreaped, with a rule of the caller's */
    lanepool_i_task *newer;                 /* R: likewise */
    lanepool_i_task *next_conflict;         /* R: of the task that is being placed */
    lanepool_i_worker_lane_entry entries[]; /* one for each worker */
} lanepool_i_queued_task;

/* Guards: I immutable, R. */
typedef struct lanepool_i_worker_lanes {
    lanepool_i_worker_lane *lanes; /* I: one for each worker */
    lanepool_i_task *unreaped;     /* R: newest first, with a rule of the caller's */
    lanepool_i_task *conflicts;    /* R: found for the task that is being placed */
} lanepool_i_worker_lanes;

#endif
