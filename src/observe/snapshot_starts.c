/*
 * Owns the search of the rings for the START events of running tasks, the newest event first. A
 * thread's own task is mostly found at once. A detached task may have been called long ago. A START
 * before a RETRY in its ring is that of an attempt that has failed.
 */
#include "observe/snapshot_starts.h"

#include <string.h>

struct starts {
    const lanepool_i_rings *rings;
    const lanepool_snapshot *snapshot;
    lanepool_snapshot_task *tasks;
    uint64_t *failed_ns; /* by task: when an attempt was last found to have failed */
    size_t missing;      /* running tasks whose start was not found */
};

static size_t count_running_tasks(const lanepool_snapshot *snapshot)
{
    size_t count = 0;
    for (size_t i = 0; i < snapshot->task_count; i++)
        count += snapshot->tasks[i].state == LANEPOOL_SNAPSHOT_RUNNING;
    return count;
}

static void note_event(struct starts *starts, const lanepool_event *event)
{
    size_t index = lanepool_snapshot_find(starts->snapshot, event->task);
    if (index == LANEPOOL_SNAPSHOT_NONE || starts->tasks[index].state != LANEPOOL_SNAPSHOT_RUNNING)
        return;
    lanepool_snapshot_task *task = &starts->tasks[index];
    lanepool_i_clock_time time = lanepool_i_clock_time_begin(starts->rings->anchors);
    uint64_t time_ns = lanepool_i_clock_time_of(&time, event->time_ns);
    if (time_ns > starts->snapshot->time_ns)
        return;
    if (event->type == LANEPOOL_EVENT_RETRY && time_ns > starts->failed_ns[index]) {
        starts->failed_ns[index] = time_ns;
    } else if (event->type == LANEPOOL_EVENT_START && time_ns > task->started_ns &&
               time_ns > starts->failed_ns[index]) {
        starts->missing -= task->started_ns == 0;
        task->started_ns = time_ns;
    }
}

static void search_ring(struct starts *starts, const lanepool_i_ring *ring)
{
    uint64_t number = load_acquire(&ring->written);
    while (number > 0 && starts->missing > 0) {
        lanepool_event event;
        lanepool_i_ring_load(ring, --number, &event);
        if (number < lanepool_i_ring_oldest_intact(ring, load_acquire(&ring->written)))
            return;
        if (event.type == LANEPOOL_EVENT_START || event.type == LANEPOOL_EVENT_RETRY)
            note_event(starts, &event);
    }
}

bool lanepool_i_snapshot_starts_read(const lanepool_i_rings *rings,
                                     const lanepool_snapshot *snapshot,
                                     lanepool_snapshot_task *tasks)
{
    struct starts starts = { .rings = rings,
                             .snapshot = snapshot,
                             .tasks = tasks,
                             .missing = count_running_tasks(snapshot) };
    if (rings->capacity == 0 || starts.missing == 0)
        return true;
    size_t size = snapshot->task_count * sizeof *starts.failed_ns;
    starts.failed_ns = lanepool_i_memory_alloc(size);
    if (starts.failed_ns == NULL)
        return false;
    memset(starts.failed_ns, 0, size);
    for (const lanepool_i_ring *ring = load_acquire(&rings->first); ring != NULL; ring = ring->next)
        search_ring(&starts, ring);
    lanepool_i_memory_free(starts.failed_ns);
    return true;
}
