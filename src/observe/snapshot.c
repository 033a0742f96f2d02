/*
 * Owns lanepool_snapshot_take(): from a survey to plain data. While the lanes are
 * stopped everything is copied, names included; the rest is arithmetic.
 */
#include "lanepool/snapshot.h"

#include "core/caller_runs.h"
#include "feature/delay.h"
#include "feature/lane_limit.h"
#include "feature/priority.h"
#include "inspect/snapshot_text.h"
#include "observe/snapshot_contexts.h"
#include "observe/take_census.h"

#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 72 /* with the final zero; more than an event's */

/* What is handed out, and where its parts are kept. */
struct taken {
    lanepool_snapshot snapshot;
    lanepool_snapshot_task *tasks;
    lanepool_snapshot_entry *entries;
    lanepool_snapshot_lane *lanes;
    lanepool_snapshot_worker *workers;
    size_t *order;
    char *names;
    lanepool_i_snapshot_contexts contexts;
};

/* One call. */
struct taking {
    lanepool_i_census census;
    const void **lanes; /* each once, by address */
    size_t lane_count;
    struct taken *taken;
    bool stopped;            /* the pool has: its lanes are no more */
    lanepool_future *future; /* of the task that is asked about; or NULL */
    size_t asked;            /* its index, or NONE */
};

void lanepool_snapshot_release(lanepool_snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    struct taken *taken = (struct taken *)snapshot;
    lanepool_i_memory_free(taken->tasks);
    lanepool_i_memory_free(taken->entries);
    lanepool_i_memory_free(taken->lanes);
    lanepool_i_memory_free(taken->workers);
    lanepool_i_memory_free(taken->order);
    lanepool_i_memory_free(taken->names);
    lanepool_i_snapshot_contexts_free(&taken->contexts);
    lanepool_i_memory_free(taken);
}

/* --- tasks and entries --- */

static const char *label_of(const lanepool_options *options, uint32_t tag)
{
    return tag < options->tag_name_count ? options->tag_names[tag] : NULL;
}

static bool is_pumped(const lanepool_i_task *task)
{
    uint64_t mask = LANEPOOL_I_WIDE | LANEPOOL_I_FOR_PUMP;
    return (load_relaxed(&task->word) & mask) == mask;
}

static void copy_priority(lanepool_pool *pool, lanepool_i_task *task,
                          lanepool_snapshot_task *copied)
{
    if (pool->options.priorities)
        lanepool_i_priority_read(pool, task, &copied->priority, &copied->level);
}

static void copy_tasks(const lanepool_i_census *census, struct taken *taken)
{
    for (size_t i = 0; i < census->rows.count; i++) {
        const lanepool_i_census_row *seen = lanepool_i_census_row_at(census, i);
        uint32_t tag = lanepool_i_task_tag(seen->task);
        taken->tasks[i] = (lanepool_snapshot_task){ .ticket = seen->ticket,
                                                    .function = seen->task->function,
                                                    .context = seen->task->context,
                                                    .tag = tag,
                                                    .label = label_of(&census->pool->options, tag),
                                                    .state = seen->state,
                                                    .attempts = seen->attempts,
                                                    .retry_ns = seen->retry_ns,
                                                    .worker = seen->worker,
                                                    .detached = seen->detached,
                                                    .pumped = is_pumped(seen->task),
                                                    .missing = seen->missing,
                                                    .busy_context = LANEPOOL_SNAPSHOT_NONE };
        copy_priority(census->pool, seen->task, &taken->tasks[i]);
    }
}

/* Entries come task by task. */
static void copy_entries(const lanepool_i_census *census, struct taken *taken)
{
    const lanepool_snapshot_entry *entries = census->entries.items;
    for (size_t i = 0; i < census->entries.count; i++) {
        lanepool_snapshot_task *task = &taken->tasks[entries[i].task];
        taken->entries[i] = entries[i];
        if (task->entry_count++ == 0)
            task->first_entry = i;
        task->arrived += entries[i].granted;
    }
}

/* What waits for nothing, is in no queue and runs on no thread, a worker is just taking up. What
 * has begun to run since its lanes were looked at is shown as it was then. */
static void settle_states(struct taken *taken, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lanepool_snapshot_task *task = &taken->tasks[i];
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

/* The lanes of all entries, each once, by address. False: memory is lacking. */
static bool find_lanes(struct taking *taking)
{
    const lanepool_i_vector *places = &taking->census.places;
    taking->lanes = lanepool_i_memory_alloc((places->count + 1) * sizeof *taking->lanes);
    if (taking->lanes == NULL)
        return false;
    const void *const *each = places->items;
    for (size_t i = 0; i < places->count; i++)
        if (each[i] != NULL)
            taking->lanes[taking->lane_count++] = each[i];
    if (taking->lane_count > 0)
        qsort(taking->lanes, taking->lane_count, sizeof *taking->lanes, compare_addresses);
    size_t kept = 0;
    for (size_t i = 0; i < taking->lane_count; i++)
        if (kept == 0 || taking->lanes[kept - 1] != taking->lanes[i])
            taking->lanes[kept++] = taking->lanes[i];
    taking->lane_count = kept;
    return true;
}

static size_t index_of_lane(const struct taking *taking, const void *lane)
{
    const void **found =
        bsearch(&lane, taking->lanes, taking->lane_count, sizeof *taking->lanes, compare_addresses);
    return (size_t)(found - taking->lanes);
}

/* Counts each lane's entries, and gives it its part of `order`. */
static void count_entries(const struct taking *taking, struct taken *taken)
{
    const void *const *places = taking->census.places.items;
    for (size_t i = 0; i < taking->census.entries.count; i++) {
        lanepool_snapshot_entry *entry = &taken->entries[i];
        if (places[i] == NULL)
            continue;
        entry->lane = index_of_lane(taking, places[i]);
        lanepool_snapshot_lane *lane = &taken->lanes[entry->lane];
        if (entry->granted)
            lane->granted++;
        else
            lane->waiting++;
    }
    size_t first = 0;
    for (size_t i = 0; i < taking->lane_count; i++) {
        taken->lanes[i].first = first;
        first += taken->lanes[i].granted + taken->lanes[i].waiting;
    }
}

/* Entries come by ticket, as they stand in a lane. */
static void put_in_order(size_t entry_count, size_t lane_count, struct taken *taken)
{
    for (size_t i = 0; i < lane_count; i++)
        taken->lanes[i].granted = taken->lanes[i].waiting = 0;
    for (int granted = 1; granted >= 0; granted--)
        for (size_t i = 0; i < entry_count; i++) {
            lanepool_snapshot_entry *entry = &taken->entries[i];
            if (entry->lane == LANEPOOL_SNAPSHOT_NONE || entry->granted != (granted != 0))
                continue;
            lanepool_snapshot_lane *lane = &taken->lanes[entry->lane];
            size_t place = lane->granted + lane->waiting;
            taken->order[lane->first + place] = i;
            entry->ahead = granted != 0 ? 0 : place + lane->unknown;
            if (granted != 0)
                lane->granted++;
            else
                lane->waiting++;
        }
}

static void describe_lanes(const struct taking *taking, struct taken *taken)
{
    lanepool_pool *pool = taking->census.pool;
    const lanepool_i_rule *rule = pool->rule;
    for (size_t i = 0; i < taking->lane_count; i++) {
        lanepool_snapshot_lane *lane = &taken->lanes[i];
        size_t known = lane->granted;
        char *name = taken->names + i * NAME_SIZE;
        rule->census_lane(&taking->census, taking->lanes[i], lane, name, NAME_SIZE);
        lane->unknown = lane->granted > known ? lane->granted - known : 0;
        lane->granted = known;
        if (pool->limits_lanes && pool->options.layout == LANEPOOL_PER_KEY)
            lanepool_i_lane_limits_describe(pool, taking->lanes[i], lane);
        /* A pause that has come to its turn holds the lane like a task. */
        if (lane->paused && lane->unknown > 0)
            lane->unknown--;
        /* Its last task has ended meanwhile: the lane moves on when it may. */
        if (lane->waiting > 0 && known + lane->unknown == 0 && !lane->paused)
            lane->unknown = 1;
        lane->name = name;
    }
}

/* --- workers --- */

static void copy_workers(const lanepool_i_census *census, struct taken *taken)
{
    const lanepool_i_workers *workers = &census->pool->workers;
    for (size_t i = 0; i < workers->worker_count; i++)
        taken->workers[i] = (lanepool_snapshot_worker){
            .task = LANEPOOL_SNAPSHOT_NONE,
            .asleep = load_seq(&workers->sleepers.all[i].flag) == LANEPOOL_I_ASLEEP,
            .absent = lanepool_i_sleepers_is_absent(&workers->sleepers, i),
            .ready = lanepool_i_ready_ring_count(&workers->all[i].queue),
        };
    for (size_t i = 0; i < census->rows.count; i++) {
        const lanepool_i_census_row *seen = lanepool_i_census_row_at(census, i);
        if (seen->innermost && taken->tasks[i].worker != LANEPOOL_SNAPSHOT_NONE)
            taken->workers[seen->worker].task = i;
    }
}

/* --- taking it --- */

static struct taken *make(const struct taking *taking)
{
    size_t workers = taking->census.pool->workers.worker_count;
    size_t entries = taking->census.entries.count;
    size_t tasks = taking->census.rows.count;
    struct taken *taken = lanepool_i_memory_alloc(sizeof *taken);
    if (taken == NULL)
        return NULL;
    memset(taken, 0, sizeof *taken);
    taken->tasks = lanepool_i_memory_alloc((tasks + 1) * sizeof *taken->tasks);
    taken->entries = lanepool_i_memory_alloc((entries + 1) * sizeof *taken->entries);
    taken->order = lanepool_i_memory_alloc((entries + 1) * sizeof *taken->order);
    taken->lanes = lanepool_i_memory_alloc((taking->lane_count + 1) * sizeof *taken->lanes);
    taken->names = lanepool_i_memory_alloc((taking->lane_count + 1) * NAME_SIZE);
    taken->workers = lanepool_i_memory_alloc(workers * sizeof *taken->workers);
    if (taken->tasks != NULL && taken->entries != NULL && taken->order != NULL &&
        taken->lanes != NULL && taken->names != NULL && taken->workers != NULL) {
        memset(taken->lanes, 0, (taking->lane_count + 1) * sizeof *taken->lanes);
        return taken;
    }
    lanepool_snapshot_release(&taken->snapshot);
    return NULL;
}

static void fill(const struct taking *taking, struct taken *taken)
{
    lanepool_pool *pool = taking->census.pool;
    size_t tasks = taking->census.rows.count;
    size_t entries = taking->census.entries.count;
    copy_tasks(&taking->census, taken);
    copy_entries(&taking->census, taken);
    settle_states(taken, tasks);
    count_entries(taking, taken);
    describe_lanes(taking, taken);
    put_in_order(entries, taking->lane_count, taken);
    copy_workers(&taking->census, taken);
    taken->snapshot = (lanepool_snapshot){
        .time_ns = lanepool_i_clock_now(),
        .unrouted =
            lanepool_i_thread_records_accepted(&pool->records) - lanepool_i_router_routed(pool),
        .blocked = load_relaxed(&pool->admission.waiting),
        .tasks = taken->tasks,
        .task_count = tasks,
        .entries = taken->entries,
        .entry_count = entries,
        .lanes = taken->lanes,
        .lane_count = taking->lane_count,
        .order = taken->order,
        .workers = taken->workers,
        .worker_count = pool->workers.worker_count,
        .paused = (load_relaxed(&pool->workers.halt) & LANEPOOL_I_HALT_PAUSE) != 0,
    };
}

/* What was accepted before the call; not for ever, if others go on submitting. */
static void route_all(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    uint64_t accepted = lanepool_i_thread_records_accepted(&pool->records);
    while ((int64_t)(accepted - lanepool_i_router_routed(pool)) > 0 &&
           lanepool_i_inbox_more(&pool->router.inbox))
        lanepool_i_router_route(pool, record);
}

/* By its block: a task that was not routed has no ticket yet. */
static void find_asked(struct taking *taking)
{
    lanepool_i_mutex_lock(&taking->future->lock);
    const lanepool_i_task *task = taking->future->complete ? NULL : taking->future->task;
    lanepool_i_mutex_unlock(&taking->future->lock);
    taking->asked = LANEPOOL_SNAPSHOT_NONE;
    for (size_t i = 0; i < taking->census.rows.count && task != NULL; i++)
        if (lanepool_i_census_row_at(&taking->census, i)->task == task)
            taking->asked = i;
}

static void take(lanepool_pool *pool, lanepool_i_thread_record *record, void *context)
{
    struct taking *taking = context;
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    taking->stopped = pool->lifecycle.handed_back;
    if (taking->stopped)
        return;
    route_all(pool, record);
    taking->census = (lanepool_i_census){ .pool = pool, .record = record };
    lanepool_i_census_take(&taking->census);
    if (!taking->census.out_of_memory && find_lanes(taking))
        taking->taken = make(taking);
    if (taking->taken != NULL)
        fill(taking, taking->taken);
    if (taking->future != NULL)
        find_asked(taking);
    lanepool_i_census_thaw(&taking->census, &grants);
    lanepool_i_census_end(&taking->census);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
    lanepool_i_count_up(&record->latched, grants.latched);
    lanepool_i_memory_free(taking->lanes);
    lanepool_i_census_fini(&taking->census);
}

static lanepool_status take_with_role(lanepool_pool *pool, struct taking *taking)
{
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (lanepool_i_thread_record_may_hold_role(record))
        return LANEPOOL_DEADLOCK;
    /* A cancelling call is made by the role's holder. */
    if (record->run != NULL && load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        return LANEPOOL_SHUT_DOWN;
    lanepool_status status = lanepool_i_with_role(pool, record, UINT64_MAX, take, taking);
    if (status == LANEPOOL_OK && taking->taken == NULL)
        status = taking->stopped ? LANEPOOL_SHUT_DOWN : LANEPOOL_NOMEM;
    return status;
}

/* Afterwards, since the program is asked how keys are called. */
static bool add_contexts(lanepool_pool *pool, struct taken *taken)
{
    if (!lanepool_i_snapshot_contexts_take(pool, &taken->snapshot, taken->tasks, &taken->contexts))
        return false;
    taken->snapshot.contexts = taken->contexts.each;
    taken->snapshot.context_count = taken->contexts.count;
    return true;
}

lanepool_status lanepool_snapshot_take(lanepool_pool *pool, lanepool_snapshot **snapshot)
{
    struct taking taking = { .taken = NULL };
    if (snapshot != NULL)
        *snapshot = NULL;
    if (pool == NULL || snapshot == NULL)
        return LANEPOOL_INVALID;
    lanepool_status status = take_with_role(pool, &taking);
    if (status != LANEPOOL_OK)
        return status;
    if (!add_contexts(pool, taking.taken)) {
        lanepool_snapshot_release(&taking.taken->snapshot);
        return LANEPOOL_NOMEM;
    }
    *snapshot = &taking.taken->snapshot;
    return LANEPOOL_OK;
}

/* --- from a future --- */

/* True: the task has finished, or is delayed, or is no pool's. Until it is in the inbox a delayed
 * task's record stays with its future. */
static bool says_itself(lanepool_future *future, const lanepool_i_out *out, lanepool_pool **pool)
{
    uint64_t due_ns = UINT64_MAX;
    lanepool_i_mutex_lock(&future->lock);
    bool complete = future->complete;
    lanepool_result result = future->result;
    *pool = future->pool;
    if (future->delayed != NULL)
        due_ns = future->delayed->timer.due_ns;
    lanepool_i_mutex_unlock(&future->lock);
    if (complete)
        lanepool_i_out_end(out, &result);
    else if (*pool == NULL)
        lanepool_i_out_text(out, "the task is one of a sequence, which run one after the other\n");
    else if (due_ns != UINT64_MAX)
        lanepool_i_out_delay(out, due_ns);
    return complete || *pool == NULL || due_ns != UINT64_MAX;
}

lanepool_status lanepool_explain(lanepool_future *future, lanepool_write_fn write, void *context)
{
    lanepool_i_out out = { write, context };
    lanepool_pool *pool;
    if (future == NULL || write == NULL)
        return LANEPOOL_INVALID;
    if (says_itself(future, &out, &pool))
        return LANEPOOL_OK;
    struct taking taking = { .future = future };
    lanepool_status status = take_with_role(pool, &taking);
    if (status != LANEPOOL_OK)
        return status;
    bool is_seen = taking.asked != LANEPOOL_SNAPSHOT_NONE;
    if (!is_seen && !says_itself(future, &out, &pool))
        lanepool_i_out_text(&out, "the task is just being submitted, taken up or let go\n");
    else if (is_seen && !add_contexts(pool, taking.taken))
        status = LANEPOOL_NOMEM;
    else if (is_seen)
        status = lanepool_snapshot_write_reasons(
            &taking.taken->snapshot, taking.taken->tasks[taking.asked].ticket, write, context);
    if (taking.taken != NULL)
        lanepool_snapshot_release(&taking.taken->snapshot);
    return status;
}

/* --- looking something up --- */
