/*
 * Owns lanepool_snapshot_take(): copies a census, names included, while the lanes are frozen.
 */
#include "lanepool/inspect.h"
#include "lanepool/plan.h"

#include "base/misuse.h"
#include "core/caller_runs.h"
#include "feature/delay.h"
#include "feature/journal.h"
#include "feature/lane_limit.h"
#include "lane/visits.h"
#include "observe/snapshot_contexts.h"
#include "observe/snapshot_starts.h"
#include "observe/take_census.h"

#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 72 /* with the final zero; longer than an event's */

/* A snapshot and its arrays. */
struct owned_snapshot {
    lanepool_snapshot snapshot;
    lanepool_snapshot_task *tasks;
    lanepool_snapshot_entry *entries;
    lanepool_snapshot_lane *lanes;
    lanepool_snapshot_worker *workers;
    size_t *order;
    char *names;
    lanepool_i_snapshot_contexts contexts;
};

struct snapshot_call {
    lanepool_i_census census;
    const void **lanes; /* every lane once, by address */
    size_t lane_count;
    struct owned_snapshot *owned;
    bool stopped;            /* the pool has stopped and has no lanes */
    lanepool_future *future; /* of the task to explain, or NULL */
    size_t future_task;      /* index of that task, or NONE */
};

void lanepool_snapshot_release(lanepool_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    struct owned_snapshot *owned = (struct owned_snapshot *)snapshot;
    lanepool_i_memory_free(owned->tasks);
    lanepool_i_memory_free(owned->entries);
    lanepool_i_memory_free(owned->lanes);
    lanepool_i_memory_free(owned->workers);
    lanepool_i_memory_free(owned->order);
    lanepool_i_memory_free(owned->names);
    lanepool_i_snapshot_contexts_free(&owned->contexts);
    lanepool_i_memory_free(owned);
}

/* --- tasks and entries --- */

static const char *label_of(const lanepool_options *options, uint32_t tag)
{
    return tag < options->tag_name_count ? options->tag_names[tag] : NULL;
}

static void describe_by_features(lanepool_pool *pool, lanepool_i_task *task,
                                 lanepool_snapshot_task *described)
{
    for (size_t i = 0; pool->slots.describe[i] != NULL; i++)
        pool->slots.describe[i]->describe(pool, task, described);
}

static lanepool_plan_form form_of(const lanepool_i_task *task)
{
    if (!lanepool_i_task_is_cut(task))
        return LANEPOOL_PLAN_PLAIN;
    return lanepool_i_task_is_progressive(task) ? LANEPOOL_PLAN_PROGRESSIVE : LANEPOOL_PLAN_CUT;
}

static void copy_tasks(const lanepool_i_census *census, struct owned_snapshot *owned)
{
    for (size_t i = 0; i < census->rows.count; i++) {
        const lanepool_i_census_row *row = lanepool_i_census_row_at(census, i);
        uint32_t tag = lanepool_i_task_or_cut_tag(row->task);
        owned->tasks[i] =
            (lanepool_snapshot_task){ .ticket = row->ticket,
                                      .function = row->task->function,
                                      .context = row->task->context,
                                      .tag = tag,
                                      .label = label_of(&census->pool->options, tag),
                                      .state = row->state,
                                      .attempts = row->attempts,
                                      .retry_ns = row->retry_ns,
                                      .worker = row->worker,
                                      .detached = row->detached,
                                      .pumped = lanepool_i_task_is_for_pump(row->task),
                                      .missing = row->missing,
                                      .busy_context = LANEPOOL_SNAPSHOT_NONE,
                                      .form = form_of(row->task),
                                      .in_queue = (uint32_t)row->in_queue };
        describe_by_features(census->pool, row->task, &owned->tasks[i]);
    }
}

/* The census lists entries task by task. */
static void copy_entries(const lanepool_i_census *census, struct owned_snapshot *owned)
{
    const lanepool_snapshot_entry *entries = census->entries.items;
    for (size_t i = 0; i < census->entries.count; i++) {
        lanepool_snapshot_task *task = &owned->tasks[entries[i].task];
        owned->entries[i] = entries[i];
        if (task->entry_count++ == 0)
            task->first_entry = i;
        task->arrived += entries[i].granted;
        if (owned->entries[i].level < task->level)
            owned->entries[i].level = task->level & LANEPOOL_PRIORITY_MAX;
    }
}

/* A granted task in no queue and on no thread is READY: a worker is just taking it. A task that
 * started after its entries were read is shown as it was before. */
static void settle_states(struct owned_snapshot *owned, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lanepool_snapshot_task *task = &owned->tasks[i];
        if (task->state == LANEPOOL_SNAPSHOT_VISITED)
            continue;
        if (task->arrived < task->entry_count) {
            task->state = task->arrived > 0 ? LANEPOOL_SNAPSHOT_LATCHED : LANEPOOL_SNAPSHOT_WAITING;
            task->worker = LANEPOOL_SNAPSHOT_NONE;
        } else if (task->state == LANEPOOL_SNAPSHOT_WAITING) {
            task->state = LANEPOOL_SNAPSHOT_READY;
        }
    }
}

/* --- lanes --- */

static int compare_addresses(const void *left, const void *right)
{
    const void *const *a = left;
    const void *const *b = right;
    return ((uintptr_t)*a > (uintptr_t)*b) - ((uintptr_t)*a < (uintptr_t)*b);
}

/* Lists each lane once, by address. Returns false if memory cannot be allocated. */
static bool collect_lanes(struct snapshot_call *call)
{
    const lanepool_i_vector *places = &call->census.entry_lanes;
    call->lanes = lanepool_i_memory_alloc((places->count + 1) * sizeof *call->lanes);
    if (call->lanes == NULL)
        return false;
    const void *const *lane_of_entry = places->items;
    for (size_t i = 0; i < places->count; i++)
        if (lane_of_entry[i] != NULL)
            call->lanes[call->lane_count++] = lane_of_entry[i];
    if (call->lane_count > 0)
        qsort(call->lanes, call->lane_count, sizeof *call->lanes, compare_addresses);
    size_t unique = 0;
    for (size_t i = 0; i < call->lane_count; i++)
        if (unique == 0 || call->lanes[unique - 1] != call->lanes[i])
            call->lanes[unique++] = call->lanes[i];
    call->lane_count = unique;
    return true;
}

static size_t index_of_lane(const struct snapshot_call *call, const void *lane)
{
    const void **found =
        bsearch(&lane, call->lanes, call->lane_count, sizeof *call->lanes, compare_addresses);
    return (size_t)(found - call->lanes);
}

/* Counts each lane's entries, and assigns its part of `order`. */
static void count_lane_entries(const struct snapshot_call *call, struct owned_snapshot *owned)
{
    const void *const *places = call->census.entry_lanes.items;
    for (size_t i = 0; i < call->census.entries.count; i++) {
        lanepool_snapshot_entry *entry = &owned->entries[i];
        if (places[i] == NULL)
            continue;
        entry->lane = index_of_lane(call, places[i]);
        lanepool_snapshot_lane *lane = &owned->lanes[entry->lane];
        if (entry->granted)
            lane->granted++;
        else
            lane->waiting++;
    }
    size_t first = 0;
    for (size_t i = 0; i < call->lane_count; i++) {
        owned->lanes[i].first = first;
        first += owned->lanes[i].granted + owned->lanes[i].waiting;
    }
}

/* Fills in `order`. Entries are sorted by ticket, as in their lanes. */
static void order_lane_entries(size_t entry_count, size_t lane_count, struct owned_snapshot *owned)
{
    for (size_t i = 0; i < lane_count; i++)
        owned->lanes[i].granted = owned->lanes[i].waiting = 0;
    for (int granted = 1; granted >= 0; granted--)
        for (size_t i = 0; i < entry_count; i++) {
            lanepool_snapshot_entry *entry = &owned->entries[i];
            if (entry->lane == LANEPOOL_SNAPSHOT_NONE || entry->granted != (granted != 0))
                continue;
            lanepool_snapshot_lane *lane = &owned->lanes[entry->lane];
            size_t position = lane->granted + lane->waiting;
            owned->order[lane->first + position] = i;
            entry->ahead = granted != 0 ? 0 : position + lane->unknown;
            if (granted != 0)
                lane->granted++;
            else
                lane->waiting++;
        }
}

static void describe_lanes(const struct snapshot_call *call, struct owned_snapshot *owned)
{
    lanepool_pool *pool = call->census.pool;
    const lanepool_i_rule *rule = pool->rule;
    for (size_t i = 0; i < call->lane_count; i++) {
        lanepool_snapshot_lane *lane = &owned->lanes[i];
        size_t known = lane->granted;
        char *name = owned->names + i * NAME_SIZE;
        rule->census_lane(&call->census, call->lanes[i], lane, name, NAME_SIZE);
        lane->unknown = lane->granted > known ? lane->granted - known : 0;
        lane->granted = known;
        if (pool->limits_lanes && pool->options.layout == LANEPOOL_PER_KEY)
            lanepool_i_lane_limits_describe(pool, call->lanes[i], lane);
        /* A gate at the head counts as granted, but is no task. */
        if (lane->paused && lane->unknown > 0)
            lane->unknown--;
        /* The last granted task has ended; a frozen lane grants no other entry. */
        if (lane->waiting > 0 && known + lane->unknown == 0 && !lane->paused && !lane->by_rule)
            lane->unknown = 1;
        lane->name = name;
    }
}

/* --- workers --- */

static void copy_workers(const lanepool_i_census *census, struct owned_snapshot *owned)
{
    const lanepool_i_workers *workers = &census->pool->workers;
    for (size_t i = 0; i < workers->worker_count; i++)
        owned->workers[i] = (lanepool_snapshot_worker){
            .task = LANEPOOL_SNAPSHOT_NONE,
            .asleep = load_seq(&workers->sleepers.all[i].flag) == LANEPOOL_I_ASLEEP,
            .absent = lanepool_i_sleepers_is_absent(&workers->sleepers, i),
            .ready = lanepool_i_ready_ring_count(&workers->all[i].queue),
        };
    for (size_t i = 0; i < census->rows.count; i++) {
        const lanepool_i_census_row *row = lanepool_i_census_row_at(census, i);
        if (row->innermost && owned->tasks[i].worker != LANEPOOL_SNAPSHOT_NONE)
            owned->workers[row->worker].task = i;
    }
}

/* --- take --- */

static struct owned_snapshot *allocate_snapshot(const struct snapshot_call *call)
{
    size_t workers = call->census.pool->workers.worker_count;
    size_t entries = call->census.entries.count;
    size_t tasks = call->census.rows.count;
    struct owned_snapshot *owned = lanepool_i_memory_alloc(sizeof *owned);
    if (owned == NULL)
        return NULL;
    memset(owned, 0, sizeof *owned);
    owned->tasks = lanepool_i_memory_alloc((tasks + 1) * sizeof *owned->tasks);
    owned->entries = lanepool_i_memory_alloc((entries + 1) * sizeof *owned->entries);
    owned->order = lanepool_i_memory_alloc((entries + 1) * sizeof *owned->order);
    owned->lanes = lanepool_i_memory_alloc((call->lane_count + 1) * sizeof *owned->lanes);
    owned->names = lanepool_i_memory_alloc((call->lane_count + 1) * NAME_SIZE);
    owned->workers = lanepool_i_memory_alloc(workers * sizeof *owned->workers);
    if (owned->tasks != NULL && owned->entries != NULL && owned->order != NULL &&
        owned->lanes != NULL && owned->names != NULL && owned->workers != NULL) {
        memset(owned->lanes, 0, (call->lane_count + 1) * sizeof *owned->lanes);
        return owned;
    }
    lanepool_snapshot_release(&owned->snapshot);
    return NULL;
}

static void fill_snapshot(const struct snapshot_call *call, struct owned_snapshot *owned)
{
    lanepool_pool *pool = call->census.pool;
    size_t tasks = call->census.rows.count;
    size_t entries = call->census.entries.count;
    copy_tasks(&call->census, owned);
    copy_entries(&call->census, owned);
    settle_states(owned, tasks);
    count_lane_entries(call, owned);
    describe_lanes(call, owned);
    order_lane_entries(entries, call->lane_count, owned);
    copy_workers(&call->census, owned);
    owned->snapshot = (lanepool_snapshot){
        .time_ns = lanepool_i_clock_now(),
        .unrouted =
            lanepool_i_thread_records_accepted(&pool->records) - lanepool_i_router_routed(pool),
        .blocked = load_relaxed(&pool->admission.waiting),
        .tasks = owned->tasks,
        .task_count = tasks,
        .entries = owned->entries,
        .entry_count = entries,
        .lanes = owned->lanes,
        .lane_count = call->lane_count,
        .order = owned->order,
        .workers = owned->workers,
        .worker_count = pool->workers.worker_count,
        .paused = (load_relaxed(&pool->workers.halt) & LANEPOOL_I_HALT_PAUSE) != 0,
        .in_one_order = pool->options.priorities,
        .quantum_tasks = pool->options.quantum_tasks,
        .quantum_ns = pool->options.quantum_ns,
    };
}

/* Routes the tasks accepted before the call, but no later ones, so that the loop ends. */
static void route_accepted(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    uint64_t accepted = lanepool_i_thread_records_accepted(&pool->records);
    while ((int64_t)(accepted - lanepool_i_router_routed(pool)) > 0 &&
           lanepool_i_inbox_more(&pool->router.inbox))
        lanepool_i_router_route(pool, record);
}

/* Compares blocks, because an unrouted task has no ticket. */
static void find_future_task(struct snapshot_call *call)
{
    lanepool_i_word_lock_lock(&call->future->lock);
    const lanepool_i_task *task = lanepool_i_future_task_locked(call->future);
    lanepool_i_word_lock_unlock(&call->future->lock);
    call->future_task = LANEPOOL_SNAPSHOT_NONE;
    for (size_t i = 0; i < call->census.rows.count && task != NULL; i++)
        if (lanepool_i_census_row_at(&call->census, i)->task == task)
            call->future_task = i;
}

static void take_as_role_holder(lanepool_pool *pool, lanepool_i_thread_record *record,
                                void *context, lanepool_i_grants *grants)
{
    struct snapshot_call *call = context;
    call->stopped = pool->lifecycle.handed_back;
    if (call->stopped)
        return;
    route_accepted(pool, record);
    call->census = (lanepool_i_census){ .pool = pool, .record = record };
    lanepool_i_census_take(&call->census);
    if (!call->census.out_of_memory && collect_lanes(call))
        call->owned = allocate_snapshot(call);
    if (call->owned != NULL)
        fill_snapshot(call, call->owned);
    if (call->future != NULL)
        find_future_task(call);
    lanepool_i_census_thaw(&call->census, grants);
    lanepool_i_census_end(&call->census);
    lanepool_i_memory_free(call->lanes);
    lanepool_i_census_fini(&call->census);
}

static lanepool_status take_with_role(lanepool_pool *pool, struct snapshot_call *call)
{
    lanepool_i_thread_record *record;
    lanepool_status status = lanepool_i_control_enter(pool, &record);
    if (status != LANEPOOL_OK)
        return status;
    status = lanepool_i_control_call(pool, record, UINT64_MAX, take_as_role_holder, call);
    if (status == LANEPOOL_OK && call->owned == NULL)
        status = call->stopped ? LANEPOOL_SHUT_DOWN : LANEPOOL_NOMEM;
    return status;
}

/* Called after the role is released: the program is called to name keys, and reading events may
 * take long. Returns false if memory cannot be allocated. */
static bool complete_snapshot(lanepool_pool *pool, struct owned_snapshot *owned)
{
    if (!lanepool_i_snapshot_starts_read(&pool->rings, &owned->snapshot, owned->tasks) ||
        !lanepool_i_snapshot_contexts_take(pool, &owned->snapshot, owned->tasks, &owned->contexts))
        return false;
    owned->snapshot.contexts = owned->contexts.each;
    owned->snapshot.context_count = owned->contexts.count;
    return true;
}

lanepool_status lanepool_snapshot_take(lanepool_pool *pool, lanepool_snapshot **snapshot)
{
    struct snapshot_call call = { .owned = NULL };
    if (snapshot != NULL)
        *snapshot = NULL;
    if (pool == NULL || snapshot == NULL)
        return LANEPOOL_INVALID;
    lanepool_status status = take_with_role(pool, &call);
    if (status != LANEPOOL_OK)
        return status;
    if (!complete_snapshot(pool, call.owned)) {
        lanepool_snapshot_release(&call.owned->snapshot);
        return LANEPOOL_NOMEM;
    }
    *snapshot = &call.owned->snapshot;
    return LANEPOOL_OK;
}

/* --- one task --- */

size_t lanepool_snapshot_find(const lanepool_snapshot *snapshot, uint64_t ticket)
{
    if (LANEPOOL_I_MISUSED(snapshot == NULL, "snapshot is NULL"))
        return LANEPOOL_SNAPSHOT_NONE;
    size_t low = 0;
    size_t high = snapshot->task_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lanepool_i_ticket_before(snapshot->tasks[middle].ticket, ticket))
            low = middle + 1;
        else
            high = middle;
    }
    return low < snapshot->task_count && snapshot->tasks[low].ticket == ticket
               ? low
               : LANEPOOL_SNAPSHOT_NONE;
}

/* Finds a finished, unwritten or delayed task, or one of a sequence; any other is PASSING. The
 * future points to a delayed task's record until the task is in the inbox. */
static lanepool_pool *look_into_future(lanepool_future *future, lanepool_snapshot_place *place)
{
    lanepool_i_word_lock_lock(&future->lock);
    lanepool_pool *pool = lanepool_i_future_pool_locked(future);
    bool done = lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_DONE;
    /* The block belongs to the task while the future is not complete and its lock is held. */
    lanepool_i_task *task = done || pool == NULL ? NULL : lanepool_i_future_task_locked(future);
    *place = (lanepool_snapshot_place){ .task = LANEPOOL_SNAPSHOT_NONE };
    if (done)
        place->result = future->result;
    if (future->delayed != NULL)
        place->due_ns = future->delayed->timer.due_ns;
    place->where = done                      ? LANEPOOL_SNAPSHOT_FINISHED
                   : pool == NULL            ? LANEPOOL_SNAPSHOT_IN_SEQUENCE
                   : future->delayed != NULL ? LANEPOOL_SNAPSHOT_DELAYED
                   : task != NULL && lanepool_i_journal_has(pool, task)
                       ? LANEPOOL_SNAPSHOT_UNWRITTEN
                       : LANEPOOL_SNAPSHOT_PASSING;
    lanepool_i_word_lock_unlock(&future->lock);
    place->time_ns = lanepool_i_clock_now();
    return pool;
}

lanepool_status lanepool_snapshot_locate(lanepool_future *future, lanepool_snapshot_place *place)
{
    if (future == NULL || place == NULL)
        return LANEPOOL_INVALID;
    lanepool_pool *pool = look_into_future(future, place);
    if (place->where != LANEPOOL_SNAPSHOT_PASSING)
        return LANEPOOL_OK;
    struct snapshot_call call = { .future = future };
    lanepool_status status = take_with_role(pool, &call);
    if (status != LANEPOOL_OK)
        return status;
    if (call.future_task == LANEPOOL_SNAPSHOT_NONE) {
        lanepool_snapshot_release(&call.owned->snapshot);
        (void)look_into_future(future, place);
        return LANEPOOL_OK;
    }
    if (!complete_snapshot(pool, call.owned)) {
        lanepool_snapshot_release(&call.owned->snapshot);
        return LANEPOOL_NOMEM;
    }
    place->where = LANEPOOL_SNAPSHOT_FOUND;
    place->snapshot = &call.owned->snapshot;
    place->task = call.future_task;
    return LANEPOOL_OK;
}
