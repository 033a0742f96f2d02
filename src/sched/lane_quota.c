/* Owns the stripes and their quotas; see lane_quota.h. */
#include "sched/lane_quota.h"

#include "base/planted.h"

/* Bits of a hash that name neither a bucket of a small index nor a slot. */
#define STRIPE_SHIFT         24
#define SWEPT_FOR_EACH_ADDED ((size_t)2)
/* With no more quotas than this in a stripe, idle ones are removed only by a trim. */
#define RESERVE (LANEPOOL_I_RESERVE_LANES / LANEPOOL_I_QUOTA_STRIPES)

_Static_assert(LANEPOOL_I_QUOTA_STRIPES <= LANEPOOL_I_STRIPES_MAX,
               "a thread may hold the locks of all stripes");

/* A set of stripes: a bit for each. */
typedef uint32_t stripe_set;

static size_t stripe_number(const lanepool_i_key *key)
{
    return key->hash >> STRIPE_SHIFT & (LANEPOOL_I_QUOTA_STRIPES - 1);
}

static lanepool_i_quota_stripe *stripe_of(const lanepool_i_lane_quotas *quotas,
                                          const lanepool_i_key *key)
{
    return &quotas->stripes[stripe_number(key)];
}

/* --- creation and end --- */

static void fini_stripes(lanepool_i_lane_quotas *quotas, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lanepool_i_key_index_fini(&quotas->stripes[i].index);
    }
    lanepool_i_deallocate(quotas->allocator, quotas->stripes,
                          LANEPOOL_I_QUOTA_STRIPES * sizeof *quotas->stripes);
}

static bool init_stripe(lanepool_i_quota_stripe *stripe, uint64_t seed,
                        const lanepool_allocator *allocator)
{
    stripe->merges = 0;
    lanepool_i_word_lock_init(&stripe->lock, LANEPOOL_I_LOCK_LANE_QUOTAS);
    return lanepool_i_key_index_init(&stripe->index, seed, allocator);
}

bool lanepool_i_lane_quotas_init(lanepool_i_lane_quotas *quotas, uint64_t seed, size_t pending_max,
                                 const lanepool_allocator *allocator)
{
    quotas->pending_max = pending_max;
    quotas->walk = 0;
    quotas->allocator = allocator;
    quotas->stripes =
        lanepool_i_allocate(allocator, LANEPOOL_I_QUOTA_STRIPES * sizeof *quotas->stripes);
    if (quotas->stripes == NULL)
        return false;
    for (size_t i = 0; i < LANEPOOL_I_QUOTA_STRIPES; i++) {
        if (init_stripe(&quotas->stripes[i], seed, allocator))
            continue;
        fini_stripes(quotas, i);
        quotas->stripes = NULL;
        return false;
    }
    return true;
}

void lanepool_i_lane_quotas_fini(lanepool_i_lane_quotas *quotas,
                                 void (*visit)(lanepool_i_key *key, void *context), void *context)
{
    if (quotas->stripes == NULL)
        return;
    for (size_t i = 0; i < LANEPOOL_I_QUOTA_STRIPES; i++)
        lanepool_i_key_index_each(&quotas->stripes[i].index, visit, context);
    fini_stripes(quotas, LANEPOOL_I_QUOTA_STRIPES);
}

/* --- locks --- */

static void lock_stripes(lanepool_i_lane_quotas *quotas, stripe_set set)
{
    for (; set != 0; set &= set - 1)
        lanepool_i_word_lock_lock(&quotas->stripes[__builtin_ctz(set)].lock);
}

static void unlock_stripes(lanepool_i_lane_quotas *quotas, stripe_set set)
{
    for (; set != 0; set &= set - 1)
        lanepool_i_word_lock_unlock(&quotas->stripes[__builtin_ctz(set)].lock);
}

static stripe_set stripes_of_charge(lanepool_i_charge *charge)
{
    lanepool_i_lane_quota *const *charged = lanepool_i_charge_quotas(charge);
    stripe_set set = 0;
    for (size_t i = 0; i < charge->count; i++)
        set |= (stripe_set)1 << stripe_number(&charged[i]->key);
    return set;
}

/* --- the table --- */

static inline lanepool_i_lane_quota *find_locked(const lanepool_i_quota_stripe *stripe,
                                                 const lanepool_i_key *key)
{
    return (
        lanepool_i_lane_quota *)(key->type == LANEPOOL_I_TYPE_BYTES
                                     ? lanepool_i_key_index_find(&stripe->index, key)
                                     : lanepool_i_key_index_find_hashed(&stripe->index, key->hash,
                                                                        key->value.id, key->type));
}

lanepool_i_lane_quota *lanepool_i_lane_quotas_reference(lanepool_i_lane_quotas *quotas,
                                                        const lanepool_i_key *key)
{
    lanepool_i_quota_stripe *stripe = stripe_of(quotas, key);
    lanepool_i_word_lock_lock(&stripe->lock);
    lanepool_i_lane_quota *quota = find_locked(stripe, key);
    if (quota != NULL)
        quota->references++;
    lanepool_i_word_lock_unlock(&stripe->lock);
    return quota;
}

/* The last access of a task that ends is its change of `ended`. It happens before this read, so the
 * quota may be freed. */
static bool is_idle_quota(const struct lanepool_i_lane *front, const void *context)
{
    (void)context;
    const lanepool_i_lane_quota *quota = (const lanepool_i_lane_quota *)front;
    return quota->references == 0 && quota->pending_max == 0 &&
           quota->admitted == load_acquire(&quota->ended);
}

lanepool_i_lane_quota *lanepool_i_lane_quotas_add(lanepool_i_lane_quotas *quotas,
                                                  lanepool_i_lane_quota *candidate,
                                                  lanepool_i_key **spare)
{
    lanepool_i_quota_stripe *stripe = stripe_of(quotas, &candidate->key);
    lanepool_i_word_lock_lock(&stripe->lock);
    lanepool_i_lane_quota *quota = find_locked(stripe, &candidate->key);
    if (quota == NULL) {
        quota = candidate;
        quota->references = 1;
        lanepool_i_key_index_add(&stripe->index, &quota->key);
        if (stripe->index.key_count > RESERVE)
            lanepool_i_key_index_sweep(&stripe->index, SWEPT_FOR_EACH_ADDED, false, is_idle_quota,
                                       NULL, spare);
    } else {
        quota->references++;
        candidate->key.next = *spare;
        *spare = &candidate->key;
    }
    lanepool_i_word_lock_unlock(&stripe->lock);
    return quota;
}

void lanepool_i_lane_quotas_unreference(lanepool_i_lane_quotas *quotas,
                                        lanepool_i_lane_quota *quota)
{
    lanepool_i_quota_stripe *stripe = stripe_of(quotas, &quota->key);
    lanepool_i_word_lock_lock(&stripe->lock);
    quota->references--;
    lanepool_i_word_lock_unlock(&stripe->lock);
}

/* The number of the merge, which is the stripe's own, detects duplicates. */
void lanepool_i_lane_quotas_merge(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge)
{
    lanepool_i_lane_quota **charged = lanepool_i_charge_quotas(charge);
    stripe_set set = stripes_of_charge(charge);
    uint32_t count = 0;
    lock_stripes(quotas, set);
    for (stripe_set left = set; left != 0; left &= left - 1)
        quotas->stripes[__builtin_ctz(left)].merges++;
    for (size_t i = 0; i < charge->count; i++) {
        lanepool_i_lane_quota *quota = charged[i];
        uint64_t merge = stripe_of(quotas, &quota->key)->merges;
        if (quota->merged == merge) {
            quota->references--;
            continue;
        }
        quota->merged = merge;
        charged[count++] = quota;
    }
    unlock_stripes(quotas, set);
    charge->count = count;
}

/* --- counting --- */

static uint64_t max_of(const lanepool_i_lane_quotas *quotas, const lanepool_i_lane_quota *quota)
{
    return quota->pending_max != 0 ? quota->pending_max : quotas->pending_max;
}

/* In the total order: a submitter that finds no room has raised `waiting` before, or does so and
 * checks once more. */
static bool find_room(const lanepool_i_lane_quotas *quotas, lanepool_i_lane_quota *quota)
{
    uint64_t ended = load_seq(&quota->ended);
    uint64_t most = max_of(quotas, quota);
    quota->room_until = most < UINT64_MAX - ended ? ended + most : UINT64_MAX;
    return quota->admitted < quota->room_until;
}

static inline bool has_room(const lanepool_i_lane_quotas *quotas, lanepool_i_lane_quota *quota)
{
    return __builtin_expect(quota->admitted < quota->room_until, 1) || find_room(quotas, quota);
}

/* Returns true if no submitter is blocked. NULL: the caller is the one whose turn it is. Relaxed: a
 * blocked submitter raises *waiting before it locks the stripes to check its quotas. So if it has
 * checked them before, this thread sees it. */
static inline bool is_queue_empty(const _Atomic uint32_t *waiting)
{
    return waiting == NULL || load_relaxed(waiting) == 0;
}

lanepool_i_lane_quota *lanepool_i_lane_quotas_count_key(lanepool_i_lane_quotas *quotas,
                                                        const lanepool_i_key *key,
                                                        const _Atomic uint32_t *waiting)
{
    lanepool_i_quota_stripe *stripe = stripe_of(quotas, key);
    lanepool_i_word_lock_lock(&stripe->lock);
    lanepool_i_lane_quota *quota = is_queue_empty(waiting) ? find_locked(stripe, key) : NULL;
    if (quota != NULL && has_room(quotas, quota))
        quota->admitted++;
    else
        quota = NULL;
    lanepool_i_word_lock_unlock(&stripe->lock);
    return quota;
}

bool lanepool_i_lane_quotas_count_keys(lanepool_i_lane_quotas *quotas, const lanepool_i_key *first,
                                       const lanepool_i_key *second,
                                       const _Atomic uint32_t *waiting,
                                       lanepool_i_lane_quota *found[2])
{
    lanepool_i_quota_stripe *stripes[2] = { stripe_of(quotas, first), stripe_of(quotas, second) };
    stripe_set set = (stripe_set)1 << stripe_number(first) | (stripe_set)1 << stripe_number(second);
    lock_stripes(quotas, set);
    found[0] = find_locked(stripes[0], first);
    found[1] = find_locked(stripes[1], second);
    bool fits = is_queue_empty(waiting) && found[0] != NULL && found[1] != NULL &&
                has_room(quotas, found[0]) &&
                (has_room(quotas, found[1]) || PLANTED(LANE_OVERFILLED));
    if (fits) {
        found[0]->admitted++;
        found[1]->admitted += found[1] != found[0];
    }
    unlock_stripes(quotas, set);
    return fits;
}

static bool have_room(const lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge)
{
    lanepool_i_lane_quota **charged = lanepool_i_charge_quotas(charge);
    for (size_t i = 0; i < charge->count; i++)
        if (!has_room(quotas, charged[i]) && !(i > 0 && PLANTED(LANE_OVERFILLED)))
            return false;
    return true;
}

static void count_locked(lanepool_i_charge *charge)
{
    lanepool_i_lane_quota **charged = lanepool_i_charge_quotas(charge);
    for (size_t i = 0; i < charge->count; i++) {
        charged[i]->admitted++;
        charged[i]->references--;
    }
    charge->counted = true;
}

bool lanepool_i_lane_quotas_count(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge,
                                  const _Atomic uint32_t *waiting)
{
    stripe_set set = stripes_of_charge(charge);
    lock_stripes(quotas, set);
    bool fits = is_queue_empty(waiting) && have_room(quotas, charge);
    if (fits)
        count_locked(charge);
    unlock_stripes(quotas, set);
    return fits;
}

void lanepool_i_lane_quotas_force(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge)
{
    stripe_set set = stripes_of_charge(charge);
    lock_stripes(quotas, set);
    count_locked(charge);
    unlock_stripes(quotas, set);
}

void lanepool_i_lane_quotas_drop(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge)
{
    lanepool_i_lane_quota **charged = lanepool_i_charge_quotas(charge);
    for (size_t i = 0; i < charge->count; i++)
        lanepool_i_lane_quotas_unreference(quotas, charged[i]);
}

void lanepool_i_lane_quotas_begin_walk(lanepool_i_lane_quotas *quotas)
{
    quotas->walk++;
}

bool lanepool_i_lane_quotas_count_in_turn(lanepool_i_lane_quotas *quotas, lanepool_i_charge *charge)
{
    lanepool_i_lane_quota **charged = lanepool_i_charge_quotas(charge);
    bool is_first = true;
    for (size_t i = 0; i < charge->count && is_first; i++)
        is_first = charged[i]->seen != quotas->walk;
    if (is_first && lanepool_i_lane_quotas_count(quotas, charge, NULL))
        return true;
    for (size_t i = 0; i < charge->count; i++)
        charged[i]->seen = quotas->walk;
    return false;
}

/* --- limits and snapshots --- */

void lanepool_i_lane_quotas_set_max(lanepool_i_lane_quotas *quotas, lanepool_i_lane_quota *quota,
                                    uint64_t pending_max)
{
    lanepool_i_quota_stripe *stripe = stripe_of(quotas, &quota->key);
    lanepool_i_word_lock_lock(&stripe->lock);
    quota->pending_max = pending_max;
    quota->room_until = 0;
    lanepool_i_word_lock_unlock(&stripe->lock);
}

void lanepool_i_lane_quotas_read(lanepool_i_lane_quotas *quotas, const lanepool_i_key *key,
                                 uint64_t *pending, uint64_t *pending_max)
{
    lanepool_i_quota_stripe *stripe = stripe_of(quotas, key);
    lanepool_i_word_lock_lock(&stripe->lock);
    const lanepool_i_lane_quota *quota = find_locked(stripe, key);
    *pending = quota != NULL ? quota->admitted - load_acquire(&quota->ended) : 0;
    *pending_max = quota != NULL ? max_of(quotas, quota) : quotas->pending_max;
    lanepool_i_word_lock_unlock(&stripe->lock);
}

/* --- trimming --- */

bool lanepool_i_lane_quotas_trim_some(lanepool_i_lane_quotas *quotas, lanepool_i_quota_trim *trim,
                                      lanepool_i_key **spare)
{
    if (trim->stripe == LANEPOOL_I_QUOTA_STRIPES)
        return false;
    lanepool_i_quota_stripe *stripe = &quotas->stripes[trim->stripe];
    lanepool_i_word_lock_lock(&stripe->lock);
    bool more = true;
    if (trim->swept < stripe->index.bucket_count)
        lanepool_i_key_index_sweep(&stripe->index, LANEPOOL_I_TRIM_BUCKETS, true, is_idle_quota,
                                   NULL, spare);
    else
        more = lanepool_i_key_index_shrink(&stripe->index, LANEPOOL_I_TRIM_BUCKETS);
    lanepool_i_word_lock_unlock(&stripe->lock);
    if (more)
        trim->swept += LANEPOOL_I_TRIM_BUCKETS;
    else
        *trim = (lanepool_i_quota_trim){ .stripe = trim->stripe + 1 };
    return true;
}
