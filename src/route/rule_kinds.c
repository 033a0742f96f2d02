/* Owns kinds, their batches, and the predicate's answers about them; see rule_kinds.h. */
#include "route/rule_kinds.h"

#include "route/conflict.h"
#include "route/pool.h"

#include <string.h>

enum { NOT_ASKED, COMPATIBLE, CONFLICTING };

/* Guards: A atomic, R role's holder. */
struct lanepool_i_kind_batch {
    lanepool_i_successors successors; /* A: closed: every member has finished */
    _Atomic uint32_t unfinished;      /* A: members */
    uint32_t unreaped;                /* R: members */
    bool sealed;                      /* R: a task waits for it: it takes no further members */
    lanepool_i_kind *kind;            /* R */
};

/* Guard: R. */
struct lanepool_i_kind {
    lanepool_i_kind *next;
    uint64_t number;
    lanepool_i_kind_batch *newest; /* or NULL if that has been reaped */
    lanepool_i_task *members;      /* not yet reaped, newest first */
    size_t slot;                   /* this kind's index in the answers of other kinds */
    size_t answer_count;
    unsigned char *answers; /* by the other kind's slot */
};

lanepool_i_successors *lanepool_i_kind_batch_successors(lanepool_i_kind_batch *batch)
{
    return &batch->successors;
}

bool lanepool_i_kind_batch_leave(lanepool_i_kind_batch *batch)
{
    return fetch_sub_acq_rel(&batch->unfinished, 1) == 1;
}

static lanepool_i_kind *find_kind(const lanepool_pool *pool, uint64_t number)
{
    lanepool_i_kind *kind = pool->predicate.kinds;
    while (kind != NULL && kind->number != number)
        kind = kind->next;
    return kind;
}

/* --- answers --- */

/* Returns where the answer about the other kind is stored. Returns NULL if memory cannot be
 * allocated: then the predicate is asked each time. */
static unsigned char *find_answer(lanepool_i_kind *kind, size_t slot)
{
    if (slot >= kind->answer_count) {
        size_t count = 2 * slot + 16;
        unsigned char *answers = lanepool_i_memory_alloc(count);
        if (answers == NULL)
            return NULL;
        memset(answers, NOT_ASKED, count);
        if (kind->answer_count > 0)
            memcpy(answers, kind->answers, kind->answer_count);
        lanepool_i_memory_free(kind->answers);
        kind->answers = answers;
        kind->answer_count = count;
    }
    return &kind->answers[slot];
}

/* Returns a member that the predicate can be asked about; NULL if all members are tombstones. */
static lanepool_i_task *find_askable_member(const lanepool_i_kind *kind)
{
    lanepool_i_task *member = kind->members;
    while (member != NULL && lanepool_i_task_is_tombstone(member))
        member = lanepool_i_tracked_of(member)->older;
    return member;
}

static bool kinds_conflict(lanepool_i_scan *scan, lanepool_i_kind *own, lanepool_i_kind *other)
{
    unsigned char *answer = own != NULL ? find_answer(own, other->slot) : NULL;
    if (answer != NULL && *answer != NOT_ASKED)
        return *answer == CONFLICTING;
    const lanepool_i_task *member = find_askable_member(other);
    if (member == NULL) {
        scan->has_unasked_kind = true;
        return false;
    }
    bool conflict = lanepool_i_tasks_conflict(scan->pool, scan->record, scan->task, member);
    if (answer != NULL)
        *answer = conflict ? CONFLICTING : COMPATIBLE;
    unsigned char *mirrored = own != NULL ? find_answer(other, own->slot) : NULL;
    if (mirrored != NULL)
        *mirrored = conflict ? CONFLICTING : COMPATIBLE;
    return conflict;
}

/* Forgets the answers about a slot. A kind that reuses the slot must not find the answers about the
 * previous one. */
static void forget_answers(lanepool_pool *pool, size_t slot)
{
    for (lanepool_i_kind *kind = pool->predicate.kinds; kind != NULL; kind = kind->next)
        if (slot < kind->answer_count)
            kind->answers[slot] = NOT_ASKED;
}

/* --- scanning --- */

static void wait_for_batch(lanepool_i_scan *scan, const lanepool_i_kind *kind)
{
    lanepool_i_scan_wait_for(scan, &kind->newest->successors, LANEPOOL_EVENT_LANE_KIND,
                             kind->number);
}

/*
 * The task's own batch must end after older batches of its kind. If the newest of these is sealed,
 * the sealing task waits for it, and this task waits for the sealing task, as a rule. But if that
 * is a tombstone, the predicate cannot be asked about it. So if some kind has only tombstones left,
 * this task waits for the batch of its own kind directly.
 */
static void wait_for_kinds(lanepool_i_scan *scan)
{
    lanepool_i_kind *own = find_kind(scan->pool, scan->task->as.wide.kind);
    bool waits_for_own = false;
    for (lanepool_i_kind *kind = scan->pool->predicate.kinds; kind != NULL; kind = kind->next) {
        lanepool_i_kind_batch *batch = kind->newest;
        if (batch == NULL || lanepool_i_successors_closed(&batch->successors) ||
            !kinds_conflict(scan, own, kind))
            continue;
        batch->sealed = true;
        waits_for_own = waits_for_own || kind == own;
        wait_for_batch(scan, kind);
    }
    if (scan->has_unasked_kind && !waits_for_own && own != NULL && own->newest != NULL &&
        own->newest->sealed && !lanepool_i_successors_closed(&own->newest->successors))
        wait_for_batch(scan, own);
}

/* Makes the task wait for each older member that it conflicts with: a task without a kind, or one
 * that is scanned again. */
static void wait_for_members(lanepool_i_scan *scan)
{
    uint64_t ticket = lanepool_i_task_ticket(scan->task);
    for (lanepool_i_kind *kind = scan->pool->predicate.kinds; kind != NULL; kind = kind->next)
        for (lanepool_i_task *old = kind->members; old != NULL;
             old = lanepool_i_tracked_of(old)->older) {
            lanepool_i_tracked *tracked = lanepool_i_tracked_of(old);
            if (!lanepool_i_ticket_before(lanepool_i_task_ticket(old), ticket) ||
                lanepool_i_successors_closed(&tracked->successors) ||
                !lanepool_i_scan_must_wait_for(scan, old))
                continue;
            lanepool_i_scan_wait_for(scan, &tracked->successors, LANEPOOL_EVENT_LANE_TASK,
                                     lanepool_i_task_ticket(old));
        }
}

/* A task that is scanned again must not wait for the newest batches: they may have later members.
 */
void lanepool_i_kinds_scan(lanepool_i_scan *scan)
{
    bool again = (load_relaxed(&scan->task->word) & LANEPOOL_I_RESCAN) != 0;
    if (scan->task->as.wide.kind != 0 && !again)
        wait_for_kinds(scan);
    else
        wait_for_members(scan);
}

/* --- entering --- */

static size_t find_free_slot(lanepool_i_predicate *predicate)
{
    for (size_t slot = 0; slot < predicate->kind_slots; slot++) {
        const lanepool_i_kind *kind = predicate->kinds;
        while (kind != NULL && kind->slot != slot)
            kind = kind->next;
        if (kind == NULL)
            return slot;
    }
    return predicate->kind_slots++;
}

static lanepool_i_kind *add_kind(lanepool_pool *pool, uint64_t number)
{
    lanepool_i_kind *kind = lanepool_i_memory_alloc(sizeof *kind);
    if (kind == NULL)
        return NULL;
    memset(kind, 0, sizeof *kind);
    kind->number = number;
    kind->slot = find_free_slot(&pool->predicate);
    forget_answers(pool, kind->slot);
    kind->next = pool->predicate.kinds;
    pool->predicate.kinds = kind;
    return kind;
}

static void remove_kind(lanepool_pool *pool, lanepool_i_kind *kind)
{
    lanepool_i_kind **at = &pool->predicate.kinds;
    while (*at != kind)
        at = &(*at)->next;
    *at = kind->next;
    lanepool_i_memory_free(kind->answers);
    lanepool_i_memory_free(kind);
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
    uint64_t number = scan->task->as.wide.kind;
    if (number == 0)
        return false;
    lanepool_i_kind *kind = find_kind(scan->pool, number);
    if (kind == NULL)
        kind = add_kind(scan->pool, number);
    lanepool_i_kind_batch *batch = kind != NULL ? open_batch(scan, kind) : NULL;
    if (batch == NULL) {
        if (kind != NULL && kind->members == NULL)
            remove_kind(scan->pool, kind);
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
        remove_kind(pool, kind);
}

/* --- the end --- */

void lanepool_i_kinds_each(lanepool_pool *pool, void (*found)(lanepool_i_task *task, void *context),
                           void *context)
{
    for (lanepool_i_kind *kind = pool->predicate.kinds; kind != NULL; kind = kind->next)
        for (lanepool_i_task *task = kind->members; task != NULL;
             task = lanepool_i_tracked_of(task)->older)
            if (!lanepool_i_successors_closed(&lanepool_i_tracked_of(task)->successors))
                found(task, context);
}

void lanepool_i_kinds_fini(lanepool_pool *pool)
{
    while (pool->predicate.kinds != NULL)
        remove_kind(pool, pool->predicate.kinds);
}
