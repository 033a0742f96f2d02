/*
 * The predicate rule: the program's `is_compatible` decides which tasks conflict (PER_KEY).
 *
 * Unfinished tasks without a kind and without claims form chains: each task of a chain conflicts
 * with the one before it and waits for it. A new task is compared with the tasks of each chain,
 * from its tail back, and waits for the first one that it conflicts with. Older tasks of that chain
 * need not be compared: they finish before that one. The comparison also stops at the first
 * finished task: older ones have finished. The new task becomes the tail of one chain whose tail it
 * conflicts with, or the only task of a new chain.
 *
 * Tasks with a kind are in batches; see rule_kinds.h. Tasks with claims are among the claimants of
 * their keys; see rule_scope.h.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_PREDICATE_H
#define LANEPOOL_SRC_ROUTE_RULE_PREDICATE_H

#include "route/claimants.h"
#include "task/successors.h"

typedef struct lanepool_i_kind_batch lanepool_i_kind_batch;
typedef struct lanepool_i_kind lanepool_i_kind;
typedef struct lanepool_i_edge_block lanepool_i_edge_block;

/* Behind the 64 bytes of a task. Guards: A atomic, R role's holder. */
typedef struct lanepool_i_tracked {
    lanepool_i_successors successors; /* A: closed: the task has finished */
    lanepool_i_task *older; /* R: in its chain, among its kind, or among the tasks with claims */
    lanepool_i_task *newer; /* R: the same; a chain's tail: the next chain's tail */
    union {
        lanepool_i_task **tail_at; /* R: of a tail: the pointer to it; otherwise NULL */
        uint64_t asked_stamp;      /* R: with claims: of the last scan that has asked about it */
    };
    lanepool_i_edge first_edge;   /* R: the task's first edge */
    lanepool_i_edge_block *edges; /* R: its further edges */
    lanepool_i_kind_batch *batch; /* R: its kind's batch, or NULL: the task is in a chain */
} lanepool_i_tracked;

_Static_assert(sizeof(lanepool_i_tracked) == 64, "a tracked task is two lines");

/* The kinds that are pending. A kind has a slot, by which other kinds store the answer about it.
 * Guard: R. */
typedef struct lanepool_i_kinds {
    lanepool_i_kind **buckets; /* R: by hash */
    size_t bucket_count;       /* R: a power of two, or 0 */
    size_t count;              /* R */
    lanepool_i_kind **by_slot; /* R: set for used slots */
    uint64_t *used;            /* R: a bit for each slot */
    size_t words;              /* R: of `used` */
} lanepool_i_kinds;

/* Guard: R. */
typedef struct lanepool_i_predicate {
    lanepool_i_task *tails;   /* R: the chains' tails, newest first */
    lanepool_i_task *claimed; /* R: the tasks with claims, newest first */
    lanepool_i_kinds kinds;
    size_t lacking; /* R: tasks with conflicts that they do not wait for yet, for lack of memory */
} lanepool_i_predicate;

static inline lanepool_i_tracked *lanepool_i_tracked_of(lanepool_i_task *task)
{
    return (lanepool_i_tracked *)(task + 1);
}

/* A task's search for the tasks that it must wait for. On the stack of the role's holder. */
typedef struct lanepool_i_scan {
    lanepool_pool *pool;
    lanepool_i_thread_record *record;
    lanepool_i_task *task;
    uint64_t stamp;                  /* this scan's; see rule_scope.h */
    uint32_t edge_count;             /* edges in use */
    lanepool_i_edge_block *last;     /* the task's last block of edges, or NULL */
    lanepool_i_task *tail_to_follow; /* the tail that the task will follow in its chain, or NULL */
    lanepool_i_kind *kind;           /* the task's kind, or NULL */
    bool waits_for_own_kind;         /* it waits for the newest batch of its own kind */
    bool is_incomplete;              /* no memory for an edge: scan again later */
    bool has_unasked_kind;           /* some kind has only tombstones left */
} lanepool_i_scan;

/* Makes the scanned task wait for the task or batch that owns the list. Events call the owner by
 * `type` and `number`. */
void lanepool_i_scan_wait_for(lanepool_i_scan *scan, lanepool_i_successors *successors,
                              lanepool_event_lane type, uint64_t number);
/* Returns true if the scanned task must wait for an older one that is in its scope and has not
 * finished. */
bool lanepool_i_scan_must_wait_for(lanepool_i_scan *scan, const lanepool_i_task *old);
/* Makes the scanned task wait for another one, if that is older, has not finished, and the scanned
 * task must wait for it. */
void lanepool_i_scan_task(lanepool_i_scan *scan, lanepool_i_task *old);

#endif
