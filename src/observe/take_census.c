/* Owns the watch over finished blocks, and the survey's arrays; see census.h. */
#include "observe/take_census.h"

#include "core/caller_runs.h"
#include "feature/barrier.h"
#include "feature/delay_every.h"
#include "feature/detach.h"
#include "feature/retry.h"
#include "route/pool.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 64 /* for so many more at first, where it cannot be known */

/* --- what is seen --- */

static void found_waiting(lanepool_i_task *task, void *context)
{
    lanepool_i_census_add_task(context, task);
}

static void found_ready(lanepool_i_task *task, void *context)
{
    if (!lanepool_i_task_is_tombstone(task))
        lanepool_i_census_add_row(context, task, LANEPOOL_SNAPSHOT_READY, LANEPOOL_SNAPSHOT_NONE);
}

static size_t room_of(const lanepool_i_census *census)
{
    return census->rows.capacity - census->rows.count;
}

/* As below, of the spill. */
static bool copy_spilled(lanepool_i_census *census)
{
    size_t room = room_of(census);
    lanepool_i_workers *workers = &census->pool->workers;
    lanepool_i_mutex_lock(&workers->overflow_lock);
    size_t count = lanepool_i_workers_overflow_count_locked(workers);
    if (count <= room)
        lanepool_i_workers_each_overflow_locked(workers, found_ready, census);
    lanepool_i_mutex_unlock(&workers->overflow_lock);
    return count <= room;
}

/* Those that their callers are to run. */
static bool copy_called(lanepool_i_census *census)
{
    size_t room = room_of(census);
    lanepool_i_waits *waits = &census->pool->waits;
    lanepool_i_mutex_lock(&waits->lock);
    size_t count = lanepool_i_callers_ready_max_locked(waits);
    if (count <= room)
        lanepool_i_callers_each_ready_locked(waits, found_ready, census);
    lanepool_i_mutex_unlock(&waits->lock);
    return count <= room;
}

static void add_running(lanepool_i_census *census, size_t worker, lanepool_i_task *task,
                        bool innermost)
{
    lanepool_i_census_add_row(census, task, LANEPOOL_SNAPSHOT_RUNNING, worker);
    ((lanepool_i_census_row *)census->rows.items)[census->rows.count - 1].innermost = innermost;
}

/* Of one thread; false: there was no room. A task that has just left the list may stand in another
 * by now. */
static bool add_running_of(lanepool_i_census *census, lanepool_i_thread_record *record)
{
    size_t before = census->rows.count;
    size_t worker = record->worker != NULL ? record->worker_index : LANEPOOL_SNAPSHOT_NONE;
    for (;;) {
        lanepool_i_task *innermost = load_seq(&record->running);
        lanepool_i_task *task = innermost;
        while (task != NULL && load_seq(&record->running) == innermost) {
            if (room_of(census) == 0)
                return false;
            if (!lanepool_i_task_is_tombstone(task))
                add_running(census, worker, task, task == innermost);
            task = load_acquire(&task->next);
        }
        if (load_seq(&record->running) == innermost)
            return true;
        census->rows.count = before;
    }
}

static bool copy_running(lanepool_i_census *census)
{
    lanepool_i_thread_records *records = &census->pool->records;
    bool has_room = true;
    lanepool_i_mutex_lock(&records->lock);
    for (lanepool_i_thread_record *record = records->first; record != NULL && has_room;
         record = record->next_of_pool)
        has_room = add_running_of(census, record);
    lanepool_i_mutex_unlock(&records->lock);
    return has_room;
}

static void add_detached(lanepool_i_census *census, lanepool_i_task *task)
{
    add_running(census, LANEPOOL_SNAPSHOT_NONE, task, true);
    ((lanepool_i_census_row *)census->rows.items)[census->rows.count - 1].detached = true;
}

/* Those that go on though their functions have returned. */
static bool copy_apart(lanepool_i_census *census)
{
    lanepool_i_detaches *detaches = census->pool->detaches;
    bool has_room = true;
    lanepool_i_mutex_lock(&detaches->lock);
    for (const lanepool_i_detach *detach = detaches->first; detach != NULL && has_room;
         detach = detach->next) {
        if (load_acquire(&detach->state) != LANEPOOL_I_DETACH_RETURNED)
            continue;
        has_room = room_of(census) > 0;
        if (has_room)
            add_detached(census, detach->task);
    }
    lanepool_i_mutex_unlock(&detaches->lock);
    return has_room;
}

static void add_failed(lanepool_i_census *census, const lanepool_i_attempts *attempts)
{
    lanepool_i_census_add_row(census, attempts->task,
                              attempts->is_parked ? LANEPOOL_SNAPSHOT_KEPT
                                                  : LANEPOOL_SNAPSHOT_RETRYING,
                              LANEPOOL_SNAPSHOT_NONE);
    lanepool_i_census_row *seen =
        (lanepool_i_census_row *)census->rows.items + census->rows.count - 1;
    seen->attempts = attempts->failed;
    seen->retry_ns = attempts->is_parked ? 0 : attempts->timer.due_ns;
}

/* Those that have failed, and go on all the same. */
static bool copy_failed(lanepool_i_census *census)
{
    lanepool_i_failures *failures = census->pool->failures;
    bool has_room = true;
    lanepool_i_mutex_lock(&failures->lock);
    for (const lanepool_i_attempts *attempts = failures->first; attempts != NULL && has_room;
         attempts = attempts->next) {
        has_room = room_of(census) > 0;
        if (has_room)
            add_failed(census, attempts);
    }
    lanepool_i_mutex_unlock(&failures->lock);
    return has_room;
}

/* Under a lock nothing is allocated: `copy` says whether there was room for all, and is called
 * again with more. */
static void copy_locked(lanepool_i_census *census, bool (*copy)(lanepool_i_census *census))
{
    size_t before = census->rows.count;
    for (size_t room = ROOM;; room *= 2) {
        if (!lanepool_i_vector_reserve(&census->rows, room, sizeof(lanepool_i_census_row))) {
            census->out_of_memory = true;
            return;
        }
        if (copy(census))
            return;
        census->rows.count = before;
    }
}

static void add_ready(lanepool_i_census *census)
{
    lanepool_i_workers *workers = &census->pool->workers;
    for (size_t i = 0; i < workers->worker_count; i++)
        lanepool_i_ready_ring_each(&workers->all[i].queue, found_ready, census);
    copy_locked(census, copy_spilled);
    copy_locked(census, copy_called);
}

/* --- putting it in order --- */

/* By ticket; of what was seen twice the furthest state first. */
static int compare_seen(const void *left, const void *right)
{
    const lanepool_i_census_row *a = left;
    const lanepool_i_census_row *b = right;
    if (a->ticket != b->ticket)
        return lanepool_i_ticket_before(a->ticket, b->ticket) ? -1 : 1;
    return (a->state < b->state) - (a->state > b->state);
}

/* A task may have been taken from a queue, and started, while it was looked for. */
static void sort_seen(lanepool_i_census *census)
{
    lanepool_i_census_row *seen = census->rows.items;
    size_t kept = 0;
    if (census->rows.count > 0)
        qsort(seen, census->rows.count, sizeof *seen, compare_seen);
    for (size_t i = 0; i < census->rows.count; i++)
        if (kept == 0 || seen[kept - 1].ticket != seen[i].ticket)
            seen[kept++] = seen[i];
    census->rows.count = kept;
}

/* Where lanes cannot be stopped: what has finished by now is left out. What is shown as running was
 * looked at last, so all that it waited for is left out, too. Of what has no place yet the rule
 * knows nothing. */
static void drop_over(lanepool_i_census *census)
{
    const lanepool_i_rule *rule = census->pool->rule;
    lanepool_i_census_row *seen = census->rows.items;
    size_t kept = 0;
    if (rule->census_is_over == NULL)
        return;
    for (size_t i = 0; i < census->rows.count; i++)
        if (lanepool_i_barrier_holds(&census->pool->router, seen[i].task) ||
            !rule->census_is_over(seen[i].task))
            seen[kept++] = seen[i];
    census->rows.count = kept;
}

/* Behind the barrier; or of those before it: all that go on, and the nearest one that waits, which
 * leads to the others. */
static void add_held_back(lanepool_i_census *census, size_t index)
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

static void add_entries(lanepool_i_census *census, size_t index)
{
    if (lanepool_i_barrier_holds(&census->pool->router,
                                 lanepool_i_census_row_at(census, index)->task))
        add_held_back(census, index);
    else
        census->pool->rule->census_entries(census, index);
}

void lanepool_i_census_take(lanepool_i_census *census)
{
    const lanepool_i_rule *rule = census->pool->rule;
    lanepool_i_retention_begin(&census->pool->retention);
    rule->census_begin(census);
    lanepool_i_barrier_each(&census->pool->router, found_waiting, census);
    add_ready(census);
    copy_locked(census, copy_running);
    copy_locked(census, copy_apart);
    copy_locked(census, copy_failed);
    drop_over(census);
    sort_seen(census);
    for (size_t i = 0; i < census->rows.count && !census->out_of_memory; i++)
        add_entries(census, i);
}

void lanepool_i_census_take_running(lanepool_i_census *census)
{
    lanepool_i_retention_begin(&census->pool->retention);
    copy_locked(census, copy_running);
    copy_locked(census, copy_apart);
    sort_seen(census);
}

static void count_held_back(lanepool_i_task *task, void *context)
{
    (void)task;
    (*(size_t *)context)++;
}

size_t lanepool_i_census_count_waiting(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_grants *grants)
{
    lanepool_i_census census = { .pool = pool, .record = record, .counts = true };
    pool->rule->census_begin(&census);
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(&census.counted)) != NULL)
        fetch_and_acq_rel(&task->word, ~LANEPOOL_I_VISITED);
    pool->rule->census_end(&census, grants);
    lanepool_i_barrier_each(&pool->router, count_held_back, &census.waiting);
    return census.waiting;
}

void lanepool_i_census_thaw(lanepool_i_census *census, lanepool_i_grants *grants)
{
    census->pool->rule->census_end(census, grants);
}

static void free_kept(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task)
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
    free_kept(census->pool, census->record, lanepool_i_retention_end(&census->pool->retention));
}

void lanepool_i_census_fini(lanepool_i_census *census)
{
    lanepool_i_vector_fini(&census->rows);
    lanepool_i_vector_fini(&census->entries);
    lanepool_i_vector_fini(&census->places);
}
