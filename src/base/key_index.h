/*
 * The exact index from keys to lanes: a hash table that grows and shrinks by one bucket at a time
 * (linear hashing, W. Litwin, VLDB 1980), so no insertion moves all keys.
 *
 * A bucket is one cache line with four slots. A slot has what identifies a key, so that a look-up
 * does not touch the lanes, whose lines other threads write. Keys that find no slot are chained
 * behind the key of the last slot. The hash, seeded per pool, only finds the bucket; equality
 * decides. If a further bucket cannot be allocated, chains get longer and nothing fails.
 *
 * With n buckets, let m be the largest power of two that is at most n. A hash h belongs to bucket
 * h mod 2m if that exists, else to h mod m. Adding bucket n splits only bucket n - m; removing it
 * joins the two again.
 *
 * Buckets are in segments that never move: segment s has the buckets whose number has s as its
 * highest bit. The first buckets are all in one segment.
 *
 * Callers: one at a time. For the index of lanes that is the role's holder.
 */
#ifndef LANEPOOL_SRC_BASE_KEY_INDEX_H
#define LANEPOOL_SRC_BASE_KEY_INDEX_H

#include "base/allocator.h"
#include "base/sizes.h"
#include "platform/platform.h"

#include <string.h>

/* The type of a key. LANE is a handle, which stands for a key of another type. */
enum { LANEPOOL_I_TYPE_ID, LANEPOOL_I_TYPE_POINTER, LANEPOOL_I_TYPE_BYTES, LANEPOOL_I_TYPE_LANE };

#define LANEPOOL_I_HASH_BITS 30
#define LANEPOOL_I_HASH_MASK (((uint32_t)1 << LANEPOOL_I_HASH_BITS) - 1)

/* The copy of a byte string key, in a block of its own. */
typedef struct lanepool_i_key_bytes {
    uint32_t hash;
    uint32_t size;
    unsigned char data[];
} lanepool_i_key_bytes;

struct lanepool_i_lane;

/* A key in the index, or one to be found. */
typedef struct lanepool_i_key lanepool_i_key;
struct lanepool_i_key {
    lanepool_i_key *next; /* of a key in a last slot, and behind it: the next key in the chain */
    union {
        uint64_t id;
        const void *pointer;
        lanepool_i_key_bytes *bytes;
    } value;
    /* A memory location of its own, due to the `: 0`: a thread that releases the lane reads it
     * while the role's holder changes the fields below. */
    uint32_t hash : LANEPOOL_I_HASH_BITS;
    uint32_t type : 2; /* LANEPOOL_I_TYPE_ */
    uint32_t : 0;
    uint32_t used : 1;          /* in a chain: found since the last sweep of its bucket */
    uint32_t handle_count : 31; /* handles that refer to the lane */
};

/* A hash fits into the field. The mask only avoids a compiler warning. */
static inline void lanepool_i_key_set_hash(lanepool_i_key *key, uint32_t hash)
{
    key->hash = hash & LANEPOOL_I_HASH_MASK;
}

/* A key's place in a bucket. */
typedef struct lanepool_i_key_slot {
    uint64_t value; /* the number or the address; of a byte string, its hash */
    uintptr_t key;  /* the key's address with SLOT_ bits, or SLOT_EMPTY */
} lanepool_i_key_slot;

#define LANEPOOL_I_SLOT_TYPE ((uintptr_t)3) /* the key's type */
#define LANEPOOL_I_SLOT_USED ((uintptr_t)4) /* found since the last sweep of the bucket */
#define LANEPOOL_I_SLOT_KEY  (~(uintptr_t)7)
/* No key has this type, so no look-up finds an empty slot. */
#define LANEPOOL_I_SLOT_EMPTY ((uintptr_t)LANEPOOL_I_TYPE_LANE)

#define LANEPOOL_I_BUCKET_SLOTS 4 /* the two highest bits of a hash name one */

/* A key is in the slot that its hash names, or else in any other. Only a full bucket has a chain.
 */
typedef struct lanepool_i_key_bucket {
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_key_slot slots[LANEPOOL_I_BUCKET_SLOTS];
} lanepool_i_key_bucket;

#define LANEPOOL_I_SEGMENTS 32
/* With so many keys for each bucket, adding a key adds a bucket: few buckets are full. */
#define LANEPOOL_I_KEYS_PER_BUCKET 2
/* With more buckets than this for each key, removing a key removes buckets. */
#define LANEPOOL_I_BUCKETS_PER_KEY 2

typedef struct lanepool_i_key_index {
    uint64_t seed;
    size_t bucket_count;
    size_t half; /* the largest power of two that is at most bucket_count */
    size_t key_count;
    size_t hand; /* the bucket where the next sweep begins */
    lanepool_i_key_bucket *segments[LANEPOOL_I_SEGMENTS];
    const lanepool_allocator *allocator; /* NULL for the system's */
} lanepool_i_key_index;

bool lanepool_i_key_index_init(lanepool_i_key_index *index, uint64_t seed,
                               const lanepool_allocator *allocator);
void lanepool_i_key_index_fini(lanepool_i_key_index *index);

static inline uint64_t lanepool_i_key_index_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD1B54A32D192ED03u);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The second multiplication spreads regular numbers, such as multiples of 2^40, for every seed. One
 * multiplication alone leaves them in few buckets for about one seed in twelve. */
static inline uint32_t lanepool_i_key_index_finish_hash(uint64_t mixed)
{
    mixed ^= mixed >> 32;
    return (uint32_t)((mixed * 0xD6E8FEB86659FD93u) >> (64 - LANEPOOL_I_HASH_BITS));
}

static inline uint32_t lanepool_i_key_index_hash_word(uint64_t seed, uint64_t value, uint32_t type)
{
    return lanepool_i_key_index_finish_hash(lanepool_i_key_index_mix(value ^ seed, seed + type));
}

/* Makes a key that is a number or an address, and belongs to no lane. */
static inline lanepool_i_key lanepool_i_key_of_word(uint64_t seed, uint64_t value, uint32_t type)
{
    lanepool_i_key key = { .value.id = value, .type = type & 3u };
    lanepool_i_key_set_hash(&key, lanepool_i_key_index_hash_word(seed, value, type));
    return key;
}

uint32_t lanepool_i_key_index_hash_bytes(uint64_t seed, const void *data, size_t size);

static inline size_t lanepool_i_key_index_segment(size_t bucket)
{
    return (size_t)(63 - __builtin_clzll(bucket | (LANEPOOL_I_FIRST_BUCKETS - 1)));
}

static inline lanepool_i_key_bucket *lanepool_i_key_index_bucket(const lanepool_i_key_index *index,
                                                                 size_t bucket)
{
    size_t segment = lanepool_i_key_index_segment(bucket);
    size_t start = ((size_t)1 << segment) & ~(LANEPOOL_I_FIRST_BUCKETS - 1);
    return &index->segments[segment][bucket - start];
}

static inline lanepool_i_key_bucket *
lanepool_i_key_index_bucket_of(const lanepool_i_key_index *index, uint32_t hash)
{
    size_t bucket = hash & (2 * index->half - 1);
    return lanepool_i_key_index_bucket(index, bucket < index->bucket_count ? bucket
                                                                           : bucket - index->half);
}

static inline bool lanepool_i_key_equals(const lanepool_i_key *a, const lanepool_i_key *b)
{
    if (a->hash != b->hash || a->type != b->type)
        return false;
    if (a->type != LANEPOOL_I_TYPE_BYTES)
        return a->value.id == b->value.id;
    return a->value.bytes->size == b->value.bytes->size &&
           memcmp(a->value.bytes->data, b->value.bytes->data, a->value.bytes->size) == 0;
}

static inline lanepool_i_key *lanepool_i_slot_key(const lanepool_i_key_slot *slot)
{
    return (lanepool_i_key *)(slot->key & LANEPOOL_I_SLOT_KEY);
}

static inline bool lanepool_i_slot_has(const lanepool_i_key_slot *slot, uint64_t value,
                                       uint32_t type)
{
    return ((slot->value ^ value) | ((slot->key ^ type) & LANEPOOL_I_SLOT_TYPE)) == 0;
}

/* Returns the slot where a key with this hash is, most of the time. */
static inline lanepool_i_key_slot *lanepool_i_bucket_home(lanepool_i_key_bucket *bucket,
                                                          uint32_t hash)
{
    return &bucket->slots[hash >> (LANEPOOL_I_HASH_BITS - 2)];
}

static inline lanepool_i_key *lanepool_i_slot_found(lanepool_i_key_slot *slot)
{
    if ((slot->key & LANEPOOL_I_SLOT_USED) == 0)
        slot->key |= LANEPOOL_I_SLOT_USED;
    return lanepool_i_slot_key(slot);
}

/* Returns the key in the index that equals `wanted`, whose hash is set, or NULL. O(1) expected. */
lanepool_i_key *lanepool_i_key_index_find(const lanepool_i_key_index *index,
                                          const lanepool_i_key *wanted);
/* Finds a key that is a number or an address, in any slot of its bucket or in the chain. */
lanepool_i_key *lanepool_i_key_bucket_find_word(lanepool_i_key_bucket *bucket, uint64_t value,
                                                uint32_t type);

/* Finds a key with this hash that is a number or an address. */
static inline lanepool_i_key *lanepool_i_key_index_find_hashed(const lanepool_i_key_index *index,
                                                               uint32_t hash, uint64_t value,
                                                               uint32_t type)
{
    lanepool_i_key_bucket *bucket = lanepool_i_key_index_bucket_of(index, hash);
    lanepool_i_key_slot *home = lanepool_i_bucket_home(bucket, hash);
    if (__builtin_expect(lanepool_i_slot_has(home, value, type), 1))
        return lanepool_i_slot_found(home);
    return lanepool_i_key_bucket_find_word(bucket, value, type);
}

/* Finds a key that is a number or an address. */
static inline lanepool_i_key *lanepool_i_key_index_find_word(const lanepool_i_key_index *index,
                                                             uint64_t value, uint32_t type)
{
    uint32_t hash = lanepool_i_key_index_hash_word(index->seed, value, type);
    return lanepool_i_key_index_find_hashed(index, hash, value, type);
}

/* Adds a key that is not in the index yet. */
void lanepool_i_key_index_add(lanepool_i_key_index *index, lanepool_i_key *key);

/* Removes a key. Joins a few buckets if there are far too many for the keys left. */
void lanepool_i_key_index_remove(lanepool_i_key_index *index, lanepool_i_key *key);

/* Sweeps `bucket_count` buckets, from where the last sweep ended. Removes the keys of idle lanes (a
 * key is the front of its lane, or of its quota) and chains them through `next` in *removed. Keys
 * with handles stay. Unless `all` is set, so do keys found since the last sweep of their bucket.
 * O(keys in those buckets). */
void lanepool_i_key_index_sweep(lanepool_i_key_index *index, size_t bucket_count, bool all,
                                bool (*is_idle)(const struct lanepool_i_lane *lane,
                                                const void *context),
                                const void *context, lanepool_i_key **removed);
/* Joins up to `bucket_count` buckets that are no longer needed. Returns true if there are more. */
bool lanepool_i_key_index_shrink(lanepool_i_key_index *index, size_t bucket_count);

/* Calls `visit` for every key, in no particular order. */
void lanepool_i_key_index_each(lanepool_i_key_index *index,
                               void (*visit)(lanepool_i_key *key, void *context), void *context);

#endif
