/*
 * Owns the way of a task into the inbox: its description is checked, it is
 * admitted, its block is filled, it is appended. What can fail fails before the
 * append; from then on the task is accepted and will be called once.
 */
#include "submit.h"

#include "deadline.h"
#include "description.h"
#include "latch.h"
#include "member.h"
#include "pool.h"
#include "run.h"

#include <string.h>

/* What to do when the pool is full. */
typedef enum when_full { WAIT_UNTIL, RUN_IT } when_full;

struct terms {
    when_full full;
    uint64_t wait_ns_max;
    uint64_t deadline_ns; /* 0: wait_ns_max from when it is needed */
};

/* --- filling the block --- */

#define NARROW_MAX   2
#define NARROW_CLASS 0

static inline bool is_wide(const lanepool_pool *pool, const lanepool_task *task, bool member)
{
    return member || task->claim_count > NARROW_MAX || task->future != NULL ||
           task->release != NULL || task->tag != 0 || pool->rule->all_wide;
}

static uint32_t key_type(const lanepool_claim *claim)
{
    return claim->type - LANEPOOL_KEY_ID + LANEPOOL_I_TYPE_ID;
}

/* False: memory is lacking. */
static inline bool fill_entry(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_entry *entry,
                              const lanepool_claim *claim)
{
    if (claim->type == LANEPOOL_KEY_ID) {
        entry->at.id = claim->key.id;
    } else if (claim->type == LANEPOOL_KEY_POINTER) {
        entry->at.id = (uintptr_t)claim->key.pointer;
    } else if (claim->type == LANEPOOL_KEY_LANE) {
        entry->at.handle = claim->key.lane;
    } else {
        entry->at.bytes =
            lanepool_i_key_bytes_copy(pool, local, claim->key.bytes.data, claim->key.bytes.size);
        return entry->at.bytes != NULL;
    }
    return true;
}

static lanepool_i_wide_entry *wide_entry(const lanepool_pool *pool, lanepool_i_task *task, size_t i)
{
    char *entries = (char *)(task + 1) + pool->extension;
    return (lanepool_i_wide_entry *)(entries + i * pool->rule->entry_size);
}

static void empty_entries(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *block,
                          const lanepool_task *task, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (task->claims[i].type != LANEPOOL_KEY_BYTES)
            continue;
        lanepool_i_entry *entry = is_wide(pool, task, lanepool_i_description_is_member(task))
                                      ? &wide_entry(pool, block, i)->entry
                                      : &block->as.narrow[i];
        lanepool_i_key_bytes_give(pool, local, entry->at.bytes);
    }
}

static void give_block(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *block)
{
    lanepool_i_slab_give(&pool->slab, &local->cache, lanepool_i_task_class(block), block);
}

/* Up to two claims. What the router is to fetch early stands where the link of the first entry will
 * be. */
static inline lanepool_status build_narrow(lanepool_pool *pool, lanepool_i_local *local,
                                           const lanepool_task *task, lanepool_i_task **built)
{
    uint64_t word = (uint64_t)task->claim_count << LANEPOOL_I_COUNT_SHIFT |
                    (uint64_t)NARROW_CLASS << LANEPOOL_I_CLASS_SHIFT |
                    lanepool_i_latch_start(task->claim_count);
    lanepool_i_task *block =
        lanepool_i_slab_take(&pool->slab, &local->cache, NARROW_CLASS, sizeof *block);
    if (block == NULL)
        return LANEPOOL_NOMEM;
    atomic_init(&block->as.narrow[0].next, (uintptr_t)lanepool_i_slab_early(block));
    block->function = task->function;
    block->context = task->context;
    for (size_t i = 0; i < task->claim_count; i++) {
        const lanepool_claim *claim = &task->claims[i];
        word |= (uint64_t)claim->mode << (LANEPOOL_I_SHARED_SHIFT + i);
        word |= (uint64_t)key_type(claim) << (LANEPOOL_I_TYPE_SHIFT + 2 * i);
        if (!fill_entry(pool, local, &block->as.narrow[i], claim)) {
            empty_entries(pool, local, block, task, i);
            lanepool_i_slab_give(&pool->slab, &local->cache, NARROW_CLASS, block);
            return LANEPOOL_NOMEM;
        }
    }
    atomic_init(&block->word, word);
    *built = block;
    return LANEPOOL_OK;
}

static bool fill_wide_entries(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *block,
                              const lanepool_task *task)
{
    size_t entry_size = pool->rule->entry_size;
    char *at = (char *)wide_entry(pool, block, 0);
    for (size_t i = 0; i < task->claim_count; i++, at += entry_size) {
        const lanepool_claim *claim = &task->claims[i];
        lanepool_i_wide_entry *wide = (lanepool_i_wide_entry *)at;
        wide->owner = claim->mode | key_type(claim) << LANEPOOL_I_OWNER_TYPE_SHIFT;
        if (!fill_entry(pool, local, &wide->entry, claim)) {
            empty_entries(pool, local, block, task, i);
            return false;
        }
    }
    return true;
}

static void init_wide(lanepool_i_task *block, const lanepool_task *task, size_t class)
{
    block->function = task->function;
    block->context = task->context;
    block->as.wide.kind = task->kind;
    block->as.wide.future = NULL;
    block->as.wide.release = task->release;
    block->as.wide.count = (uint32_t)task->claim_count & LANEPOOL_I_WIDE_COUNT_MASK;
    block->as.wide.tag = task->tag & LANEPOOL_TAG_MAX;
    atomic_init(&block->word,
                LANEPOOL_I_WIDE | (uint64_t) class << LANEPOOL_I_CLASS_SHIFT |
                    (task->pump != NULL ? LANEPOOL_I_BY_CALLER | LANEPOOL_I_FOR_PUMP : 0));
}

static lanepool_i_task *take_wide_block(lanepool_pool *pool, lanepool_i_local *local,
                                        const lanepool_task *task)
{
    size_t size =
        sizeof(lanepool_i_task) + pool->extension + task->claim_count * pool->rule->entry_size;
    size_t class = lanepool_i_slab_class_of(size);
    lanepool_i_task *block = lanepool_i_slab_take(&pool->slab, &local->cache, class, size);
    if (block != NULL)
        init_wide(block, task, class);
    return block;
}

static lanepool_status make_future(lanepool_pool *pool, lanepool_i_task *block,
                                   const lanepool_task *task)
{
    lanepool_status status = LANEPOOL_OK;
    if (lanepool_i_description_is_member(task))
        block->as.wide.future = lanepool_i_member_create(pool, block, task, &status);
    else if (task->future != NULL)
        block->as.wide.future =
            lanepool_i_future_create(sizeof(lanepool_future), pool, block, &status);
    if (task->future == NULL)
        lanepool_future_release(block->as.wide.future);
    return status;
}

/* The program's reference, if it wanted one, and the task's. */
static void drop_future(const lanepool_i_task *block, const lanepool_task *task)
{
    if (lanepool_i_description_is_member(task))
        lanepool_i_member_refuse(block->as.wide.future);
    else if (task->future == NULL)
        return;
    if (task->future != NULL) {
        lanepool_future_release(block->as.wide.future);
        *task->future = NULL;
    }
    lanepool_future_release(block->as.wide.future);
}

static lanepool_status build_wide(lanepool_pool *pool, lanepool_i_local *local,
                                  const lanepool_task *task, lanepool_i_task **built)
{
    lanepool_i_task *block = take_wide_block(pool, local, task);
    if (block == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status status = make_future(pool, block, task);
    if (status == LANEPOOL_OK && !fill_wide_entries(pool, local, block, task)) {
        status = LANEPOOL_NOMEM;
        drop_future(block, task);
    }
    if (status != LANEPOOL_OK)
        give_block(pool, local, block);
    *built = block;
    return status;
}

static bool reserve_lanes(lanepool_pool *pool, lanepool_i_local *local, uint64_t count)
{
    uint64_t more = count - local->lanes + LANEPOOL_I_LANE_CREDIT;
    if (!lanepool_i_lanestore_reserve(&pool->keys.store, more))
        return false;
    local->lanes += more;
    return true;
}

static LANEPOOL_I_COLD lanepool_status build_barrier(lanepool_pool *pool, lanepool_i_local *local,
                                                     const lanepool_task *task,
                                                     lanepool_i_task **built)
{
    lanepool_task plain = *task;
    plain.claim_count = 0;
    lanepool_status status = build_wide(pool, local, &plain, built);
    if (status == LANEPOOL_OK)
        store_relaxed(&(*built)->word,
                      load_relaxed(&(*built)->word) | LANEPOOL_I_BARRIER | LANEPOOL_I_MESSAGE);
    return status;
}

/* On success the block is complete; the caller's future pointer is set by hand_out_future(). */
static inline lanepool_status build(lanepool_pool *pool, lanepool_i_local *local,
                                    const lanepool_task *task, bool member, uint64_t lanes,
                                    lanepool_i_task **built)
{
    if (lanes == LANEPOOL_I_EVERYTHING)
        return build_barrier(pool, local, task, built);
    if (local->lanes < lanes && !reserve_lanes(pool, local, lanes))
        return LANEPOOL_NOMEM;
    lanepool_status status = is_wide(pool, task, member) ? build_wide(pool, local, task, built)
                                                         : build_narrow(pool, local, task, built);
    if (status == LANEPOOL_OK)
        local->lanes -= lanes;
    return status;
}

/* The inbox was closed: as if it had never been built. */
static void unbuild(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *block,
                    const lanepool_task *task)
{
    size_t count = lanepool_i_description_entry_count(task);
    empty_entries(pool, local, block, task, count);
    for (size_t i = 0; i < count; i++)
        local->lanes += task->claims[i].type != LANEPOOL_KEY_LANE;
    drop_future(block, task);
    give_block(pool, local, block);
}

/* --- admission --- */

static bool is_open(const lanepool_pool *pool, bool inside)
{
    uint32_t state = load_relaxed(&pool->lifecycle.state);
    return state == LANEPOOL_I_RUNNING || (inside && state == LANEPOOL_I_DRAINING);
}

static lanepool_status admit_slowly(lanepool_pool *pool, lanepool_i_local *local,
                                    struct terms terms)
{
    bool inside = lanepool_i_local_is_inside(local);
    if (!is_open(pool, inside))
        return LANEPOOL_SHUT_DOWN;
    if (lanepool_i_admission_try(&pool->admission, local))
        return LANEPOOL_OK;
    if (terms.full == WAIT_UNTIL && terms.wait_ns_max == 0)
        return is_open(pool, inside) ? LANEPOOL_FULL : LANEPOOL_SHUT_DOWN;
    if (inside || terms.full == RUN_IT) {
        lanepool_i_admission_force(&pool->admission, local);
        return inside ? LANEPOOL_OK : LANEPOOL_FULL;
    }
    lanepool_i_router_try_route(pool, local);
    uint64_t deadline_ns = terms.deadline_ns;
    if (deadline_ns == 0)
        deadline_ns = lanepool_i_deadline(terms.wait_ns_max);
    return lanepool_i_admission_wait(&pool->admission, local, deadline_ns);
}

/* OK; or FULL for a task that its caller is to run; or why it is not accepted. */
static inline lanepool_status admit(lanepool_pool *pool, lanepool_i_local *local,
                                    struct terms terms)
{
    if (local->admitted == 0 || load_relaxed(&pool->lifecycle.state) != LANEPOOL_I_RUNNING)
        return admit_slowly(pool, local, terms);
    local->admitted--;
    return LANEPOOL_OK;
}

/* --- one task --- */

static void hand_out_future(const lanepool_task *task, const lanepool_i_task *block)
{
    if (task->future != NULL)
        *task->future = block->as.wide.future;
}

/* SUBMIT is written before the append: behind it they may be routed, and be gone, at any time. */
static LANEPOOL_I_COLD void trace_each(lanepool_i_ring *ring, lanepool_event_type type,
                                       const lanepool_i_task *first, const lanepool_i_task *last)
{
    const lanepool_i_task *task = first;
    for (; task != last; task = load_relaxed(&task->next))
        lanepool_i_trace(ring, type, (uintptr_t)task, 0);
    lanepool_i_trace(ring, type, (uintptr_t)last, 0);
}

static inline bool append(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *first,
                          lanepool_i_task *last, uint64_t count)
{
    lanepool_i_count_up(&local->accepted, count);
    if (lanepool_i_records(local->ring, LANEPOOL_EVENT_SUBMIT))
        trace_each(local->ring, LANEPOOL_EVENT_SUBMIT, first, last);
    if (lanepool_i_inbox_append(&pool->router.inbox, first, last, local->last_appended)) {
        local->last_appended = last;
        return true;
    }
    lanepool_i_count_up(&local->accepted, -count);
    if (lanepool_i_records(local->ring, LANEPOOL_EVENT_CANCEL))
        trace_each(local->ring, LANEPOOL_EVENT_CANCEL, first, last);
    return false;
}

/* A group lists nothing that may yet be refused: it is locked around the append. */
static inline bool append_to(lanepool_group *group, lanepool_pool *pool, lanepool_i_local *local,
                             lanepool_i_task *first, lanepool_i_task *last, uint64_t count)
{
    if (group == NULL)
        return append(pool, local, first, last, count);
    lanepool_i_members_enter(group, first, last);
    bool accepted = append(pool, local, first, last, count);
    lanepool_i_members_entered(group, first, last, accepted);
    return accepted;
}

/* No worker will run a pump's tasks, and whoever is to run them may not look by himself: they are
 * routed at once if that is possible. */
static inline void appended(lanepool_pool *pool, lanepool_i_local *local, bool for_pump)
{
    lanepool_i_router_appended(pool, local);
    if (for_pump)
        lanepool_i_router_try_route(pool, local);
}

/* `member`: it is one. */
static inline lanepool_status submit_as(bool member, lanepool_pool *pool, const lanepool_task *task,
                                        struct terms terms)
{
    uint64_t lanes;
    if (task != NULL && task->future != NULL)
        *task->future = NULL;
    if (pool == NULL || task == NULL || !lanepool_i_description_is_valid(pool, task, &lanes))
        return LANEPOOL_INVALID;
    lanepool_i_local *local = lanepool_i_pool_local(pool);
    if (local == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status admitted = admit(pool, local, terms);
    if (admitted != LANEPOOL_OK && !(admitted == LANEPOOL_FULL && terms.full == RUN_IT))
        return admitted;
    lanepool_i_task *block;
    lanepool_status status = build(pool, local, task, member, lanes, &block);
    if (status == LANEPOOL_OK) {
        hand_out_future(task, block);
        if (admitted == LANEPOOL_FULL)
            status = lanepool_i_waits_append_and_run(pool, local, block);
        else if (append_to(member ? task->group : NULL, pool, local, block, block, 1))
            appended(pool, local, member && task->pump != NULL);
        else
            status = LANEPOOL_SHUT_DOWN;
        if (status != LANEPOOL_OK)
            unbuild(pool, local, block, task);
    }
    if (status != LANEPOOL_OK)
        lanepool_i_admission_return(&pool->admission, local);
    return status;
}

static LANEPOOL_I_COLD lanepool_status submit_member(lanepool_pool *pool, const lanepool_task *task,
                                                     struct terms terms)
{
    /* Whoever submits a pump's task cannot run it. Refused in one place: without a pool. */
    bool good = lanepool_i_description_has_right_pump(pool, task) &&
                (task->pump == NULL || terms.full != RUN_IT);
    return submit_as(true, good ? pool : NULL, task, terms);
}

static inline lanepool_status submit(lanepool_pool *pool, const lanepool_task *task,
                                     struct terms terms)
{
    if (task != NULL && __builtin_expect(lanepool_i_description_is_member(task), 0))
        return submit_member(pool, task, terms);
    return submit_as(false, pool, task, terms);
}

lanepool_status lanepool_pool_submit(lanepool_pool *pool, const lanepool_task *task)
{
    struct terms terms = { WAIT_UNTIL, LANEPOOL_FOREVER, UINT64_MAX };
    return submit(pool, task, terms);
}

lanepool_status lanepool_pool_submit_within(lanepool_pool *pool, const lanepool_task *task,
                                            uint64_t wait_ns_max)
{
    struct terms terms = { WAIT_UNTIL, wait_ns_max, 0 };
    return submit(pool, task, terms);
}

lanepool_status lanepool_pool_submit_or_run(lanepool_pool *pool, const lanepool_task *task)
{
    struct terms terms = { RUN_IT, LANEPOOL_FOREVER, UINT64_MAX };
    return submit(pool, task, terms);
}

/* --- apart from the inbox --- */

lanepool_status lanepool_i_submit_prepare(lanepool_pool *pool, lanepool_i_local *local,
                                          const lanepool_task *task, size_t entry_count,
                                          lanepool_i_task **prepared)
{
    uint64_t lanes;
    if (!lanepool_i_description_is_valid(pool, task, &lanes) ||
        !lanepool_i_description_has_right_pump(pool, task))
        return LANEPOOL_INVALID;
    lanepool_task roomy = *task;
    roomy.claim_count = entry_count;
    lanepool_i_task *block = take_wide_block(pool, local, &roomy);
    if (block == NULL)
        return LANEPOOL_NOMEM;
    block->as.wide.count = 0;
    lanepool_status status = make_future(pool, block, task);
    if (status != LANEPOOL_OK) {
        give_block(pool, local, block);
        return status;
    }
    lanepool_i_admission_force(&pool->admission, local);
    hand_out_future(task, block);
    *prepared = block;
    return LANEPOOL_OK;
}

void lanepool_i_submit_take_back(lanepool_pool *pool, lanepool_i_local *local,
                                 const lanepool_task *task, lanepool_i_task *prepared)
{
    drop_future(prepared, task);
    give_block(pool, local, prepared);
    lanepool_i_admission_return(&pool->admission, local);
}

lanepool_status lanepool_i_submit_for_later(lanepool_pool *pool, const lanepool_task *task,
                                            lanepool_i_local **local, lanepool_i_task **block)
{
    struct terms terms = { WAIT_UNTIL, LANEPOOL_FOREVER, UINT64_MAX };
    uint64_t lanes;
    if (task != NULL && task->future != NULL)
        *task->future = NULL;
    if (pool == NULL || task == NULL ||
        !lanepool_i_description_is_valid_for_later(pool, task, &lanes))
        return LANEPOOL_INVALID;
    *local = lanepool_i_pool_local(pool);
    if (*local == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status status = admit(pool, *local, terms);
    if (status != LANEPOOL_OK)
        return status;
    status = build(pool, *local, task, false, lanes, block);
    if (status == LANEPOOL_OK)
        hand_out_future(task, *block);
    else
        lanepool_i_admission_return(&pool->admission, *local);
    return status;
}

void lanepool_i_submit_undo(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *block,
                            const lanepool_task *task)
{
    unbuild(pool, local, block, task);
    lanepool_i_admission_return(&pool->admission, local);
}

void lanepool_i_submit_refill(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *block,
                              const lanepool_task *task)
{
    init_wide(block, task, lanepool_i_task_class(block));
    (void)fill_wide_entries(pool, local, block, task);
}

/* --- several tasks --- */

/* Tasks built and not yet appended. */
struct piece {
    lanepool_i_tasks blocks;
    const lanepool_task *tasks; /* the first one's description */
    lanepool_group *group;      /* all of them have */
    bool for_pump;              /* one of them is */
};

/* False: the inbox is closed, nothing of the piece was accepted. */
static bool append_piece(lanepool_pool *pool, lanepool_i_local *local, struct piece *piece)
{
    size_t count = piece->blocks.count;
    if (count == 0)
        return true;
    bool accepted =
        append_to(piece->group, pool, local, piece->blocks.first, piece->blocks.last, count);
    for (size_t i = 0; !accepted && i < count; i++) {
        unbuild(pool, local, lanepool_i_tasks_take(&piece->blocks), &piece->tasks[i]);
        lanepool_i_admission_return(&pool->admission, local);
    }
    piece->blocks = (lanepool_i_tasks){ NULL, NULL, 0 };
    if (accepted) {
        piece->tasks += count;
        appended(pool, local, piece->for_pump);
    }
    piece->for_pump = false;
    return accepted;
}

/* Before the submitter may have to wait, what it has built so far must be on its way; and before a
 * task of another group, since one group is locked around an append. */
static lanepool_status admit_next(lanepool_pool *pool, lanepool_i_local *local, struct piece *piece,
                                  const lanepool_task *task, struct terms terms)
{
    if (local->admitted > 0 && piece->group == task->group &&
        is_open(pool, lanepool_i_local_is_inside(local)))
        return admit(pool, local, terms);
    if (!append_piece(pool, local, piece))
        return LANEPOOL_SHUT_DOWN;
    return admit(pool, local, terms);
}

static lanepool_status build_next(lanepool_pool *pool, lanepool_i_local *local, struct piece *piece,
                                  const lanepool_task *task, struct terms terms)
{
    uint64_t lanes;
    if (!lanepool_i_description_is_valid(pool, task, &lanes) ||
        !lanepool_i_description_has_right_pump(pool, task))
        return LANEPOOL_INVALID;
    lanepool_status status = admit_next(pool, local, piece, task, terms);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_task *block;
    status = build(pool, local, task, lanepool_i_description_is_member(task), lanes, &block);
    if (status != LANEPOOL_OK) {
        lanepool_i_admission_return(&pool->admission, local);
        return status;
    }
    hand_out_future(task, block);
    piece->group = task->group;
    piece->for_pump = piece->for_pump || task->pump != NULL;
    lanepool_i_tasks_add(&piece->blocks, block);
    return LANEPOOL_OK;
}

static lanepool_status submit_pieces(lanepool_pool *pool, lanepool_i_local *local,
                                     const lanepool_task *tasks, size_t task_count,
                                     struct terms terms, size_t *accepted)
{
    struct piece piece = { .blocks = { NULL, NULL, 0 }, .tasks = tasks };
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < task_count && status == LANEPOOL_OK; i++) {
        status = build_next(pool, local, &piece, &tasks[i], terms);
        if (piece.blocks.count == LANEPOOL_I_APPEND_BATCH && !append_piece(pool, local, &piece))
            status = LANEPOOL_SHUT_DOWN;
    }
    if (!append_piece(pool, local, &piece))
        status = LANEPOOL_SHUT_DOWN;
    *accepted = (size_t)(piece.tasks - tasks);
    return status;
}

lanepool_status lanepool_pool_submit_batch(lanepool_pool *pool, const lanepool_task *tasks,
                                           size_t task_count, uint64_t wait_ns_max,
                                           size_t *accepted)
{
    size_t count = 0;
    if (accepted != NULL)
        *accepted = 0;
    if (pool == NULL || (tasks == NULL && task_count > 0))
        return LANEPOOL_INVALID;
    lanepool_i_local *local = lanepool_i_pool_local(pool);
    if (local == NULL)
        return LANEPOOL_NOMEM;
    for (size_t i = 0; i < task_count; i++)
        if (tasks[i].future != NULL)
            *tasks[i].future = NULL;
    struct terms terms = { WAIT_UNTIL, wait_ns_max, lanepool_i_deadline(wait_ns_max) };
    lanepool_status status = submit_pieces(pool, local, tasks, task_count, terms, &count);
    if (accepted != NULL)
        *accepted = count;
    return status;
}
