/* An index of keys on counted memory, with items in place of lanes. */
#ifndef TESTS_UNIT_KEYED_ITEMS_H
#define TESTS_UNIT_KEYED_ITEMS_H

#include "base/key_index.h"
#include "support/memory.h"
#include "support/test.h"
#include "unit/counted_memory.h"

enum { SEED = 12345, KEYS = 3000 };

/* A lane as the index sees it: the key is its front. */
struct item {
    lanepool_i_key key;
    bool busy;
    int visits;
};

struct fixture {
    struct counted_memory memory;
    lanepool_i_key_index index;
    struct item items[KEYS];
};

static inline struct fixture *fixture_make(void)
{
    struct fixture *all = memory_get(1, sizeof *all);

    counted_memory_init(&all->memory);
    expect(lanepool_i_key_index_init(&all->index, SEED, &all->memory.allocator));
    return all;
}

static inline void fixture_end(struct fixture *all)
{
    lanepool_i_key_index_fini(&all->index);
    expect_eq(all->memory.live, 0);
    expect_eq(all->memory.bytes, 0);
    free(all);
}

static inline bool is_idle(const struct lanepool_i_lane *lane, const void *context)
{
    (void)context;
    return !((const struct item *)lane)->busy;
}

static inline lanepool_i_key key_of(uint64_t id, uint32_t type)
{
    lanepool_i_key key = { .value.id = id, .type = type & 3u };

    lanepool_i_key_set_hash(&key, lanepool_i_key_index_hash_word(SEED, id, type));
    return key;
}

static inline void add(struct fixture *all, size_t i)
{
    all->items[i].key = key_of(i, LANEPOOL_I_TYPE_ID);
    lanepool_i_key_index_add(&all->index, &all->items[i].key);
}

static inline bool is_there(const struct fixture *all, size_t i)
{
    return lanepool_i_key_index_find_word(&all->index, i, LANEPOOL_I_TYPE_ID) == &all->items[i].key;
}

/* Checks that exactly the keys from `first` up to `end` are found. */
static inline void expect_keys(const struct fixture *all, size_t first, size_t end)
{
    for (size_t i = 0; i < KEYS; i++) {
        expect_eq(is_there(all, i), i >= first && i < end);
    }
    expect_eq(all->index.key_count, end - first);
}

static inline size_t count_chained(const lanepool_i_key *key)
{
    size_t count = 0;

    for (; key != NULL; key = key->next) {
        count++;
    }
    return count;
}

static inline size_t sweep(struct fixture *all, size_t buckets, bool every_key)
{
    lanepool_i_key *removed = NULL;

    lanepool_i_key_index_sweep(&all->index, buckets, every_key, is_idle, NULL, &removed);
    return count_chained(removed);
}

#endif
