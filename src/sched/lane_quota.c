/* Owns the table of quotas; see lane_quota.h. */
#include "sched/lane_quota.h"

#include "base/planted.h"

bool lanepool_i_lane_quotas_init(lanepool_i_lane_quotas *quotas, uint64_t seed, size_t pending_max,
                                 const lanepool_allocator *allocator)
{
    quotas->pending_max = pending_max;
    quotas->walk = 0;
    return lanepool_i_key_index_init(&quotas->index, seed, allocator);
}

void lanepool_i_lane_quotas_fini(lanepool_i_lane_quotas *quotas,
                                 void (*visit)(lanepool_i_key *key, void *context), void *context)
{
    lanepool_i_key_index_each(&quotas->index, visit, context);
    lanepool_i_key_index_fini(&quotas->index);
}

static void chain_spare(lanepool_i_lane_quota *quota, lanepool_i_key **spare)
{
    quota->key.next = *spare;
    *spare = &quota->key;
}

lanepool_i_lane_quota *lanepool_i_lane_quotas_reference(lanepool_i_lane_quotas *quotas,
                                                        lanepool_i_lane_quota *candidate,
                                                        lanepool_i_key **spare)
{
    lanepool_i_lane_quota *quota =
        (lanepool_i_lane_quota *)lanepool_i_key_index_find(&quotas->index, &candidate->key);
    if (quota == NULL) {
        quota = candidate;
        lanepool_i_key_index_add(&quotas->index, &quota->key);
    } else {
        chain_spare(candidate, spare);
    }
    quota->references++;
    return quota;
}

void lanepool_i_lane_quotas_unreference(lanepool_i_lane_quotas *quotas,
                                        lanepool_i_lane_quota *quota, lanepool_i_key **spare)
{
    if (--quota->references > 0 || quota->pending_max != 0)
        return;
    lanepool_i_key_index_remove(&quotas->index, &quota->key);
    chain_spare(quota, spare);
}

/* A quota without a reference is new; the others were named by handles, which have references. A
 * walk number of its own detects duplicates. */
void lanepool_i_lane_quotas_enter(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge,
                                  lanepool_i_key **spare)
{
    size_t count = 0;
    lanepool_i_lane_quotas_begin_walk(quotas);
    for (size_t i = 0; i < charge->count; i++) {
        lanepool_i_lane_quota *quota = charge->quotas[i];
        if (quota->references == 0)
            quota = lanepool_i_lane_quotas_reference(quotas, quota, spare);
        else
            quota->references++;
        if (quota->seen == quotas->walk) {
            quota->references--;
            continue;
        }
        quota->seen = quotas->walk;
        charge->quotas[count++] = quota;
    }
    charge->count = count;
}

void lanepool_i_lane_quotas_leave(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge,
                                  lanepool_i_key **spare)
{
    for (size_t i = 0; i < charge->count; i++) {
        charge->quotas[i]->pending -= charge->counted;
        lanepool_i_lane_quotas_unreference(quotas, charge->quotas[i], spare);
    }
}

void lanepool_i_lane_quotas_begin_walk(lanepool_i_lane_quotas *quotas)
{
    quotas->walk++;
}

bool lanepool_i_lane_quotas_fit(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge)
{
    bool fits = true;
    for (size_t i = 0; charge != NULL && i < charge->count && fits; i++) {
        const lanepool_i_lane_quota *quota = charge->quotas[i];
        bool has_room = quota->pending < lanepool_i_lane_quota_max(quotas, quota) ||
                        (i > 0 && PLANTED(LANE_OVERFILLED));
        fits = has_room && quota->seen != quotas->walk;
    }
    for (size_t i = 0; !fits && i < charge->count; i++)
        charge->quotas[i]->seen = quotas->walk;
    return fits;
}

void lanepool_i_lane_quotas_count(lanepool_i_charge *charge)
{
    if (charge == NULL)
        return;
    charge->counted = true;
    for (size_t i = 0; i < charge->count; i++)
        charge->quotas[i]->pending++;
}

const lanepool_i_lane_quota *lanepool_i_lane_quotas_find(const lanepool_i_lane_quotas *quotas,
                                                         const lanepool_i_key *key)
{
    return (const lanepool_i_lane_quota *)lanepool_i_key_index_find(&quotas->index, key);
}
