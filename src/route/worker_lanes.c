/* Owns the workers' lanes, and the choice of the worker that runs a task; see worker_lanes.h. */
#include "route/worker_lanes.h"

#include <string.h>

/* With so many entries, a lane's worker has enough to do. */
#define BUSY_ENTRIES 64

/* --- choosing lanes --- */

bool lanepool_i_worker_lanes_have(lanepool_i_task *task, const lanepool_i_lane *lane)
{
    size_t i = lanepool_i_task_count(task);
    while (i > 0 && lanepool_i_entry_lane(task, i - 1) != lane)
        i--;
    return i > 0;
}

/* Acquire: what the tasks did happens before those that are routed. */
void lanepool_i_worker_lanes_look(lanepool_pool *pool)
{
    lanepool_i_worker_lanes *lanes = &pool->worker_lanes;
    if (lanes->seen_moment == pool->router.inbox.moment)
        return;
    lanes->seen_moment = pool->router.inbox.moment;
    for (size_t i = 0; i < pool->workers.worker_count; i++) {
        lanepool_i_worker_lane *lane = &lanes->lanes[i];
        lane->finished_before = load_acquire(&lane->finished);
        lane->left_before = load_relaxed(&lane->left);
        lane->is_busy = lane->entered - lane->left_before >= BUSY_ENTRIES &&
                        load_relaxed(&pool->workers.all[i].task_ns) < LANEPOOL_I_SHORT_TASK_NS;
    }
}

/* Of two busy lanes that cover equally many conflicts, the first is better. The tasks that follow
 * then have all of their conflicts in one lane. Otherwise they would be spread over both, and the
 * two workers would have to meet for many of them, which takes longer than the tasks do. */
static bool is_better(const lanepool_i_worker_lane *a, const lanepool_i_worker_lane *b)
{
    if (a->is_chosen || b->is_chosen)
        return b->is_chosen && !a->is_chosen;
    if (a->covered_conflicts != b->covered_conflicts)
        return a->covered_conflicts > b->covered_conflicts;
    if (a->covered_conflicts > 0 && a->is_busy && b->is_busy)
        return false;
    return a->entered - a->left_before < b->entered - b->left_before;
}

size_t lanepool_i_worker_lanes_best(const lanepool_pool *pool)
{
    const lanepool_i_worker_lane *lanes = pool->worker_lanes.lanes;
    size_t best = 0;
    for (size_t i = 1; i < pool->workers.worker_count; i++)
        if (is_better(&lanes[i], &lanes[best]))
            best = i;
    return best;
}

void lanepool_i_worker_lanes_add(lanepool_pool *pool, lanepool_i_task *task, size_t index)
{
    lanepool_i_wide_entry *entry = &lanepool_i_entries_wide(task)[task->as.wide.count++];
    entry->entry.at.lane = &pool->worker_lanes.lanes[index].lane;
    entry->owner = lanepool_i_mode_owner(task, LANEPOOL_EXCLUSIVE);
}

/* --- entering and leaving them --- */

/* The router's own count holds a rollup back until it has been appended to all its lanes. A task of
 * one lane may have ended when its append returns. */
void lanepool_i_worker_lanes_enter(lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_i_grants *grants)
{
    lanepool_i_wide_entry *entries = lanepool_i_entries_wide(task);
    uint64_t ticket = lanepool_i_task_ticket(task);
    uint32_t lanes = task->as.wide.count;
    uint32_t granted = 0;
    lanepool_i_countdown_set(task, lanepool_i_countdown_start(lanes));
    for (uint32_t i = 0; i < lanes; i++) {
        lanepool_i_lane *lane = entries[i].entry.at.lane;
        lanepool_i_worker_lane *of_worker =
            &pool->worker_lanes.lanes[lanepool_i_worker_of_lane(lane)];
        of_worker->entered++;
        of_worker->last_ticket = ticket;
        uintptr_t link =
            lanepool_i_link_to(&entries[i].entry, LANEPOOL_I_LINK_WIDE, LANEPOOL_EXCLUSIVE);
        granted += lanepool_i_lane_append(lane, link, grants);
    }
    if (lanes > 1 || granted == 1)
        lanepool_i_lanes_count_arrivals(task, lanes, granted, grants);
}

/* Release: what the task did happens before tasks that do not wait for it, since it has finished.
 * No feature has to do with the task in its lanes. */
void lanepool_i_worker_lanes_finish(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    lanepool_i_task *task, lanepool_i_grants *grants)
{
    (void)record;
    uint64_t ticket = lanepool_i_task_ticket(task);
    uint32_t count = task->as.wide.count;
    for (uint32_t i = 0; i < count; i++) {
        size_t index = lanepool_i_worker_of_lane(lanepool_i_entries_wide(task)[i].entry.at.lane);
        lanepool_i_worker_lane *lane = &pool->worker_lanes.lanes[index];
        store_release(&lane->finished, ticket);
        lanepool_i_count_up(&lane->left, 1);
    }
    for (uint32_t i = 0; i < count; i++)
        lanepool_i_entry_release_wide(task, i, grants);
}

size_t lanepool_i_worker_lanes_worker_of(const lanepool_pool *pool,
                                         const lanepool_i_thread_record *record,
                                         lanepool_i_task *task)
{
    if (record != NULL && record->worker != NULL &&
        lanepool_i_worker_lanes_have(task, &pool->worker_lanes.lanes[record->worker->index].lane))
        return record->worker->index;
    return lanepool_i_worker_of_lane(lanepool_i_entry_lane(task, 0));
}

/* --- beginning and end --- */

void lanepool_i_worker_lanes_each(lanepool_pool *pool,
                                  void (*found)(lanepool_i_key *lane, void *context), void *context)
{
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        found(&pool->worker_lanes.lanes[i].lane.key, context);
}

static void init_lane(lanepool_i_worker_lane *lane, size_t index)
{
    lanepool_i_lane_init_of_worker(&lane->lane, index);
    lane->last_ticket = LANEPOOL_I_FIRST_TICKET - 1;
    lane->finished_before = LANEPOOL_I_FIRST_TICKET - 1;
    atomic_init(&lane->finished, LANEPOOL_I_FIRST_TICKET - 1);
    atomic_init(&lane->left, 0);
}

bool lanepool_i_worker_lanes_init(lanepool_pool *pool)
{
    size_t size = pool->options.workers * sizeof(lanepool_i_worker_lane);
    lanepool_i_worker_lane *lanes = lanepool_i_memory_alloc(size);
    pool->worker_lanes = (lanepool_i_worker_lanes){ .lanes = lanes };
    if (lanes == NULL)
        return false;
    memset(lanes, 0, size);
    for (size_t i = 0; i < pool->options.workers; i++)
        init_lane(&lanes[i], i);
    pool->lane_table.frozen = NULL;
    return true;
}

void lanepool_i_worker_lanes_fini(lanepool_pool *pool)
{
    lanepool_i_memory_free(pool->worker_lanes.lanes);
}

size_t lanepool_i_worker_lanes_extension(const lanepool_options *options)
{
    return options->workers * sizeof(lanepool_i_wide_entry) + sizeof(lanepool_i_queued_task);
}
