/*
 * Owns the reasons why a task does not run, found in a snapshot: breadth first
 * from the task, each blocker once.
 */
#include "lanepool/snapshot.h"

#include "future.h"
#include "platform/platform.h"
#include "task.h"

#include <string.h>

/* One search. */
struct search {
    const lanepool_snapshot *snapshot;
    bool *met;      /* by task */
    size_t *queue;  /* tasks to be looked at, each once */
    size_t *depths; /* of those in the queue */
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

/* The nearest one before this entry that is held up by more than this lane. A SHARED entry does not
 * wait for those of its own run. */
static void add_rollup_ahead(struct search *search, const lanepool_snapshot_lane *lane,
                             size_t index, size_t depth)
{
    const lanepool_snapshot_entry *entries = search->snapshot->entries;
    size_t waiting = entries[index].ahead - lane->unknown - lane->granted;
    const size_t *order = search->snapshot->order + lane->first + lane->granted;
    bool own_run = entries[index].mode == LANEPOOL_SHARED;
    while (waiting-- > 0) {
        const lanepool_snapshot_entry *other = &entries[order[waiting]];
        own_run = own_run && other->mode == LANEPOOL_SHARED;
        if (!own_run && waits_elsewhere(search->snapshot, other)) {
            add(search, index, other->task, depth);
            return;
        }
    }
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
    if (lane->unknown > 0)
        add(search, index, LANEPOOL_SNAPSHOT_NONE, depth);
    add_rollup_ahead(search, lane, index, depth);
}

static void explain_task(struct search *search, size_t index, size_t depth)
{
    const lanepool_snapshot_task *task = &search->snapshot->tasks[index];
    for (size_t i = 0; i < task->entry_count; i++)
        if (!search->snapshot->entries[task->first_entry + i].granted)
            explain_entry(search, task->first_entry + i, depth);
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
    size_t tasks = snapshot->task_count;
    struct search search = { .snapshot = snapshot, .reasons = reasons, .capacity = capacity };
    search.met = lanepool_i_memory_alloc(tasks * sizeof *search.met);
    search.queue = lanepool_i_memory_alloc(tasks * sizeof *search.queue);
    search.depths = lanepool_i_memory_alloc(tasks * sizeof *search.depths);
    bool has_memory = search.met != NULL && search.queue != NULL && search.depths != NULL;
    if (has_memory) {
        memset(search.met, 0, tasks * sizeof *search.met);
        search.met[task] = true;
        explain_task(&search, task, 0);
        for (size_t next = 0; next < search.tail; next++)
            explain_task(&search, search.queue[next], search.depths[next]);
        *count = search.count;
    }
    lanepool_i_memory_free(search.met);
    lanepool_i_memory_free(search.queue);
    lanepool_i_memory_free(search.depths);
    return has_memory ? LANEPOOL_OK : LANEPOOL_NOMEM;
}

/* --- from a future --- */

/* The snapshot had everything routed that was accepted before: there is a ticket. */
static bool find_ticket(lanepool_future *future, uint64_t *ticket)
{
    lanepool_i_mutex_lock(&future->lock);
    bool has_task = !future->complete && future->task != NULL;
    if (has_task)
        *ticket = lanepool_i_task_ticket(future->task);
    lanepool_i_mutex_unlock(&future->lock);
    return has_task;
}

static lanepool_pool *pool_of(lanepool_future *future)
{
    lanepool_i_mutex_lock(&future->lock);
    lanepool_pool *pool = future->complete ? NULL : future->pool;
    lanepool_i_mutex_unlock(&future->lock);
    return pool;
}

lanepool_status lanepool_explain(lanepool_future *future, lanepool_write_fn write, void *context)
{
    static const char finished[] = "the task has finished\n";
    static const char between[] = "the task is just being taken up or let go by a worker\n";
    if (future == NULL || write == NULL)
        return LANEPOOL_INVALID;
    lanepool_pool *pool = pool_of(future);
    if (pool == NULL) {
        write(context, finished, sizeof finished - 1);
        return LANEPOOL_OK;
    }
    lanepool_snapshot *snapshot;
    lanepool_status status = lanepool_snapshot_take(pool, &snapshot);
    if (status != LANEPOOL_OK)
        return status;
    uint64_t ticket;
    if (!find_ticket(future, &ticket))
        write(context, finished, sizeof finished - 1);
    else if (lanepool_snapshot_find(snapshot, ticket) == LANEPOOL_SNAPSHOT_NONE)
        write(context, between, sizeof between - 1);
    else
        status = lanepool_snapshot_write_reasons(snapshot, ticket, write, context);
    lanepool_snapshot_release(snapshot);
    return status;
}
