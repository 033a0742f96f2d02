/*
 * Owns the search for the reasons why a task does not run: breadth first from the task, visiting
 * each blocking task once.
 */
#include "lanepool/inspect.h"

#include "inspect/memory.h"

#include <string.h>

struct search {
    const lanepool_snapshot *snapshot;
    bool *visited;         /* by task */
    size_t *queue;         /* tasks to explain, each once */
    size_t *depths;        /* of the tasks in the queue */
    bool *scanned;         /* by lane: `rollups_ahead` is set */
    size_t *rollups_ahead; /* by entry of a scanned lane */
    size_t tail;
    lanepool_snapshot_reason *reasons;
    size_t capacity;
    size_t count;
};

static void add_reason(struct search *search, size_t entry, size_t blocker, size_t depth)
{
    if (search->count < search->capacity)
        search->reasons[search->count] =
            (lanepool_snapshot_reason){ .entry = entry, .blocker = blocker, .depth = depth };
    search->count++;
    if (blocker == LANEPOOL_SNAPSHOT_NONE || search->visited[blocker])
        return;
    search->visited[blocker] = true;
    search->queue[search->tail] = blocker;
    search->depths[search->tail] = depth + 1;
    search->tail++;
}

/* Returns whether the task waits in a lane besides this entry's. */
static bool waits_in_other_lanes(const lanepool_snapshot *snapshot,
                                 const lanepool_snapshot_entry *entry)
{
    const lanepool_snapshot_task *task = &snapshot->tasks[entry->task];
    return task->entry_count - task->arrived > 1;
}

/* Sets `rollups_ahead` of each waiting entry: the nearest task ahead that also waits in another
 * lane. An entry does not wait for its own run. */
static void find_rollups_ahead(struct search *search, const lanepool_snapshot_lane *lane)
{
    const lanepool_snapshot *snapshot = search->snapshot;
    const size_t *order = snapshot->order + lane->first + lane->granted;
    size_t nearest = LANEPOOL_SNAPSHOT_NONE;
    size_t before_run = LANEPOOL_SNAPSHOT_NONE;
    uint64_t run = LANEPOOL_EXCLUSIVE;
    for (size_t i = 0; i < lane->waiting; i++) {
        const lanepool_snapshot_entry *entry = &snapshot->entries[order[i]];
        if (!lanepool_modes_overlap(entry->mode, run))
            before_run = nearest;
        run = entry->mode;
        search->rollups_ahead[order[i]] = before_run;
        if (waits_in_other_lanes(snapshot, entry))
            nearest = entry->task;
    }
}

static void add_rollup_ahead(struct search *search, size_t lane, size_t index, size_t depth)
{
    if (!search->scanned[lane])
        find_rollups_ahead(search, &search->snapshot->lanes[lane]);
    search->scanned[lane] = true;
    if (search->rollups_ahead[index] != LANEPOOL_SNAPSHOT_NONE)
        add_reason(search, index, search->rollups_ahead[index], depth);
}

static void explain_entry(struct search *search, size_t index, size_t depth)
{
    const lanepool_snapshot *snapshot = search->snapshot;
    const lanepool_snapshot_entry *entry = &snapshot->entries[index];
    if (entry->lane == LANEPOOL_SNAPSHOT_NONE) {
        add_reason(search, index, entry->behind, depth);
        return;
    }
    const lanepool_snapshot_lane *lane = &snapshot->lanes[entry->lane];
    if (lane->by_rule)
        return;
    for (size_t i = 0; i < lane->granted; i++)
        add_reason(search, index, snapshot->entries[snapshot->order[lane->first + i]].task, depth);
    if (lane->unknown > 0 || lane->paused)
        add_reason(search, index, LANEPOOL_SNAPSHOT_NONE, depth);
    add_rollup_ahead(search, entry->lane, index, depth);
}

static void explain_task(struct search *search, size_t index, size_t depth)
{
    const lanepool_snapshot_task *task = &search->snapshot->tasks[index];
    for (size_t i = 0; i < task->entry_count; i++)
        if (!search->snapshot->entries[task->first_entry + i].granted)
            explain_entry(search, task->first_entry + i, depth);
}

static bool allocate_search(struct search *search)
{
    size_t tasks = search->snapshot->task_count;
    size_t lanes = search->snapshot->lane_count;
    size_t entries = search->snapshot->entry_count;
    search->visited = lanepool_i_inspect_alloc(tasks * sizeof *search->visited);
    search->queue = lanepool_i_inspect_alloc(tasks * sizeof *search->queue);
    search->depths = lanepool_i_inspect_alloc(tasks * sizeof *search->depths);
    search->scanned = lanepool_i_inspect_alloc((lanes + 1) * sizeof *search->scanned);
    search->rollups_ahead = lanepool_i_inspect_alloc((entries + 1) * sizeof *search->rollups_ahead);
    if (search->visited == NULL || search->queue == NULL || search->depths == NULL ||
        search->scanned == NULL || search->rollups_ahead == NULL)
        return false;
    memset(search->visited, 0, tasks * sizeof *search->visited);
    memset(search->scanned, 0, lanes * sizeof *search->scanned);
    return true;
}

lanepool_status lanepool_snapshot_explain(const lanepool_snapshot *snapshot, size_t task,
                                          lanepool_snapshot_reason *reasons, size_t capacity,
                                          size_t *count)
{
    if (count != NULL)
        *count = 0;
    if (snapshot == NULL || count == NULL || (reasons == NULL && capacity > 0) ||
        task >= snapshot->task_count)
        return LANEPOOL_INVALID;
    struct search search = { .snapshot = snapshot, .reasons = reasons, .capacity = capacity };
    lanepool_status status = LANEPOOL_NOMEM;
    if (allocate_search(&search)) {
        status = LANEPOOL_OK;
        search.visited[task] = true;
        explain_task(&search, task, 0);
        for (size_t next = 0; next < search.tail; next++)
            explain_task(&search, search.queue[next], search.depths[next]);
        *count = search.count;
    }
    lanepool_i_inspect_free(search.visited);
    lanepool_i_inspect_free(search.queue);
    lanepool_i_inspect_free(search.depths);
    lanepool_i_inspect_free(search.scanned);
    lanepool_i_inspect_free(search.rollups_ahead);
    return status;
}
