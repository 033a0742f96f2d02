/*
 * From a description that was found valid to a task's block: filled, with all
 * that it needs until it has its place, so that from then on nothing can fail.
 *
 * A block that will not be appended is unbuilt: as if it had never been there.
 *
 * Who may call: the thread of the record that is passed.
 */
#ifndef LANEPOOL_SRC_CORE_TASK_BUILD_H
#define LANEPOOL_SRC_CORE_TASK_BUILD_H

#include "core/task_check.h"
#include "task/countdown.h"

#define LANEPOOL_I_NARROW_MAX   2
#define LANEPOOL_I_NARROW_CLASS 0

static inline bool lanepool_i_build_is_wide(const lanepool_pool *pool, const lanepool_task *task,
                                            bool member)
{
    return member || task->claim_count > LANEPOOL_I_NARROW_MAX || task->future != NULL ||
           task->release != NULL || task->tag != 0 || pool->all_wide;
}

static inline uint32_t lanepool_i_build_key_type(const lanepool_claim *claim)
{
    return claim->type - LANEPOOL_KEY_ID + LANEPOOL_I_TYPE_ID;
}

/* False: memory is lacking. */
static inline bool lanepool_i_build_entry(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          lanepool_i_entry *entry, const lanepool_claim *claim)
{
    if (claim->type == LANEPOOL_KEY_ID) {
        entry->at.id = claim->key.id;
    } else if (claim->type == LANEPOOL_KEY_POINTER) {
        entry->at.id = (uintptr_t)claim->key.pointer;
    } else if (claim->type == LANEPOOL_KEY_LANE) {
        entry->at.handle = claim->key.lane;
    } else {
        entry->at.bytes =
            lanepool_i_key_bytes_copy(pool, record, claim->key.bytes.data, claim->key.bytes.size);
        return entry->at.bytes != NULL;
    }
    return true;
}

/* What stands in the first entries of a block goes. */
void lanepool_i_build_empty(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *block, const lanepool_task *task, size_t count);
/* A wide task, or a barrier: OK, NOMEM or NO_THREAD. */
lanepool_status lanepool_i_build_wide(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      const lanepool_task *task, lanepool_i_task **built);
LANEPOOL_I_COLD lanepool_status lanepool_i_build_barrier(lanepool_pool *pool,
                                                         lanepool_i_thread_record *record,
                                                         const lanepool_task *task,
                                                         lanepool_i_task **built);
/* A wide task that has no entries yet, but room for some. */
lanepool_status lanepool_i_build_with_room(lanepool_pool *pool, lanepool_i_thread_record *record,
                                           const lanepool_task *task, size_t entry_count,
                                           lanepool_i_task **built);
/* A block that was run is filled anew, with claims that need no memory. */
void lanepool_i_rebuild(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *block, const lanepool_task *task);
/* The block goes, with its future; its entries have gone. What it was charged to is the thread's
 * again, as before it was built. */
void lanepool_i_unbuild_empty(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *block, const lanepool_task *task);
/* The same of a whole block: its future, which the program has got, is taken back. */
void lanepool_i_unbuild(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *block, const lanepool_task *task);
bool lanepool_i_build_reserve_lanes(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    uint64_t count);

/* Up to two claims. What the router is to fetch early stands where the link of the first entry will
 * be. */
static inline lanepool_status lanepool_i_build_narrow(lanepool_pool *pool,
                                                      lanepool_i_thread_record *record,
                                                      const lanepool_task *task,
                                                      lanepool_i_task **built)
{
    uint64_t word = (uint64_t)task->claim_count << LANEPOOL_I_COUNT_SHIFT |
                    (uint64_t)LANEPOOL_I_NARROW_CLASS << LANEPOOL_I_CLASS_SHIFT |
                    lanepool_i_countdown_start(task->claim_count);
    lanepool_i_task *block =
        lanepool_i_slab_take(&pool->slab, &record->cache, LANEPOOL_I_NARROW_CLASS, sizeof *block);
    if (block == NULL)
        return LANEPOOL_NOMEM;
    atomic_init(&block->as.narrow[0].next, (uintptr_t)lanepool_i_slab_early(block));
    block->function = task->function;
    block->context = task->context;
    for (size_t i = 0; i < task->claim_count; i++) {
        const lanepool_claim *claim = &task->claims[i];
        word |= (uint64_t)claim->mode << (LANEPOOL_I_SHARED_SHIFT + i);
        word |= (uint64_t)lanepool_i_build_key_type(claim) << (LANEPOOL_I_TYPE_SHIFT + 2 * i);
        if (!lanepool_i_build_entry(pool, record, &block->as.narrow[i], claim)) {
            lanepool_i_build_empty(pool, record, block, task, i);
            lanepool_i_slab_give(&pool->slab, &record->cache, LANEPOOL_I_NARROW_CLASS, block);
            return LANEPOOL_NOMEM;
        }
    }
    atomic_init(&block->word, word);
    *built = block;
    return LANEPOOL_OK;
}

/* On success the block is complete; the caller has yet to hand out its future. */
static inline lanepool_status lanepool_i_build(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               const lanepool_task *task, bool member,
                                               uint64_t lanes, lanepool_i_task **built)
{
    if (lanes == LANEPOOL_I_EVERYTHING)
        return lanepool_i_build_barrier(pool, record, task, built);
    if (record->lanes < lanes && !lanepool_i_build_reserve_lanes(pool, record, lanes))
        return LANEPOOL_NOMEM;
    lanepool_status status = lanepool_i_build_is_wide(pool, task, member)
                                 ? lanepool_i_build_wide(pool, record, task, built)
                                 : lanepool_i_build_narrow(pool, record, task, built);
    if (status == LANEPOOL_OK)
        record->lanes -= lanes;
    return status;
}

#endif
