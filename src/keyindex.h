/*
 * The exact index from keys to lanes: a hash table that grows and shrinks by
 * one bucket at a time (linear hashing, W. Litwin, VLDB 1980), so that no
 * insertion has to move everything.
 *
 * Keys stand in the lanes themselves, chained per bucket. The hash, seeded per
 * pool, only finds the bucket; equality decides. If memory for a further bucket
 * is lacking the chains get longer and nothing fails.
 *
 * Who may call at once: the role's holder only.
 */
#ifndef LANEPOOL_SRC_KEYINDEX_H
#define LANEPOOL_SRC_KEYINDEX_H

#include "platform/platform.h"

/* Which key it is; LANE is a held lane, which stands for one of the others. */
enum { LANEPOOL_I_TYPE_ID, LANEPOOL_I_TYPE_POINTER, LANEPOOL_I_TYPE_BYTES, LANEPOOL_I_TYPE_LANE };

/* A byte string key's copy, in a block of its own. */
typedef struct lanepool_i_key_bytes {
    uint32_t hash;
    uint32_t size;
    unsigned char data[];
} lanepool_i_key_bytes;

struct lanepool_i_lane;

/* A key in the index, or one that is looked for. */
typedef struct lanepool_i_key lanepool_i_key;
struct lanepool_i_key {
    lanepool_i_key *next; /* in its bucket */
    union {
        uint64_t id;
        const void *pointer;
        lanepool_i_key_bytes *bytes;
    } value;
    uint32_t hash;
    uint32_t type : 2;  /* LANEPOOL_I_TYPE_ */
    uint32_t used : 1;  /* found since the hand last passed */
    uint32_t held : 29; /* handles that keep the lane */
};

#define LANEPOOL_I_SEGMENTS 32

typedef struct lanepool_i_keyindex {
    uint64_t seed;
    size_t key_count;
    size_t bucket_count;
    size_t hand;                                    /* where the sweep goes on */
    lanepool_i_key **segments[LANEPOOL_I_SEGMENTS]; /* doubling sizes; see keyindex.c */
} lanepool_i_keyindex;

bool lanepool_i_keyindex_init(lanepool_i_keyindex *index, uint64_t seed);
void lanepool_i_keyindex_fini(lanepool_i_keyindex *index);

uint32_t lanepool_i_keyindex_hash_word(uint64_t seed, uint64_t value, uint32_t type);
uint32_t lanepool_i_keyindex_hash_bytes(uint64_t seed, const void *data, size_t size);

/* The indexed key that equals `wanted` (its hash set), or NULL. O(1) expected. */
lanepool_i_key *lanepool_i_keyindex_find(const lanepool_i_keyindex *index,
                                         const lanepool_i_key *wanted);
/* Adds a key that is not there yet. */
void lanepool_i_keyindex_add(lanepool_i_keyindex *index, lanepool_i_key *key);

/* Visits the buckets at the hand and moves it on. Keys that are not held, were not found since the
 * hand last passed (or `all`), and whose lane, of which the key is the front, is idle are taken out
 * and chained through `next` in *removed. O(keys in those buckets). */
void lanepool_i_keyindex_sweep(lanepool_i_keyindex *index, size_t bucket_count, bool all,
                               bool (*is_idle)(const struct lanepool_i_lane *lane),
                               lanepool_i_key **removed);
/* Gives back the memory of buckets that are no longer needed. */
void lanepool_i_keyindex_shrink(lanepool_i_keyindex *index);

/* Calls `visit` for every key, in no particular order. */
void lanepool_i_keyindex_each(lanepool_i_keyindex *index,
                              void (*visit)(lanepool_i_key *key, void *context), void *context);

#endif
