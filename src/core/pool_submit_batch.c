/* Owns submitting several tasks in one call. Tasks that are admitted one after the other without a
 * wait are appended together. */
#include "core/pool_submit.h"

#include "core/task_build.h"
#include "future/expiry.h"
#include "future/member.h"

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
    bool accepted = lanepool_i_submit_append(piece->group, pool, record, piece->blocks.first,
                                             piece->blocks.last, count);
    lanepool_i_expiries_accepted(&piece->expiring, accepted);
    for (size_t i = 0; !accepted && i < count; i++) {
        lanepool_i_unbuild(pool, record, lanepool_i_tasks_take(&piece->blocks), &piece->tasks[i]);
        lanepool_i_submit_take_back_admission(pool, record);
    }
    piece->blocks = (lanepool_i_tasks){ NULL, NULL, 0 };
    if (accepted) {
        piece->tasks += count;
        lanepool_i_submit_route(pool, record, piece->for_pump);
    }
    piece->for_pump = false;
    return accepted;
}

/* Appends the tasks built so far before the submitter may have to wait: they must be able to run,
 * or no room becomes free. Also before a task of another group, since one group is locked around an
 * append. */
static lanepool_status admit_next(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  struct piece *piece, const lanepool_task *task,
                                  lanepool_i_terms terms)
{
    if (record->admitted > 0 && piece->group == task->group &&
        lanepool_i_submit_is_open(pool, lanepool_i_thread_is_inside_pool(record)))
        return lanepool_i_submit_admit(pool, record, task, terms);
    if (!append_piece(pool, record, piece))
        return LANEPOOL_SHUT_DOWN;
    return lanepool_i_submit_admit(pool, record, task, terms);
}

static lanepool_status build_next(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  struct piece *piece, const lanepool_task *task,
                                  lanepool_i_terms terms)
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
        lanepool_i_submit_take_back_admission(pool, record);
        return status;
    }
    lanepool_i_submit_hand_out_future(task, block);
    piece->group = task->group;
    piece->for_pump = piece->for_pump || task->pump != NULL;
    if (lanepool_i_description_is_member(task))
        lanepool_i_expiry_expect(block, &piece->expiring);
    lanepool_i_tasks_add(&piece->blocks, block);
    return LANEPOOL_OK;
}

static lanepool_status submit_pieces(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     const lanepool_task *tasks, size_t task_count,
                                     lanepool_i_terms terms, size_t *accepted)
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
    lanepool_i_terms terms = { LANEPOOL_I_WAIT_FOR_ROOM, wait_max_ns,
                               lanepool_i_driver_deadline(pool->driver, wait_max_ns) };
    status = submit_pieces(pool, record, tasks, task_count, terms, &count);
    if (accepted != NULL)
        *accepted = count;
    return status;
}
