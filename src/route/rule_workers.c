/* Owns the choice of covering sets and of the worker that runs a task; see rule_workers.h. */
#include "route/rule_workers.h"

#include "route/conflict.h"
#include "route/entries.h"
#include "route/pool.h"
#include "route/rule_lanes.h"

#include <string.h>

static lanepool_i_queued_task *queued_of(const lanepool_pool *pool, lanepool_i_task *task)
{
    return (lanepool_i_queued_task *)(lanepool_i_entries_wide(task) + pool->options.workers);
}

static size_t worker_of_lane(const lanepool_i_lane *lane)
{
    return (size_t)lanepool_i_lane_number(lane);
}

/* --- finding the conflicts --- */

/* Adds a task to the conflicts, once, though several claims may lead to it. */
static void add_conflict(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_queued_task *queued = queued_of(pool, task);
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
    for (; old != NULL; old = queued_of(pool, old)->older)
        if (!load_acquire(&queued_of(pool, old)->finished) && !lanepool_i_task_is_tombstone(old) &&
            lanepool_i_tasks_conflict(pool, record, task, old))
            add_conflict(pool, old);
    queued_of(pool, task)->older = newest;
    if (newest != NULL)
        queued_of(pool, newest)->newer = task;
    pool->worker_lanes.unreaped = task;
}

static void forget_run(lanepool_i_claim_entry *entry)
{
    while (entry != NULL) {
        lanepool_i_claim_entry *next = lanepool_i_claim_next(entry);
        entry->previous = entry;
        entry = next;
    }
}

/* The claims of a key are runs: the claims of one run overlap with one another, and with none of
 * the next run. Each claim waits for all claims of the run before its own, which wait for older
 * ones. A run whose tasks were all reaped has no claims any more: it has finished, and so have the
 * older ones. */
static void add_claim_of_key(lanepool_pool *pool, lanepool_i_claim_entry *own)
{
    lanepool_i_claimants *claimants = lanepool_i_claimants_of(own);
    const lanepool_i_claim_entry *newest = claimants->entries;
    if (newest != NULL &&
        !lanepool_modes_overlap(lanepool_i_claim_mode(own), lanepool_i_claim_mode(newest))) {
        forget_run(claimants->before);
        claimants->before = claimants->entries;
        claimants->entries = NULL;
    }
    const lanepool_i_claim_entry *entry = claimants->before;
    for (; entry != NULL; entry = lanepool_i_claim_next(entry))
        add_conflict(pool, lanepool_i_claim_owner(entry));
    lanepool_i_claimants_add(own);
}

static void find_conflicts_by_keys(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_task *task)
{
    lanepool_i_claimants_resolve(pool, record, task);
    lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    uint32_t count = task->as.wide.count;
    queued_of(pool, task)->claim_count = count;
    for (uint32_t i = 0; i < count; i++)
        add_claim_of_key(pool, &entries[i]);
}

/* --- the covering set --- */

static void count_covered_conflicts(lanepool_pool *pool)
{
    lanepool_i_worker_lanes *lanes = &pool->worker_lanes;
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        lanes->lanes[i].covered_conflicts = 0;
    for (lanepool_i_task *task = lanes->conflicts; task != NULL;
         task = queued_of(pool, task)->next_conflict)
        for (size_t i = 0; i < lanepool_i_task_count(task); i++)
            lanes->lanes[worker_of_lane(lanepool_i_entry_lane(task, i))].covered_conflicts++;
}

/* Returns the lane that covers most conflicts; of these the one with the fewest entries; of these
 * the first. */
static size_t choose_best_lane(const lanepool_pool *pool)
{
    const lanepool_i_worker_lane *lanes = pool->worker_lanes.lanes;
    size_t best = 0;
    uint64_t best_count = lanes[0].entered - load_relaxed(&lanes[0].left);
    for (size_t i = 1; i < pool->workers.worker_count; i++) {
        uint64_t count = lanes[i].entered - load_relaxed(&lanes[i].left);
        if (lanes[i].covered_conflicts > lanes[best].covered_conflicts ||
            (lanes[i].covered_conflicts == lanes[best].covered_conflicts && count < best_count)) {
            best = i;
            best_count = count;
        }
    }
    return best;
}

static bool has_entry_in(lanepool_i_task *task, const lanepool_i_lane *lane)
{
    size_t i = lanepool_i_task_count(task);
    while (i > 0 && lanepool_i_entry_lane(task, i - 1) != lane)
        i--;
    return i > 0;
}

static void drop_covered_conflicts(lanepool_pool *pool, const lanepool_i_lane *lane)
{
    lanepool_i_task **at = &pool->worker_lanes.conflicts;
    while (*at != NULL) {
        if (has_entry_in(*at, lane))
            *at = queued_of(pool, *at)->next_conflict;
        else
            at = &queued_of(pool, *at)->next_conflict;
    }
}

/* Chooses the lanes to enter and sets the task's entries for them. Greedy: each further lane covers
 * at least one more conflict. */
static void choose_covering_set(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_wide_entry *entries = lanepool_i_entries_wide(task);
    task->as.wide.count = 0;
    do {
        count_covered_conflicts(pool);
        lanepool_i_lane *lane = &pool->worker_lanes.lanes[choose_best_lane(pool)].lane;
        lanepool_i_wide_entry *entry = &entries[task->as.wide.count++];
        entry->entry.at.lane = lane;
        entry->owner = lanepool_i_mode_owner(task, LANEPOOL_EXCLUSIVE);
        drop_covered_conflicts(pool, lane);
    } while (pool->worker_lanes.conflicts != NULL);
}

/* The router's own count holds a rollup back until it has been appended to all its lanes. A task of
 * one lane may have ended when its append returns. */
static void enter_lanes(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_grants *grants)
{
    lanepool_i_wide_entry *entries = lanepool_i_entries_wide(task);
    uint32_t lanes = task->as.wide.count;
    uint32_t granted = 0;
    lanepool_i_countdown_set(task, lanepool_i_countdown_start(lanes));
    for (uint32_t i = 0; i < lanes; i++) {
        lanepool_i_lane *lane = entries[i].entry.at.lane;
        pool->worker_lanes.lanes[worker_of_lane(lane)].entered++;
        lanepool_mode mode = lanepool_i_mode_of_owner(entries[i].owner);
        uintptr_t link = lanepool_i_link_to(&entries[i].entry, LANEPOOL_I_LINK_WIDE, mode);
        granted += lanepool_i_lane_append(lane, link, grants);
    }
    if (lanes > 1 || granted == 1)
        lanepool_i_lanes_count_arrivals(task, lanes, granted, grants);
}

/* --- the rule --- */

static void workers_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_grants *grants)
{
    memset(queued_of(pool, task), 0, sizeof(lanepool_i_queued_task));
    pool->worker_lanes.conflicts = NULL;
    pool->router.last_stamp++;
    if (pool->options.is_compatible != NULL)
        find_conflicts_by_predicate(pool, record, task);
    else
        find_conflicts_by_keys(pool, record, task);
    choose_covering_set(pool, task);
    enter_lanes(pool, task, grants);
}

static void workers_batch_done(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (pool->options.is_compatible == NULL)
        lanepool_i_lane_table_sweep(pool, record);
}

static bool workers_trim_some(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    return pool->options.is_compatible == NULL && lanepool_i_lane_table_trim_some(pool, record);
}

static void workers_finish(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task, lanepool_i_grants *grants)
{
    store_release(&queued_of(pool, task)->finished, true);
    for (size_t i = 0; i < lanepool_i_task_count(task); i++) {
        size_t index = worker_of_lane(lanepool_i_entry_lane(task, i));
        lanepool_i_count_up(&pool->worker_lanes.lanes[index].left, 1);
    }
    lanepool_i_lanes_finish(pool, record, task, grants);
}

static size_t workers_worker_of(const lanepool_pool *pool, const lanepool_i_thread_record *record,
                                lanepool_i_task *task)
{
    if (record != NULL && record->worker != NULL &&
        has_entry_in(task, &pool->worker_lanes.lanes[record->worker->index].lane))
        return record->worker->index;
    return worker_of_lane(lanepool_i_entry_lane(task, 0));
}

static void unlink_unreaped(lanepool_pool *pool, const lanepool_i_queued_task *queued)
{
    if (queued->older != NULL)
        queued_of(pool, queued->older)->newer = queued->newer;
    if (queued->newer != NULL)
        queued_of(pool, queued->newer)->older = queued->older;
    else
        pool->worker_lanes.unreaped = queued->older;
}

static void workers_reap(lanepool_pool *pool, lanepool_i_thread_record *record,
                         lanepool_i_task *task)
{
    (void)record;
    if (pool->options.is_compatible != NULL) {
        unlink_unreaped(pool, queued_of(pool, task));
        return;
    }
    lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < queued_of(pool, task)->claim_count; i++) {
        if (entries[i].previous != &entries[i])
            lanepool_i_claimants_remove(&entries[i]);
    }
}

/* --- claims --- */

static bool workers_claims_lane(const lanepool_pool *pool, lanepool_i_task *task,
                                const lanepool_i_lane *lane)
{
    return lanepool_i_claimants_have_claim(lanepool_i_claim_entries(pool, task),
                                           queued_of(pool, task)->claim_count, lane);
}

/* With a predicate, tasks have no claims. */
static bool workers_has_claim(const lanepool_pool *pool, lanepool_i_task *task,
                              lanepool_claim claim)
{
    return pool->options.is_compatible == NULL &&
           lanepool_i_claimants_have_mode(pool, lanepool_i_claim_entries(pool, task),
                                          queued_of(pool, task)->claim_count, claim);
}

static void workers_each_claim(const lanepool_pool *pool, lanepool_i_task *task,
                               void (*found)(const lanepool_pool *pool, const lanepool_i_lane *lane,
                                             lanepool_mode mode))
{
    const lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < queued_of(pool, task)->claim_count; i++)
        found(pool, entries[i].claim.entry.at.lane, lanepool_i_claim_mode(&entries[i]));
}

static const lanepool_claim *workers_read_claims(const lanepool_pool *pool, lanepool_i_task *task,
                                                 lanepool_claim *plain_claims, size_t *count)
{
    (void)plain_claims;
    *count = queued_of(pool, task)->claim_count;
    return lanepool_i_claimants_read_claims(lanepool_i_claim_entries(pool, task), *count);
}

/* --- beginning and end --- */

static void workers_each_lane(lanepool_pool *pool,
                              void (*found)(lanepool_i_key *lane, void *context), void *context)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        found(&pool->worker_lanes.lanes[i].lane.key, context);
}

static bool workers_init(lanepool_pool *pool)
{
    size_t size = pool->options.workers * sizeof(lanepool_i_worker_lane);
    pool->worker_lanes = (lanepool_i_worker_lanes){ lanepool_i_memory_alloc(size), NULL, NULL };
    if (pool->worker_lanes.lanes == NULL)
        return false;
    memset(pool->worker_lanes.lanes, 0, size);
    for (size_t i = 0; i < pool->options.workers; i++)
        lanepool_i_lane_init_of_worker(&pool->worker_lanes.lanes[i].lane, i);
    pool->lane_table.frozen = NULL;
    if (pool->options.is_compatible != NULL ||
        lanepool_i_lane_table_init(&pool->lane_table, lanepool_i_claimants_are_none,
                                   pool->options.allocator, false))
        return true;
    lanepool_i_memory_free(pool->worker_lanes.lanes);
    return false;
}

static void workers_fini(lanepool_pool *pool)
{
    if (pool->options.is_compatible == NULL)
        lanepool_i_lane_table_fini(&pool->lane_table);
    lanepool_i_memory_free(pool->worker_lanes.lanes);
}

static size_t workers_extension(const lanepool_options *options)
{
    return options->workers * sizeof(lanepool_i_wide_entry) + sizeof(lanepool_i_queued_task);
}

const lanepool_i_rule lanepool_i_rule_workers = {
    LANEPOOL_I_LANES_FUNCTIONS,
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
    .worker_of = workers_worker_of,
    .claims_lane = workers_claims_lane,
    .has_claim = workers_has_claim,
    .each_claim = workers_each_claim,
    .trim_some = workers_trim_some,
    .claims = workers_read_claims,
    .each_lane = workers_each_lane,
};
