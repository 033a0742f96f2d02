/*
 * Keys in the order in which they were first seen, without a pool.
 */
#ifndef LANEPOOL_SRC_INSPECT_KEY_LIST_H
#define LANEPOOL_SRC_INSPECT_KEY_LIST_H

#include "lanepool/key.h"

#include "inspect/growing.h"

typedef struct lanepool_i_listed_key {
    void *bytes; /* a copy; NULL if the key has no bytes */
    size_t size; /* of the bytes */
    size_t next; /* another byte string with the same hash, or NO_INDEX */
} lanepool_i_listed_key;

/* Zeroed, it is empty. */
typedef struct lanepool_i_key_list {
    lanepool_i_listed_key *keys;
    size_t count;
    size_t capacity;
    lanepool_i_table table; /* from a number, an address or a hash to a key */
} lanepool_i_key_list;

/* Returns true if a key of a claim may be in a list: it is no lane handle, and not all keys. */
bool lanepool_i_key_is_plain(const lanepool_key *key);

/* Returns the index of a plain key, which is added if needed; NO_INDEX if memory cannot be
 * allocated. */
size_t lanepool_i_key_list_require(lanepool_i_key_list *list, const lanepool_key *key);

void lanepool_i_key_list_fini(lanepool_i_key_list *list);

#endif
