/* Owns building wide tasks, and undoing tasks that were built; see task_build.h. */
#include "core/task_build.h"

#include "future/member.h"
#include "lane/visits.h"

void lanepool_i_build_free_keys(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *block, const lanepool_task *task, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (task->claims[i].key.type != LANEPOOL_KEY_BYTES)
            continue;
        lanepool_i_entry *entry =
            lanepool_i_build_is_wide(pool, task, lanepool_i_description_is_member(task))
                ? &lanepool_i_pool_entry(pool, block, i)->entry
                : &block->as.plain[i];
        lanepool_i_key_bytes_give(pool, record, entry->at.bytes);
    }
}

static void give_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                       lanepool_i_task *block)
{
    lanepool_i_slab_give(&pool->slab, &record->cache, lanepool_i_task_class(block), block);
}

/* --- wide tasks --- */

static bool fill_wide_entries(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *block, const lanepool_task *task)
{
    size_t entry_size = pool->rule->entry_size;
    char *at = (char *)lanepool_i_pool_entry(pool, block, 0);
    for (size_t i = 0; i < task->claim_count; i++, at += entry_size) {
        const lanepool_claim *claim = &task->claims[i];
        lanepool_i_wide_entry *wide = (lanepool_i_wide_entry *)at;
        uintptr_t type = lanepool_i_build_key_type(claim);
        wide->owner = lanepool_i_mode_owner(NULL, claim->mode) | type
                                                                     << LANEPOOL_I_OWNER_TYPE_SHIFT;
        if (!lanepool_i_build_entry(pool, record, &wide->entry, claim)) {
            lanepool_i_build_free_keys(pool, record, block, task, i);
            return false;
        }
    }
    return true;
}

/* Returns the bytes that features need behind the entries. */
static size_t features_room(const lanepool_pool *pool, const lanepool_task *task)
{
    return pool->room.size + task->claim_count * pool->room.per_entry;
}

static LANEPOOL_I_COLD void init_features_room(lanepool_pool *pool, lanepool_i_task *block,
                                               const lanepool_task *task)
{
    if (pool->room.at == 0 && !lanepool_i_description_has_visits(task))
        block->as.wide.room = lanepool_i_pool_entry(pool, block, task->claim_count);
    for (size_t i = 0; pool->slots.room[i] != NULL; i++)
        if (pool->slots.room[i]->init_room != NULL)
            pool->slots.room[i]->init_room(pool, task, block);
}

/* Returns the bytes of a block with its entries. */
static size_t size_with_entries(const lanepool_pool *pool, const lanepool_task *task)
{
    return sizeof(lanepool_i_task) + pool->extension + task->claim_count * pool->rule->entry_size;
}

static lanepool_i_visits_layout layout_of_visits(const lanepool_pool *pool,
                                                 const lanepool_task *task)
{
    const lanepool_i_feature *in_lanes = pool->slots.in_lanes;
    return (lanepool_i_visits_layout){
        .offset = size_with_entries(pool, task),
        .room = features_room(pool, task),
        .part_room = pool->room.size,
        .visitor_room = in_lanes == NULL ? 0 : in_lanes->visitor_room,
        .has_levels = in_lanes != NULL,
        .has_parts = pool->slots.begin_visit[0] != NULL && task->at_lane != NULL,
        .claim_count = task->claim_count,
        .workers = pool->options.workers
    };
}

/* Returns the bytes behind the entries: the features' room, then callbacks, or a cut's visits. */
static size_t size_behind_entries(const lanepool_pool *pool, const lanepool_task *task)
{
    if (lanepool_i_description_has_visits(task)) {
        lanepool_i_visits_layout layout = layout_of_visits(pool, task);
        return lanepool_i_visits_size(&layout);
    }
    return features_room(pool, task) + (task->cancelled != NULL ? sizeof(lanepool_i_callbacks) : 0);
}

static LANEPOOL_I_COLD lanepool_i_callbacks *
init_visits(const lanepool_pool *pool, lanepool_i_task *block, const lanepool_task *task)
{
    lanepool_i_visits_layout layout = layout_of_visits(pool, task);
    lanepool_i_visits *visits = lanepool_i_visits_init(block, &layout);
    visits->holds_lanes = task->at_grant != NULL;
    visits->at_lane = visits->holds_lanes ? task->at_grant : task->at_lane;
    visits->tag = task->tag & LANEPOOL_TAG_MAX;
    return &visits->callbacks;
}

/* Stores the release callback in its place; with a `cancelled`, both at the end of the block.
 * Returns flags for the block's word. */
static uint64_t init_end(const lanepool_pool *pool, lanepool_i_task *block,
                         const lanepool_task *task)
{
    block->as.wide.release = task->release;
    bool has_visits = lanepool_i_description_has_visits(task);
    if (task->cancelled == NULL && !has_visits)
        return 0;
    char *behind_room = (char *)block + size_with_entries(pool, task) + features_room(pool, task);
    lanepool_i_callbacks *callbacks =
        has_visits ? init_visits(pool, block, task) : (lanepool_i_callbacks *)behind_room;
    *callbacks = (lanepool_i_callbacks){ task->release, task->cancelled };
    block->as.wide.callbacks = callbacks;
    return LANEPOOL_I_HAS_CANCELLED | (has_visits ? LANEPOOL_I_CUT : 0);
}

static void init_wide(lanepool_pool *pool, lanepool_i_task *block, const lanepool_task *task,
                      size_t class)
{
    uint64_t word = LANEPOOL_I_WIDE | (uint64_t) class << LANEPOOL_I_CLASS_SHIFT;
    if (task->pump != NULL)
        word |= LANEPOOL_I_BY_CALLER | LANEPOOL_I_FOR_PUMP;
    block->function = task->function;
    block->context = task->context;
    block->as.wide.kind = task->kind;
    block->as.wide.future = NULL;
    word |= init_end(pool, block, task);
    block->as.wide.count = (uint32_t)task->claim_count & LANEPOOL_I_WIDE_COUNT_MASK;
    block->as.wide.tag = task->tag & LANEPOOL_TAG_MAX;
    atomic_init(&block->word, word);
    if (pool->slots.room[0] != NULL)
        init_features_room(pool, block, task);
}

static lanepool_i_task *take_wide_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        const lanepool_task *task)
{
    size_t size = size_with_entries(pool, task) + size_behind_entries(pool, task);
    size_t class = lanepool_i_slab_class_of(size);
    lanepool_i_task *block = lanepool_i_slab_take(&pool->slab, &record->cache, class, size);
    if (block != NULL)
        init_wide(pool, block, task, class);
    return block;
}

/* Returns the size of the task's member record; 0 if its future is none. */
static size_t member_size(const lanepool_pool *pool, const lanepool_task *task)
{
    size_t size = lanepool_i_features_member_size(pool, task);
    return size == 0 && lanepool_i_description_is_member(task) ? sizeof(lanepool_i_member) : size;
}

static bool is_simple(const lanepool_pool *pool, const lanepool_i_task *block,
                      const lanepool_task *task)
{
    return pool->has_simple && block->as.wide.future->sort == LANEPOOL_I_FUTURE_ALONE &&
           task->release == NULL && task->cancelled == NULL;
}

static bool make_block_future(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *block, const lanepool_task *task)
{
    size_t size = member_size(pool, task);
    if (size != 0)
        block->as.wide.future = lanepool_i_member_create(pool->options.allocator, size,
                                                         pool->creator, pool, block, task);
    else if (task->future != NULL)
        block->as.wide.future = lanepool_i_future_create(record, pool->creator, pool, block);
    else
        return true;
    if (block->as.wide.future == NULL)
        return false;
    if (is_simple(pool, block, task))
        store_relaxed(&block->word, load_relaxed(&block->word) | LANEPOOL_I_SIMPLE);
    LANEPOOL_I_QUARANTINE_NAME(block->as.wide.future, pool->quarantine);
    if (task->future == NULL)
        lanepool_i_future_release(block->as.wide.future);
    return true;
}

/* Gives back the program's reference, if it asked for a future, and the task's. */
static void drop_future(const lanepool_pool *pool, const lanepool_i_task *block,
                        const lanepool_task *task)
{
    if (member_size(pool, task) != 0)
        lanepool_i_member_refuse(block->as.wide.future);
    else if (task->future == NULL)
        return;
    if (task->future != NULL) {
        lanepool_i_future_release(block->as.wide.future);
        *task->future = NULL;
    }
    lanepool_i_future_release(block->as.wide.future);
}

lanepool_status lanepool_i_build_bare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      const lanepool_task *task, lanepool_i_task **built)
{
    size_t size = size_with_entries(pool, task);
    size_t class = lanepool_i_slab_class_of(size);
    lanepool_i_task *block = lanepool_i_slab_take(&pool->slab, &record->cache, class, size);
    if (block == NULL)
        return LANEPOOL_NOMEM;
    bool has_guess = class != LANEPOOL_I_SLAB_SYSTEM;
    block->as.wide.kind = has_guess ? (uintptr_t)lanepool_i_slab_early(block) : 0;
    block->function = task->function;
    block->context = task->context;
    block->as.wide.future = NULL;
    block->as.wide.release = NULL;
    block->as.wide.count = (uint32_t)task->claim_count & LANEPOOL_I_WIDE_COUNT_MASK;
    block->as.wide.tag = 0;
    atomic_init(&block->word,
                LANEPOOL_I_WIDE | LANEPOOL_I_SIMPLE | (uint64_t) class << LANEPOOL_I_CLASS_SHIFT);
    if (!fill_wide_entries(pool, record, block, task)) {
        give_block(pool, record, block);
        return LANEPOOL_NOMEM;
    }
    *built = block;
    return LANEPOOL_OK;
}

lanepool_status lanepool_i_build_wide(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      const lanepool_task *task, lanepool_i_task **built)
{
    lanepool_i_task *block = take_wide_block(pool, record, task);
    if (block == NULL)
        return LANEPOOL_NOMEM;
    if (!make_block_future(pool, record, block, task)) {
        give_block(pool, record, block);
        return LANEPOOL_NOMEM;
    }
    bool has_keys = fill_wide_entries(pool, record, block, task);
    lanepool_status status =
        has_keys ? lanepool_i_features_build(pool, record, task, block) : LANEPOOL_NOMEM;
    if (status != LANEPOOL_OK) {
        if (has_keys)
            lanepool_i_build_free_keys(pool, record, block, task, task->claim_count);
        drop_future(pool, block, task);
        give_block(pool, record, block);
        return status;
    }
    *built = block;
    return LANEPOOL_OK;
}

lanepool_status lanepool_i_build_roomy_plain(lanepool_pool *pool, lanepool_i_thread_record *record,
                                             const lanepool_task *task, lanepool_i_task **built)
{
    lanepool_i_task *block;
    bool is_roomy = pool->room.in_line || task->claim_count > 1;
    size_t class = is_roomy ? LANEPOOL_I_ROOMY_CLASS : LANEPOOL_I_PLAIN_CLASS;
    lanepool_status status = lanepool_i_build_plain(pool, record, task, class, &block);
    if (status != LANEPOOL_OK)
        return status;
    status = lanepool_i_features_build_plain(pool, record, task, block);
    if (status == LANEPOOL_OK) {
        *built = block;
        return status;
    }
    lanepool_i_build_free_keys(pool, record, block, task, task->claim_count);
    give_block(pool, record, block);
    return status;
}

LANEPOOL_I_COLD lanepool_status lanepool_i_build_barrier(lanepool_pool *pool,
                                                         lanepool_i_thread_record *record,
                                                         const lanepool_task *task,
                                                         lanepool_i_task **built)
{
    lanepool_task plain = *task;
    plain.claim_count = 0;
    lanepool_status status = lanepool_i_build_wide(pool, record, &plain, built);
    if (status == LANEPOOL_OK)
        store_relaxed(&(*built)->word,
                      load_relaxed(&(*built)->word) | LANEPOOL_I_BARRIER | LANEPOOL_I_MESSAGE);
    return status;
}

lanepool_status lanepool_i_build_with_room(lanepool_pool *pool, lanepool_i_thread_record *record,
                                           const lanepool_task *task, size_t entry_count,
                                           lanepool_i_task **built)
{
    lanepool_task roomy = *task;
    roomy.claim_count = entry_count;
    lanepool_i_task *block = take_wide_block(pool, record, &roomy);
    if (block == NULL)
        return LANEPOOL_NOMEM;
    block->as.wide.count = 0;
    lanepool_status status = LANEPOOL_NOMEM;
    if (make_block_future(pool, record, block, task)) {
        status = lanepool_i_features_build(pool, record, task, block);
        if (status != LANEPOOL_OK)
            drop_future(pool, block, task);
    }
    if (status != LANEPOOL_OK)
        give_block(pool, record, block);
    *built = block;
    return status;
}

void lanepool_i_build_again(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *block, const lanepool_task *task)
{
    init_wide(pool, block, task, lanepool_i_task_class(block));
    (void)fill_wide_entries(pool, record, block, task);
}

/* --- lanes and undoing --- */

bool lanepool_i_build_reserve_lanes(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    uint64_t count)
{
    uint64_t more = count - record->lanes + LANEPOOL_I_LANE_CREDIT;
    if (!lanepool_i_lane_memory_reserve(&pool->lane_table.store, more))
        return false;
    record->lanes += more;
    return true;
}

void lanepool_i_unbuild_without_entries(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_task *block, const lanepool_task *task)
{
    lanepool_i_features_unbuild(pool, record, block);
    drop_future(pool, block, task);
    give_block(pool, record, block);
}

void lanepool_i_unbuild(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *block, const lanepool_task *task)
{
    size_t count = lanepool_i_description_entry_count(task);
    lanepool_i_build_free_keys(pool, record, block, task, count);
    for (size_t i = 0; i < count; i++)
        record->lanes += task->claims[i].key.type != LANEPOOL_KEY_LANE;
    lanepool_i_unbuild_without_entries(pool, record, block, task);
}
