/* Owns the watch over finished blocks, and the survey's arrays; see census.h. */
#include "route/census.h"

#include "feature/barrier.h"
#include "feature/delay_every.h"
#include "feature/retry.h"
#include "route/pool.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 64 /* for so many more at first, where it cannot be known */

/* --- the watch --- */

/* Stands in `kept` while nobody looks. Never dereferenced. */
#define CLOSED ((lanepool_i_task *)1)

void lanepool_i_watch_init(lanepool_i_watch *watch, bool has_barrier)
{
    atomic_init(&watch->word, has_barrier ? 0 : LANEPOOL_I_NO_BARRIER);
    atomic_init(&watch->kept, CLOSED);
}

/* Of a wide task that is where its release callback was, which has been called. */
static _Atomic(uintptr_t) *kept_link(lanepool_i_task *task)
{
    return &task->as.narrow[1].next;
}

bool lanepool_i_watch_keeps(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task)
{
    lanepool_i_watch *watch = &pool->watch;
    if ((load_seq(&watch->word) & LANEPOOL_I_NO_BARRIER) != 0)
        store_seq(&local->running, load_relaxed(&local->running));
    lanepool_i_task *top = load_seq(&watch->kept);
    do {
        if (top == CLOSED)
            return false;
        /* Release: who reads it in place of the callback sees that the task is a mark. */
        store_release(kept_link(task), (uintptr_t)top);
    } while (!cas_seq(&watch->kept, &top, task));
    return true;
}

static void begin_watch(lanepool_i_watch *watch)
{
    uint32_t word = load_relaxed(&watch->word);
    store_seq(&watch->kept, NULL);
    store_seq(&watch->word, word | LANEPOOL_I_WATCHED);
    if ((word & LANEPOOL_I_NO_BARRIER) == 0)
        lanepool_i_barrier_others();
}

static void end_watch(lanepool_pool *pool, lanepool_i_local *local)
{
    uint32_t word = load_relaxed(&pool->watch.word);
    store_seq(&pool->watch.word, word & ~LANEPOOL_I_WATCHED);
    lanepool_i_task *task = exchange_seq(&pool->watch.kept, CLOSED);
    while (task != NULL) {
        lanepool_i_task *next = (lanepool_i_task *)load_relaxed(kept_link(task));
        if (lanepool_i_word_is_periodic(load_relaxed(&task->word)))
            lanepool_i_periodic_again(pool, local, task);
        else
            lanepool_i_slab_give(&pool->slab, &local->cache, lanepool_i_task_class(task), task);
        task = next;
    }
}

/* --- arrays --- */

bool lanepool_i_array_reserve(lanepool_i_array *array, size_t more, size_t size)
{
    if (array->capacity - array->count >= more)
        return true;
    size_t capacity =
        2 * array->capacity > array->count + more ? 2 * array->capacity : array->count + more;
    void *items = lanepool_i_memory_alloc(capacity * size);
    if (items == NULL)
        return false;
    if (array->count > 0)
        memcpy(items, array->items, array->count * size);
    lanepool_i_memory_free(array->items);
    array->items = items;
    array->capacity = capacity;
    return true;
}

void *lanepool_i_array_add(lanepool_i_array *array, size_t size)
{
    if (!lanepool_i_array_reserve(array, 1, size))
        return NULL;
    return (char *)array->items + array->count++ * size;
}

void lanepool_i_array_fini(lanepool_i_array *array)
{
    lanepool_i_memory_free(array->items);
    *array = (lanepool_i_array){ NULL, 0, 0 };
}

/* --- what is seen --- */

static void add_seen(lanepool_i_survey *survey, lanepool_i_task *task,
                     lanepool_snapshot_state state, size_t worker)
{
    lanepool_i_seen *seen = lanepool_i_array_add(&survey->seen, sizeof *seen);
    if (seen == NULL)
        survey->lacking = true;
    else
        *seen = (lanepool_i_seen){
            .task = task, .ticket = lanepool_i_task_ticket(task), .state = state, .worker = worker
        };
}

/* Where lanes are not stopped the rule names each task once, and those that do not wait, too: the
 * latch says which. */
static void count_unstopped(lanepool_i_survey *survey, const lanepool_i_task *task)
{
    survey->waiting +=
        load_relaxed(&task->as.wide.wait) != 0 && !lanepool_i_latch_says_started(task);
}

/* In a stopped lane; a task that waits is in no list, and stays there. */
static void count_stopped(lanepool_i_survey *survey, lanepool_i_task *task)
{
    if (lanepool_i_is_gate(task) ||
        (fetch_or_relaxed(&task->word, LANEPOOL_I_MARKED) & LANEPOOL_I_MARKED) != 0)
        return;
    lanepool_i_tasks_add(&survey->counted, task);
    survey->waiting++;
}

/* A mark waits for nothing that anyone would want to know. */
void lanepool_i_survey_add_task(lanepool_i_survey *survey, lanepool_i_task *task)
{
    if (survey->counts && survey->pool->rule->reap != NULL)
        count_unstopped(survey, task);
    else if (survey->counts)
        count_stopped(survey, task);
    else if (!lanepool_i_task_is_mark(task))
        add_seen(survey, task, LANEPOOL_SNAPSHOT_WAITING, LANEPOOL_SNAPSHOT_NONE);
}

static void add_place(lanepool_i_survey *survey, const lanepool_snapshot_entry *entry,
                      const void *place)
{
    lanepool_snapshot_entry *added = lanepool_i_array_add(&survey->entries, sizeof *added);
    const void **added_place = lanepool_i_array_add(&survey->places, sizeof *added_place);
    if (added == NULL || added_place == NULL) {
        survey->lacking = true;
        return;
    }
    *added = *entry;
    *added_place = place;
}

void lanepool_i_survey_add_entry(lanepool_i_survey *survey, size_t task, const void *lane,
                                 lanepool_mode mode, bool granted)
{
    lanepool_snapshot_entry entry = {
        .task = task, .behind = LANEPOOL_SNAPSHOT_NONE, .mode = (uint32_t)mode, .granted = granted
    };
    add_place(survey, &entry, lane);
}

void lanepool_i_survey_add_missing(lanepool_i_survey *survey, size_t task)
{
    ((lanepool_i_seen *)survey->seen.items)[task].missing++;
}

void lanepool_i_survey_add_behind(lanepool_i_survey *survey, size_t task, size_t behind)
{
    lanepool_snapshot_entry entry = { .task = task,
                                      .lane = LANEPOOL_SNAPSHOT_NONE,
                                      .behind = behind };
    add_place(survey, &entry, NULL);
}

static void found_waiting(lanepool_i_task *task, void *context)
{
    lanepool_i_survey_add_task(context, task);
}

static void found_ready(lanepool_i_task *task, void *context)
{
    if (!lanepool_i_task_is_mark(task))
        add_seen(context, task, LANEPOOL_SNAPSHOT_READY, LANEPOOL_SNAPSHOT_NONE);
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
    add_seen(survey, task, LANEPOOL_SNAPSHOT_RUNNING, worker);
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
    lanepool_i_aparts *aparts = &survey->pool->aparts;
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
    add_seen(survey, failing->task,
             failing->is_kept ? LANEPOOL_SNAPSHOT_KEPT : LANEPOOL_SNAPSHOT_RETRYING,
             LANEPOOL_SNAPSHOT_NONE);
    lanepool_i_seen *seen = (lanepool_i_seen *)survey->seen.items + survey->seen.count - 1;
    seen->attempts = failing->failed;
    seen->retry_ns = failing->is_kept ? 0 : failing->timer.due_ns;
}

/* Those that have failed, and go on all the same. */
static bool copy_failed(lanepool_i_survey *survey)
{
    lanepool_i_failures *failures = &survey->pool->failures;
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
    begin_watch(&survey->pool->watch);
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
    begin_watch(&survey->pool->watch);
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

void lanepool_i_survey_end(lanepool_i_survey *survey)
{
    end_watch(survey->pool, survey->local);
}

void lanepool_i_survey_fini(lanepool_i_survey *survey)
{
    lanepool_i_array_fini(&survey->seen);
    lanepool_i_array_fini(&survey->entries);
    lanepool_i_array_fini(&survey->places);
}
