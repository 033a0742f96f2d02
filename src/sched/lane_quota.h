/*
 * For each key, how many accepted, unfinished tasks claim it, and how many may.
 *
 * A task is *charged* to the quotas of its keys, to each once, before it asks to
 * be admitted. It counts in all of them from when it is admitted, together,
 * until it ends. A quota is in the table while a task is charged to it, a handle
 * keeps it, or it has a limit of its own; so keys that nobody uses leave nothing.
 *
 * Who may call at once: whoever holds the admission's lock. What a charge is made
 * of is prepared before, and given back after, without it (lane_limit.c); only
 * the table's buckets are allocated and freed under the lock, a few at a time.
 */
#ifndef LANEPOOL_SRC_SCHED_LANE_QUOTA_H
#define LANEPOOL_SRC_SCHED_LANE_QUOTA_H

#include "base/key_index.h"

/* Guards: I immutable, L the admission's lock. */
typedef struct lanepool_i_lane_quota {
    lanepool_i_key key;   /* L: its link; else I; owns its bytes */
    uint64_t pending;     /* L: tasks that were admitted and have not ended */
    uint64_t pending_max; /* L: its own limit; 0: the table's */
    uint64_t keepers;     /* L: tasks that are charged to it, and handles */
    uint64_t seen;        /* L: the last walk in which somebody who has to wait wanted it */
} lanepool_i_lane_quota;

/* What one task is charged to. Guards: I immutable, L the admission's lock. */
typedef struct lanepool_i_charge {
    size_t class;                    /* I: of its block */
    size_t count;                    /* I once it has entered */
    bool counted;                    /* L: the task was admitted */
    lanepool_i_lane_quota *quotas[]; /* I once it has entered */
} lanepool_i_charge;

/* All of a pool. Guard: L the admission's lock. */
typedef struct lanepool_i_lane_quotas {
    lanepool_i_key_index index; /* L */
    uint64_t pending_max;       /* I: UINT64_MAX: none */
    uint64_t walk;              /* L: number of the last walk over those who wait */
} lanepool_i_lane_quotas;

/* The seed is the pool's, so that hashes of keys serve here, too. False: memory is lacking. */
bool lanepool_i_lane_quotas_init(lanepool_i_lane_quotas *quotas, uint64_t seed, size_t pending_max,
                                 const lanepool_allocator *allocator);
/* Calls `visit` for what is left: quotas with limits of their own. */
void lanepool_i_lane_quotas_fini(lanepool_i_lane_quotas *quotas,
                                 void (*visit)(lanepool_i_key *key, void *context), void *context);

/* L: a new quota of nobody's gives way to the one that its key has, and is then chained in *spare;
 * or is that from now on. Returns the key's quota, which has one keeper more. */
lanepool_i_lane_quota *lanepool_i_lane_quotas_keep(lanepool_i_lane_quotas *quotas,
                                                   lanepool_i_lane_quota *candidate,
                                                   lanepool_i_key **spare);
/* L: one keeper less; a quota that is of no use any more is chained in *spare. */
void lanepool_i_lane_quotas_unkeep(lanepool_i_lane_quotas *quotas, lanepool_i_lane_quota *quota,
                                   lanepool_i_key **spare);

/* L: the same for all that a charge names, new quotas and others; duplicates are merged. */
void lanepool_i_lane_quotas_enter(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge,
                                  lanepool_i_key **spare);
/* L: likewise; from now on the task does not count. */
void lanepool_i_lane_quotas_leave(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge,
                                  lanepool_i_key **spare);

/* L: a walk over those who wait begins, oldest first. */
void lanepool_i_lane_quotas_begin_walk(lanepool_i_lane_quotas *quotas);
/* L: whether there is room in all its quotas, and nobody whom the walk passed before has to wait
 * for one of them. If not, it is one of those from now on. */
bool lanepool_i_lane_quotas_fit(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge);
/* L: the task is admitted. */
void lanepool_i_lane_quotas_count(lanepool_i_charge *charge);

/* L: a key's quota, or NULL. */
const lanepool_i_lane_quota *lanepool_i_lane_quotas_find(const lanepool_i_lane_quotas *quotas,
                                                         const lanepool_i_key *key);

static inline uint64_t lanepool_i_lane_quota_max(const lanepool_i_lane_quotas *quotas,
                                                 const lanepool_i_lane_quota *quota)
{
    return quota != NULL && quota->pending_max != 0 ? quota->pending_max : quotas->pending_max;
}

#endif
