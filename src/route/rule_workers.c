/* Owns the workers' lanes and the covering rule; see rule_workers.h. */
#include "route/rule_workers.h"

#include "route/conflict.h"
#include "route/pool.h"

#include <string.h>

_Static_assert(sizeof(lanepool_i_claimants) <= sizeof(lanepool_i_lane), "it takes a lane's memory");
_Static_assert(offsetof(lanepool_i_claim_entry, claim) == 0, "it begins like a wide entry");

static lanepool_i_queued_task *placed_of(lanepool_i_task *task)
{
    return (lanepool_i_queued_task *)(task + 1);
}

static lanepool_i_claim_entry *entries_of(const lanepool_pool *pool, lanepool_i_task *task)
{
    return (lanepool_i_claim_entry *)((char *)(task + 1) + pool->extension);
}

/* --- the lanes --- */

static void append(lanepool_i_queue *queue, lanepool_i_queue_entry *place, lanepool_i_task *task)
{
    *place = (lanepool_i_queue_entry){ .task = task };
    lanepool_i_mutex_lock(&queue->lock);
    if (queue->first == NULL)
        queue->first = place;
    else
        queue->last->next = place;
    queue->last = place;
    store_relaxed(&queue->count, load_relaxed(&queue->count) + 1);
    lanepool_i_mutex_unlock(&queue->lock);
}

static void remove_first(lanepool_i_queue *queue)
{
    lanepool_i_mutex_lock(&queue->lock);
    queue->first = queue->first->next;
    store_relaxed(&queue->count, load_relaxed(&queue->count) - 1);
    lanepool_i_mutex_unlock(&queue->lock);
}

/* The task at the head, if its worker has not arrived there before. A worker that halts does not:
 * the look at that, under the lock, sees what was called before the task came to the head. */
static lanepool_i_task *arrive_at_first(const lanepool_i_workers *workers, lanepool_i_queue *queue)
{
    lanepool_i_task *task = NULL;
    lanepool_i_mutex_lock(&queue->lock);
    if (queue->first != NULL && !queue->first->arrived && load_relaxed(&workers->halt) == 0) {
        task = queue->first->task;
        queue->first->arrived = true;
    }
    lanepool_i_mutex_unlock(&queue->lock);
    return task;
}

static bool has_own(lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_queue *queue = &pool->queues.queues[worker->index];
    lanepool_i_mutex_lock(&queue->lock);
    bool has = queue->first != NULL && !queue->first->arrived;
    lanepool_i_mutex_unlock(&queue->lock);
    return has;
}

/* The worker that arrives last runs the task, unless its caller does. */
static lanepool_i_task *own(lanepool_pool *pool, lanepool_i_worker *worker)
{
    lanepool_i_thread_record *record = worker->record;
    lanepool_i_task *task = arrive_at_first(&pool->workers, &pool->queues.queues[worker->index]);
    if (task == NULL)
        return NULL;
    uint32_t lanes = placed_of(task)->place_count;
    lanepool_i_trace_at(record->ring, LANEPOOL_EVENT_ARRIVE, task, worker->index,
                        LANEPOOL_EVENT_LANE_WORKER, 0);
    if (!lanepool_i_countdown_arrive(task, 1)) {
        lanepool_i_count_up(&record->latched, 1);
        return NULL;
    }
    lanepool_i_count_up(&record->latched, (uint64_t)1 - lanes);
    lanepool_i_trace_task(record->ring, LANEPOOL_EVENT_READY, task, 0);
    if ((load_relaxed(&task->word) & LANEPOOL_I_BY_CALLER) != 0 && pool->host->call(pool, task))
        return NULL;
    return task;
}

/* --- finding the conflicts --- */

/* Each once, though several claims may lead to it. */
static void add_conflict(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_queued_task *placed = placed_of(task);
    if (load_acquire(&placed->finished) || placed->found_for == pool->router.placings)
        return;
    placed->found_for = pool->router.placings;
    placed->next_conflict = pool->queues.conflicts;
    pool->queues.conflicts = task;
}

/* A mark waits for nothing. */
static void find_by_rule(lanepool_pool *pool, lanepool_i_thread_record *record,
                         lanepool_i_task *task)
{
    lanepool_i_task *newest = pool->queues.unreaped;
    lanepool_i_task *old = lanepool_i_task_is_tombstone(task) ? NULL : newest;
    for (; old != NULL; old = placed_of(old)->older)
        if (!load_acquire(&placed_of(old)->finished) && !lanepool_i_task_is_tombstone(old) &&
            lanepool_i_conflict(pool, record, task, old))
            add_conflict(pool, old);
    placed_of(task)->older = newest;
    if (newest != NULL)
        placed_of(newest)->newer = task;
    pool->queues.unreaped = task;
}

static lanepool_i_claimants *claimants_of(const lanepool_i_claim_entry *entry)
{
    return (lanepool_i_claimants *)entry->claim.entry.at.lane;
}

static lanepool_i_task *owner_of(const lanepool_i_claim_entry *entry)
{
    return (lanepool_i_task *)(entry->claim.owner & LANEPOOL_I_OWNER_TASK);
}

static lanepool_i_claim_entry *next_reader(const lanepool_i_claim_entry *entry)
{
    return (lanepool_i_claim_entry *)load_relaxed(&entry->claim.entry.next);
}

static void add_reader(lanepool_i_claimants *claimants, lanepool_i_claim_entry *entry)
{
    store_relaxed(&entry->claim.entry.next, (uintptr_t)claimants->readers);
    entry->previous = NULL;
    if (claimants->readers != NULL)
        claimants->readers->previous = entry;
    claimants->readers = entry;
}

static void remove_reader(lanepool_i_claimants *claimants, const lanepool_i_claim_entry *entry)
{
    lanepool_i_claim_entry *next = next_reader(entry);
    if (next != NULL)
        next->previous = entry->previous;
    if (entry->previous != NULL)
        store_relaxed(&entry->previous->claim.entry.next, (uintptr_t)next);
    else
        claimants->readers = next;
}

static void forget_readers(lanepool_i_claimants *claimants)
{
    while (claimants->readers != NULL) {
        lanepool_i_claim_entry *entry = claimants->readers;
        claimants->readers = next_reader(entry);
        entry->previous = entry;
    }
}

/* Behind the readers, which are behind the last EXCLUSIVE one; without readers, behind that. */
static void claim_exclusive(lanepool_pool *pool, lanepool_i_claim_entry *entry)
{
    lanepool_i_claimants *claimants = claimants_of(entry);
    const lanepool_i_claim_entry *reader = claimants->readers;
    if (reader == NULL && claimants->exclusive != NULL)
        add_conflict(pool, claimants->exclusive);
    for (; reader != NULL; reader = next_reader(reader))
        add_conflict(pool, owner_of(reader));
    forget_readers(claimants);
    claimants->exclusive = owner_of(entry);
    entry->previous = entry;
}

static void claim_shared(lanepool_pool *pool, lanepool_i_claim_entry *entry)
{
    lanepool_i_claimants *claimants = claimants_of(entry);
    if (claimants->exclusive != NULL)
        add_conflict(pool, claimants->exclusive);
    add_reader(claimants, entry);
}

/* Of several claims of one key the first stays, in the strongest mode. The stamp, which no other
 * task has, says whether the key was seen, and whether a claim of it was EXCLUSIVE. */
static void merge(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task)
{
    lanepool_i_claim_entry *entries = entries_of(pool, task);
    uint64_t stamp = pool->router.placings << 1;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        uintptr_t owner = entries[i].claim.owner;
        uint32_t type = (uint32_t)(owner >> LANEPOOL_I_OWNER_TYPE_SHIFT) & 3u;
        lanepool_i_lane *lane = lanepool_i_lane_table_lane(pool, &pool->lane_table, record,
                                                           &entries[i].claim.entry, type);
        lanepool_i_claimants *claimants = (lanepool_i_claimants *)lane;
        if ((claimants->stamp & ~(uint64_t)1) != stamp) {
            claimants->stamp = stamp;
            entries[kept++].claim.entry.at.lane = lane;
        }
        if ((owner & LANEPOOL_I_OWNER_SHARED) == 0)
            claimants->stamp |= 1;
    }
    task->as.wide.count = kept & LANEPOOL_I_WIDE_COUNT_MASK;
}

static void find_by_keys(lanepool_pool *pool, lanepool_i_thread_record *record,
                         lanepool_i_task *task)
{
    merge(pool, record, task);
    lanepool_i_claim_entry *entries = entries_of(pool, task);
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        bool exclusive = (claimants_of(&entries[i])->stamp & 1) != 0;
        entries[i].claim.owner = (uintptr_t)task | (exclusive ? 0 : LANEPOOL_I_OWNER_SHARED);
        if (exclusive)
            claim_exclusive(pool, &entries[i]);
        else
            claim_shared(pool, &entries[i]);
    }
}

/* --- covering them --- */

static void count_covers(lanepool_pool *pool)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        pool->queues.queues[i].covers = 0;
    for (lanepool_i_task *task = pool->queues.conflicts; task != NULL;
         task = placed_of(task)->next_conflict)
        for (size_t i = 0; i < pool->workers.worker_count; i++)
            pool->queues.queues[i].covers += placed_of(task)->places[i].task != NULL;
}

/* The lane that covers most; of those the one with the fewest entries; of those the first. */
static size_t best_lane(const lanepool_pool *pool)
{
    const lanepool_i_queue *queues = pool->queues.queues;
    size_t best = 0;
    size_t best_count = load_relaxed(&queues[0].count);
    for (size_t i = 1; i < pool->workers.worker_count; i++) {
        size_t count = load_relaxed(&queues[i].count);
        if (queues[i].covers > queues[best].covers ||
            (queues[i].covers == queues[best].covers && count < best_count)) {
            best = i;
            best_count = count;
        }
    }
    return best;
}

static void drop_covered(lanepool_pool *pool, size_t lane)
{
    lanepool_i_task **at = &pool->queues.conflicts;
    while (*at != NULL) {
        lanepool_i_queued_task *placed = placed_of(*at);
        if (placed->places[lane].task != NULL)
            *at = placed->next_conflict;
        else
            at = &placed->next_conflict;
    }
}

/* Marks the lanes to enter in the task's places. Greedy: at least one conflict less each time. */
static void choose_lanes(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_queued_task *placed = placed_of(task);
    do {
        count_covers(pool);
        size_t lane = best_lane(pool);
        placed->places[lane].task = task;
        placed->place_count++;
        drop_covered(pool, lane);
    } while (pool->queues.conflicts != NULL);
}

static void enter_lanes(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *task)
{
    lanepool_i_queued_task *placed = placed_of(task);
    lanepool_i_countdown_set(task, placed->place_count);
    uint32_t left = placed->place_count;
    for (size_t i = 0; left > 0; i++) {
        if (placed->places[i].task == NULL)
            continue;
        /* The last one may let the task run, finish and be reaped by a later holder of the role. */
        left--;
        lanepool_i_trace_at(record->ring, LANEPOOL_EVENT_ENTER, task, i, LANEPOOL_EVENT_LANE_WORKER,
                            0);
        append(&pool->queues.queues[i], &placed->places[i], task);
        lanepool_i_sleepers_wake_one(&pool->workers.sleepers, i);
    }
}

/* --- the rule --- */

static void route(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                  lanepool_i_grants *grants)
{
    (void)grants;
    memset(placed_of(task), 0, pool->extension);
    pool->queues.conflicts = NULL;
    pool->router.placings++;
    if (pool->options.is_compatible != NULL)
        find_by_rule(pool, record, task);
    else
        find_by_keys(pool, record, task);
    choose_lanes(pool, task);
    enter_lanes(pool, record, task);
}

static void batch_done(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (pool->options.is_compatible == NULL)
        lanepool_i_lane_table_sweep(pool, record);
}

static void trim(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (pool->options.is_compatible == NULL)
        lanepool_i_lane_table_trim(pool, record);
}

/* The finisher takes the task out of every lane and wakes the workers that it held up there. */
static void finish(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                   lanepool_i_grants *grants)
{
    (void)grants;
    lanepool_i_queued_task *placed = placed_of(task);
    store_release(&placed->finished, true);
    for (size_t i = 0; i < pool->workers.worker_count; i++) {
        if (placed->places[i].task == NULL)
            continue;
        lanepool_i_trace_next(record->ring, LANEPOOL_EVENT_RELEASE, task, i,
                              LANEPOOL_EVENT_LANE_WORKER);
        remove_first(&pool->queues.queues[i]);
        if (record->worker == NULL || record->worker->index != i)
            lanepool_i_sleepers_wake_one(&pool->workers.sleepers, i);
    }
}

static void unlink_unreaped(lanepool_pool *pool, const lanepool_i_queued_task *placed)
{
    if (placed->older != NULL)
        placed_of(placed->older)->newer = placed->newer;
    if (placed->newer != NULL)
        placed_of(placed->newer)->older = placed->older;
    else
        pool->queues.unreaped = placed->older;
}

static void reap(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task)
{
    (void)record;
    if (pool->options.is_compatible != NULL) {
        unlink_unreaped(pool, placed_of(task));
        return;
    }
    lanepool_i_claim_entry *entries = entries_of(pool, task);
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        lanepool_i_claimants *claimants = claimants_of(&entries[i]);
        if (claimants->exclusive == task)
            claimants->exclusive = NULL;
        if (entries[i].previous != &entries[i])
            remove_reader(claimants, &entries[i]);
    }
}

static bool claims_lane(const lanepool_pool *pool, lanepool_i_task *task,
                        const lanepool_i_lane *lane)
{
    const lanepool_i_claim_entry *entries = entries_of(pool, task);
    size_t i = lanepool_i_task_count(task);
    while (i > 0 && entries[i - 1].claim.entry.at.lane != lane)
        i--;
    return i > 0;
}

static bool is_unclaimed(const lanepool_i_lane *lane)
{
    const lanepool_i_claimants *claimants = (const lanepool_i_claimants *)lane;
    return claimants->exclusive == NULL && claimants->readers == NULL;
}

/* --- hand-back and walking --- */

static void collect(lanepool_pool *pool, lanepool_i_tasks *tasks)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        for (lanepool_i_queue_entry *place = pool->queues.queues[i].first; place != NULL;
             place = place->next)
            lanepool_i_tasks_collect(tasks, place->task);
}

/* Entries are wider than claims: what is written is never ahead of what is read. */
static const lanepool_claim *claims(const lanepool_pool *pool, lanepool_i_task *task,
                                    lanepool_claim *narrow, size_t *count)
{
    (void)narrow;
    *count = task->as.wide.count;
    lanepool_i_claim_entry *entries = entries_of(pool, task);
    lanepool_claim *result = (lanepool_claim *)entries;
    for (size_t i = 0; i < *count; i++) {
        lanepool_i_claim_entry entry = entries[i];
        lanepool_i_key_to_claim(&claimants_of(&entry)->key, &result[i]);
        bool shared = (entry.claim.owner & LANEPOOL_I_OWNER_SHARED) != 0;
        result[i].mode = shared ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
    }
    return result;
}

static void each_dependent(lanepool_pool *pool, lanepool_i_task *task, uint64_t limit,
                           void (*found)(lanepool_i_task *dependent, void *context), void *context)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++) {
        lanepool_i_queue *queue = &pool->queues.queues[i];
        if (placed_of(task)->places[i].task == NULL)
            continue;
        lanepool_i_mutex_lock(&queue->lock);
        for (const lanepool_i_queue_entry *place = placed_of(task)->places[i].next;
             place != NULL && lanepool_i_ticket_before(lanepool_i_task_ticket(place->task), limit);
             place = place->next)
            found(place->task, context);
        lanepool_i_mutex_unlock(&queue->lock);
    }
}

/* --- surveys --- */

/* All lanes are held at once, by index: who takes one of these locks takes no other. Whatever runs
 * stands in a lane now: it leaves that after it has left its thread's list. */
static void census_begin(lanepool_i_census *census)
{
    lanepool_pool *pool = census->pool;
    size_t total = 0;
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        total += load_relaxed(&pool->queues.queues[i].count);
    /* Only the role's holder appends: there cannot be more by now. */
    if (!lanepool_i_vector_reserve(&census->rows, total, sizeof(lanepool_i_census_row))) {
        census->out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        lanepool_i_mutex_lock(&pool->queues.queues[i].lock);
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        for (const lanepool_i_queue_entry *place = pool->queues.queues[i].first; place != NULL;
             place = place->next) {
            lanepool_i_census_add_task(census, place->task);
            placed_of(place->task)->places[i].surveyed =
                place == pool->queues.queues[i].first ? LANEPOOL_I_FIRST : LANEPOOL_I_BEHIND;
        }
    for (size_t i = pool->workers.worker_count; i-- > 0;)
        lanepool_i_mutex_unlock(&pool->queues.queues[i].lock);
}

static void census_entries(lanepool_i_census *census, size_t index)
{
    const lanepool_i_queued_task *placed = placed_of(lanepool_i_census_row_at(census, index)->task);
    for (size_t i = 0; i < census->pool->workers.worker_count; i++)
        if (placed->places[i].surveyed != LANEPOOL_I_GONE)
            lanepool_i_census_add_entry(census, index, &census->pool->queues.queues[i],
                                        LANEPOOL_EXCLUSIVE,
                                        placed->places[i].surveyed == LANEPOOL_I_FIRST);
}

static void census_lane(const lanepool_i_census *census, const void *place,
                        lanepool_snapshot_lane *described, char *name, size_t size)
{
    const lanepool_i_queue *queue = place;
    described->number = (uint64_t)(queue - census->pool->queues.queues);
    described->type = LANEPOOL_EVENT_LANE_WORKER;
    described->granted = 0;
    name[0] = '\0';
    (void)size;
}

static void census_end(lanepool_i_census *census, lanepool_i_grants *grants)
{
    (void)grants;
    for (size_t index = 0; index < census->rows.count; index++) {
        lanepool_i_queued_task *placed = placed_of(lanepool_i_census_row_at(census, index)->task);
        for (size_t i = 0; i < census->pool->workers.worker_count; i++)
            placed->places[i].surveyed = LANEPOOL_I_GONE;
    }
}

/* --- beginning and end --- */

static void fini_queues(lanepool_pool *pool, size_t count)
{
    while (count-- > 0)
        lanepool_i_mutex_fini(&pool->queues.queues[count].lock);
    lanepool_i_memory_free(pool->queues.queues);
}

static bool init_queues(lanepool_pool *pool)
{
    size_t size = pool->options.workers * sizeof(lanepool_i_queue);
    pool->queues = (lanepool_i_queues){ lanepool_i_memory_alloc(size), NULL, NULL };
    if (pool->queues.queues == NULL)
        return false;
    memset(pool->queues.queues, 0, size);
    for (size_t i = 0; i < pool->options.workers; i++)
        if (!lanepool_i_mutex_init(&pool->queues.queues[i].lock)) {
            fini_queues(pool, i);
            return false;
        }
    return true;
}

static bool init(lanepool_pool *pool)
{
    if (!init_queues(pool))
        return false;
    if (pool->options.is_compatible != NULL ||
        lanepool_i_lane_table_init(&pool->lane_table, is_unclaimed, pool->options.allocator, false))
        return true;
    fini_queues(pool, pool->options.workers);
    return false;
}

static void fini(lanepool_pool *pool)
{
    if (pool->options.is_compatible == NULL)
        lanepool_i_lane_table_fini(&pool->lane_table);
    fini_queues(pool, pool->options.workers);
}

static size_t extension(const lanepool_options *options)
{
    return sizeof(lanepool_i_queued_task) + options->workers * sizeof(lanepool_i_queue_entry);
}

const lanepool_i_rule lanepool_i_rule_workers = {
    .all_wide = true,
    .extension = extension,
    .entry_size = sizeof(lanepool_i_claim_entry),
    .init = init,
    .fini = fini,
    .route = route,
    .route_max = LANEPOOL_I_ROUTE_BATCH,
    .batch_done = batch_done,
    .finish = finish,
    .reap = reap,
    .claims_lane = claims_lane,
    .own = own,
    .has_own = has_own,
    .trim = trim,
    .collect = collect,
    .claims = claims,
    .each_dependent = each_dependent,
    .census_begin = census_begin,
    .census_entries = census_entries,
    .census_lane = census_lane,
    .census_end = census_end,
};
