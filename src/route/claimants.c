/* Owns the claimants of keys, and the entries of tasks among them; see claimants.h. */
#include "route/claimants.h"

#include "route/pool.h"
#include "route/program_key.h"

lanepool_i_claim_entry *lanepool_i_claim_entries(const lanepool_pool *pool, lanepool_i_task *task)
{
    return (lanepool_i_claim_entry *)((char *)(task + 1) + pool->extension);
}

void lanepool_i_claimants_add(lanepool_i_claim_entry *entry)
{
    lanepool_i_claimants *claimants = lanepool_i_claimants_of(entry);
    store_relaxed(&entry->claim.entry.next, (uintptr_t)claimants->entries);
    entry->previous = NULL;
    if (claimants->entries != NULL)
        claimants->entries->previous = entry;
    claimants->entries = entry;
}

void lanepool_i_claimants_remove(const lanepool_i_claim_entry *entry)
{
    lanepool_i_claim_entry *next = lanepool_i_claim_next(entry);
    lanepool_i_claimants *claimants = lanepool_i_claimants_of(entry);
    if (next != NULL)
        next->previous = entry->previous;
    if (entry->previous != NULL)
        store_relaxed(&entry->previous->claim.entry.next, (uintptr_t)next);
    else
        claimants->entries = next;
}

bool lanepool_i_claimants_are_none(const lanepool_i_lane *lane, const void *pool)
{
    (void)pool;
    return ((const lanepool_i_claimants *)lane)->entries == NULL;
}

bool lanepool_i_claimants_have_claim(const lanepool_i_claim_entry *entries, size_t count,
                                     const lanepool_i_lane *lane)
{
    while (count > 0 && entries[count - 1].claim.entry.at.lane != lane)
        count--;
    return count > 0;
}

/* The thread that runs the task may ask: the keys and modes of its entries do not change. */
bool lanepool_i_claimants_have_mode(const lanepool_pool *pool,
                                    const lanepool_i_claim_entry *entries, size_t count,
                                    lanepool_claim claim)
{
    for (size_t i = 0; i < count; i++)
        if (lanepool_i_lane_is_named_by(pool, entries[i].claim.entry.at.lane, claim.key))
            return lanepool_i_mode_covers(lanepool_i_claim_mode(&entries[i]), claim.mode);
    return false;
}

/* Writes the claims over the entries. Entries are wider than claims, so no entry is overwritten
 * before it has been read. */
const lanepool_claim *lanepool_i_claimants_read_claims(lanepool_i_claim_entry *entries,
                                                       size_t count)
{
    lanepool_claim *result = (lanepool_claim *)entries;
    for (size_t i = 0; i < count; i++) {
        lanepool_i_claim_entry entry = entries[i];
        result[i] =
            lanepool_claim_of(lanepool_i_key_for_program(&lanepool_i_claimants_of(&entry)->key),
                              lanepool_i_claim_mode(&entry));
    }
    return result;
}

/* The program's rule decides which tasks of the key wait for one another, not their claims. */
void lanepool_i_claimants_census_lane(const lanepool_i_census *census, const void *address,
                                      lanepool_snapshot_lane *described, char *name, size_t size)
{
    const lanepool_i_claimants *claimants = address;
    const lanepool_i_lane *lane = address;
    described->number = lanepool_i_lane_number(lane);
    described->type = lanepool_i_lane_type(lane);
    described->granted = 0;
    described->by_rule = true;
    size_t used =
        lanepool_i_key_name(census->pool, census->record, &claimants->key, name, size - 1);
    name[used] = '\0';
}
