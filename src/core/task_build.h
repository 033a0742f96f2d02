/*
 * Building a task's block from a valid description. It reserves all that the task needs until it is
 * routed, so nothing can fail later. A block that is not appended is undone. The calling thread
 * must be that of the record.
 */
#ifndef LANEPOOL_SRC_CORE_TASK_BUILD_H
#define LANEPOOL_SRC_CORE_TASK_BUILD_H

#include "core/task_check.h"
#include "route/program_key.h"
#include "task/countdown.h"

#define LANEPOOL_I_PLAIN_CLAIMS_MAX 2

/* Returns what the task has beside claims; 0 if it has nothing. */
static inline uint64_t lanepool_i_build_beside_claims(const lanepool_task *task)
{
    return (uintptr_t)task->future | (uintptr_t)task->release | (uintptr_t)task->cancelled |
           task->tag;
}

static inline bool lanepool_i_build_is_wide(const lanepool_pool *pool, const lanepool_task *task,
                                            bool member)
{
    uint64_t asks_for_more = lanepool_i_build_beside_claims(task) | pool->all_wide;
    return member || task->claim_count > LANEPOOL_I_PLAIN_CLAIMS_MAX || asks_for_more != 0;
}

static inline uint32_t lanepool_i_build_key_type(const lanepool_claim *claim)
{
    return claim->key.type - LANEPOOL_KEY_ID + LANEPOOL_I_TYPE_ID;
}

/* Fills an entry with the key of a claim. Returns false if memory cannot be allocated. */
static inline bool lanepool_i_build_entry(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          lanepool_i_entry *entry, const lanepool_claim *claim)
{
    if (claim->key.type == LANEPOOL_KEY_ID) {
        entry->at.id = claim->key.id;
    } else if (claim->key.type == LANEPOOL_KEY_POINTER) {
        entry->at.id = (uintptr_t)claim->key.pointer;
    } else if (claim->key.type == LANEPOOL_KEY_LANE) {
        entry->at.handle = claim->key.lane;
    } else {
        entry->at.bytes =
            lanepool_i_key_bytes_copy(pool, record, claim->key.bytes, claim->key.size);
        return entry->at.bytes != NULL;
    }
    return true;
}

/* Gives back the byte strings in the first `count` entries of a block. */
void lanepool_i_build_free_keys(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *block, const lanepool_task *task, size_t count);
/* Builds a wide task that has only claims, in a pool that has bare tasks. Returns OK or NOMEM. */
lanepool_status lanepool_i_build_bare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      const lanepool_task *task, lanepool_i_task **built);
/* Builds a wide task. Returns OK, NOMEM or NO_RESOURCE. */
lanepool_status lanepool_i_build_wide(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      const lanepool_task *task, lanepool_i_task **built);
/* Builds a plain task with room for features. Returns OK, NOMEM or NO_RESOURCE. */
lanepool_status lanepool_i_build_roomy_plain(lanepool_pool *pool, lanepool_i_thread_record *record,
                                             const lanepool_task *task, lanepool_i_task **built);
/* Builds a barrier. Returns OK, NOMEM or NO_RESOURCE. */
LANEPOOL_I_COLD lanepool_status lanepool_i_build_barrier(lanepool_pool *pool,
                                                         lanepool_i_thread_record *record,
                                                         const lanepool_task *task,
                                                         lanepool_i_task **built);
/* Builds a wide task without entries, but with room for `entry_count` entries. */
lanepool_status lanepool_i_build_with_room(lanepool_pool *pool, lanepool_i_thread_record *record,
                                           const lanepool_task *task, size_t entry_count,
                                           lanepool_i_task **built);
/* Refills the block of a periodic task for its next run. Its claims are handles, so this needs no
 * memory. */
void lanepool_i_build_again(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *block, const lanepool_task *task);
/* Gives back a block that has no entries, and its future. The charge is the thread record's again,
 * as before the block was built. */
void lanepool_i_unbuild_without_entries(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_task *block, const lanepool_task *task);
/* Undoes a complete block, and takes back the future that the program already has. */
void lanepool_i_unbuild(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *block, const lanepool_task *task);
bool lanepool_i_build_reserve_lanes(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    uint64_t count);

/* Builds a plain task in a block of this class. Returns OK or NOMEM. */
static inline lanepool_status lanepool_i_build_plain(lanepool_pool *pool,
                                                     lanepool_i_thread_record *record,
                                                     const lanepool_task *task, size_t class,
                                                     lanepool_i_task **built)
{
    uint64_t word = (uint64_t)task->claim_count << LANEPOOL_I_COUNT_SHIFT |
                    (uint64_t) class << LANEPOOL_I_CLASS_SHIFT |
                    lanepool_i_countdown_start(task->claim_count);
    lanepool_i_task *block =
        lanepool_i_slab_take(&pool->slab, &record->cache, class, sizeof *block);
    if (block == NULL)
        return LANEPOOL_NOMEM;
    const void *early = lanepool_i_slab_early(block);
    atomic_init(&block->as.plain[0].next, (uintptr_t)early);
    if (class != LANEPOOL_I_PLAIN_CLASS && early != NULL)
        lanepool_i_prefetch((const char *)early + sizeof *block);
    block->function = task->function;
    block->context = task->context;
    for (size_t i = 0; i < task->claim_count; i++) {
        const lanepool_claim *claim = &task->claims[i];
        word |= lanepool_i_mode_put(claim->mode, lanepool_i_mode_shift(i));
        word |= (uint64_t)lanepool_i_build_key_type(claim) << (LANEPOOL_I_TYPE_SHIFT + 2 * i);
        if (!lanepool_i_build_entry(pool, record, &block->as.plain[i], claim)) {
            lanepool_i_build_free_keys(pool, record, block, task, i);
            lanepool_i_slab_give(&pool->slab, &record->cache, class, block);
            return LANEPOOL_NOMEM;
        }
    }
    atomic_init(&block->word, word);
    *built = block;
    return LANEPOOL_OK;
}

/* Builds a task. On OK the block is complete, and the caller has to hand its future to the program.
 */
static inline lanepool_status lanepool_i_build(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               const lanepool_task *task, bool member,
                                               uint64_t lanes, lanepool_i_task **built)
{
    if (lanes == LANEPOOL_I_EVERYTHING)
        return lanepool_i_build_barrier(pool, record, task, built);
    if (record->lanes < lanes && !lanepool_i_build_reserve_lanes(pool, record, lanes))
        return LANEPOOL_NOMEM;
    lanepool_status status;
    if (lanepool_i_build_is_wide(pool, task, member))
        status = pool->has_bare && !member && lanepool_i_build_beside_claims(task) == 0
                     ? lanepool_i_build_bare(pool, record, task, built)
                     : lanepool_i_build_wide(pool, record, task, built);
    else if (pool->slots.in_plain[0] == NULL)
        status = lanepool_i_build_plain(pool, record, task, LANEPOOL_I_PLAIN_CLASS, built);
    else
        status = lanepool_i_build_roomy_plain(pool, record, task, built);
    if (status == LANEPOOL_OK)
        record->lanes -= lanes;
    return status;
}

#endif
