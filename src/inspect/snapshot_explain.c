/*
 * Owns the reasons why a task does not run, found in a snapshot: breadth first
 * from the task, each blocker once.
 */
#include "lanepool/snapshot.h"

#include "platform/platform.h"
#include "task/task.h"

#include <string.h>

/* One search. */
struct search {
    const lanepool_snapshot *snapshot;
    bool *met;             /* by task */
    size_t *queue;         /* tasks to be looked at, each once */
    size_t *depths;        /* of those in the queue */
    bool *passed;          /* by lane */
    size_t *rollups_ahead; /* by entry, of lanes that were passed */
    size_t tail;
    lanepool_snapshot_reason *reasons;
    size_t capacity;
    size_t count;
};

static void add(struct search *search, size_t entry, size_t blocker, size_t depth)
{
    if (search->count < search->capacity)
        search->reasons[search->count] = (lanepool_snapshot_reason){ entry, blocker, depth };
    search->count++;
    if (blocker == LANEPOOL_SNAPSHOT_NONE || search->met[blocker])
        return;
    search->met[blocker] = true;
    search->queue[search->tail] = blocker;
    search->depths[search->tail] = depth + 1;
    search->tail++;
}

/* Whether it waits in another lane than this entry's. */
static bool waits_elsewhere(const lanepool_snapshot *snapshot, const lanepool_snapshot_entry *entry)
{
    const lanepool_snapshot_task *task = &snapshot->tasks[entry->task];
    return task->entry_count - task->arrived > 1;
}

/* Notes for each entry that waits in a lane the nearest task before it that is held up by more than
 * this lane. A SHARED entry does not wait for those of its own run. */
static void pass_lane(struct search *search, const lanepool_snapshot_lane *lane)
{
    const lanepool_snapshot *snapshot = search->snapshot;
    const size_t *order = snapshot->order + lane->first + lane->granted;
    size_t nearest = LANEPOOL_SNAPSHOT_NONE;
    size_t before_run = LANEPOOL_SNAPSHOT_NONE;
    bool in_run = false;
    for (size_t i = 0; i < lane->waiting; i++) {
        const lanepool_snapshot_entry *entry = &snapshot->entries[order[i]];
        bool shared = entry->mode == LANEPOOL_SHARED;
        if (!shared || !in_run)
            before_run = nearest;
        in_run = shared;
        search->rollups_ahead[order[i]] = before_run;
        if (waits_elsewhere(snapshot, entry))
            nearest = entry->task;
    }
}

static void add_rollup_ahead(struct search *search, size_t lane, size_t index, size_t depth)
{
    if (!search->passed[lane])
        pass_lane(search, &search->snapshot->lanes[lane]);
    search->passed[lane] = true;
    if (search->rollups_ahead[index] != LANEPOOL_SNAPSHOT_NONE)
        add(search, index, search->rollups_ahead[index], depth);
}

static void explain_entry(struct search *search, size_t index, size_t depth)
{
    const lanepool_snapshot *snapshot = search->snapshot;
    const lanepool_snapshot_entry *entry = &snapshot->entries[index];
    if (entry->lane == LANEPOOL_SNAPSHOT_NONE) {
        add(search, index, entry->behind, depth);
        return;
    }
    const lanepool_snapshot_lane *lane = &snapshot->lanes[entry->lane];
    for (size_t i = 0; i < lane->granted; i++)
        add(search, index, snapshot->entries[snapshot->order[lane->first + i]].task, depth);
    if (lane->unknown > 0 || lane->paused)
        add(search, index, LANEPOOL_SNAPSHOT_NONE, depth);
    add_rollup_ahead(search, entry->lane, index, depth);
}

static void explain_task(struct search *search, size_t index, size_t depth)
{
    const lanepool_snapshot_task *task = &search->snapshot->tasks[index];
    for (size_t i = 0; i < task->entry_count; i++)
        if (!search->snapshot->entries[task->first_entry + i].granted)
            explain_entry(search, task->first_entry + i, depth);
}

static bool make(struct search *search)
{
    size_t tasks = search->snapshot->task_count;
    size_t lanes = search->snapshot->lane_count;
    size_t entries = search->snapshot->entry_count;
    search->met = lanepool_i_memory_alloc(tasks * sizeof *search->met);
    search->queue = lanepool_i_memory_alloc(tasks * sizeof *search->queue);
    search->depths = lanepool_i_memory_alloc(tasks * sizeof *search->depths);
    search->passed = lanepool_i_memory_alloc((lanes + 1) * sizeof *search->passed);
    search->rollups_ahead = lanepool_i_memory_alloc((entries + 1) * sizeof *search->rollups_ahead);
    if (search->met == NULL || search->queue == NULL || search->depths == NULL ||
        search->passed == NULL || search->rollups_ahead == NULL)
        return false;
    memset(search->met, 0, tasks * sizeof *search->met);
    memset(search->passed, 0, lanes * sizeof *search->passed);
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
    if (make(&search)) {
        status = LANEPOOL_OK;
        search.met[task] = true;
        explain_task(&search, task, 0);
        for (size_t next = 0; next < search.tail; next++)
            explain_task(&search, search.queue[next], search.depths[next]);
        *count = search.count;
    }
    lanepool_i_memory_free(search.met);
    lanepool_i_memory_free(search.queue);
    lanepool_i_memory_free(search.depths);
    lanepool_i_memory_free(search.passed);
    lanepool_i_memory_free(search.rollups_ahead);
    return status;
}

/* --- looking something up --- */

size_t lanepool_snapshot_find(const lanepool_snapshot *snapshot, uint64_t ticket)
{
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
