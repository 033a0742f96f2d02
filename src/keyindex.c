/*
 * Linear hashing; see keyindex.h.
 *
 * With n buckets, let m be the largest power of two that is at most n. A hash
 * belongs to bucket h mod 2m if that exists, else to h mod m. Adding bucket n
 * splits bucket n - m alone; taking it away joins the two again.
 *
 * Buckets live in segments of doubling size that never move: segment 0 has
 * LANEPOOL_I_FIRST_BUCKETS, segment s > 0 as many as all before it.
 */
#include "keyindex.h"

#include "sizes.h"

#include <string.h>

static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD1B54A32D192ED03u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint32_t lanepool_i_keyindex_hash_word(uint64_t seed, uint64_t value, uint32_t type)
{
    return (uint32_t)mix(value ^ seed, seed + type);
}

uint32_t lanepool_i_keyindex_hash_bytes(uint64_t seed, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = mix(seed, size);
    for (; size > 0;) {
        uint64_t part = 0;
        size_t length = size < sizeof part ? size : sizeof part;
        memcpy(&part, bytes, length);
        hash = mix(hash ^ part, seed + length);
        bytes += length;
        size -= length;
    }
    return (uint32_t)hash;
}

static size_t segment_of(size_t bucket)
{
    if (bucket < LANEPOOL_I_FIRST_BUCKETS)
        return 0;
    return (size_t)(64 - __builtin_clzll(bucket / LANEPOOL_I_FIRST_BUCKETS));
}

static size_t segment_size(size_t segment)
{
    return segment == 0 ? LANEPOOL_I_FIRST_BUCKETS : LANEPOOL_I_FIRST_BUCKETS << (segment - 1);
}

static lanepool_i_key **bucket_at(const lanepool_i_keyindex *index, size_t bucket)
{
    size_t segment = segment_of(bucket);
    size_t start = segment == 0 ? 0 : segment_size(segment);
    return &index->segments[segment][bucket - start];
}

/* The largest power of two that is at most n. */
static size_t round_down(size_t n)
{
    return (size_t)1 << (63 - __builtin_clzll(n));
}

static size_t bucket_of(const lanepool_i_keyindex *index, uint32_t hash)
{
    size_t half = round_down(index->bucket_count);
    size_t bucket = hash & (2 * half - 1);
    return bucket < index->bucket_count ? bucket : bucket - half;
}

bool lanepool_i_keyindex_init(lanepool_i_keyindex *index, uint64_t seed)
{
    memset(index, 0, sizeof *index);
    index->seed = seed;
    index->bucket_count = LANEPOOL_I_FIRST_BUCKETS;
    index->segments[0] =
        lanepool_i_memory_alloc(LANEPOOL_I_FIRST_BUCKETS * sizeof(lanepool_i_key *));
    if (index->segments[0] == NULL)
        return false;
    memset(index->segments[0], 0, LANEPOOL_I_FIRST_BUCKETS * sizeof(lanepool_i_key *));
    return true;
}

void lanepool_i_keyindex_fini(lanepool_i_keyindex *index)
{
    for (size_t i = 0; i < LANEPOOL_I_SEGMENTS; i++)
        lanepool_i_memory_free(index->segments[i]);
}

static bool equal(const lanepool_i_key *a, const lanepool_i_key *b)
{
    if (a->hash != b->hash || a->type != b->type)
        return false;
    if (a->type != LANEPOOL_I_TYPE_BYTES)
        return a->value.id == b->value.id;
    return a->value.bytes->size == b->value.bytes->size &&
           memcmp(a->value.bytes->data, b->value.bytes->data, a->value.bytes->size) == 0;
}

lanepool_i_key *lanepool_i_keyindex_find(const lanepool_i_keyindex *index,
                                         const lanepool_i_key *wanted)
{
    lanepool_i_key *key = *bucket_at(index, bucket_of(index, wanted->hash));
    while (key != NULL && !equal(key, wanted))
        key = key->next;
    if (key != NULL)
        key->used = 1;
    return key;
}

/* Distributes one bucket's keys over itself and the bucket just added, or joins them. */
static void rehash(lanepool_i_keyindex *index, lanepool_i_key *keys)
{
    while (keys != NULL) {
        lanepool_i_key *next = keys->next;
        lanepool_i_key **bucket = bucket_at(index, bucket_of(index, keys->hash));
        keys->next = *bucket;
        *bucket = keys;
        keys = next;
    }
}

static bool have_segment(lanepool_i_keyindex *index, size_t segment)
{
    if (segment >= LANEPOOL_I_SEGMENTS)
        return false;
    if (index->segments[segment] == NULL)
        index->segments[segment] =
            lanepool_i_memory_alloc(segment_size(segment) * sizeof(lanepool_i_key *));
    return index->segments[segment] != NULL;
}

static void grow(lanepool_i_keyindex *index)
{
    if (!have_segment(index, segment_of(index->bucket_count)))
        return;
    lanepool_i_key **split =
        bucket_at(index, index->bucket_count - round_down(index->bucket_count));
    lanepool_i_key *keys = *split;
    *split = NULL;
    *bucket_at(index, index->bucket_count) = NULL;
    index->bucket_count++;
    rehash(index, keys);
}

void lanepool_i_keyindex_add(lanepool_i_keyindex *index, lanepool_i_key *key)
{
    if (index->key_count >= index->bucket_count)
        grow(index);
    lanepool_i_key **bucket = bucket_at(index, bucket_of(index, key->hash));
    key->next = *bucket;
    *bucket = key;
    index->key_count++;
}

/* A second chance for what is in use: without it, the lanes of cool keys would be made and removed
 * all the time. */
static bool may_go(lanepool_i_key *key, bool all,
                   bool (*is_idle)(const struct lanepool_i_lane *lane))
{
    bool used = key->used;
    key->used = 0;
    return (all || !used) && key->held == 0 && is_idle((const struct lanepool_i_lane *)key);
}

void lanepool_i_keyindex_sweep(lanepool_i_keyindex *index, size_t bucket_count, bool all,
                               bool (*is_idle)(const struct lanepool_i_lane *lane),
                               lanepool_i_key **removed)
{
    for (size_t i = 0; i < bucket_count; i++) {
        if (index->hand >= index->bucket_count)
            index->hand = 0;
        lanepool_i_key **at = bucket_at(index, index->hand++);
        while (*at != NULL) {
            lanepool_i_key *key = *at;
            if (!may_go(key, all, is_idle)) {
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

void lanepool_i_keyindex_shrink(lanepool_i_keyindex *index)
{
    while (index->bucket_count > LANEPOOL_I_FIRST_BUCKETS &&
           index->bucket_count > 2 * index->key_count) {
        lanepool_i_key *keys = *bucket_at(index, index->bucket_count - 1);
        index->bucket_count--;
        rehash(index, keys);
    }
    for (size_t i = segment_of(index->bucket_count - 1) + 1; i < LANEPOOL_I_SEGMENTS; i++) {
        lanepool_i_memory_free(index->segments[i]);
        index->segments[i] = NULL;
    }
}

void lanepool_i_keyindex_each(lanepool_i_keyindex *index,
                              void (*visit)(lanepool_i_key *key, void *context), void *context)
{
    for (size_t bucket = 0; bucket < index->bucket_count; bucket++)
        for (lanepool_i_key *key = *bucket_at(index, bucket); key != NULL;) {
            lanepool_i_key *next = key->next;
            visit(key, context);
            key = next;
        }
}
