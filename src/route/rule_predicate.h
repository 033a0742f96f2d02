/*
 * The predicate router: the caller's `is_compatible` in PER_KEY.
 *
 * Unfinished tasks without a kind stand in chains: each entry of a chain
 * conflicts with the one before it and waits for it. A new task is compared
 * with each chain from its tail back, up to the first conflict, since what is
 * older finishes before that, or the first finished entry, since what is older
 * has finished. It waits for every conflict found, and becomes the tail of one
 * chain whose tail it conflicts with, or the only entry of a new one.
 *
 * Tasks of a kind stand in groups; see rule_kinds.h.
 */
#ifndef LANEPOOL_SRC_ROUTE_RULE_PREDICATE_H
#define LANEPOOL_SRC_ROUTE_RULE_PREDICATE_H

#include "route/router.h"
#include "task/successors.h"

typedef struct lanepool_i_kind_batch lanepool_i_kind_batch;
typedef struct lanepool_i_kind lanepool_i_kind;
typedef struct lanepool_i_edge_block lanepool_i_edge_block;

/* Behind the 64 bytes of a task. Guards: A atomic, R role's holder. */
typedef struct lanepool_i_tracked {
    lanepool_i_successors successors; /* A: closed: the task has finished */
    lanepool_i_task *older;           /* R: in its chain, or among its kind */
    lanepool_i_task *newer;           /* R: likewise; of a chain's tail: the next chain's tail */
    lanepool_i_task **tail_at;        /* R: where a tail is linked from; NULL: not a tail */
    lanepool_i_edge first_edge;       /* R: the task's first edge */
    lanepool_i_edge_block *edges;     /* R: further ones */
    lanepool_i_kind_batch *batch;     /* R: of a task that is tracked by its kind */
} lanepool_i_tracked;

_Static_assert(sizeof(lanepool_i_tracked) == 64, "a tracked task is two lines");

/* Guard: R. */
typedef struct lanepool_i_predicate {
    lanepool_i_task *tails; /* R: the chains, newest first */
    lanepool_i_kind *kinds; /* R: the kinds that are pending */
    size_t kind_slots;      /* R: slot numbers ever used */
    size_t lacking;         /* R: tasks that do not wait for all their conflicts yet */
} lanepool_i_predicate;

static inline lanepool_i_tracked *lanepool_i_tracked_of(lanepool_i_task *task)
{
    return (lanepool_i_tracked *)(task + 1);
}

/* One task's search for what it must wait for; on the stack of the role's holder. */
typedef struct lanepool_i_scan {
    lanepool_pool *pool;
    lanepool_i_thread_record *record;
    lanepool_i_task *task;
    uint32_t edge_count;             /* edges in use */
    lanepool_i_edge_block *last;     /* the block with room, if any */
    lanepool_i_task *tail_to_follow; /* the tail to stand behind */
    bool is_incomplete;              /* memory for an edge was lacking: scan again later */
    bool has_unasked_kind;           /* there are kinds of which only marks are left */
} lanepool_i_scan;

/* Makes the scanned task wait for whatever the list belongs to; events name that so. */
void lanepool_i_scan_wait_for(lanepool_i_scan *scan, lanepool_i_successors *successors,
                              lanepool_event_lane type, uint64_t number);
/* Whether it has to wait for an older one that has not finished. */
bool lanepool_i_scan_must_wait_for(lanepool_i_scan *scan, const lanepool_i_task *old);

#endif
