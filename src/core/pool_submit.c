/*
 * Owns submitting: checks a description, admits the task, fills its block, and appends it to the
 * inbox. Every step that can fail comes before the append. After the append the task is accepted,
 * and its function will be called once.
 */
#include "core/pool_submit.h"

#include "base/deadline.h"
#include "core/caller_runs.h"
#include "core/run.h"
#include "core/task_build.h"
#include "future/expiry.h"
#include "future/member.h"

#include <string.h>

typedef enum when_full { WAIT_FOR_ROOM, RUN_BY_CALLER } when_full;

struct terms {
    when_full full;
    uint64_t wait_max_ns;
    uint64_t deadline_ns; /* 0: wait_max_ns counts from when the submitter has to wait */
};

/* --- admission --- */

static bool is_open(const lanepool_pool *pool, bool inside)
{
    uint32_t state = load_relaxed(pool->lifecycle.state);
    return state == LANEPOOL_I_RUNNING || (inside && state == LANEPOOL_I_DRAINING);
}

static lanepool_status admit_charged(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_charge *charge, struct terms terms)
{
    bool inside = lanepool_i_thread_is_inside_pool(record);
    if (lanepool_i_admission_try(&pool->admission, record, charge))
        return LANEPOOL_OK;
    if (terms.full == WAIT_FOR_ROOM && terms.wait_max_ns == 0)
        return is_open(pool, inside) ? LANEPOOL_FULL : LANEPOOL_SHUT_DOWN;
    if (inside || terms.full == RUN_BY_CALLER) {
        lanepool_i_admission_force(&pool->admission, record, charge);
        return inside ? LANEPOOL_OK : LANEPOOL_FULL;
    }
    lanepool_i_router_try_route(pool, record);
    uint64_t deadline_ns = terms.deadline_ns;
    if (deadline_ns == 0)
        deadline_ns = lanepool_i_deadline(terms.wait_max_ns);
    return lanepool_i_admission_wait(&pool->admission, record, charge, deadline_ns);
}

static bool is_admitted(lanepool_status status, struct terms terms)
{
    return status == LANEPOOL_OK || (status == LANEPOOL_FULL && terms.full == RUN_BY_CALLER);
}

/* A charge stays in the thread record until the task's block takes it over. */
static LANEPOOL_I_COLD lanepool_status admit_slowly(lanepool_pool *pool,
                                                    lanepool_i_thread_record *record,
                                                    const lanepool_task *task, struct terms terms)
{
    if (!is_open(pool, lanepool_i_thread_is_inside_pool(record)))
        return lanepool_i_pool_is_forked(pool) ? LANEPOOL_FORKED : LANEPOOL_SHUT_DOWN;
    lanepool_status status = lanepool_i_features_admit(pool, record, task);
    if (status != LANEPOOL_OK)
        return status;
    status = admit_charged(pool, record, record->charge, terms);
    if (!is_admitted(status, terms))
        lanepool_i_features_unadmit(pool, record);
    return status;
}

/* Returns OK, FULL if the caller is to run the task, or the reason for the refusal. */
static inline lanepool_status admit_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         const lanepool_task *task, struct terms terms)
{
    if (record->admitted == 0 || load_relaxed(pool->lifecycle.state) != LANEPOOL_I_RUNNING)
        return admit_slowly(pool, record, task, terms);
    record->admitted--;
    return LANEPOOL_OK;
}

/* Gives back the admission of a task that is not accepted after all. */
static LANEPOOL_I_COLD void take_back_admission(lanepool_pool *pool,
                                                lanepool_i_thread_record *record)
{
    lanepool_i_features_unadmit(pool, record);
    lanepool_i_admission_return_to_thread(&pool->admission, record);
}

/* --- one task --- */

static void hand_out_future(const lanepool_task *task, const lanepool_i_task *block)
{
    if (task->future != NULL)
        *task->future = block->as.wide.future;
}

/* SUBMIT is written before the append: after it, the tasks may run, and their blocks be reused. */
static LANEPOOL_I_COLD void trace_each(lanepool_i_ring *ring, lanepool_event_type type,
                                       const lanepool_i_task *first, const lanepool_i_task *last)
{
    const lanepool_i_task *task = first;
    for (; task != last; task = load_relaxed(&task->next))
        lanepool_i_trace(ring, type, (uintptr_t)task, 0);
    lanepool_i_trace(ring, type, (uintptr_t)last, 0);
}

static inline bool append_tasks(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *first, lanepool_i_task *last, uint64_t count)
{
    lanepool_i_count_up(&record->accepted, count);
    if (lanepool_i_records(record->ring, LANEPOOL_EVENT_SUBMIT))
        trace_each(record->ring, LANEPOOL_EVENT_SUBMIT, first, last);
    if (lanepool_i_inbox_append(&pool->router.inbox, first, last, record->last_appended)) {
        record->last_appended = last;
        return true;
    }
    lanepool_i_count_up(&record->accepted, -count);
    if (lanepool_i_records(record->ring, LANEPOOL_EVENT_CANCEL))
        trace_each(record->ring, LANEPOOL_EVENT_CANCEL, first, last);
    return false;
}

/* Locks the group around the append, so that it never lists a task that may still be refused.
 * Returns false if the inbox or the group is closed. */
static inline bool append_in_group(lanepool_group *group, lanepool_pool *pool,
                                   lanepool_i_thread_record *record, lanepool_i_task *first,
                                   lanepool_i_task *last, uint64_t count)
{
    if (group == NULL)
        return append_tasks(pool, record, first, last, count);
    if (!lanepool_i_members_enter(group, first, last))
        return false;
    bool accepted = append_tasks(pool, record, first, last, count);
    lanepool_i_members_entered(group, first, last, accepted);
    return accepted;
}

/* No worker runs a pump's tasks, and the program's thread may wait for the pump's event instead of
 * routing. So they are routed now if the role is free. */
static inline void route_after_append(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      bool for_pump)
{
    lanepool_i_router_after_append(pool, record);
    if (for_pump)
        lanepool_i_router_try_route(pool, record);
}

static LANEPOOL_I_COLD lanepool_status refuse_task(const lanepool_task *task, lanepool_status why)
{
    if (task->future != NULL)
        *task->future = NULL;
    return why;
}

/* `member` is a constant in each call. */
static LANEPOOL_I_INLINE lanepool_status submit_as(bool member, lanepool_pool *pool,
                                                   const lanepool_task *task, struct terms terms)
{
    uint64_t lanes;
    if (pool == NULL || !lanepool_i_description_is_valid(pool, task, &lanes))
        return refuse_task(task, lanepool_i_description_check(pool, task));
    lanepool_i_thread_record *record = lanepool_i_pool_thread_record(pool);
    if (record == NULL)
        return refuse_task(task, lanepool_i_pool_entry_error(pool));
    lanepool_status admitted = admit_task(pool, record, task, terms);
    if (!is_admitted(admitted, terms))
        return refuse_task(task, admitted);
    lanepool_i_task *block;
    lanepool_status status = lanepool_i_build(pool, record, task, member, lanes, &block);
    if (status == LANEPOOL_OK) {
        lanepool_i_expiry *expiring = NULL;
        hand_out_future(task, block);
        if (member)
            lanepool_i_expiry_expect(block, &expiring);
        if (admitted == LANEPOOL_FULL)
            status = lanepool_i_caller_append_and_run(pool, record, block, &expiring);
        else if (append_in_group(member ? task->group : NULL, pool, record, block, block, 1))
            route_after_append(pool, record, member && task->pump != NULL);
        else
            status = LANEPOOL_SHUT_DOWN;
        if (member)
            lanepool_i_expiries_accepted(&expiring, status == LANEPOOL_OK);
        if (status != LANEPOOL_OK)
            lanepool_i_unbuild(pool, record, block, task);
    }
    if (status != LANEPOOL_OK) {
        take_back_admission(pool, record);
        return refuse_task(task, status);
    }
    return status;
}

static LANEPOOL_I_COLD lanepool_status submit_member(lanepool_pool *pool, const lanepool_task *task,
                                                     struct terms terms)
{
    /* The submitter of a pump's task cannot run it. */
    bool is_offered = task->pump == NULL || terms.full != RUN_BY_CALLER;
    if (pool != NULL && is_offered && lanepool_i_description_fits_pool(pool, task))
        return submit_as(true, pool, task, terms);
    if (task->future != NULL)
        *task->future = NULL;
    lanepool_status status = lanepool_i_description_check(pool, task);
    return status == LANEPOOL_OK ? LANEPOOL_UNSUPPORTED : status;
}

/* Submits a task of a program that was built for another version, or a member. */
static LANEPOOL_I_COLD lanepool_status submit_unusual(lanepool_pool *pool,
                                                      const lanepool_task *task, struct terms terms)
{
    lanepool_task known;
    if (task->struct_size == sizeof known)
        return submit_member(pool, task, terms);
    return lanepool_i_description_copy(&known, task) ? submit_member(pool, &known, terms)
                                                     : LANEPOOL_INVALID;
}

/* Every release has the members that are read here, so that one branch is enough. */
static LANEPOOL_I_INLINE lanepool_status submit_task(lanepool_pool *pool, const lanepool_task *task,
                                                     struct terms terms)
{
    if (task == NULL)
        return LANEPOOL_INVALID;
    bool is_unusual =
        ((task->struct_size ^ sizeof *task) | lanepool_i_description_member_bits(task)) != 0;
    if (__builtin_expect(is_unusual, 0))
        return submit_unusual(pool, task, terms);
    return submit_as(false, pool, task, terms);
}

lanepool_status lanepool_pool_submit(lanepool_pool *pool, const lanepool_task *task)
{
    struct terms terms = { WAIT_FOR_ROOM, LANEPOOL_FOREVER, UINT64_MAX };
    return submit_task(pool, task, terms);
}

lanepool_status lanepool_pool_run(lanepool_pool *pool, lanepool_key key, lanepool_task_fn function,
                                  void *context)
{
    lanepool_claim claim = lanepool_claim_of(key, LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = function;
    task.context = context;
    task.claims = &claim;
    task.claim_count = key.type != LANEPOOL_KEY_NONE;
    return lanepool_pool_submit(pool, &task);
}

lanepool_status lanepool_pool_submit_within(lanepool_pool *pool, const lanepool_task *task,
                                            uint64_t wait_max_ns)
{
    struct terms terms = { WAIT_FOR_ROOM, wait_max_ns, 0 };
    return submit_task(pool, task, terms);
}

lanepool_status lanepool_pool_submit_or_run(lanepool_pool *pool, const lanepool_task *task)
{
    struct terms terms = { RUN_BY_CALLER, LANEPOOL_FOREVER, UINT64_MAX };
    return submit_task(pool, task, terms);
}

/* --- tasks that do not enter the inbox now --- */

lanepool_status lanepool_i_submit_prepare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          const lanepool_task *task, size_t entry_count,
                                          lanepool_i_task **prepared)
{
    uint64_t lanes;
    if (!lanepool_i_description_is_valid(pool, task, &lanes) ||
        !lanepool_i_description_fits_pool(pool, task))
        return lanepool_i_description_check(pool, task);
    lanepool_i_task *block;
    lanepool_status status = lanepool_i_build_with_room(pool, record, task, entry_count, &block);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_admission_force(&pool->admission, record, NULL);
    hand_out_future(task, block);
    *prepared = block;
    return LANEPOOL_OK;
}

void lanepool_i_submit_undo_prepare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_task *task, lanepool_i_task *prepared)
{
    lanepool_i_unbuild_without_entries(pool, record, prepared, task);
    take_back_admission(pool, record);
}

lanepool_status lanepool_i_submit_for_later(lanepool_pool *pool, const lanepool_task *task,
                                            lanepool_i_thread_record **record,
                                            lanepool_i_task **block)
{
    struct terms terms = { WAIT_FOR_ROOM, LANEPOOL_FOREVER, UINT64_MAX };
    uint64_t lanes;
    if (pool == NULL || !lanepool_i_description_is_valid_for_later(pool, task, &lanes))
        return lanepool_i_description_check_for_later(pool, task);
    lanepool_status status = lanepool_i_pool_enter(pool, record);
    if (status == LANEPOOL_OK)
        status = admit_task(pool, *record, task, terms);
    if (status != LANEPOOL_OK)
        return status;
    status =
        lanepool_i_build(pool, *record, task, lanepool_i_description_is_member(task), lanes, block);
    if (status == LANEPOOL_OK)
        hand_out_future(task, *block);
    else
        take_back_admission(pool, *record);
    return status;
}

void lanepool_i_submit_undo_for_later(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *block, const lanepool_task *task)
{
    lanepool_i_unbuild(pool, record, block, task);
    take_back_admission(pool, record);
}

/* --- several tasks --- */

/* Tasks of one batch that are built and not appended yet. */
struct piece {
    lanepool_i_tasks blocks;
    const lanepool_task *tasks;  /* the descriptions, from the first block's on */
    lanepool_group *group;       /* the group of all these tasks, or NULL */
    bool for_pump;               /* at least one of the tasks is a pump's */
    lanepool_i_expiry *expiring; /* of those of these tasks that have a deadline for their start */
};

/* Returns false if the inbox or the group is closed; then none of these tasks was accepted. */
static bool append_piece(lanepool_pool *pool, lanepool_i_thread_record *record, struct piece *piece)
{
    size_t count = piece->blocks.count;
    if (count == 0)
        return true;
    bool accepted =
        append_in_group(piece->group, pool, record, piece->blocks.first, piece->blocks.last, count);
    lanepool_i_expiries_accepted(&piece->expiring, accepted);
    for (size_t i = 0; !accepted && i < count; i++) {
        lanepool_i_unbuild(pool, record, lanepool_i_tasks_take(&piece->blocks), &piece->tasks[i]);
        take_back_admission(pool, record);
    }
    piece->blocks = (lanepool_i_tasks){ NULL, NULL, 0 };
    if (accepted) {
        piece->tasks += count;
        route_after_append(pool, record, piece->for_pump);
    }
    piece->for_pump = false;
    return accepted;
}

/* Appends the tasks built so far before the submitter may have to wait: they must be able to run,
 * or no room becomes free. Also before a task of another group, since one group is locked around an
 * append. */
static lanepool_status admit_next(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  struct piece *piece, const lanepool_task *task,
                                  struct terms terms)
{
    if (record->admitted > 0 && piece->group == task->group &&
        is_open(pool, lanepool_i_thread_is_inside_pool(record)))
        return admit_task(pool, record, task, terms);
    if (!append_piece(pool, record, piece))
        return LANEPOOL_SHUT_DOWN;
    return admit_task(pool, record, task, terms);
}

static lanepool_status build_next(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  struct piece *piece, const lanepool_task *task,
                                  struct terms terms)
{
    uint64_t lanes;
    if (!lanepool_i_description_is_valid(pool, task, &lanes) ||
        !lanepool_i_description_fits_pool(pool, task))
        return lanepool_i_description_check(pool, task);
    lanepool_status status = admit_next(pool, record, piece, task, terms);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_task *block;
    status =
        lanepool_i_build(pool, record, task, lanepool_i_description_is_member(task), lanes, &block);
    if (status != LANEPOOL_OK) {
        take_back_admission(pool, record);
        return status;
    }
    hand_out_future(task, block);
    piece->group = task->group;
    piece->for_pump = piece->for_pump || task->pump != NULL;
    if (lanepool_i_description_is_member(task))
        lanepool_i_expiry_expect(block, &piece->expiring);
    lanepool_i_tasks_add(&piece->blocks, block);
    return LANEPOOL_OK;
}

static lanepool_status submit_pieces(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     const lanepool_task *tasks, size_t task_count,
                                     struct terms terms, size_t *accepted)
{
    struct piece piece = { .blocks = { NULL, NULL, 0 }, .tasks = tasks };
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < task_count && status == LANEPOOL_OK; i++) {
        status = build_next(pool, record, &piece, &tasks[i], terms);
        if (piece.blocks.count == LANEPOOL_I_APPEND_BATCH && !append_piece(pool, record, &piece))
            status = LANEPOOL_SHUT_DOWN;
    }
    if (!append_piece(pool, record, &piece))
        status = LANEPOOL_SHUT_DOWN;
    *accepted = (size_t)(piece.tasks - tasks);
    return status;
}

/* Returns true if all descriptions can be read. Those of one batch are of one size. */
static bool read_batch(lanepool_task *known, const lanepool_task *tasks, size_t count)
{
    size_t size = tasks[0].struct_size;
    for (size_t i = 0; i < count; i++) {
        const void *given = (const char *)tasks + i * size;
        if (((const lanepool_task *)given)->struct_size != size ||
            !lanepool_i_description_copy(&known[i], given))
            return false;
    }
    return true;
}

/* Submits tasks of a program that was built for another version: they lie at other distances. */
static LANEPOOL_I_COLD lanepool_status submit_batch_copy(lanepool_pool *pool,
                                                         const lanepool_task *tasks, size_t count,
                                                         uint64_t wait_max_ns, size_t *accepted)
{
    if (tasks[0].struct_size < LANEPOOL_I_TASK_FIRST_SIZE || count > SIZE_MAX / sizeof *tasks)
        return LANEPOOL_INVALID;
    lanepool_task *known = lanepool_i_memory_alloc(count * sizeof *known);
    if (known == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status status =
        read_batch(known, tasks, count)
            ? lanepool_pool_submit_batch(pool, known, count, wait_max_ns, accepted)
            : LANEPOOL_INVALID;
    lanepool_i_memory_free(known);
    return status;
}

lanepool_status lanepool_pool_submit_batch(lanepool_pool *pool, const lanepool_task *tasks,
                                           size_t task_count, uint64_t wait_max_ns,
                                           size_t *accepted)
{
    size_t count = 0;
    if (accepted != NULL)
        *accepted = 0;
    if (pool == NULL || (tasks == NULL && task_count > 0))
        return LANEPOOL_INVALID;
    if (task_count > 0 && tasks[0].struct_size != sizeof *tasks)
        return submit_batch_copy(pool, tasks, task_count, wait_max_ns, accepted);
    for (size_t i = 0; i < task_count; i++)
        if (tasks[i].struct_size != sizeof *tasks)
            return LANEPOOL_INVALID;
    lanepool_i_thread_record *record;
    lanepool_status status = lanepool_i_pool_enter(pool, &record);
    if (status != LANEPOOL_OK)
        return status;
    for (size_t i = 0; i < task_count; i++)
        if (tasks[i].future != NULL)
            *tasks[i].future = NULL;
    struct terms terms = { WAIT_FOR_ROOM, wait_max_ns, lanepool_i_deadline(wait_max_ns) };
    status = submit_pieces(pool, record, tasks, task_count, terms, &count);
    if (accepted != NULL)
        *accepted = count;
    return status;
}
