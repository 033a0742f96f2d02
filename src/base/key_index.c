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
        index->segments[segment] =
            lanepool_i_allocate(index->allocator, segment_size(segment) * sizeof(lanepool_i_key *));
    return index->segments[segment] != NULL;
}

static void free_segment(lanepool_i_key_index *index, size_t segment)
{
    lanepool_i_deallocate(index->allocator, index->segments[segment],
                          segment_size(segment) * sizeof(lanepool_i_key *));
    index->segments[segment] = NULL;
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
    memset(lanepool_i_key_index_bucket(index, 0), 0,
           LANEPOOL_I_FIRST_BUCKETS * sizeof(lanepool_i_key *));
    return true;
}

void lanepool_i_key_index_fini(lanepool_i_key_index *index)
{
    for (size_t i = 0; i < LANEPOOL_I_SEGMENTS; i++)
        free_segment(index, i);
}

/* Puts the keys of a chain into the buckets that their hashes belong to now. */
static void redistribute_keys(lanepool_i_key_index *index, lanepool_i_key *chain)
{
    while (chain != NULL) {
        lanepool_i_key *next = chain->next;
        lanepool_i_key **bucket = lanepool_i_key_index_bucket_of(index, chain->hash);
        chain->next = *bucket;
        *bucket = chain;
        chain = next;
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
    lanepool_i_key **split = lanepool_i_key_index_bucket(index, added - index->half);
    lanepool_i_key *chain = *split;
    *split = NULL;
    *lanepool_i_key_index_bucket(index, added) = NULL;
    set_bucket_count(index, added + 1);
    redistribute_keys(index, chain);
}

void lanepool_i_key_index_add(lanepool_i_key_index *index, lanepool_i_key *key)
{
    if (index->key_count >= index->bucket_count)
        add_bucket(index);
    lanepool_i_key **bucket = lanepool_i_key_index_bucket_of(index, key->hash);
    key->next = *bucket;
    *bucket = key;
    index->key_count++;
}

/* Returns true if the key may be removed. A key found since the last sweep gets a second chance;
 * otherwise lanes of rarely used keys would be created and removed all the time. */
static bool may_be_removed(lanepool_i_key *key, bool all,
                           bool (*is_idle)(const struct lanepool_i_lane *lane))
{
    bool used = key->used;
    key->used = 0;
    return (all || !used) && key->handle_count == 0 && is_idle((const struct lanepool_i_lane *)key);
}

void lanepool_i_key_index_sweep(lanepool_i_key_index *index, size_t bucket_count, bool all,
                                bool (*is_idle)(const struct lanepool_i_lane *lane),
                                lanepool_i_key **removed)
{
    for (size_t i = 0; i < bucket_count; i++) {
        if (index->hand >= index->bucket_count)
            index->hand = 0;
        lanepool_i_key **at = lanepool_i_key_index_bucket(index, index->hand++);
        while (*at != NULL) {
            lanepool_i_key *key = *at;
            if (!may_be_removed(key, all, is_idle)) {
                at = &key->next;
                continue;
            }
            *at = key->next;
            key->next = *removed;
            *removed = key;
            index->key_count--;
        }
    }
}

/* Joins the last bucket with the one that it was split from. Frees a segment with its first
 * bucket. */
static void join_last_bucket(lanepool_i_key_index *index)
{
    size_t last = index->bucket_count - 1;
    lanepool_i_key *chain = *lanepool_i_key_index_bucket(index, last);
    set_bucket_count(index, last);
    redistribute_keys(index, chain);
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
    for (size_t i = 0; i < bucket_count && has_buckets_for(index, 2); i++)
        join_last_bucket(index);
    return has_buckets_for(index, 2);
}

/* Joins up to BUCKETS_PER_KEY buckets for each key, which keeps the bound even if all keys are
 * removed. */
void lanepool_i_key_index_remove(lanepool_i_key_index *index, lanepool_i_key *key)
{
    lanepool_i_key **at = lanepool_i_key_index_bucket_of(index, key->hash);
    while (*at != key)
        at = &(*at)->next;
    *at = key->next;
    index->key_count--;
    for (int i = 0;
         i < LANEPOOL_I_BUCKETS_PER_KEY && has_buckets_for(index, LANEPOOL_I_BUCKETS_PER_KEY); i++)
        join_last_bucket(index);
}

void lanepool_i_key_index_each(lanepool_i_key_index *index,
                               void (*visit)(lanepool_i_key *key, void *context), void *context)
{
    for (size_t bucket = 0; bucket < index->bucket_count; bucket++)
        for (lanepool_i_key *key = *lanepool_i_key_index_bucket(index, bucket); key != NULL;) {
            lanepool_i_key *next = key->next;
            visit(key, context);
            key = next;
        }
}
