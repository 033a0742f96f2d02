/* Owns kinds, their batches, and the predicate's answers about them; see rule_kinds.h. */
#include "route/rule_kinds.h"

#include "route/conflict.h"
#include "route/pool.h"

#include <string.h>

/* Guards: A atomic, R role's holder. */
struct lanepool_i_kind_batch {
    lanepool_i_successors successors; /* A: closed: every member has finished */
    _Atomic uint32_t unfinished;      /* A: members */
    uint32_t unreaped;                /* R: members */
    bool sealed;                      /* R: a task waits for it: it takes no further members */
    lanepool_i_kind *kind;            /* R */
};

/* The answers of the predicate about the kinds of 64 slots, a bit for each. */
struct answers {
    uint64_t asked;
    uint64_t conflicting;
};

/* Guard: R. */
struct lanepool_i_kind {
    lanepool_i_kind *next; /* in its bucket */
    uint64_t number;
    lanepool_i_kind_batch *newest; /* or NULL if that has been reaped */
    lanepool_i_task *members;      /* not yet reaped, newest first */
    size_t slot;
    size_t words;            /* of `answers` */
    struct answers *answers; /* by the other kind's slot */
};

lanepool_i_successors *lanepool_i_kind_batch_successors(lanepool_i_kind_batch *batch)
{
    return &batch->successors;
}

bool lanepool_i_kind_batch_leave(lanepool_i_kind_batch *batch)
{
    return fetch_sub_acq_rel(&batch->unfinished, 1) == 1;
}

/* --- the table of kinds --- */

static uint64_t bit_of(size_t slot)
{
    return (uint64_t)1 << slot % 64;
}

static lanepool_i_kind **bucket_of(const lanepool_pool *pool, uint64_t number)
{
    const lanepool_i_kinds *kinds = &pool->predicate.kinds;
    uint32_t hash = lanepool_i_key_index_hash_word(pool->lane_table.index.seed, number, 0);
    return &kinds->buckets[hash & (kinds->bucket_count - 1)];
}

static lanepool_i_kind *find_kind(const lanepool_pool *pool, uint64_t number)
{
    if (pool->predicate.kinds.count == 0)
        return NULL;
    lanepool_i_kind *kind = *bucket_of(pool, number);
    while (kind != NULL && kind->number != number)
        kind = kind->next;
    return kind;
}

static void each_kind(lanepool_pool *pool, void (*found)(lanepool_i_kind *kind, void *context),
                      void *context)
{
    const lanepool_i_kinds *kinds = &pool->predicate.kinds;
    for (size_t word = 0; word < kinds->words; word++)
        for (uint64_t bits = kinds->used[word]; bits != 0; bits &= bits - 1)
            found(kinds->by_slot[word * 64 + (size_t)__builtin_ctzll(bits)], context);
}

static void add_to_bucket(lanepool_i_kind *kind, void *context)
{
    lanepool_i_kind **bucket = bucket_of(context, kind->number);
    kind->next = *bucket;
    *bucket = kind;
}

/* Doubles the buckets when there are as many kinds. If memory cannot be allocated, the lists get
 * longer. Returns false if there is no bucket at all. */
static bool reserve_buckets(lanepool_pool *pool)
{
    lanepool_i_kinds *kinds = &pool->predicate.kinds;
    if (kinds->count < kinds->bucket_count)
        return true;
    size_t count = kinds->bucket_count == 0 ? 16 : 2 * kinds->bucket_count;
    lanepool_i_kind **buckets = lanepool_i_memory_alloc(count * sizeof(lanepool_i_kind *));
    if (buckets == NULL)
        return kinds->bucket_count > 0;
    memset(buckets, 0, count * sizeof(lanepool_i_kind *));
    lanepool_i_memory_free(kinds->buckets);
    kinds->buckets = buckets;
    kinds->bucket_count = count;
    each_kind(pool, add_to_bucket, pool);
    return true;
}

static bool add_slots(lanepool_i_kinds *kinds)
{
    size_t words = 2 * kinds->words + 1;
    lanepool_i_kind **by_slot = lanepool_i_memory_alloc(words * 64 * sizeof(lanepool_i_kind *));
    uint64_t *used = lanepool_i_memory_alloc(words * sizeof *used);
    if (by_slot == NULL || used == NULL) {
        lanepool_i_memory_free(by_slot);
        lanepool_i_memory_free(used);
        return false;
    }
    memset(used, 0, words * sizeof *used);
    if (kinds->words > 0) {
        memcpy(by_slot, kinds->by_slot, kinds->words * 64 * sizeof(lanepool_i_kind *));
        memcpy(used, kinds->used, kinds->words * sizeof *used);
    }
    lanepool_i_memory_free(kinds->by_slot);
    lanepool_i_memory_free(kinds->used);
    kinds->by_slot = by_slot;
    kinds->used = used;
    kinds->words = words;
    return true;
}

/* Sets *slot to one that no kind uses. Returns false if memory cannot be allocated. */
static bool find_free_slot(lanepool_i_kinds *kinds, size_t *slot)
{
    size_t word = 0;
    while (word < kinds->words && kinds->used[word] == UINT64_MAX)
        word++;
    if (word == kinds->words && !add_slots(kinds))
        return false;
    *slot = word * 64 + (size_t)__builtin_ctzll(~kinds->used[word]);
    return true;
}

/* --- answers --- */

/* Makes room for the answers about all slots. If memory cannot be allocated, the predicate is asked
 * each time about those without room. */
static void reserve_answers(lanepool_i_kind *kind, size_t words)
{
    struct answers *answers =
        kind->words < words ? lanepool_i_memory_alloc(words * sizeof *answers) : NULL;
    if (answers == NULL)
        return;
    memset(answers, 0, words * sizeof *answers);
    if (kind->words > 0)
        memcpy(answers, kind->answers, kind->words * sizeof *answers);
    lanepool_i_memory_free(kind->answers);
    kind->answers = answers;
    kind->words = words;
}

static void store_answer(const lanepool_i_kinds *kinds, lanepool_i_kind *kind, size_t slot,
                         bool conflict)
{
    reserve_answers(kind, kinds->words);
    if (slot / 64 >= kind->words)
        return;
    kind->answers[slot / 64].asked |= bit_of(slot);
    kind->answers[slot / 64].conflicting |= conflict ? bit_of(slot) : 0;
}

/* A kind that reuses a slot must not find the answers about the previous one. */
static void forget_answer(lanepool_i_kind *kind, void *context)
{
    size_t slot = *(const size_t *)context;
    if (slot / 64 >= kind->words)
        return;
    kind->answers[slot / 64].asked &= ~bit_of(slot);
    kind->answers[slot / 64].conflicting &= ~bit_of(slot);
}

/* Returns a member that the predicate can be asked about; NULL if all members are tombstones. */
static lanepool_i_task *find_askable_member(const lanepool_i_kind *kind)
{
    lanepool_i_task *member = kind->members;
    while (member != NULL && lanepool_i_task_is_tombstone(member))
        member = lanepool_i_tracked_of(member)->older;
    return member;
}

static bool ask_about_kind(lanepool_i_scan *scan, lanepool_i_kind *other)
{
    const lanepool_i_kinds *kinds = &scan->pool->predicate.kinds;
    const lanepool_i_task *member = find_askable_member(other);
    if (member == NULL) {
        scan->has_unasked_kind = true;
        return false;
    }
    bool conflict = lanepool_i_tasks_conflict(scan->pool, scan->record, scan->task, member);
    store_answer(kinds, scan->kind, other->slot, conflict);
    store_answer(kinds, other, scan->kind->slot, conflict);
    return conflict;
}

/* --- scanning --- */

static void wait_for_batch(lanepool_i_scan *scan, const lanepool_i_kind *kind)
{
    lanepool_i_scan_wait_for(scan, &kind->newest->successors, LANEPOOL_EVENT_LANE_KIND,
                             kind->number);
}

static bool has_unfinished_batch(const lanepool_i_kind *kind)
{
    return kind->newest != NULL && !lanepool_i_successors_closed(&kind->newest->successors);
}

/* Waits for those kinds of 64 slots that conflict with the task's. The kinds among them that are
 * known to be compatible cost nothing. */
static void wait_for_slots(lanepool_i_scan *scan, size_t word)
{
    const lanepool_i_kinds *kinds = &scan->pool->predicate.kinds;
    struct answers known = { 0, 0 };
    if (word < scan->kind->words)
        known = scan->kind->answers[word];
    uint64_t bits = kinds->used[word] & (known.conflicting | ~known.asked);
    for (; bits != 0; bits &= bits - 1) {
        size_t slot = word * 64 + (size_t)__builtin_ctzll(bits);
        lanepool_i_kind *other = kinds->by_slot[slot];
        if (!has_unfinished_batch(other) ||
            ((known.asked & bit_of(slot)) == 0 && !ask_about_kind(scan, other)))
            continue;
        other->newest->sealed = true;
        scan->waits_for_own_kind |= other == scan->kind;
        wait_for_batch(scan, other);
    }
}

/*
 * The task's own batch must end after older batches of its kind. If the newest of these is sealed,
 * the sealing task waits for it, and this task waits for the sealing task, as a rule. But if that
 * is a tombstone, the predicate cannot be asked about it. So if some kind has only tombstones left,
 * this task waits for the batch of its own kind directly.
 */
static void wait_for_kinds(lanepool_i_scan *scan)
{
    for (size_t word = 0; word < scan->pool->predicate.kinds.words; word++)
        wait_for_slots(scan, word);
    if (scan->has_unasked_kind && !scan->waits_for_own_kind && has_unfinished_batch(scan->kind) &&
        scan->kind->newest->sealed)
        wait_for_batch(scan, scan->kind);
}

static void wait_for_members(lanepool_i_kind *kind, void *scan)
{
    for (lanepool_i_task *old = kind->members; old != NULL; old = lanepool_i_tracked_of(old)->older)
        lanepool_i_scan_task(scan, old);
}

/* --- entering --- */

/* Returns NULL if memory cannot be allocated. */
static lanepool_i_kind *add_kind(lanepool_pool *pool, uint64_t number)
{
    lanepool_i_kinds *kinds = &pool->predicate.kinds;
    lanepool_i_kind *kind = lanepool_i_memory_alloc(sizeof *kind);
    if (kind == NULL)
        return NULL;
    memset(kind, 0, sizeof *kind);
    kind->number = number;
    if (!reserve_buckets(pool) || !find_free_slot(kinds, &kind->slot)) {
        lanepool_i_memory_free(kind);
        return NULL;
    }
    each_kind(pool, forget_answer, &kind->slot);
    kinds->by_slot[kind->slot] = kind;
    kinds->used[kind->slot / 64] |= bit_of(kind->slot);
    kinds->count++;
    add_to_bucket(kind, pool);
    return kind;
}

static void remove_kind(lanepool_i_kind *kind, void *context)
{
    lanepool_pool *pool = context;
    lanepool_i_kinds *kinds = &pool->predicate.kinds;
    lanepool_i_kind **at = bucket_of(pool, kind->number);
    while (*at != kind)
        at = &(*at)->next;
    *at = kind->next;
    kinds->used[kind->slot / 64] &= ~bit_of(kind->slot);
    kinds->count--;
    lanepool_i_memory_free(kind->answers);
    lanepool_i_memory_free(kind);
}

/* A task without a kind waits for each member that it conflicts with. So does a task that is
 * scanned again: the newest batches may have later members. */
void lanepool_i_kinds_scan(lanepool_i_scan *scan)
{
    uint64_t number = scan->task->as.wide.kind;
    bool again = (load_relaxed(&scan->task->word) & LANEPOOL_I_RESCAN) != 0;
    if (number != 0 && !again) {
        scan->kind = find_kind(scan->pool, number);
        if (scan->kind == NULL)
            scan->kind = add_kind(scan->pool, number);
    }
    if (scan->kind != NULL)
        wait_for_kinds(scan);
    else
        each_kind(scan->pool, wait_for_members, scan);
}

/* Adds a member to the batch. Returns false if all its members have finished. */
static bool try_enter_batch(lanepool_i_kind_batch *batch)
{
    uint32_t unfinished = load_relaxed(&batch->unfinished);
    while (unfinished != 0)
        if (cas_relaxed(&batch->unfinished, &unfinished, unfinished + 1))
            return true;
    return false;
}

static lanepool_i_kind_batch *open_batch(lanepool_i_scan *scan, lanepool_i_kind *kind)
{
    if (kind->newest != NULL && !kind->newest->sealed && try_enter_batch(kind->newest))
        return kind->newest;
    size_t class = lanepool_i_slab_class_of(sizeof(lanepool_i_kind_batch));
    lanepool_i_kind_batch *batch =
        lanepool_i_slab_take(&scan->pool->slab, &scan->record->cache, class, sizeof *batch);
    if (batch == NULL)
        return NULL;
    atomic_init(&batch->successors, NULL);
    atomic_init(&batch->unfinished, 1);
    batch->unreaped = 0;
    batch->sealed = false;
    batch->kind = kind;
    kind->newest = batch;
    return batch;
}

bool lanepool_i_kinds_enter(lanepool_i_scan *scan)
{
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(scan->task);
    lanepool_i_kind *kind = scan->kind;
    if (kind == NULL)
        return false;
    lanepool_i_kind_batch *batch = open_batch(scan, kind);
    if (batch == NULL) {
        if (kind->members == NULL)
            remove_kind(kind, scan->pool);
        return false;
    }
    batch->unreaped++;
    tracked->batch = batch;
    tracked->older = kind->members;
    tracked->newer = NULL;
    if (kind->members != NULL)
        lanepool_i_tracked_of(kind->members)->newer = scan->task;
    kind->members = scan->task;
    return true;
}

/* --- leaving --- */

static void unlink_member(lanepool_i_kind *kind, const lanepool_i_tracked *tracked)
{
    if (tracked->older != NULL)
        lanepool_i_tracked_of(tracked->older)->newer = tracked->newer;
    if (tracked->newer != NULL)
        lanepool_i_tracked_of(tracked->newer)->older = tracked->older;
    else
        kind->members = tracked->older;
}

void lanepool_i_kinds_reap(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task)
{
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(task);
    lanepool_i_kind_batch *batch = tracked->batch;
    lanepool_i_kind *kind = batch->kind;
    unlink_member(kind, tracked);
    if (--batch->unreaped > 0)
        return;
    if (kind->newest == batch)
        kind->newest = NULL;
    lanepool_i_slab_give(&pool->slab, &record->cache,
                         lanepool_i_slab_class_of(sizeof(lanepool_i_kind_batch)), batch);
    if (kind->members == NULL)
        remove_kind(kind, pool);
}

/* --- the end --- */

struct visit {
    void (*found)(lanepool_i_task *task, void *context);
    void *context;
};

static void visit_members(lanepool_i_kind *kind, void *context)
{
    const struct visit *visit = context;
    for (lanepool_i_task *task = kind->members; task != NULL;
         task = lanepool_i_tracked_of(task)->older)
        if (!lanepool_i_successors_closed(&lanepool_i_tracked_of(task)->successors))
            visit->found(task, visit->context);
}

void lanepool_i_kinds_each(lanepool_pool *pool, void (*found)(lanepool_i_task *task, void *context),
                           void *context)
{
    struct visit visit = { found, context };
    each_kind(pool, visit_members, &visit);
}

void lanepool_i_kinds_fini(lanepool_pool *pool)
{
    lanepool_i_kinds *kinds = &pool->predicate.kinds;
    each_kind(pool, remove_kind, pool);
    lanepool_i_memory_free(kinds->buckets);
    lanepool_i_memory_free(kinds->by_slot);
    lanepool_i_memory_free(kinds->used);
}
