/* Owns the memory of charges and quotas, which are blocks of the slab; see lane_limit.h. */
#include "feature/lane_limit.h"

#include "core/task_build.h"
#include "route/program_key.h"

#include <string.h>

extern const lanepool_i_feature lanepool_i_feature_lane_limit;

#define QUOTA_CLASS 1

_Static_assert(sizeof(lanepool_i_lane_quota) <= LANEPOOL_I_BLOCK_MIN << QUOTA_CLASS,
               "a quota is a block of this class");

/* --- memory --- */

static void give_key(lanepool_pool *pool, lanepool_i_thread_record *record,
                     const lanepool_i_key *key)
{
    if (key->type == LANEPOOL_I_TYPE_BYTES)
        lanepool_i_key_bytes_give(pool, record, key->value.bytes);
}

static void give_quotas(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_key *spare)
{
    while (spare != NULL) {
        lanepool_i_key *next = spare->next;
        give_key(pool, record, spare);
        lanepool_i_slab_give(&pool->slab, &record->cache, QUOTA_CLASS, spare);
        spare = next;
    }
}

/* Makes a quota, which takes over the key's bytes. */
static lanepool_i_lane_quota *make_quota(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         const lanepool_i_key *key)
{
    lanepool_i_lane_quota *quota =
        lanepool_i_slab_take(&pool->slab, &record->cache, QUOTA_CLASS, sizeof *quota);
    if (quota == NULL)
        return NULL;
    memset(quota, 0, sizeof *quota);
    quota->key = *key;
    return quota;
}

/* --- referencing quotas --- */

lanepool_i_lane_quota *lanepool_i_lane_limits_reference_quota(lanepool_pool *pool,
                                                              lanepool_i_thread_record *record,
                                                              lanepool_key key)
{
    lanepool_i_key wanted;
    if (key.type == LANEPOOL_KEY_LANE)
        return lanepool_i_lane_quotas_reference(&pool->lane_quotas, &key.lane->quota->key);
    if (!lanepool_i_key_of_program(pool, record, key, &wanted))
        return NULL;
    lanepool_i_lane_quota *quota = lanepool_i_lane_quotas_reference(&pool->lane_quotas, &wanted);
    lanepool_i_lane_quota *made = quota == NULL ? make_quota(pool, record, &wanted) : NULL;
    if (made == NULL) {
        give_key(pool, record, &wanted);
        return quota;
    }
    lanepool_i_key *spare = NULL;
    quota = lanepool_i_lane_quotas_add(&pool->lane_quotas, made, &spare);
    give_quotas(pool, record, spare);
    return quota;
}

/* --- charges --- */

static void give_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_charge *charge)
{
    if (charge->has_block)
        lanepool_i_slab_give(&pool->slab, &record->cache, charge->class, charge->block);
    *charge = (lanepool_i_charge){ .count = 0 };
}

static void end_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                       lanepool_i_charge *charge)
{
    if (charge->counted)
        lanepool_i_charge_end(charge);
    else
        lanepool_i_lane_quotas_drop(&pool->lane_quotas, charge);
    give_charge(pool, record, charge);
}

/* Gives the charge a block, if its quotas have no place inline. Returns false if memory cannot be
 * allocated. */
static bool make_charge(lanepool_pool *pool, lanepool_i_thread_record *record, size_t claim_count,
                        lanepool_i_charge *charge)
{
    *charge = (lanepool_i_charge){ .has_block = claim_count > LANEPOOL_I_CHARGED_INLINE };
    if (!charge->has_block)
        return true;
    size_t size = claim_count * sizeof *charge->block;
    size_t class = lanepool_i_slab_class_of(size);
    charge->class = (unsigned char)class;
    charge->block = lanepool_i_slab_take(&pool->slab, &record->cache, class, size);
    charge->has_block = charge->block != NULL;
    return charge->has_block;
}

/* Charges a task without counting it. */
static lanepool_status reference_quotas(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        const lanepool_task *task, lanepool_i_charge *charge)
{
    if (!make_charge(pool, record, task->claim_count, charge))
        return LANEPOOL_NOMEM;
    lanepool_i_lane_quota **charged = lanepool_i_charge_quotas(charge);
    for (size_t i = 0; i < task->claim_count; i++) {
        charged[i] = lanepool_i_lane_limits_reference_quota(pool, record, task->claims[i].key);
        if (charged[i] == NULL) {
            end_charge(pool, record, charge);
            return LANEPOOL_NOMEM;
        }
        charge->count++;
    }
    if (charge->count > 1)
        lanepool_i_lane_quotas_merge(&pool->lane_quotas, charge);
    return LANEPOOL_OK;
}

/* Returns the claim's key, perhaps made in *made. Returns NULL if memory cannot be allocated. */
static inline const lanepool_i_key *key_of_claim(lanepool_pool *pool,
                                                 lanepool_i_thread_record *record,
                                                 const lanepool_claim *claim, lanepool_i_key *made)
{
    if (claim->key.type == LANEPOOL_KEY_LANE)
        return &claim->key.lane->quota->key;
    if (claim->key.type == LANEPOOL_KEY_ID) {
        *made =
            lanepool_i_key_of_word(pool->lane_table.index.seed, claim->key.id, LANEPOOL_I_TYPE_ID);
        return made;
    }
    return lanepool_i_key_of_program(pool, record, claim->key, made) ? made : NULL;
}

static bool count_two(lanepool_pool *pool, const lanepool_i_key *first,
                      const lanepool_i_key *second, lanepool_i_charge *charge)
{
    lanepool_i_lane_quota *found[2];
    if (!lanepool_i_lane_quotas_count_keys(&pool->lane_quotas, first, second,
                                           &pool->admission.waiting, found))
        return false;
    bool are_two = found[0] != found[1];
    *charge = (lanepool_i_charge){ .count = 1 + are_two,
                                   .counted = true,
                                   .quotas = { found[0], are_two ? found[1] : NULL } };
    return true;
}

static bool count_one(lanepool_pool *pool, const lanepool_i_key *key, lanepool_i_charge *charge)
{
    lanepool_i_lane_quota *quota =
        lanepool_i_lane_quotas_count_key(&pool->lane_quotas, key, &pool->admission.waiting);
    if (quota != NULL)
        *charge = (lanepool_i_charge){ .count = 1, .counted = true, .quotas = { quota, NULL } };
    return quota != NULL;
}

/* The common case: the keys have quotas, these have room, and no submitter waits. */
static bool count_at_once(lanepool_pool *pool, lanepool_i_thread_record *record,
                          const lanepool_task *task, lanepool_i_charge *charge)
{
    lanepool_i_key made[2];
    const lanepool_i_key *second = NULL;
    const lanepool_i_key *first = key_of_claim(pool, record, &task->claims[0], &made[0]);
    bool counted = false;
    if (first != NULL && task->claim_count == 1)
        counted = count_one(pool, first, charge);
    else if (first != NULL)
        second = key_of_claim(pool, record, &task->claims[1], &made[1]);
    if (second != NULL)
        counted = count_two(pool, first, second, charge);
    if (first == &made[0])
        give_key(pool, record, first);
    if (second == &made[1])
        give_key(pool, record, second);
    return counted;
}

/* --- tasks --- */

/* Where a wide task's block has its charge. */
static lanepool_i_charge *charge_of(const lanepool_pool *pool, lanepool_i_task *block)
{
    return lanepool_i_features_room(pool, &lanepool_i_feature_lane_limit, block);
}

/* The charge of a plain task is counted, so its room has only the quotas. */
static lanepool_i_charge take_plain_charge(lanepool_i_task *block)
{
    lanepool_i_plain_room room = lanepool_i_task_plain_room(block);
    lanepool_i_charge charge = { .counted = true };
    for (size_t i = 0; i < room.count; i++) {
        if (room.at[i] != NULL)
            charge.quotas[charge.count++] = room.at[i];
        room.at[i] = NULL;
    }
    return charge;
}

/* Takes the charge out of a block; the caller owns it. */
static lanepool_i_charge take_charge(const lanepool_pool *pool, lanepool_i_task *block)
{
    if (!lanepool_i_task_is_wide(block))
        return take_plain_charge(block);
    lanepool_i_charge *charge = charge_of(pool, block);
    lanepool_i_charge taken = *charge;
    *charge = (lanepool_i_charge){ .count = 0 };
    return taken;
}

static lanepool_status charge_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_task *task)
{
    size_t count = lanepool_i_description_entry_count(task);
    if (count == 0)
        return LANEPOOL_OK;
    if (count <= LANEPOOL_I_CHARGED_INLINE && record->lane_credits > 0 &&
        count_at_once(pool, record, task, &record->charge))
        return LANEPOOL_OK;
    return reference_quotas(pool, record, task, &record->charge);
}

/* --- cuts --- */

static bool names_quota(const lanepool_pool *pool, lanepool_key key,
                        const lanepool_i_lane_quota *quota)
{
    return lanepool_i_program_keys_are_equal(pool, key, lanepool_i_key_for_program(&quota->key));
}

/* Gives each claim of a cut the quota of its lane, and NULL to a claim whose lane an earlier one
 * names. The merged quotas are in the order of the claims. Returns false if memory cannot be
 * allocated. */
static bool number_quotas(lanepool_pool *pool, lanepool_i_thread_record *record,
                          const lanepool_task *task)
{
    lanepool_i_charge numbered;
    if (record->charge.count == task->claim_count)
        return true;
    if (!make_charge(pool, record, task->claim_count, &numbered))
        return false;
    lanepool_i_lane_quota **merged = lanepool_i_charge_quotas(&record->charge);
    lanepool_i_lane_quota **quotas = lanepool_i_charge_quotas(&numbered);
    uint32_t next = 0;
    for (size_t i = 0; i < task->claim_count; i++) {
        bool is_first =
            next < record->charge.count && names_quota(pool, task->claims[i].key, merged[next]);
        quotas[i] = is_first ? merged[next++] : NULL;
    }
    numbered.count = (uint32_t)task->claim_count;
    numbered.counted = record->charge.counted;
    give_charge(pool, record, &record->charge);
    record->charge = numbered;
    return true;
}

/* Each run of a periodic task counts everywhere. */
void lanepool_i_lane_limits_end_visit(lanepool_pool *pool, lanepool_i_task *cut, uint32_t number)
{
    if (lanepool_i_word_is_periodic(load_relaxed(&cut->word)))
        return;
    lanepool_i_lane_quota **charged = lanepool_i_charge_quotas(charge_of(pool, cut));
    lanepool_i_lane_quota_end(charged[number]);
    charged[number] = NULL;
    lanepool_i_admission_serve_after_finish(&pool->admission);
}

/* --- admission --- */

static void discharge_thread(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    end_charge(pool, record, &record->charge);
}

static lanepool_status charge_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_task *task, lanepool_i_task *block)
{
    if (lanepool_i_description_has_visits(task) && !number_quotas(pool, record, task))
        return LANEPOOL_NOMEM;
    if (lanepool_i_task_is_wide(block)) {
        *charge_of(pool, block) = record->charge;
    } else {
        lanepool_i_plain_room room = lanepool_i_task_plain_room(block);
        for (size_t i = 0; i < room.count; i++)
            room.at[i] = i < record->charge.count ? record->charge.quotas[i] : NULL;
    }
    record->charge = (lanepool_i_charge){ .count = 0 };
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

static void end_charge_of(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task)
{
    if (lanepool_i_task_is_wide(task)) {
        end_charge(pool, record, charge_of(pool, task));
        return;
    }
    lanepool_i_plain_room room = lanepool_i_task_plain_room(task);
    for (size_t i = 0; i < room.count; i++)
        if (room.at[i] != NULL)
            lanepool_i_lane_quota_end(room.at[i]);
}

void lanepool_i_lane_limits_end_charge(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_task *task)
{
    if (pool->limits_lanes)
        end_charge_of(pool, record, task);
}

/* --- memory that goes back --- */

bool lanepool_i_lane_limits_trim_some(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_quota_trim *trim)
{
    lanepool_i_key *spare = NULL;
    if (!pool->limits_lanes)
        return false;
    bool more = lanepool_i_lane_quotas_trim_some(&pool->lane_quotas, trim, &spare);
    give_quotas(pool, record, spare);
    return more;
}

/* --- for snapshots --- */

void lanepool_i_lane_limits_describe(lanepool_pool *pool, const lanepool_i_lane *lane,
                                     lanepool_snapshot_lane *described)
{
    lanepool_i_lane_quotas_read(&pool->lane_quotas, &lane->key, &described->pending,
                                &described->pending_max);
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
    .room_size = sizeof(lanepool_i_charge),
    .plain_use = LANEPOOL_I_PLAIN_POINTERS,
    .admit = charge_task,
    .unadmit = discharge_thread,
    .build = charge_block,
    .unbuild = take_charge_back,
    .hand_over = move_charge,
    .dispose = end_charge_of,
};
