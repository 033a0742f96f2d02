/* Tasks, their entries in lanes, and the index from keys to lanes. */
#ifndef FLOOR_TASK_H
#define FLOOR_TASK_H

#include <stdatomic.h>
#include <stdlib.h>

#include "engine.h"

#define FLOOR_NEAR_ENTRIES 2 /* entries inside the task itself */

/* A lane is a list of entries of which only the last one is known. Its first entry is the head.
 * Only the role's holder appends. */
struct floor_lane {
    _Alignas(16) _Atomic(uintptr_t) last; /* 0: the lane is free */
    uint64_t key_plus_one;                /* 0: unused */
};

struct floor_entry {
    _Atomic(uintptr_t) next;
    union {
        struct floor_lane *lane; /* set when it is routed */
        uint64_t key;
    } of;
};

/* One cache line. */
struct floor_task {
    const struct bench_task *work;
    _Atomic(struct floor_task *) next; /* in the inbox, in a ready queue, or among free blocks */
    atomic_uint waits_for;             /* entries that are not at the head, if there are several */
    uint32_t entry_count;
    uint64_t unused;
    struct floor_entry entries[FLOOR_NEAR_ENTRIES];
};

/* If a task has more entries, they follow the task in memory, and each points to it. */
struct floor_far_entry {
    struct floor_entry entry;
    struct floor_task *task;
};

struct floor_large_task {
    struct floor_task task;
    struct floor_far_entry entries[];
};

_Static_assert(sizeof(struct floor_task) == 64, "a task is a cache line");

/* A reference to an entry is its address, with the lowest bit set if it is a far one. */
static inline struct floor_entry *floor_entry_at(uintptr_t reference)
{
    return (struct floor_entry *)(reference & ~(uintptr_t)1);
}

static inline struct floor_task *floor_task_of(uintptr_t reference)
{
    if ((reference & 1) != 0)
        return ((struct floor_far_entry *)(reference - 1))->task;
    return (struct floor_task *)(reference & ~(uintptr_t)(sizeof(struct floor_task) - 1));
}

static inline uintptr_t floor_reference(struct floor_task *task, uint32_t index)
{
    if (task->entry_count <= FLOOR_NEAR_ENTRIES)
        return (uintptr_t)&task->entries[index];
    return (uintptr_t) & ((struct floor_large_task *)task)->entries[index] | 1;
}

/* A hash table with open addressing. It does not grow: it has room for all keys from the beginning.
 * Guarded by the role. */
struct floor_index {
    struct floor_lane *lanes;
    uint64_t mask;
};

static inline void floor_index_init(struct floor_index *index, uint32_t key_count)
{
    uint64_t capacity = 1024;
    while (capacity < 4 * (uint64_t)key_count)
        capacity *= 2;
    index->mask = capacity - 1;
    index->lanes = aligned_alloc(64, capacity * sizeof *index->lanes);
    bench_require(index->lanes != NULL, "memory for lanes");
    for (uint64_t i = 0; i < capacity; i++) {
        atomic_init(&index->lanes[i].last, 0);
        index->lanes[i].key_plus_one = 0;
    }
}

/* Makes keys of 64 bits, spread like those of a program. */
static inline uint64_t floor_wide_key(uint32_t key)
{
    return (uint64_t)key * 0x9e3779b97f4a7c15u + 12345;
}

static inline uint64_t floor_hash(uint64_t key)
{
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    key ^= key >> 32;
    key *= 0xd6e8feb86659fd93u;
    return key ^ key >> 32;
}

static inline struct floor_lane *floor_index_find(const struct floor_index *index, uint64_t key)
{
    for (uint64_t i = floor_hash(key);; i++) {
        struct floor_lane *lane = &index->lanes[i & index->mask];
        if (lane->key_plus_one == key + 1)
            return lane;
        if (lane->key_plus_one == 0) {
            lane->key_plus_one = key + 1;
            return lane;
        }
    }
}

#endif
