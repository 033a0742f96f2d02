/* Owns the steps of a census: find the tasks, sort them, add their entries; see census.h. */
#include "observe/take_census.h"

#include "core/call_record.h"
#include "core/caller_runs.h"
#include "feature/barrier.h"
#include "feature/delay_every.h"
#include "feature/pump.h"
#include "feature/retry.h"
#include "lane/visits.h"
#include "route/pool.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 64 /* rows reserved first, where the number is unknown */

/* --- finding tasks --- */

static void add_waiting_task(lanepool_i_task *task, void *context)
{
    lanepool_i_census_add_task(context, task);
}

/* A visitor shows that its cut is being visited, unless the cut has not begun. */
static lanepool_snapshot_state state_of_block(const lanepool_i_task *block,
                                              lanepool_snapshot_state state)
{
    bool visits = lanepool_i_task_is_visitor(block) && lanepool_i_cut_has_begun(block->context);
    return visits ? LANEPOOL_SNAPSHOT_VISITED : state;
}

static void add_ready_task(lanepool_i_task *block, void *context)
{
    lanepool_i_census *census = context;
    lanepool_i_task *task = lanepool_i_task_or_cut(block);
    if (lanepool_i_task_is_tombstone(task))
        return;
    size_t in_queue = census->rows.count - census->queue_begin;
    lanepool_i_census_row *row = lanepool_i_census_add_row(
        census, task, state_of_block(block, LANEPOOL_SNAPSHOT_READY), LANEPOOL_SNAPSHOT_NONE);
    if (row != NULL)
        row->in_queue = in_queue;
}

static void copy_overflow(lanepool_i_census *census)
{
    lanepool_i_workers *workers = &census->pool->workers;
    census->queue_begin = census->rows.count;
    lanepool_i_word_lock_lock(&workers->overflow_lock);
    lanepool_i_workers_each_overflow_locked(workers, add_ready_task, census);
    lanepool_i_word_lock_unlock(&workers->overflow_lock);
}

/* Copies the ready tasks that their callers and pumps will run. */
static void copy_callers_tasks(lanepool_i_census *census)
{
    lanepool_i_waits *waits = &census->pool->waits;
    census->queue_begin = census->rows.count;
    lanepool_i_mutex_lock(&waits->lock);
    lanepool_i_callers_each_ready_locked(waits, add_ready_task, census);
    lanepool_i_pumps_each_ready_locked(waits, add_ready_task, census);
    lanepool_i_mutex_unlock(&waits->lock);
}

/* A task that has left the thread's list may be linked in another one, so the walk restarts
 * whenever the head changes. */
static void add_running_of_thread(lanepool_i_census *census, lanepool_i_thread_record *record)
{
    size_t before = census->rows.count;
    size_t worker = record->worker != NULL ? record->worker_index : LANEPOOL_SNAPSHOT_NONE;
    for (;;) {
        lanepool_i_task *innermost = load_seq(&record->running);
        lanepool_i_task *task = innermost;
        while (task != NULL && load_seq(&record->running) == innermost) {
            lanepool_i_task *shown = lanepool_i_task_or_cut(task);
            lanepool_i_census_row *row =
                lanepool_i_task_is_tombstone(shown)
                    ? NULL
                    : lanepool_i_census_add_row(
                          census, shown, state_of_block(task, LANEPOOL_SNAPSHOT_RUNNING), worker);
            if (row != NULL)
                row->innermost = task == innermost;
            task = load_acquire(&task->next);
        }
        if (load_seq(&record->running) == innermost)
            return;
        census->rows.count = before;
    }
}

static void copy_running_tasks(lanepool_i_census *census)
{
    lanepool_i_thread_records *records = &census->pool->records;
    lanepool_i_mutex_lock(&records->lock);
    LANEPOOL_I_EACH(lanepool_i_thread_record, record, &records->all, link)
        add_running_of_thread(census, record);
    lanepool_i_mutex_unlock(&records->lock);
}

/* READY ones were found among the ready tasks. */
static void add_suspended_row(lanepool_i_census *census, lanepool_i_suspended *suspended)
{
    static const lanepool_snapshot_state seen_as[] = {
        [LANEPOOL_I_UNTIL_COMPLETION] = LANEPOOL_SNAPSHOT_RUNNING,
        [LANEPOOL_I_UNTIL_TIMER] = LANEPOOL_SNAPSHOT_RETRYING,
        [LANEPOOL_I_UNTIL_RESOLUTION] = LANEPOOL_SNAPSHOT_PARKED,
    };
    lanepool_i_census_row *row = lanepool_i_census_add_row(
        census, suspended->task, seen_as[suspended->until], LANEPOOL_SNAPSHOT_NONE);
    if (row == NULL)
        return;
    row->detached = row->innermost = suspended->until == LANEPOOL_I_UNTIL_COMPLETION;
    if (row->detached)
        return;
    const lanepool_i_attempts *attempts = lanepool_i_suspended_attempts(suspended);
    row->attempts = attempts->failed;
    if (suspended->until == LANEPOOL_I_UNTIL_TIMER)
        row->retry_ns = attempts->timer.due_ns;
}

/* Copies the tasks that are suspended until `last` or what comes before it. */
static void copy_suspended_until(lanepool_i_census *census, lanepool_i_until last)
{
    lanepool_i_suspended_tasks *tasks = &census->pool->suspended;
    lanepool_i_mutex_lock(&tasks->lock);
    LANEPOOL_I_EACH(lanepool_i_suspended, suspended, &tasks->list, link)
        if (suspended->until <= last)
            add_suspended_row(census, suspended);
    lanepool_i_mutex_unlock(&tasks->lock);
}

static void copy_detached_tasks(lanepool_i_census *census)
{
    copy_suspended_until(census, LANEPOOL_I_UNTIL_COMPLETION);
}

static void copy_suspended_tasks(lanepool_i_census *census)
{
    copy_suspended_until(census, LANEPOOL_I_UNTIL_RESOLUTION);
}

/* Calls `copy` with more and more room until all rows fit. Nothing is allocated under the lock that
 * `copy` takes. */
static void copy_with_room(lanepool_i_census *census, void (*copy)(lanepool_i_census *census))
{
    size_t before = census->rows.count;
    size_t room = ROOM_MIN;
    do {
        census->rows.count = before;
        if (!lanepool_i_vector_reserve(&census->rows, room, sizeof(lanepool_i_census_row))) {
            census->out_of_memory = true;
            return;
        }
        census->is_full = false;
        census->has_fixed_room = true;
        copy(census);
        census->has_fixed_room = false;
        room *= 2;
    } while (census->is_full);
}

static void add_ready_tasks(lanepool_i_census *census)
{
    lanepool_i_workers *workers = &census->pool->workers;
    for (size_t i = 0; i < workers->worker_count; i++) {
        census->queue_begin = census->rows.count;
        lanepool_i_ready_ring_each(&workers->all[i].queue, add_ready_task, census);
    }
    copy_with_room(census, copy_overflow);
    copy_with_room(census, copy_callers_tasks);
}

/* --- sorting --- */

/* Orders rows by ticket, and two rows of one task by state, the later one first. */
static int compare_rows(const void *left, const void *right)
{
    const lanepool_i_census_row *a = left;
    const lanepool_i_census_row *b = right;
    if (a->ticket != b->ticket)
        return lanepool_i_ticket_before(a->ticket, b->ticket) ? -1 : 1;
    return (a->state < b->state) - (a->state > b->state);
}

/* Leaves one row for each task. A task that started during the census may have two. */
static void sort_rows(lanepool_i_census *census)
{
    lanepool_i_census_row *rows = census->rows.items;
    size_t unique = 0;
    if (census->rows.count > 0)
        qsort(rows, census->rows.count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < census->rows.count; i++)
        if (unique == 0 || rows[unique - 1].ticket != rows[i].ticket)
            rows[unique++] = rows[i];
    census->rows.count = unique;
}

/* Drops tasks that have finished by now, if the rule cannot freeze lanes. Running tasks were found
 * last, so every task that a running task waited for is dropped, too. The rule does not know tasks
 * held back by a barrier. */
static void drop_finished_rows(lanepool_i_census *census)
{
    const lanepool_i_rule *rule = census->pool->rule;
    lanepool_i_census_row *rows = census->rows.items;
    size_t remaining = 0;
    if (rule->census_is_finished == NULL)
        return;
    for (size_t i = 0; i < census->rows.count; i++)
        if (lanepool_i_barrier_holds_back(&census->pool->router, rows[i].task) ||
            !rule->census_is_finished(rows[i].task))
            rows[remaining++] = rows[i];
    census->rows.count = remaining;
}

/* A task after the barrier is behind the barrier. The barrier is behind all earlier tasks that do
 * not wait, and behind the nearest one that waits, which leads to the others. */
static void add_held_back_entries(lanepool_i_census *census, size_t index)
{
    const lanepool_i_router *router = &census->pool->router;
    bool is_barrier = lanepool_i_census_row_at(census, index)->ticket == router->barrier_ticket;
    bool has_waiting = false;
    size_t count = 0;
    for (size_t older = index; older-- > 0 && count < LANEPOOL_SNAPSHOT_BEHIND_MAX;) {
        const lanepool_i_census_row *other = lanepool_i_census_row_at(census, older);
        bool waits = other->state == LANEPOOL_SNAPSHOT_WAITING;
        if (is_barrier ? waits && has_waiting : other->ticket != router->barrier_ticket)
            continue;
        has_waiting = has_waiting || waits;
        lanepool_i_census_add_behind(census, index, older);
        count++;
    }
}

static void add_task_entries(lanepool_i_census *census, size_t index)
{
    if (lanepool_i_barrier_holds_back(&census->pool->router,
                                      lanepool_i_census_row_at(census, index)->task))
        add_held_back_entries(census, index);
    else
        census->pool->rule->census_entries(census, index);
}

void lanepool_i_census_take(lanepool_i_census *census)
{
    const lanepool_i_rule *rule = census->pool->rule;
    lanepool_i_retention_begin(&census->pool->retention);
    rule->census_begin(census);
    lanepool_i_barrier_each(&census->pool->router, add_waiting_task, census);
    add_ready_tasks(census);
    copy_with_room(census, copy_running_tasks);
    copy_with_room(census, copy_suspended_tasks);
    drop_finished_rows(census);
    sort_rows(census);
    for (size_t i = 0; i < census->rows.count && !census->out_of_memory; i++)
        add_task_entries(census, i);
}

void lanepool_i_census_take_running(lanepool_i_census *census)
{
    lanepool_i_retention_begin(&census->pool->retention);
    copy_with_room(census, copy_running_tasks);
    copy_with_room(census, copy_detached_tasks);
    sort_rows(census);
}

void lanepool_i_census_thaw(lanepool_i_census *census, lanepool_i_grants *grants)
{
    if (census->pool->rule->thaw != NULL)
        census->pool->rule->thaw(census->pool, grants);
}

static void free_retained_blocks(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task)
{
    while (task != NULL) {
        lanepool_i_task *next = lanepool_i_retention_next(task);
        if (lanepool_i_word_is_periodic(load_relaxed(&task->word)))
            lanepool_i_periodic_rearm(pool, record, task);
        else
            lanepool_i_slab_give(&pool->slab, &record->cache, lanepool_i_task_class(task), task);
        task = next;
    }
}

void lanepool_i_census_end(lanepool_i_census *census)
{
    free_retained_blocks(census->pool, census->record,
                         lanepool_i_retention_end(&census->pool->retention));
}

void lanepool_i_census_fini(lanepool_i_census *census)
{
    lanepool_i_vector_fini(&census->rows);
    lanepool_i_vector_fini(&census->entries);
    lanepool_i_vector_fini(&census->entry_lanes);
}
