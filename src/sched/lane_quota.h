/*
 * Lane limits: for each key, how many pending tasks claim it, and how many may.
 *
 * A task is *charged* to the quotas of its keys, once to each, before it asks to be admitted. From
 * when it is admitted until it ends it counts in all of them. A quota stays in the table while a
 * task is charged to it, a handle refers to it, or it has a limit of its own. So keys that are not
 * used leave nothing behind.
 *
 * Callers hold the admission's lock, except for init and fini. The memory of charges and quotas is
 * allocated before, and freed after, without the lock (lane_limit.c). Only the table's buckets are
 * allocated and freed under the lock, a few at a time.
 */
#ifndef LANEPOOL_SRC_SCHED_LANE_QUOTA_H
#define LANEPOOL_SRC_SCHED_LANE_QUOTA_H

#include "base/key_index.h"

/* Guards: I immutable, L the admission's lock. */
typedef struct lanepool_i_lane_quota {
    lanepool_i_key key;   /* L: its `next`; else I; owns its bytes */
    uint64_t pending;     /* L: tasks that were admitted and have not ended */
    uint64_t pending_max; /* L: its own limit; 0 for the table's */
    uint64_t references;  /* L: tasks charged to it, and handles */
    uint64_t seen;        /* L: the last walk in which a submitter had to wait for it */
} lanepool_i_lane_quota;

/* The quotas that one task is charged to. Guards: I immutable, L the admission's lock. */
typedef struct lanepool_i_charge {
    size_t class;                    /* I: the slab class of its block */
    size_t count;                    /* I once entered */
    bool counted;                    /* L: the task was admitted */
    lanepool_i_lane_quota *quotas[]; /* I once entered */
} lanepool_i_charge;

/* The quotas of a pool. Guard: L the admission's lock. */
typedef struct lanepool_i_lane_quotas {
    lanepool_i_key_index index; /* L */
    uint64_t pending_max;       /* I: UINT64_MAX without a limit */
    uint64_t walk;              /* L: the number of the last walk over blocked submitters */
} lanepool_i_lane_quotas;

/* `seed` is the pool's, so the hashes of its keys are valid here, too. Returns false if memory
 * cannot be allocated. */
bool lanepool_i_lane_quotas_init(lanepool_i_lane_quotas *quotas, uint64_t seed, size_t pending_max,
                                 const lanepool_allocator *allocator);
/* Calls `visit` for the quotas that are left: those with limits of their own. */
void lanepool_i_lane_quotas_fini(lanepool_i_lane_quotas *quotas,
                                 void (*visit)(lanepool_i_key *key, void *context), void *context);

/* Adds a reference to the quota of the candidate's key, and returns it. If the key has no quota
 * yet, the candidate becomes it; otherwise the candidate is chained in *spare. */
lanepool_i_lane_quota *lanepool_i_lane_quotas_reference(lanepool_i_lane_quotas *quotas,
                                                        lanepool_i_lane_quota *candidate,
                                                        lanepool_i_key **spare);
/* Drops a reference. A quota that is no longer needed is chained in *spare. */
void lanepool_i_lane_quotas_unreference(lanepool_i_lane_quotas *quotas,
                                        lanepool_i_lane_quota *quota, lanepool_i_key **spare);

/* Adds a reference to each quota that the charge names, as lanepool_i_lane_quotas_reference() does.
 * Merges duplicates. */
void lanepool_i_lane_quotas_enter(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge,
                                  lanepool_i_key **spare);
/* Drops the references of a charge; its task no longer counts. */
void lanepool_i_lane_quotas_leave(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge,
                                  lanepool_i_key **spare);

/* Begins a walk over blocked submitters, oldest first. */
void lanepool_i_lane_quotas_begin_walk(lanepool_i_lane_quotas *quotas);
/* Returns true if all quotas of the charge have room, and no submitter that this walk has passed
 * waits for one of them. Otherwise the charge's submitter counts as one that waits for all of them.
 */
bool lanepool_i_lane_quotas_fit(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge);
/* Counts an admitted task in its quotas. */
void lanepool_i_lane_quotas_count(lanepool_i_charge *charge);

/* Returns a key's quota, or NULL. */
const lanepool_i_lane_quota *lanepool_i_lane_quotas_find(const lanepool_i_lane_quotas *quotas,
                                                         const lanepool_i_key *key);

static inline uint64_t lanepool_i_lane_quota_max(const lanepool_i_lane_quotas *quotas,
                                                 const lanepool_i_lane_quota *quota)
{
    return quota != NULL && quota->pending_max != 0 ? quota->pending_max : quotas->pending_max;
}

#endif
