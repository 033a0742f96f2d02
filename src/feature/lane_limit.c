/* Owns the memory of charges and quotas, which are blocks of the slab; see lane_limit.h. */
#include "feature/lane_limit.h"

#include "core/task_build.h"
#include "route/program_key.h"

#include <string.h>

extern const lanepool_i_feature lanepool_i_feature_lane_limit;

#define QUOTA_CLASS 0

_Static_assert(sizeof(lanepool_i_lane_quota) <= LANEPOOL_I_BLOCK_MIN,
               "a quota is a block of class 0");

/* --- memory --- */

static void give_quota(lanepool_pool *pool, lanepool_i_thread_record *record,
                       lanepool_i_lane_quota *quota)
{
    if (quota->key.type == LANEPOOL_I_TYPE_BYTES)
        lanepool_i_key_bytes_give(pool, record, quota->key.value.bytes);
    lanepool_i_slab_give(&pool->slab, &record->cache, QUOTA_CLASS, quota);
}

static void give_quotas(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_key *spare)
{
    while (spare != NULL) {
        lanepool_i_key *next = spare->next;
        give_quota(pool, record, (lanepool_i_lane_quota *)spare);
        spare = next;
    }
}

static lanepool_i_lane_quota *make_quota(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         lanepool_key key)
{
    lanepool_i_lane_quota *quota =
        lanepool_i_slab_take(&pool->slab, &record->cache, QUOTA_CLASS, sizeof *quota);
    if (quota == NULL)
        return NULL;
    memset(quota, 0, sizeof *quota);
    if (lanepool_i_key_of_program(pool, record, key, &quota->key))
        return quota;
    lanepool_i_slab_give(&pool->slab, &record->cache, QUOTA_CLASS, quota);
    return NULL;
}

static void give_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_charge *charge)
{
    lanepool_i_slab_give(&pool->slab, &record->cache, charge->class, charge);
}

/* Keys get new quotas without references; handles have quotas. NULL if memory cannot be allocated.
 */
static lanepool_i_charge *make_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      const lanepool_task *task)
{
    size_t size = sizeof(lanepool_i_charge) + task->claim_count * sizeof(lanepool_i_lane_quota *);
    size_t class = lanepool_i_slab_class_of(size);
    lanepool_i_charge *charge = lanepool_i_slab_take(&pool->slab, &record->cache, class, size);
    if (charge == NULL)
        return NULL;
    charge->class = class;
    charge->count = task->claim_count;
    charge->counted = false;
    for (size_t i = 0; i < task->claim_count; i++) {
        lanepool_key key = task->claims[i].key;
        bool by_handle = key.type == LANEPOOL_KEY_LANE;
        charge->quotas[i] = by_handle ? key.lane->quota : make_quota(pool, record, key);
        if (charge->quotas[i] != NULL)
            continue;
        while (i-- > 0)
            if (task->claims[i].key.type != LANEPOOL_KEY_LANE)
                give_quota(pool, record, charge->quotas[i]);
        give_charge(pool, record, charge);
        return NULL;
    }
    return charge;
}

/* --- tasks --- */

/* Where a block has its charge. */
static lanepool_i_charge **charge_of(const lanepool_pool *pool, lanepool_i_task *block)
{
    return lanepool_i_features_room(pool, &lanepool_i_feature_lane_limit, block);
}

/* Takes the charge out of a block; the caller owns it. */
static lanepool_i_charge *take_charge(const lanepool_pool *pool, lanepool_i_task *block)
{
    lanepool_i_charge *charge = *charge_of(pool, block);
    *charge_of(pool, block) = NULL;
    return charge;
}

static lanepool_status charge_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_task *task)
{
    if (lanepool_i_description_entry_count(task) == 0)
        return LANEPOOL_OK;
    lanepool_i_charge *charge = make_charge(pool, record, task);
    if (charge == NULL)
        return LANEPOOL_NOMEM;
    lanepool_i_key *spare = NULL;
    lanepool_i_mutex_lock(&pool->admission.lock);
    lanepool_i_lane_quotas_enter(&pool->lane_quotas, charge, &spare);
    lanepool_i_mutex_unlock(&pool->admission.lock);
    give_quotas(pool, record, spare);
    record->charge = charge;
    return LANEPOOL_OK;
}

static void end_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                       lanepool_i_charge *charge)
{
    if (charge == NULL)
        return;
    lanepool_i_key *spare = NULL;
    lanepool_i_mutex_lock(&pool->admission.lock);
    lanepool_i_lane_quotas_leave(&pool->lane_quotas, charge, &spare);
    lanepool_i_mutex_unlock(&pool->admission.lock);
    give_quotas(pool, record, spare);
    give_charge(pool, record, charge);
}

static void discharge_thread(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_charge *charge = record->charge;
    record->charge = NULL;
    end_charge(pool, record, charge);
}

static lanepool_status charge_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_task *task, lanepool_i_task *block)
{
    (void)task;
    *charge_of(pool, block) = record->charge;
    record->charge = NULL;
    return LANEPOOL_OK;
}

static void take_charge_back(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *block)
{
    record->charge = take_charge(pool, block);
}

static void move_charge(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver)
{
    *charge_of(pool, receiver) = take_charge(pool, task);
}

void lanepool_i_lane_limits_end_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_task *task)
{
    if (pool->limits_lanes)
        end_charge(pool, record, take_charge(pool, task));
}

/* --- handles --- */

lanepool_i_lane_quota *lanepool_i_lane_limits_reference_quota(lanepool_pool *pool,
                                                              lanepool_i_thread_record *record,
                                                              lanepool_key key)
{
    lanepool_i_lane_quota *quota = make_quota(pool, record, key);
    if (quota == NULL)
        return NULL;
    lanepool_i_key *spare = NULL;
    lanepool_i_mutex_lock(&pool->admission.lock);
    quota = lanepool_i_lane_quotas_reference(&pool->lane_quotas, quota, &spare);
    lanepool_i_mutex_unlock(&pool->admission.lock);
    give_quotas(pool, record, spare);
    return quota;
}

void lanepool_i_lane_limits_drop_quota(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_lane_quota *quota)
{
    lanepool_i_key *spare = NULL;
    lanepool_i_mutex_lock(&pool->admission.lock);
    lanepool_i_lane_quotas_unreference(&pool->lane_quotas, quota, &spare);
    lanepool_i_mutex_unlock(&pool->admission.lock);
    give_quotas(pool, record, spare);
}

/* --- for snapshots --- */

void lanepool_i_lane_limits_describe(lanepool_pool *pool, const lanepool_i_lane *lane,
                                     lanepool_snapshot_lane *described)
{
    lanepool_i_mutex_lock(&pool->admission.lock);
    const lanepool_i_lane_quota *quota =
        lanepool_i_lane_quotas_find(&pool->lane_quotas, &lane->key);
    uint64_t pending_max = lanepool_i_lane_quota_max(&pool->lane_quotas, quota);
    described->pending = quota != NULL ? quota->pending : 0;
    described->pending_max = pending_max;
    lanepool_i_mutex_unlock(&pool->admission.lock);
}

/* --- creation and end of the pool --- */

bool lanepool_i_lane_limits_init(lanepool_pool *pool)
{
    return !pool->limits_lanes ||
           lanepool_i_lane_quotas_init(&pool->lane_quotas, pool->lane_table.index.seed,
                                       pool->options.lane_pending_max, pool->options.allocator);
}

/* Frees a byte string that is not in the slab; the slab frees the others. */
static void free_large_bytes(lanepool_i_key *key, void *context)
{
    (void)context;
    if (key->type == LANEPOOL_I_TYPE_BYTES)
        lanepool_i_key_bytes_end(key->value.bytes);
}

void lanepool_i_lane_limits_fini(lanepool_pool *pool)
{
    if (pool->limits_lanes)
        lanepool_i_lane_quotas_fini(&pool->lane_quotas, free_large_bytes, NULL);
}

static bool has_lane_limits(const lanepool_options *options)
{
    return options->lane_pending_max != 0;
}

const lanepool_i_feature lanepool_i_feature_lane_limit = {
    .is_wanted = has_lane_limits,
    .offer = LANEPOOL_I_LANE_LIMITS,
    .all_wide = true,
    .room_size = sizeof(lanepool_i_charge *),
    .admit = charge_task,
    .unadmit = discharge_thread,
    .build = charge_block,
    .unbuild = take_charge_back,
    .hand_over = move_charge,
    .dispose = lanepool_i_lane_limits_end_charge,
};
