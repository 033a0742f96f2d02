/*
 * Lane limits: for each key, how many pending tasks claim it, and how many may.
 *
 * The quotas are in a table of *stripes*. The hash of a key names its stripe, and each stripe has a
 * lock and an index of its own. A submitter locks the stripes of all keys of its task, in ascending
 * order. It checks that all quotas have room, counts the task in all of them, and unlocks. So a
 * task is admitted to all of its lanes or to none.
 *
 * The *charge* says in which quotas a task counts, once in each. A task that ends adds one to
 * `ended` of each quota, without a lock. A quota's pending tasks are those admitted less those
 * ended. `ended` is in a cache line of its own, which submitters read only when `admitted` has
 * reached `room_until`. So without a full lane, submitters and workers share no line of a quota.
 *
 * A charge that was not counted yet has a reference to each of its quotas, and so has a handle. A
 * quota without references and without pending tasks, which has no limit of its own, is *idle*.
 * Idle quotas stay in the table for a while, as idle lanes do. In a stripe with many quotas, each
 * one that is added sweeps some of them: an idle quota is removed if no submitter has found it
 * since the last sweep. A trim removes all idle ones.
 *
 * The memory of quotas is allocated before, and freed after, without a lock (lane_limit.c). Only
 * the buckets of an index are allocated and freed under the lock, a few at a time.
 */
#ifndef LANEPOOL_SRC_SCHED_LANE_QUOTA_H
#define LANEPOOL_SRC_SCHED_LANE_QUOTA_H

#include "base/atomic.h"
#include "base/key_index.h"

/* Guards: I immutable, A atomic, S the lock of the key's stripe, L the admission's lock. */
typedef struct lanepool_i_lane_quota {
    lanepool_i_key key;     /* S: its `next`; else I; owns its bytes */
    uint64_t admitted;      /* S: tasks that were counted, those that have ended included */
    uint64_t room_until;    /* S: there is room while fewer were admitted */
    uint64_t pending_max;   /* S: its own limit; 0 for the table's */
    uint64_t references;    /* S */
    uint64_t merged;        /* S: the last merge of a charge that has met it */
    _Atomic uint64_t ended; /* A: counted tasks that have ended */
    uint64_t seen;          /* L: the last walk in which a submitter had to wait for it */
} lanepool_i_lane_quota;

_Static_assert(offsetof(lanepool_i_lane_quota, ended) == 64,
               "what workers write is in another line than what submitters write");

#define LANEPOOL_I_CHARGED_INLINE 2

/* The quotas that one task is charged to. It belongs to the thread that has the task, or, while its
 * submitter is blocked, to the holder of the admission's lock. Empty if `count` is 0. */
typedef struct lanepool_i_charge {
    uint32_t count;
    bool counted;        /* the task was admitted */
    bool has_block;      /* the quotas are in a block of the slab, not inline */
    unsigned char class; /* the slab class of that block */
    union {
        lanepool_i_lane_quota *quotas[LANEPOOL_I_CHARGED_INLINE];
        lanepool_i_lane_quota **block;
    };
} lanepool_i_charge;

static inline lanepool_i_lane_quota **lanepool_i_charge_quotas(lanepool_i_charge *charge)
{
    return charge->has_block ? charge->block : charge->quotas;
}

/* Guard: S the lock. */
typedef struct lanepool_i_quota_stripe {
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_word_lock lock;
    uint64_t merges;            /* S: the number of the last merge of a charge */
    lanepool_i_key_index index; /* S */
} lanepool_i_quota_stripe;

/* The quotas of a pool. Guards: I immutable, L the admission's lock. */
typedef struct lanepool_i_lane_quotas {
    lanepool_i_quota_stripe *stripes; /* I */
    uint64_t pending_max;             /* I: UINT64_MAX without a limit */
    uint64_t walk;                    /* L: the number of the last walk over blocked submitters */
    const lanepool_allocator *allocator; /* I: NULL for the system's */
} lanepool_i_lane_quotas;

/* `seed` is the pool's, so the hashes of its keys are valid here, too. Returns false if memory
 * cannot be allocated. */
bool lanepool_i_lane_quotas_init(lanepool_i_lane_quotas *quotas, uint64_t seed, size_t pending_max,
                                 const lanepool_allocator *allocator);
/* Calls `visit` for each quota that is left. */
void lanepool_i_lane_quotas_fini(lanepool_i_lane_quotas *quotas,
                                 void (*visit)(lanepool_i_key *key, void *context), void *context);

/* Adds a reference to the key's quota, and returns it; NULL if there is none. */
lanepool_i_lane_quota *lanepool_i_lane_quotas_reference(lanepool_i_lane_quotas *quotas,
                                                        const lanepool_i_key *key);
/* Adds the candidate to the table, unless its key has a quota. Adds a reference to the key's quota,
 * and returns it. Chains quotas that the table does not need in *spare: the candidate, or idle ones
 * that were swept. */
lanepool_i_lane_quota *lanepool_i_lane_quotas_add(lanepool_i_lane_quotas *quotas,
                                                  lanepool_i_lane_quota *candidate,
                                                  lanepool_i_key **spare);
void lanepool_i_lane_quotas_unreference(lanepool_i_lane_quotas *quotas,
                                        lanepool_i_lane_quota *quota);
/* Removes duplicates from a charge with references. O(claims). */
void lanepool_i_lane_quotas_merge(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge);

/* Counts a task with one claim. Returns the quota; NULL, and changes nothing, if the key has no
 * quota, the quota has no room, or *waiting is not 0. */
lanepool_i_lane_quota *lanepool_i_lane_quotas_count_key(lanepool_i_lane_quotas *quotas,
                                                        const lanepool_i_key *key,
                                                        const _Atomic uint32_t *waiting);
/* Counts a task with two claims in the same way. `found` receives both quotas, which may be one. */
bool lanepool_i_lane_quotas_count_keys(lanepool_i_lane_quotas *quotas, const lanepool_i_key *first,
                                       const lanepool_i_key *second,
                                       const _Atomic uint32_t *waiting,
                                       lanepool_i_lane_quota *found[2]);
/* Counts the task in all quotas of its charge, and drops the charge's references. Returns false,
 * and changes nothing, if a quota has no room, or `waiting` is not NULL and *waiting not 0. */
bool lanepool_i_lane_quotas_count(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge,
                                  const _Atomic uint32_t *waiting);
/* Counts the task in the same way, even if there is no room. */
void lanepool_i_lane_quotas_force(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge);
/* Drops the references of a charge that was not counted. */
void lanepool_i_lane_quotas_drop(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge);

/* A task counts no more in the quota. In the total order: the thread reads next whether submitters
 * wait. Release: an idle quota may be freed at once. */
static inline void lanepool_i_lane_quota_end(lanepool_i_lane_quota *quota)
{
    (void)fetch_add_seq(&quota->ended, 1);
}

/* The task of a counted charge has ended. The charge of a cut has NULL for lanes in which it counts
 * no more. */
static inline void lanepool_i_charge_end(lanepool_i_charge *charge)
{
    lanepool_i_lane_quota **charged = lanepool_i_charge_quotas(charge);
    for (size_t i = 0; i < charge->count; i++)
        if (charged[i] != NULL)
            lanepool_i_lane_quota_end(charged[i]);
}

/* In these two the caller holds the admission's lock. */

/* Begins a walk over blocked submitters, oldest first. */
void lanepool_i_lane_quotas_begin_walk(lanepool_i_lane_quotas *quotas);
/* Counts the task of the next submitter, unless one that this walk has passed waits for one of its
 * quotas. Otherwise, or without room, returns false, and its submitter counts as one that waits for
 * all of them. */
bool lanepool_i_lane_quotas_count_in_turn(lanepool_i_lane_quotas *quotas,
                                          lanepool_i_charge *charge);

/* Sets a quota's own limit; 0 restores the table's. */
void lanepool_i_lane_quotas_set_max(lanepool_i_lane_quotas *quotas, lanepool_i_lane_quota *quota,
                                    uint64_t pending_max);
/* Reads how many tasks of a key are pending, and how many may be. */
void lanepool_i_lane_quotas_read(lanepool_i_lane_quotas *quotas, const lanepool_i_key *key,
                                 uint64_t *pending, uint64_t *pending_max);

/* Where a trim is. All zero at its beginning. */
typedef struct lanepool_i_quota_trim {
    size_t stripe;
    size_t swept; /* buckets of this stripe */
} lanepool_i_quota_trim;

/* Removes some idle quotas, and chains them in *spare. Returns false at the end of the trim. */
bool lanepool_i_lane_quotas_trim_some(lanepool_i_lane_quotas *quotas, lanepool_i_quota_trim *trim,
                                      lanepool_i_key **spare);

#endif
