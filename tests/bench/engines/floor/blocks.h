/* The memory of tasks. Workers give back chains of blocks, and a submitter takes all of them. A
 * free block names the block that is needed some blocks later, so that it can be prefetched. */
#ifndef FLOOR_BLOCKS_H
#define FLOOR_BLOCKS_H

#include <stdalign.h>
#include <sys/mman.h>

#include "floor/task.h"

#define FLOOR_CHAIN_LENGTH   128
#define FLOOR_CHUNK_BLOCKS   1024
#define FLOOR_BLOCKS_FETCHED 8 /* how many blocks ahead */

struct floor_blocks {
    alignas(128) _Atomic(struct floor_task *) given_back;
};

/* The blocks that a worker will give back. */
struct floor_chain {
    struct floor_task *first, *last;
    unsigned length;
    unsigned at;
    struct floor_task *recent[FLOOR_BLOCKS_FETCHED];
};

static inline void floor_remember_early(struct floor_task *task, const struct floor_task *early)
{
    atomic_store_explicit(&task->entries[0].next, (uintptr_t)early, memory_order_relaxed);
}

static inline void floor_fetch_early(struct floor_task *task)
{
    __builtin_prefetch((void *)atomic_load_explicit(&task->entries[0].next, memory_order_relaxed),
                       1);
}

/* Returns new memory as a chain. */
static inline struct floor_task *floor_blocks_chunk(void)
{
    struct floor_task *blocks = mmap(NULL, FLOOR_CHUNK_BLOCKS * sizeof *blocks,
                                     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bench_require(blocks != MAP_FAILED, "memory for tasks");
    for (int i = 0; i < FLOOR_CHUNK_BLOCKS; i++) {
        bool is_last = i == FLOOR_CHUNK_BLOCKS - 1;
        bool has_early = i + FLOOR_BLOCKS_FETCHED < FLOOR_CHUNK_BLOCKS;
        atomic_init(&blocks[i].next, is_last ? NULL : &blocks[i + 1]);
        floor_remember_early(&blocks[i], has_early ? &blocks[i + FLOOR_BLOCKS_FETCHED] : NULL);
    }
    return blocks;
}

/* Takes a block. `mine` are the free blocks of the calling thread. */
static inline struct floor_task *floor_blocks_take(struct floor_blocks *blocks,
                                                   struct floor_task **mine, uint32_t entry_count)
{
    if (entry_count > FLOOR_NEAR_ENTRIES) {
        size_t size =
            sizeof(struct floor_large_task) + entry_count * sizeof(struct floor_far_entry);
        struct floor_task *large = aligned_alloc(64, (size + 63) & ~(size_t)63);
        bench_require(large != NULL, "memory for a task");
        floor_remember_early(large, NULL);
        return large;
    }
    if (*mine == NULL && atomic_load_explicit(&blocks->given_back, memory_order_relaxed) != NULL)
        *mine = atomic_exchange_explicit(&blocks->given_back, NULL, memory_order_acquire);
    if (*mine == NULL)
        *mine = floor_blocks_chunk();
    struct floor_task *task = *mine;
    *mine = atomic_load_explicit(&task->next, memory_order_relaxed);
    floor_fetch_early(task);
    return task;
}

static inline void floor_chain_push(struct floor_blocks *blocks, struct floor_chain *chain)
{
    struct floor_task *first = atomic_load_explicit(&blocks->given_back, memory_order_relaxed);
    do
        atomic_store_explicit(&chain->last->next, first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&blocks->given_back, &first, chain->first,
                                                  memory_order_release, memory_order_relaxed));
    chain->first = chain->last = NULL;
    chain->length = 0;
}

static inline void floor_blocks_give(struct floor_blocks *blocks, struct floor_chain *chain,
                                     struct floor_task *task)
{
    if (task->entry_count > FLOOR_NEAR_ENTRIES) {
        free(task);
        return;
    }
    atomic_store_explicit(&task->next, chain->first, memory_order_relaxed);
    if (chain->first == NULL)
        chain->last = task;
    chain->first = task;
    /* Blocks are taken in the reverse order, so the block that was given before is needed that many
     * blocks later. */
    floor_remember_early(task, chain->recent[chain->at]);
    chain->recent[chain->at] = task;
    chain->at = (chain->at + 1) % FLOOR_BLOCKS_FETCHED;
    if (++chain->length == FLOOR_CHAIN_LENGTH)
        floor_chain_push(blocks, chain);
}

#endif
