/*
 * Claimants: of each key, unfinished tasks that claim it. For the program's rule with claims as its
 * scope, which has no lane for each key. The lane table finds the claimants of a key; they use the
 * memory of a lane. With lanes for workers a task's claims have the same format.
 *
 * A finished task stays among the claimants until the role's holder reaps it.
 */
#ifndef LANEPOOL_SRC_ROUTE_CLAIMANTS_H
#define LANEPOOL_SRC_ROUTE_CLAIMANTS_H

#include "route/census.h"
#include "route/router.h"

typedef struct lanepool_i_claim_entry lanepool_i_claim_entry;

/* Guard: R. */
typedef struct lanepool_i_claimants {
    lanepool_i_key key;
    uint64_t stamp;                  /* R: a lane's stamp */
    lanepool_i_claim_entry *entries; /* R: newest first */
} lanepool_i_claimants;

/* A task's claim of a key. Guard: R. */
struct lanepool_i_claim_entry {
    lanepool_i_wide_entry claim; /* its link is the next entry of the key, its lane the claimants */
    lanepool_i_claim_entry *previous; /* R: in the list of its key */
};

_Static_assert(sizeof(lanepool_i_claimants) <= sizeof(lanepool_i_lane),
               "claimants fit into a lane");
_Static_assert(offsetof(lanepool_i_claimants, stamp) == offsetof(lanepool_i_lane, use.stamp),
               "claimants begin like a lane");
_Static_assert(offsetof(lanepool_i_claim_entry, claim) == 0,
               "a claim entry begins like a wide one");

static inline lanepool_i_claimants *lanepool_i_claimants_of(const lanepool_i_claim_entry *entry)
{
    return (lanepool_i_claimants *)entry->claim.entry.at.lane;
}

static inline lanepool_i_task *lanepool_i_claim_owner(const lanepool_i_claim_entry *entry)
{
    return (lanepool_i_task *)(entry->claim.owner & LANEPOOL_I_OWNER_TASK);
}

static inline lanepool_mode lanepool_i_claim_mode(const lanepool_i_claim_entry *entry)
{
    return lanepool_i_mode_of_owner(entry->claim.owner);
}

static inline lanepool_i_claim_entry *lanepool_i_claim_next(const lanepool_i_claim_entry *entry)
{
    return (lanepool_i_claim_entry *)load_relaxed(&entry->claim.entry.next);
}

/* Returns the entries of a task; their number is the task's. */
lanepool_i_claim_entry *lanepool_i_claim_entries(const lanepool_pool *pool, lanepool_i_task *task);

/* The following are the role's holder's. */

/* Adds the entry to `entries`. */
void lanepool_i_claimants_add(lanepool_i_claim_entry *entry);
void lanepool_i_claimants_remove(const lanepool_i_claim_entry *entry);
/* Returns true if no task claims the key; for the lane table. */
bool lanepool_i_claimants_are_none(const lanepool_i_lane *lane, const void *pool);

/* For a rule's functions of these names, with the task's entries; see rule.h. */
bool lanepool_i_claimants_have_claim(const lanepool_i_claim_entry *entries, size_t count,
                                     const lanepool_i_lane *lane);
bool lanepool_i_claimants_have_mode(const lanepool_pool *pool,
                                    const lanepool_i_claim_entry *entries, size_t count,
                                    lanepool_claim claim);
const lanepool_claim *lanepool_i_claimants_read_claims(lanepool_i_claim_entry *entries,
                                                       size_t count);
void lanepool_i_claimants_census_lane(const lanepool_i_census *census, const void *claimants,
                                      lanepool_snapshot_lane *described, char *name, size_t size);

#endif
