/* Owns the buckets: creates, splits, joins and sweeps them; see key_index.h. */
#include "base/key_index.h"

uint32_t lanepool_i_key_index_hash_bytes(uint64_t seed, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = lanepool_i_key_index_mix(seed, size);
    for (; size > 0;) {
        uint64_t part = 0;
        size_t length = size < sizeof part ? size : sizeof part;
        memcpy(&part, bytes, length);
        hash = lanepool_i_key_index_mix(hash ^ part, seed + length);
        bytes += length;
        size -= length;
    }
    return lanepool_i_key_index_finish_hash(hash);
}

static size_t segment_size(size_t segment)
{
    size_t size = (size_t)1 << segment;
    return size < LANEPOOL_I_FIRST_BUCKETS ? LANEPOOL_I_FIRST_BUCKETS : size;
}

static bool ensure_segment(lanepool_i_key_index *index, size_t segment)
{
    if (segment >= LANEPOOL_I_SEGMENTS)
        return false;
    if (index->segments[segment] == NULL)
        index->segments[segment] = lanepool_i_allocate(
            index->allocator, segment_size(segment) * sizeof(lanepool_i_key_bucket));
    return index->segments[segment] != NULL;
}

static void free_segment(lanepool_i_key_index *index, size_t segment)
{
    lanepool_i_deallocate(index->allocator, index->segments[segment],
                          segment_size(segment) * sizeof(lanepool_i_key_bucket));
    index->segments[segment] = NULL;
}

static const lanepool_i_key_slot empty_slot = { UINT64_MAX, LANEPOOL_I_SLOT_EMPTY };

static bool is_empty(const lanepool_i_key_slot *slot)
{
    return slot->key == LANEPOOL_I_SLOT_EMPTY;
}

static void clear_bucket(lanepool_i_key_bucket *bucket)
{
    for (size_t i = 0; i < LANEPOOL_I_BUCKET_SLOTS; i++)
        bucket->slots[i] = empty_slot;
}

bool lanepool_i_key_index_init(lanepool_i_key_index *index, uint64_t seed,
                               const lanepool_allocator *allocator)
{
    memset(index, 0, sizeof *index);
    index->seed = seed;
    index->allocator = allocator;
    if (!ensure_segment(index, lanepool_i_key_index_segment(0)))
        return false;
    index->bucket_count = LANEPOOL_I_FIRST_BUCKETS;
    index->half = LANEPOOL_I_FIRST_BUCKETS;
    for (size_t i = 0; i < LANEPOOL_I_FIRST_BUCKETS; i++)
        clear_bucket(lanepool_i_key_index_bucket(index, i));
    return true;
}

void lanepool_i_key_index_fini(lanepool_i_key_index *index)
{
    for (size_t i = 0; i < LANEPOOL_I_SEGMENTS; i++)
        free_segment(index, i);
}

/* --- one bucket --- */

static lanepool_i_key_slot *last_slot(lanepool_i_key_bucket *bucket)
{
    return &bucket->slots[LANEPOOL_I_BUCKET_SLOTS - 1];
}

static lanepool_i_key_slot slot_of(lanepool_i_key *key, bool used)
{
    bool is_bytes = key->type == LANEPOOL_I_TYPE_BYTES;
    return (lanepool_i_key_slot){ .value = is_bytes ? key->hash : key->value.id,
                                  .key = (uintptr_t)key | key->type |
                                         (used ? LANEPOOL_I_SLOT_USED : 0) };
}

static bool is_full(const lanepool_i_key_bucket *bucket)
{
    for (size_t i = 0; i < LANEPOOL_I_BUCKET_SLOTS; i++)
        if (is_empty(&bucket->slots[i]))
            return false;
    return true;
}

/* Returns the first key that found no slot, or NULL. */
static lanepool_i_key *first_chained(lanepool_i_key_bucket *bucket)
{
    return is_full(bucket) ? lanepool_i_slot_key(last_slot(bucket))->next : NULL;
}

/* Returns the slot for a key with this hash. NULL: the bucket is full. */
static lanepool_i_key_slot *free_slot(lanepool_i_key_bucket *bucket, uint32_t hash)
{
    lanepool_i_key_slot *slot = lanepool_i_bucket_home(bucket, hash);
    for (size_t i = 0; i < LANEPOOL_I_BUCKET_SLOTS && !is_empty(slot); i++)
        slot = &bucket->slots[i];
    return is_empty(slot) ? slot : NULL;
}

static void put_into_bucket(lanepool_i_key_bucket *bucket, lanepool_i_key *key, bool used)
{
    lanepool_i_key_slot *slot = free_slot(bucket, key->hash);
    key->next = NULL;
    if (slot != NULL) {
        *slot = slot_of(key, used);
        return;
    }
    lanepool_i_key *last = lanepool_i_slot_key(last_slot(bucket));
    key->used = used;
    key->next = last->next;
    last->next = key;
}

/* Empties slot `i`, or moves the first key of the chain into it. */
static void remove_from_slot(lanepool_i_key_bucket *bucket, size_t i)
{
    lanepool_i_key_slot *slot = &bucket->slots[i];
    lanepool_i_key *chained = first_chained(bucket);
    if (chained == NULL) {
        *slot = empty_slot;
        return;
    }
    if (slot != last_slot(bucket))
        lanepool_i_slot_key(last_slot(bucket))->next = chained->next;
    *slot = slot_of(chained, chained->used);
}

/* Empties the bucket. Returns its keys, linked through `next`, with `used` set in each. */
static lanepool_i_key *empty_bucket(lanepool_i_key_bucket *bucket)
{
    lanepool_i_key *keys = first_chained(bucket);
    for (size_t i = 0; i < LANEPOOL_I_BUCKET_SLOTS; i++) {
        if (is_empty(&bucket->slots[i]))
            continue;
        lanepool_i_key *key = lanepool_i_slot_key(&bucket->slots[i]);
        key->used = (bucket->slots[i].key & LANEPOOL_I_SLOT_USED) != 0;
        key->next = keys;
        keys = key;
    }
    clear_bucket(bucket);
    return keys;
}

lanepool_i_key *lanepool_i_key_bucket_find_word(lanepool_i_key_bucket *bucket, uint64_t value,
                                                uint32_t type)
{
    for (size_t i = 0; i < LANEPOOL_I_BUCKET_SLOTS; i++)
        if (lanepool_i_slot_has(&bucket->slots[i], value, type))
            return lanepool_i_slot_found(&bucket->slots[i]);
    lanepool_i_key *key = first_chained(bucket);
    while (key != NULL && (key->value.id != value || key->type != type))
        key = key->next;
    if (key != NULL)
        key->used = 1;
    return key;
}

static lanepool_i_key *find_bytes(const lanepool_i_key_index *index, const lanepool_i_key *wanted)
{
    lanepool_i_key_bucket *bucket = lanepool_i_key_index_bucket_of(index, wanted->hash);
    for (size_t i = 0; i < LANEPOOL_I_BUCKET_SLOTS; i++)
        if (lanepool_i_slot_has(&bucket->slots[i], wanted->hash, LANEPOOL_I_TYPE_BYTES) &&
            lanepool_i_key_equals(lanepool_i_slot_key(&bucket->slots[i]), wanted))
            return lanepool_i_slot_found(&bucket->slots[i]);
    lanepool_i_key *key = first_chained(bucket);
    while (key != NULL && !lanepool_i_key_equals(key, wanted))
        key = key->next;
    if (key != NULL)
        key->used = 1;
    return key;
}

lanepool_i_key *lanepool_i_key_index_find(const lanepool_i_key_index *index,
                                          const lanepool_i_key *wanted)
{
    return wanted->type == LANEPOOL_I_TYPE_BYTES
               ? find_bytes(index, wanted)
               : lanepool_i_key_bucket_find_word(
                     lanepool_i_key_index_bucket_of(index, wanted->hash), wanted->value.id,
                     wanted->type);
}

/* --- the buckets --- */

/* Puts keys that are linked through `next` into the buckets that their hashes belong to now. */
static void redistribute_keys(lanepool_i_key_index *index, lanepool_i_key *keys)
{
    while (keys != NULL) {
        lanepool_i_key *key = keys;
        keys = key->next;
        put_into_bucket(lanepool_i_key_index_bucket_of(index, key->hash), key, key->used);
    }
}

/* Sets the number of buckets, and `half` with it. */
static void set_bucket_count(lanepool_i_key_index *index, size_t count)
{
    index->bucket_count = count;
    index->half = (size_t)1 << (63 - __builtin_clzll(count));
}

static void add_bucket(lanepool_i_key_index *index)
{
    size_t added = index->bucket_count;
    if (!ensure_segment(index, lanepool_i_key_index_segment(added)))
        return;
    lanepool_i_key *keys = empty_bucket(lanepool_i_key_index_bucket(index, added - index->half));
    clear_bucket(lanepool_i_key_index_bucket(index, added));
    set_bucket_count(index, added + 1);
    redistribute_keys(index, keys);
}

void lanepool_i_key_index_add(lanepool_i_key_index *index, lanepool_i_key *key)
{
    if (index->key_count >= LANEPOOL_I_KEYS_PER_BUCKET * index->bucket_count)
        add_bucket(index);
    put_into_bucket(lanepool_i_key_index_bucket_of(index, key->hash), key, false);
    index->key_count++;
}

/* --- sweeping --- */

/* A sweep: which keys it may remove, and which it has removed. */
struct sweep {
    bool all;
    bool (*is_idle)(const struct lanepool_i_lane *lane, const void *context);
    const void *context;
    lanepool_i_key *removed;
    size_t removed_count;
};

/* A key found since the last sweep gets a second chance; otherwise lanes of rarely used keys would
 * be created and removed all the time. */
static bool is_swept_away(const struct sweep *sweep, const lanepool_i_key *key, bool was_used)
{
    return (sweep->all || !was_used) && key->handle_count == 0 &&
           sweep->is_idle((const struct lanepool_i_lane *)key, sweep->context);
}

static void add_removed(struct sweep *sweep, lanepool_i_key *key)
{
    key->next = sweep->removed;
    sweep->removed = key;
    sweep->removed_count++;
}

/* A key that is moved into the slot of a removed one has not been visited yet. */
static void sweep_slot(lanepool_i_key_bucket *bucket, size_t i, struct sweep *sweep)
{
    lanepool_i_key_slot *slot = &bucket->slots[i];
    while (!is_empty(slot)) {
        lanepool_i_key *key = lanepool_i_slot_key(slot);
        bool was_used = (slot->key & LANEPOOL_I_SLOT_USED) != 0;
        slot->key &= ~LANEPOOL_I_SLOT_USED;
        if (!is_swept_away(sweep, key, was_used))
            return;
        remove_from_slot(bucket, i);
        add_removed(sweep, key);
    }
}

static void sweep_chain(lanepool_i_key_bucket *bucket, struct sweep *sweep)
{
    if (!is_full(bucket))
        return;
    lanepool_i_key **at = &lanepool_i_slot_key(last_slot(bucket))->next;
    while (*at != NULL) {
        lanepool_i_key *key = *at;
        bool was_used = key->used;
        key->used = 0;
        if (is_swept_away(sweep, key, was_used)) {
            *at = key->next;
            add_removed(sweep, key);
        } else {
            at = &key->next;
        }
    }
}

void lanepool_i_key_index_sweep(lanepool_i_key_index *index, size_t bucket_count, bool all,
                                bool (*is_idle)(const struct lanepool_i_lane *lane,
                                                const void *context),
                                const void *context, lanepool_i_key **removed)
{
    struct sweep sweep = { all, is_idle, context, *removed, 0 };
    for (size_t i = 0; i < bucket_count; i++) {
        if (index->hand >= index->bucket_count)
            index->hand = 0;
        lanepool_i_key_bucket *bucket = lanepool_i_key_index_bucket(index, index->hand++);
        for (size_t slot = 0; slot < LANEPOOL_I_BUCKET_SLOTS; slot++)
            sweep_slot(bucket, slot, &sweep);
        sweep_chain(bucket, &sweep);
    }
    *removed = sweep.removed;
    index->key_count -= sweep.removed_count;
}

/* Joins the last bucket with the one that it was split from. Frees a segment with its first
 * bucket. */
static void join_last_bucket(lanepool_i_key_index *index)
{
    size_t last = index->bucket_count - 1;
    lanepool_i_key *keys = empty_bucket(lanepool_i_key_index_bucket(index, last));
    set_bucket_count(index, last);
    redistribute_keys(index, keys);
    size_t segment = lanepool_i_key_index_segment(last);
    if (segment != lanepool_i_key_index_segment(last - 1))
        free_segment(index, segment);
}

static bool has_buckets_for(const lanepool_i_key_index *index, size_t times)
{
    return index->bucket_count > LANEPOOL_I_FIRST_BUCKETS &&
           index->bucket_count > times * index->key_count;
}

bool lanepool_i_key_index_shrink(lanepool_i_key_index *index, size_t bucket_count)
{
    for (size_t i = 0; i < bucket_count && has_buckets_for(index, 1); i++)
        join_last_bucket(index);
    return has_buckets_for(index, 1);
}

static void remove_from_bucket(lanepool_i_key_bucket *bucket, const lanepool_i_key *key)
{
    for (size_t i = 0; i < LANEPOOL_I_BUCKET_SLOTS; i++)
        if (lanepool_i_slot_key(&bucket->slots[i]) == key) {
            remove_from_slot(bucket, i);
            return;
        }
    lanepool_i_key **at = &lanepool_i_slot_key(last_slot(bucket))->next;
    while (*at != key)
        at = &(*at)->next;
    *at = key->next;
}

/* Joins up to BUCKETS_PER_KEY buckets for each key, which keeps the bound even if all keys are
 * removed. */
void lanepool_i_key_index_remove(lanepool_i_key_index *index, lanepool_i_key *key)
{
    remove_from_bucket(lanepool_i_key_index_bucket_of(index, key->hash), key);
    index->key_count--;
    for (int i = 0;
         i < LANEPOOL_I_BUCKETS_PER_KEY && has_buckets_for(index, LANEPOOL_I_BUCKETS_PER_KEY); i++)
        join_last_bucket(index);
}

static void visit_bucket(lanepool_i_key_bucket *bucket,
                         void (*visit)(lanepool_i_key *key, void *context), void *context)
{
    lanepool_i_key *chained = first_chained(bucket);
    for (size_t i = 0; i < LANEPOOL_I_BUCKET_SLOTS; i++)
        if (!is_empty(&bucket->slots[i]))
            visit(lanepool_i_slot_key(&bucket->slots[i]), context);
    while (chained != NULL) {
        lanepool_i_key *next = chained->next;
        visit(chained, context);
        chained = next;
    }
}

void lanepool_i_key_index_each(lanepool_i_key_index *index,
                               void (*visit)(lanepool_i_key *key, void *context), void *context)
{
    for (size_t bucket = 0; bucket < index->bucket_count; bucket++)
        visit_bucket(lanepool_i_key_index_bucket(index, bucket), visit, context);
}
