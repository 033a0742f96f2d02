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
    lanepool_i_survey_add_task(context, task);
}

static void found_ready(lanepool_i_task *task, void *context)
{
    if (!lanepool_i_task_is_mark(task))
        lanepool_i_survey_add_seen(context, task, LANEPOOL_SNAPSHOT_READY, LANEPOOL_SNAPSHOT_NONE);
}

static size_t room_of(const lanepool_i_survey *survey)
{
    return survey->seen.capacity - survey->seen.count;
}

/* As below, of the spill. */
static bool copy_spilled(lanepool_i_survey *survey)
{
    size_t room = room_of(survey);
    lanepool_i_crew *crew = &survey->pool->crew;
    lanepool_i_mutex_lock(&crew->spill_lock);
    size_t count = lanepool_i_crew_spilled_locked(crew);
    if (count <= room)
        lanepool_i_crew_each_spilled_locked(crew, found_ready, survey);
    lanepool_i_mutex_unlock(&crew->spill_lock);
    return count <= room;
}

/* Those that their callers are to run. */
static bool copy_called(lanepool_i_survey *survey)
{
    size_t room = room_of(survey);
    lanepool_i_waits *waits = &survey->pool->waits;
    lanepool_i_mutex_lock(&waits->lock);
    size_t count = lanepool_i_waits_called_max_locked(waits);
    if (count <= room)
        lanepool_i_waits_each_called_locked(waits, found_ready, survey);
    lanepool_i_mutex_unlock(&waits->lock);
    return count <= room;
}

static void add_running(lanepool_i_survey *survey, size_t worker, lanepool_i_task *task,
                        bool innermost)
{
    lanepool_i_survey_add_seen(survey, task, LANEPOOL_SNAPSHOT_RUNNING, worker);
    ((lanepool_i_seen *)survey->seen.items)[survey->seen.count - 1].innermost = innermost;
}

/* Of one thread; false: there was no room. A task that has just left the list may stand in another
 * by now. */
static bool add_running_of(lanepool_i_survey *survey, lanepool_i_local *local)
{
    size_t before = survey->seen.count;
    size_t worker = local->worker != NULL ? local->worker_index : LANEPOOL_SNAPSHOT_NONE;
    for (;;) {
        lanepool_i_task *innermost = load_seq(&local->running);
        lanepool_i_task *task = innermost;
        while (task != NULL && load_seq(&local->running) == innermost) {
            if (room_of(survey) == 0)
                return false;
            if (!lanepool_i_task_is_mark(task))
                add_running(survey, worker, task, task == innermost);
            task = load_acquire(&task->next);
        }
        if (load_seq(&local->running) == innermost)
            return true;
        survey->seen.count = before;
    }
}

static bool copy_running(lanepool_i_survey *survey)
{
    lanepool_i_locals *locals = &survey->pool->locals;
    bool has_room = true;
    lanepool_i_mutex_lock(&locals->lock);
    for (lanepool_i_local *local = locals->first; local != NULL && has_room;
         local = local->next_of_pool)
        has_room = add_running_of(survey, local);
    lanepool_i_mutex_unlock(&locals->lock);
    return has_room;
}

static void add_detached(lanepool_i_survey *survey, lanepool_i_task *task)
{
    add_running(survey, LANEPOOL_SNAPSHOT_NONE, task, true);
    ((lanepool_i_seen *)survey->seen.items)[survey->seen.count - 1].detached = true;
}

/* Those that go on though their functions have returned. */
static bool copy_apart(lanepool_i_survey *survey)
{
    lanepool_i_aparts *aparts = survey->pool->aparts;
    bool has_room = true;
    lanepool_i_mutex_lock(&aparts->lock);
    for (const lanepool_i_apart *apart = aparts->first; apart != NULL && has_room;
         apart = apart->next) {
        if (load_acquire(&apart->state) != LANEPOOL_I_APART_RETURNED)
            continue;
        has_room = room_of(survey) > 0;
        if (has_room)
            add_detached(survey, apart->task);
    }
    lanepool_i_mutex_unlock(&aparts->lock);
    return has_room;
}

static void add_failed(lanepool_i_survey *survey, const lanepool_i_failing *failing)
{
    lanepool_i_survey_add_seen(survey, failing->task,
                               failing->is_kept ? LANEPOOL_SNAPSHOT_KEPT
                                                : LANEPOOL_SNAPSHOT_RETRYING,
                               LANEPOOL_SNAPSHOT_NONE);
    lanepool_i_seen *seen = (lanepool_i_seen *)survey->seen.items + survey->seen.count - 1;
    seen->attempts = failing->failed;
    seen->retry_ns = failing->is_kept ? 0 : failing->timer.due_ns;
}

/* Those that have failed, and go on all the same. */
static bool copy_failed(lanepool_i_survey *survey)
{
    lanepool_i_failures *failures = survey->pool->failures;
    bool has_room = true;
    lanepool_i_mutex_lock(&failures->lock);
    for (const lanepool_i_failing *failing = failures->first; failing != NULL && has_room;
         failing = failing->next) {
        has_room = room_of(survey) > 0;
        if (has_room)
            add_failed(survey, failing);
    }
    lanepool_i_mutex_unlock(&failures->lock);
    return has_room;
}

/* Under a lock nothing is allocated: `copy` says whether there was room for all, and is called
 * again with more. */
static void copy_locked(lanepool_i_survey *survey, bool (*copy)(lanepool_i_survey *survey))
{
    size_t before = survey->seen.count;
    for (size_t room = ROOM;; room *= 2) {
        if (!lanepool_i_array_reserve(&survey->seen, room, sizeof(lanepool_i_seen))) {
            survey->lacking = true;
            return;
        }
        if (copy(survey))
            return;
        survey->seen.count = before;
    }
}

static void add_ready(lanepool_i_survey *survey)
{
    lanepool_i_crew *crew = &survey->pool->crew;
    for (size_t i = 0; i < crew->worker_count; i++)
        lanepool_i_runq_each(&crew->workers[i].queue, found_ready, survey);
    copy_locked(survey, copy_spilled);
    copy_locked(survey, copy_called);
}

/* --- putting it in order --- */

/* By ticket; of what was seen twice the furthest state first. */
static int compare_seen(const void *left, const void *right)
{
    const lanepool_i_seen *a = left;
    const lanepool_i_seen *b = right;
    if (a->ticket != b->ticket)
        return lanepool_i_ticket_before(a->ticket, b->ticket) ? -1 : 1;
    return (a->state < b->state) - (a->state > b->state);
}

/* A task may have been taken from a queue, and started, while it was looked for. */
static void sort_seen(lanepool_i_survey *survey)
{
    lanepool_i_seen *seen = survey->seen.items;
    size_t kept = 0;
    if (survey->seen.count > 0)
        qsort(seen, survey->seen.count, sizeof *seen, compare_seen);
    for (size_t i = 0; i < survey->seen.count; i++)
        if (kept == 0 || seen[kept - 1].ticket != seen[i].ticket)
            seen[kept++] = seen[i];
    survey->seen.count = kept;
}

/* Where lanes cannot be stopped: what has finished by now is left out. What is shown as running was
 * looked at last, so all that it waited for is left out, too. Of what has no place yet the rule
 * knows nothing. */
static void drop_over(lanepool_i_survey *survey)
{
    const lanepool_i_rule *rule = survey->pool->rule;
    lanepool_i_seen *seen = survey->seen.items;
    size_t kept = 0;
    if (rule->survey_is_over == NULL)
        return;
    for (size_t i = 0; i < survey->seen.count; i++)
        if (lanepool_i_barrier_holds(&survey->pool->router, seen[i].task) ||
            !rule->survey_is_over(seen[i].task))
            seen[kept++] = seen[i];
    survey->seen.count = kept;
}

/* Behind the barrier; or of those before it: all that go on, and the nearest one that waits, which
 * leads to the others. */
static void add_held_back(lanepool_i_survey *survey, size_t index)
{
    const lanepool_i_router *router = &survey->pool->router;
    bool is_barrier = lanepool_i_survey_seen(survey, index)->ticket == router->barrier_ticket;
    bool has_waiting = false;
    size_t count = 0;
    for (size_t older = index; older-- > 0 && count < LANEPOOL_SNAPSHOT_BEHIND_MAX;) {
        const lanepool_i_seen *other = lanepool_i_survey_seen(survey, older);
        bool waits = other->state == LANEPOOL_SNAPSHOT_WAITING;
        if (is_barrier ? waits && has_waiting : other->ticket != router->barrier_ticket)
            continue;
        has_waiting = has_waiting || waits;
        lanepool_i_survey_add_behind(survey, index, older);
        count++;
    }
}

static void add_entries(lanepool_i_survey *survey, size_t index)
{
    if (lanepool_i_barrier_holds(&survey->pool->router,
                                 lanepool_i_survey_seen(survey, index)->task))
        add_held_back(survey, index);
    else
        survey->pool->rule->survey_entries(survey, index);
}

void lanepool_i_survey_look(lanepool_i_survey *survey)
{
    const lanepool_i_rule *rule = survey->pool->rule;
    lanepool_i_watch_begin(&survey->pool->watch);
    rule->survey_begin(survey);
    lanepool_i_barrier_each(&survey->pool->router, found_waiting, survey);
    add_ready(survey);
    copy_locked(survey, copy_running);
    copy_locked(survey, copy_apart);
    copy_locked(survey, copy_failed);
    drop_over(survey);
    sort_seen(survey);
    for (size_t i = 0; i < survey->seen.count && !survey->lacking; i++)
        add_entries(survey, i);
}

void lanepool_i_survey_look_at_running(lanepool_i_survey *survey)
{
    lanepool_i_watch_begin(&survey->pool->watch);
    copy_locked(survey, copy_running);
    copy_locked(survey, copy_apart);
    sort_seen(survey);
}

static void count_held_back(lanepool_i_task *task, void *context)
{
    (void)task;
    (*(size_t *)context)++;
}

size_t lanepool_i_survey_count_waiting(lanepool_pool *pool, lanepool_i_local *local,
                                       lanepool_i_grants *grants)
{
    lanepool_i_survey survey = { .pool = pool, .local = local, .counts = true };
    pool->rule->survey_begin(&survey);
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(&survey.counted)) != NULL)
        fetch_and_acq_rel(&task->word, ~LANEPOOL_I_MARKED);
    pool->rule->survey_end(&survey, grants);
    lanepool_i_barrier_each(&pool->router, count_held_back, &survey.waiting);
    return survey.waiting;
}

void lanepool_i_survey_go_on(lanepool_i_survey *survey, lanepool_i_grants *grants)
{
    survey->pool->rule->survey_end(survey, grants);
}

static void free_kept(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task)
{
    while (task != NULL) {
        lanepool_i_task *next = lanepool_i_watch_next(task);
        if (lanepool_i_word_is_periodic(load_relaxed(&task->word)))
            lanepool_i_periodic_again(pool, local, task);
        else
            lanepool_i_slab_give(&pool->slab, &local->cache, lanepool_i_task_class(task), task);
        task = next;
    }
}

void lanepool_i_survey_end(lanepool_i_survey *survey)
{
    free_kept(survey->pool, survey->local, lanepool_i_watch_end(&survey->pool->watch));
}

void lanepool_i_survey_fini(lanepool_i_survey *survey)
{
    lanepool_i_array_fini(&survey->seen);
    lanepool_i_array_fini(&survey->entries);
    lanepool_i_array_fini(&survey->places);
}
