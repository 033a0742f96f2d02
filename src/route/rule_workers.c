/* Owns the lanes of workers and the choice of covering sets; see rule_workers.h. */
#include "route/rule_workers.h"

#include "route/conflict.h"
#include "route/pool.h"

#include <string.h>

static lanepool_i_queued_task *queued_of(lanepool_i_task *task)
{
    return (lanepool_i_queued_task *)(task + 1);
}

/* --- the lanes --- */

static void append_to_worker_lane(lanepool_i_worker_lane *lane, lanepool_i_worker_lane_entry *entry,
                                  lanepool_i_task *task)
{
    *entry = (lanepool_i_worker_lane_entry){ .task = task };
    lanepool_i_mutex_lock(&lane->lock);
    if (lane->first == NULL)
        lane->first = entry;
    else
        lane->last->next = entry;
    lane->last = entry;
    store_relaxed(&lane->count, load_relaxed(&lane->count) + 1);
    lanepool_i_mutex_unlock(&lane->lock);
}

static void remove_first_entry(lanepool_i_worker_lane *lane)
{
    lanepool_i_mutex_lock(&lane->lock);
    lane->first = lane->first->next;
    store_relaxed(&lane->count, load_relaxed(&lane->count) - 1);
    lanepool_i_mutex_unlock(&lane->lock);
}

/* Lets the worker arrive at the head of its lane. Returns the task there; NULL if there is none,
 * the worker has arrived before, or the workers are halted. `halt` is read under the lock: if the
 * pool was halted before the task became the head, this reading sees it. */
static lanepool_i_task *arrive_at_first(const lanepool_i_workers *workers,
                                        lanepool_i_worker_lane *lane)
{
    lanepool_i_task *task = NULL;
    lanepool_i_mutex_lock(&lane->lock);
    if (lane->first != NULL && !lane->first->arrived && load_relaxed(&workers->halt) == 0) {
        task = lane->first->task;
        lane->first->arrived = true;
    }
    lanepool_i_mutex_unlock(&lane->lock);
    return task;
}

static bool workers_has_own_task(lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_worker_lane *lane = &pool->worker_lanes.lanes[worker->index];
    lanepool_i_mutex_lock(&lane->lock);
    bool has = lane->first != NULL && !lane->first->arrived;
    lanepool_i_mutex_unlock(&lane->lock);
    return has;
}

/* The worker that arrives last gets the task, unless a caller must run it. */
static lanepool_i_task *workers_take_own_task(lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_thread_record *record = worker->record;
    lanepool_i_task *task =
        arrive_at_first(&pool->workers, &pool->worker_lanes.lanes[worker->index]);
    if (task == NULL)
        return NULL;
    uint32_t lanes = queued_of(task)->entry_count;
    lanepool_i_trace_at(record->ring, LANEPOOL_EVENT_ARRIVE, task, worker->index,
                        LANEPOOL_EVENT_LANE_WORKER, 0);
    if (!lanepool_i_countdown_arrive(task, 1)) {
        lanepool_i_count_up(&record->latched, 1);
        return NULL;
    }
    lanepool_i_count_up(&record->latched, (uint64_t)1 - lanes);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_READY, task, 0);
    if ((load_relaxed(&task->word) & LANEPOOL_I_BY_CALLER) != 0 &&
        pool->host->notify_caller(pool, task))
        return NULL;
    return task;
}

/* --- finding the conflicts --- */

/* Adds a task to the conflicts, once, though several claims may lead to it. */
static void add_conflict(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_queued_task *queued = queued_of(task);
    if (load_acquire(&queued->finished) || queued->conflict_stamp == pool->router.last_stamp)
        return;
    queued->conflict_stamp = pool->router.last_stamp;
    queued->next_conflict = pool->worker_lanes.conflicts;
    pool->worker_lanes.conflicts = task;
}

/* Finds all conflicts of the task by asking the predicate. A tombstone waits for nothing. */
static void find_conflicts_by_predicate(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_task *task)
{
    lanepool_i_task *newest = pool->worker_lanes.unreaped;
    lanepool_i_task *old = lanepool_i_task_is_tombstone(task) ? NULL : newest;
    for (; old != NULL; old = queued_of(old)->older)
        if (!load_acquire(&queued_of(old)->finished) && !lanepool_i_task_is_tombstone(old) &&
            lanepool_i_tasks_conflict(pool, record, task, old))
            add_conflict(pool, old);
    queued_of(task)->older = newest;
    if (newest != NULL)
        queued_of(newest)->newer = task;
    pool->worker_lanes.unreaped = task;
}

static void forget_readers(lanepool_i_claimants *claimants)
{
    while (claimants->entries != NULL) {
        lanepool_i_claim_entry *entry = claimants->entries;
        claimants->entries = lanepool_i_claim_next(entry);
        entry->previous = entry;
    }
}

/* An EXCLUSIVE claim waits for the readers, which wait for the last EXCLUSIVE claim. Without
 * readers it waits for that claim. */
static void claim_exclusive(lanepool_pool *pool, lanepool_i_claim_entry *entry)
{
    lanepool_i_claimants *claimants = lanepool_i_claimants_of(entry);
    const lanepool_i_claim_entry *reader = claimants->entries;
    if (reader == NULL && claimants->exclusive != NULL)
        add_conflict(pool, claimants->exclusive);
    for (; reader != NULL; reader = lanepool_i_claim_next(reader))
        add_conflict(pool, lanepool_i_claim_owner(reader));
    forget_readers(claimants);
    claimants->exclusive = lanepool_i_claim_owner(entry);
}

static void claim_shared(lanepool_pool *pool, lanepool_i_claim_entry *entry)
{
    lanepool_i_claimants *claimants = lanepool_i_claimants_of(entry);
    if (claimants->exclusive != NULL)
        add_conflict(pool, claimants->exclusive);
    lanepool_i_claimants_add(entry);
}

static void find_conflicts_by_keys(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_task *task)
{
    lanepool_i_claimants_resolve(pool, record, task);
    lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        if (lanepool_i_claim_is_shared(&entries[i]))
            claim_shared(pool, &entries[i]);
        else
            claim_exclusive(pool, &entries[i]);
    }
}

/* --- the covering set --- */

static void count_covered_conflicts(lanepool_pool *pool)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        pool->worker_lanes.lanes[i].covered_conflicts = 0;
    for (lanepool_i_task *task = pool->worker_lanes.conflicts; task != NULL;
         task = queued_of(task)->next_conflict)
        for (size_t i = 0; i < pool->workers.worker_count; i++)
            pool->worker_lanes.lanes[i].covered_conflicts +=
                queued_of(task)->entries[i].task != NULL;
}

/* Returns the lane that covers most conflicts; of these the one with the fewest entries; of these
 * the first. */
static size_t choose_best_lane(const lanepool_pool *pool)
{
    const lanepool_i_worker_lane *queues = pool->worker_lanes.lanes;
    size_t best = 0;
    size_t best_count = load_relaxed(&queues[0].count);
    for (size_t i = 1; i < pool->workers.worker_count; i++) {
        size_t count = load_relaxed(&queues[i].count);
        if (queues[i].covered_conflicts > queues[best].covered_conflicts ||
            (queues[i].covered_conflicts == queues[best].covered_conflicts && count < best_count)) {
            best = i;
            best_count = count;
        }
    }
    return best;
}

static void drop_covered_conflicts(lanepool_pool *pool, size_t lane)
{
    lanepool_i_task **at = &pool->worker_lanes.conflicts;
    while (*at != NULL) {
        lanepool_i_queued_task *queued = queued_of(*at);
        if (queued->entries[lane].task != NULL)
            *at = queued->next_conflict;
        else
            at = &queued->next_conflict;
    }
}

/* Chooses the lanes to enter and sets the task's entries for them. Greedy: each further lane covers
 * at least one more conflict. */
static void choose_covering_set(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_queued_task *queued = queued_of(task);
    do {
        count_covered_conflicts(pool);
        size_t lane = choose_best_lane(pool);
        queued->entries[lane].task = task;
        queued->entry_count++;
        drop_covered_conflicts(pool, lane);
    } while (pool->worker_lanes.conflicts != NULL);
}

static void enter_lanes(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *task)
{
    lanepool_i_queued_task *queued = queued_of(task);
    lanepool_i_countdown_set(task, queued->entry_count);
    uint32_t left = queued->entry_count;
    for (size_t i = 0; left > 0; i++) {
        if (queued->entries[i].task == NULL)
            continue;
        /* Not read from the task: after the last append it may run, finish and be reaped. */
        left--;
        lanepool_i_trace_at(record->ring, LANEPOOL_EVENT_ENTER, task, i, LANEPOOL_EVENT_LANE_WORKER,
                            0);
        append_to_worker_lane(&pool->worker_lanes.lanes[i], &queued->entries[i], task);
        lanepool_i_sleepers_wake_one(&pool->workers.sleepers, i);
    }
}

/* --- the rule --- */

static void workers_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_grants *grants)
{
    (void)grants;
    memset(queued_of(task), 0, pool->extension);
    pool->worker_lanes.conflicts = NULL;
    pool->router.last_stamp++;
    if (pool->options.is_compatible != NULL)
        find_conflicts_by_predicate(pool, record, task);
    else
        find_conflicts_by_keys(pool, record, task);
    choose_covering_set(pool, task);
    enter_lanes(pool, record, task);
}

static void workers_batch_done(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (pool->options.is_compatible == NULL)
        lanepool_i_lane_table_sweep(pool, record);
}

static void workers_trim(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (pool->options.is_compatible == NULL)
        lanepool_i_lane_table_trim(pool, record);
}

/* Removes the task, which is the head, from each of its lanes, and wakes the lanes' workers. */
static void workers_finish(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task, lanepool_i_grants *grants)
{
    (void)grants;
    lanepool_i_queued_task *queued = queued_of(task);
    store_release(&queued->finished, true);
    for (size_t i = 0; i < pool->workers.worker_count; i++) {
        if (queued->entries[i].task == NULL)
            continue;
        lanepool_i_trace_next(record->ring, LANEPOOL_EVENT_RELEASE, task, i,
                              LANEPOOL_EVENT_LANE_WORKER);
        remove_first_entry(&pool->worker_lanes.lanes[i]);
        if (record->worker == NULL || record->worker->index != i)
            lanepool_i_sleepers_wake_one(&pool->workers.sleepers, i);
    }
}

static void unlink_unreaped(lanepool_pool *pool, const lanepool_i_queued_task *queued)
{
    if (queued->older != NULL)
        queued_of(queued->older)->newer = queued->newer;
    if (queued->newer != NULL)
        queued_of(queued->newer)->older = queued->older;
    else
        pool->worker_lanes.unreaped = queued->older;
}

static void workers_reap(lanepool_pool *pool, lanepool_i_thread_record *record,
                         lanepool_i_task *task)
{
    (void)record;
    if (pool->options.is_compatible != NULL) {
        unlink_unreaped(pool, queued_of(task));
        return;
    }
    lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        lanepool_i_claimants *claimants = lanepool_i_claimants_of(&entries[i]);
        if (claimants->exclusive == task)
            claimants->exclusive = NULL;
        if (entries[i].previous != &entries[i])
            lanepool_i_claimants_remove(&entries[i]);
    }
}

/* --- hand-back and walking --- */

static void workers_collect(lanepool_pool *pool, lanepool_i_tasks *tasks)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        for (lanepool_i_worker_lane_entry *entry = pool->worker_lanes.lanes[i].first; entry != NULL;
             entry = entry->next)
            lanepool_i_tasks_add_unvisited(tasks, entry->task);
}

static void workers_each_dependent(lanepool_pool *pool, lanepool_i_task *task, uint64_t limit,
                                   void (*found)(lanepool_i_task *dependent, void *context),
                                   void *context)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++) {
        lanepool_i_worker_lane *lane = &pool->worker_lanes.lanes[i];
        if (queued_of(task)->entries[i].task == NULL)
            continue;
        lanepool_i_mutex_lock(&lane->lock);
        for (const lanepool_i_worker_lane_entry *entry = queued_of(task)->entries[i].next;
             entry != NULL && lanepool_i_ticket_before(lanepool_i_task_ticket(entry->task), limit);
             entry = entry->next)
            found(entry->task, context);
        lanepool_i_mutex_unlock(&lane->lock);
    }
}

/* --- census --- */

/* Locks all lanes at once, by index: no other thread takes two of these locks. A task that a thread
 * still lists as running has its entries: it leaves its lanes after it has left that list. */
static void workers_census_begin(lanepool_i_census *census)
{
    lanepool_pool *pool = census->pool;
    size_t total = 0;
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        total += load_relaxed(&pool->worker_lanes.lanes[i].count);
    /* There cannot be more entries by now: only the role's holder appends. */
    if (!lanepool_i_vector_reserve(&census->rows, total, sizeof(lanepool_i_census_row))) {
        census->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        lanepool_i_mutex_lock(&pool->worker_lanes.lanes[i].lock);
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        for (const lanepool_i_worker_lane_entry *entry = pool->worker_lanes.lanes[i].first;
             entry != NULL; entry = entry->next) {
            lanepool_i_census_add_task(census, entry->task);
            queued_of(entry->task)->entries[i].census = entry == pool->worker_lanes.lanes[i].first
                                                            ? LANEPOOL_I_CENSUS_FIRST
                                                            : LANEPOOL_I_CENSUS_BEHIND;
        }
    for (size_t i = pool->workers.worker_count; i-- > 0;)
        lanepool_i_mutex_unlock(&pool->worker_lanes.lanes[i].lock);
}

static void workers_census_entries(lanepool_i_census *census, size_t index)
{
    const lanepool_i_queued_task *queued = queued_of(lanepool_i_census_row_at(census, index)->task);
    for (size_t i = 0; i < census->pool->workers.worker_count; i++)
        if (queued->entries[i].census != LANEPOOL_I_CENSUS_NONE)
            lanepool_i_census_add_entry(census, index, &census->pool->worker_lanes.lanes[i],
                                        LANEPOOL_EXCLUSIVE,
                                        queued->entries[i].census == LANEPOOL_I_CENSUS_FIRST);
}

static void workers_census_lane(const lanepool_i_census *census, const void *entry,
                                lanepool_snapshot_lane *described, char *name, size_t size)
{
    const lanepool_i_worker_lane *lane = entry;
    described->number = (uint64_t)(lane - census->pool->worker_lanes.lanes);
    described->type = LANEPOOL_EVENT_LANE_WORKER;
    described->granted = 0;
    name[0] = '\0';
    (void)size;
}

static void workers_census_end(lanepool_i_census *census, lanepool_i_grants *grants)
{
    (void)grants;
    for (size_t index = 0; index < census->rows.count; index++) {
        lanepool_i_queued_task *queued = queued_of(lanepool_i_census_row_at(census, index)->task);
        for (size_t i = 0; i < census->pool->workers.worker_count; i++)
            queued->entries[i].census = LANEPOOL_I_CENSUS_NONE;
    }
}

/* --- beginning and end --- */

static void fini_worker_lanes(lanepool_pool *pool, size_t count)
{
    while (count-- > 0)
        lanepool_i_mutex_fini(&pool->worker_lanes.lanes[count].lock);
    lanepool_i_memory_free(pool->worker_lanes.lanes);
}

static bool init_worker_lanes(lanepool_pool *pool)
{
    size_t size = pool->options.workers * sizeof(lanepool_i_worker_lane);
    pool->worker_lanes = (lanepool_i_worker_lanes){ lanepool_i_memory_alloc(size), NULL, NULL };
    if (pool->worker_lanes.lanes == NULL)
        return false;
    memset(pool->worker_lanes.lanes, 0, size);
    for (size_t i = 0; i < pool->options.workers; i++)
        if (!lanepool_i_mutex_init(&pool->worker_lanes.lanes[i].lock,
                                   LANEPOOL_I_LOCK_WORKER_LANE)) {
            fini_worker_lanes(pool, i);
            return false;
        }
    return true;
}

static bool workers_init(lanepool_pool *pool)
{
    if (!init_worker_lanes(pool))
        return false;
    if (pool->options.is_compatible != NULL ||
        lanepool_i_lane_table_init(&pool->lane_table, lanepool_i_claimants_are_none,
                                   pool->options.allocator, false))
        return true;
    fini_worker_lanes(pool, pool->options.workers);
    return false;
}

static void workers_fini(lanepool_pool *pool)
{
    if (pool->options.is_compatible == NULL)
        lanepool_i_lane_table_fini(&pool->lane_table);
    fini_worker_lanes(pool, pool->options.workers);
}

static size_t workers_extension(const lanepool_options *options)
{
    return sizeof(lanepool_i_queued_task) + options->workers * sizeof(lanepool_i_worker_lane_entry);
}

const lanepool_i_rule lanepool_i_rule_workers = {
    .all_wide = true,
    .extension = workers_extension,
    .entry_size = sizeof(lanepool_i_claim_entry),
    .init = workers_init,
    .fini = workers_fini,
    .route = workers_route,
    .route_max = LANEPOOL_I_ROUTE_BATCH,
    .batch_done = workers_batch_done,
    .finish = workers_finish,
    .reap = workers_reap,
    .claims_lane = lanepool_i_claimants_claims_lane,
    .own = workers_take_own_task,
    .has_own = workers_has_own_task,
    .trim = workers_trim,
    .collect = workers_collect,
    .claims = lanepool_i_claimants_read_claims,
    .each_dependent = workers_each_dependent,
    .census_begin = workers_census_begin,
    .census_entries = workers_census_entries,
    .census_lane = workers_census_lane,
    .census_end = workers_census_end,
};
