/*
 * Owns the times of lanes, tags and workers. Two hash tables with linear probing contain pending
 * tasks by ticket, and rows by lane or tag.
 */
#include "lanepool/inspect.h"

#include "inspect/histogram.h"
#include "inspect/memory.h"

#include <string.h>

#define SLOTS_MIN ((size_t)64)
#define LANES_MIN ((size_t)2)
#define NO_TIME   UINT64_MAX
#define IS_TAG    ((uint8_t)0)

/* A lane or a tag, each allocated by itself: histograms are large. */
struct row {
    uint64_t object;
    uint8_t object_type;
    lanepool_i_histogram waiting, latched, ready, running;
};

struct lane_entry {
    struct row *row;
    uint64_t object;
    uint8_t object_type;

    uint64_t entered_ns;
    uint64_t granted_ns; /* NO_TIME: not granted yet */
};

/* A failed task is BETWEEN its attempts until it is ready again or has ended. */
enum stage { WAITING, READY, RUNNING, BETWEEN };

struct pending {
    bool used;
    enum stage stage;
    bool was_tried; /* an attempt has ended */
    uint64_t ticket;
    uint64_t routed_ns;
    uint64_t granted_ns; /* the first grant; NO_TIME: none yet */
    uint64_t since_ns;   /* when the stage began; from READY on */
    uint64_t ran_ns;     /* in attempts that have ended */
    struct row *tag;
    struct lane_entry *entries;
    size_t entry_count;
    size_t entry_capacity;
};

struct lanepool_times {
    size_t lanes_max;
    size_t lane_count; /* rows of lanes */

    struct pending *pending; /* slot_count, of which pending_count are used */
    size_t slot_count;
    size_t pending_count;
    struct row **rows; /* in order of first appearance */
    size_t row_count;
    size_t row_capacity;
    size_t *row_slots; /* index + 1 into rows; 0: free */
    size_t row_slot_count;
    uint64_t now_ns;  /* of the latest event; 0: no event yet */
    uint64_t waiting; /* tasks that are routed and not ready yet */
    uint64_t ready;   /* tasks that are ready and have not started */
    uint64_t running; /* tasks whose attempt is running */
    uint64_t asleep;  /* workers that sleep */
    lanepool_times_workers workers;
};

/* --- create and destroy --- */

lanepool_status lanepool_times_create(size_t lanes_max, lanepool_times **times)
{
    if (times != NULL)
        *times = NULL;
    if (times == NULL || lanes_max == 0)
        return LANEPOOL_INVALID;

    *times = lanepool_i_inspect_alloc(sizeof **times);
    if (*times == NULL)
        return LANEPOOL_NOMEM;
    memset(*times, 0, sizeof **times);
    (*times)->lanes_max = lanes_max;
    return LANEPOOL_OK;
}

void lanepool_times_forget_pending(lanepool_times *times)
{
    for (size_t i = 0; i < times->slot_count; i++)
        if (times->pending[i].used)
            lanepool_i_inspect_free(times->pending[i].entries);
    if (times->slot_count > 0)
        memset(times->pending, 0, times->slot_count * sizeof *times->pending);
    times->pending_count = 0;
    times->waiting = times->ready = times->running = 0;
}

void lanepool_times_destroy(lanepool_times *times)
{
    if (times == NULL)
        return;
    lanepool_times_forget_pending(times);
    for (size_t i = 0; i < times->row_count; i++)
        lanepool_i_inspect_free(times->rows[i]);
    lanepool_i_inspect_free(times->rows);
    lanepool_i_inspect_free(times->row_slots);
    lanepool_i_inspect_free(times->pending);
    lanepool_i_inspect_free(times);
}

static void *alloc_zeroed(size_t count, size_t size)
{
    void *memory = lanepool_i_inspect_alloc(count * size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

static size_t mix_hash(uint64_t value)
{
    value *= 0x9E3779B97F4A7C15u;
    return (size_t)(value ^ value >> 32);
}

/* --- rows --- */

static bool is_lane(uint8_t type)
{
    return type >= LANEPOOL_EVENT_LANE_ID && type <= LANEPOOL_EVENT_LANE_WORKER;
}

static size_t find_row_slot(const lanepool_times *times, uint64_t object, uint8_t type)
{
    size_t slot = mix_hash(object + type) & (times->row_slot_count - 1);
    for (;; slot = (slot + 1) & (times->row_slot_count - 1)) {
        if (times->row_slots[slot] == 0)
            return slot;
        const struct row *row = times->rows[times->row_slots[slot] - 1];
        if (row->object == object && row->object_type == type)
            return slot;
    }
}

static bool make_room_for_row(lanepool_times *times)
{
    if (times->row_count < times->row_capacity)
        return true;
    size_t capacity = times->row_capacity == 0 ? SLOTS_MIN / 2 : 2 * times->row_capacity;
    struct row **rows = lanepool_i_inspect_alloc(capacity * sizeof *rows);
    size_t *slots = alloc_zeroed(2 * capacity, sizeof *slots);
    if (rows == NULL || slots == NULL) {
        lanepool_i_inspect_free(rows);
        lanepool_i_inspect_free(slots);
        return false;
    }
    if (times->row_count > 0)
        memcpy(rows, times->rows, times->row_count * sizeof *rows);
    lanepool_i_inspect_free(times->rows);
    lanepool_i_inspect_free(times->row_slots);
    times->rows = rows;
    times->row_capacity = capacity;
    times->row_slots = slots;
    times->row_slot_count = 2 * capacity;
    for (size_t i = 0; i < times->row_count; i++)
        slots[find_row_slot(times, rows[i]->object, rows[i]->object_type)] = i + 1;
    return true;
}

/* Returns the row, created if needed; NULL if memory cannot be allocated. */
static struct row *find_row(lanepool_times *times, uint64_t object, uint8_t type)
{
    if (!make_room_for_row(times))
        return NULL;
    size_t slot = find_row_slot(times, object, type);
    if (times->row_slots[slot] != 0)
        return times->rows[times->row_slots[slot] - 1];
    if (is_lane(type) && times->lane_count == times->lanes_max)
        return find_row(times, 0, LANEPOOL_TIMES_OTHERS);
    struct row *row = alloc_zeroed(1, sizeof *row);
    if (row == NULL)
        return NULL;
    times->lane_count += is_lane(type);
    row->object = object;
    row->object_type = type;
    times->rows[times->row_count++] = row;
    times->row_slots[slot] = times->row_count;
    return row;
}

/* --- pending tasks --- */

/* Returns the task's slot, or the free slot for it. */
static struct pending *find_pending_slot(const lanepool_times *times, uint64_t ticket)
{
    size_t slot = mix_hash(ticket) & (times->slot_count - 1);
    while (times->pending[slot].used && times->pending[slot].ticket != ticket)
        slot = (slot + 1) & (times->slot_count - 1);
    return &times->pending[slot];
}

static struct pending *find_pending(const lanepool_times *times, uint64_t ticket)
{
    if (times->slot_count == 0)
        return NULL;
    struct pending *task = find_pending_slot(times, ticket);
    return task->used ? task : NULL;
}

static bool make_room_for_pending(lanepool_times *times)
{
    if (2 * times->pending_count < times->slot_count)
        return true;
    size_t old_count = times->slot_count;
    struct pending *old = times->pending;
    size_t count = old_count == 0 ? SLOTS_MIN : 2 * old_count;
    struct pending *slots = alloc_zeroed(count, sizeof *slots);
    if (slots == NULL)
        return false;
    times->pending = slots;
    times->slot_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].used)
            *find_pending_slot(times, old[i].ticket) = old[i];
    lanepool_i_inspect_free(old);
    return true;
}

/* Moves the tasks behind it up, but none in front of the slot that its hash selects. */
static void remove_pending(lanepool_times *times, struct pending *task)
{
    size_t mask = times->slot_count - 1;
    size_t hole = (size_t)(task - times->pending);
    lanepool_i_inspect_free(task->entries);
    for (size_t next = (hole + 1) & mask; times->pending[next].used; next = (next + 1) & mask) {
        size_t home = mix_hash(times->pending[next].ticket) & mask;
        if (((next - home) & mask) < ((next - hole) & mask))
            continue;
        times->pending[hole] = times->pending[next];
        hole = next;
    }
    memset(&times->pending[hole], 0, sizeof times->pending[hole]);
    times->pending_count--;
}

static bool add_lane_entry(struct pending *task, const struct lane_entry *entry)
{
    if (task->entry_count == task->entry_capacity) {
        size_t capacity = task->entry_capacity == 0 ? LANES_MIN : 2 * task->entry_capacity;
        struct lane_entry *entries = lanepool_i_inspect_alloc(capacity * sizeof *entries);
        if (entries == NULL)
            return false;
        if (task->entry_count > 0)
            memcpy(entries, task->entries, task->entry_count * sizeof *entries);
        lanepool_i_inspect_free(task->entries);
        task->entries = entries;
        task->entry_capacity = capacity;
    }
    task->entries[task->entry_count++] = *entry;
    return true;
}

/* --- events --- */

static bool handle_route_event(lanepool_times *times, const lanepool_event *event)
{
    if (!make_room_for_pending(times))
        return false;
    struct row *tag = find_row(times, event->detail, IS_TAG);
    struct pending *task = find_pending_slot(times, event->task);
    if (tag == NULL || task->used)
        return tag != NULL;
    *task = (struct pending){ .used = true,
                              .stage = WAITING,
                              .ticket = event->task,
                              .routed_ns = event->time_ns,
                              .granted_ns = NO_TIME,
                              .tag = tag };
    times->pending_count++;
    times->waiting++;
    return true;
}

static void record_grant(struct pending *task, struct lane_entry *entry, uint64_t time_ns)
{
    entry->granted_ns = time_ns;
    lanepool_i_histogram_add(&entry->row->waiting, time_ns - entry->entered_ns);
    if (task->granted_ns == NO_TIME)
        task->granted_ns = time_ns;
}

static bool handle_enter_event(lanepool_times *times, struct pending *task,
                               const lanepool_event *event)
{
    if (!is_lane(event->object_type))
        return true;
    struct row *row = find_row(times, event->object, event->object_type);
    struct lane_entry entry = { row, event->object, event->object_type, event->time_ns, NO_TIME };
    if (row == NULL || !add_lane_entry(task, &entry))
        return false;
    if ((event->detail & LANEPOOL_EVENT_GRANTED) != 0)
        record_grant(task, &task->entries[task->entry_count - 1], event->time_ns);
    return true;
}

static void handle_arrive_event(struct pending *task, const lanepool_event *event)
{
    for (size_t i = 0; i < task->entry_count; i++) {
        struct lane_entry *entry = &task->entries[i];
        if (entry->object == event->object && entry->object_type == event->object_type &&
            entry->granted_ns == NO_TIME) {
            record_grant(task, entry, event->time_ns);
            return;
        }
    }
}

static void set_stage(struct pending *task, enum stage stage, uint64_t now_ns)
{
    task->stage = stage;
    task->since_ns = now_ns;
}

/* A task with one lane is never latched. */
static void record_waiting(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    times->waiting--;
    lanepool_i_histogram_add(&task->tag->waiting, now_ns - task->routed_ns);
    if (task->entry_count < 2 || task->granted_ns == NO_TIME)
        return;
    lanepool_i_histogram_add(&task->tag->latched, now_ns - task->granted_ns);
    for (size_t i = 0; i < task->entry_count; i++)
        if (task->entries[i].granted_ns != NO_TIME)
            lanepool_i_histogram_add(&task->entries[i].row->latched,
                                     now_ns - task->entries[i].granted_ns);
}

/* READY precedes every attempt, not only the first. */
static void handle_ready_event(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    if (task->stage == WAITING)
        record_waiting(times, task, now_ns);
    times->ready++;
    set_stage(task, READY, now_ns);
}

static void handle_start_event(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    uint64_t ready_ns = now_ns - task->since_ns;
    times->ready--;
    times->running++;
    lanepool_i_histogram_add(&task->tag->ready, ready_ns);
    for (size_t i = 0; i < task->entry_count; i++)
        lanepool_i_histogram_add(&task->entries[i].row->ready, ready_ns);
    set_stage(task, RUNNING, now_ns);
}

static void end_attempt(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    times->running--;
    task->ran_ns += now_ns - task->since_ns;
    task->was_tried = true;
    set_stage(task, BETWEEN, now_ns);
}

/* The attempt that the task is ready for will not be made. */
static void drop_attempt(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    times->ready--;
    set_stage(task, BETWEEN, now_ns);
}

/* END follows the last attempt, or replaces another attempt. */
static void handle_end_event(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    if (task->stage == RUNNING)
        end_attempt(times, task, now_ns);
    else if (task->stage == READY)
        drop_attempt(times, task, now_ns);
    lanepool_i_histogram_add(&task->tag->running, task->ran_ns);
    for (size_t i = 0; i < task->entry_count; i++)
        lanepool_i_histogram_add(&task->entries[i].row->running, task->ran_ns);
    remove_pending(times, task);
}

static void handle_cancel_event(lanepool_times *times, struct pending *task)
{
    times->waiting -= task->stage == WAITING;
    times->ready -= task->stage == READY;
    remove_pending(times, task);
}

/* Adds the time since the latest event, in which nothing changed, to the workers' times. */
static void add_passed_time(lanepool_times *times, uint64_t now_ns)
{
    uint64_t passed = times->now_ns != 0 && now_ns > times->now_ns ? now_ns - times->now_ns : 0;
    uint64_t *idle = &times->workers.idle_ns;
    if (times->ready > 0)
        idle = &times->workers.idle_ready_ns;
    else if (times->waiting > 0)
        idle = &times->workers.idle_blocked_ns;
    *idle += passed * times->asleep;
    times->workers.running_ns += passed * times->running;
    if (now_ns > times->now_ns)
        times->now_ns = now_ns;
}

/* Ignores an event that does not fit the task's stage: an earlier event was missed. */
static bool handle_task_event(lanepool_times *times, const lanepool_event *event)
{
    struct pending *task = find_pending(times, event->task);
    if (task == NULL)
        return true;
    enum stage stage = task->stage;
    bool has_failed = event->type == LANEPOOL_EVENT_RETRY || event->type == LANEPOOL_EVENT_PARK;
    if (event->type == LANEPOOL_EVENT_ENTER && stage == WAITING)
        return handle_enter_event(times, task, event);
    if (event->type == LANEPOOL_EVENT_ARRIVE && stage == WAITING)
        handle_arrive_event(task, event);
    else if (event->type == LANEPOOL_EVENT_READY && (stage == WAITING || stage == BETWEEN))
        handle_ready_event(times, task, event->time_ns);
    else if (event->type == LANEPOOL_EVENT_START && stage == READY)
        handle_start_event(times, task, event->time_ns);
    else if (has_failed && stage == RUNNING)
        end_attempt(times, task, event->time_ns);
    else if (has_failed && stage == READY && task->was_tried)
        drop_attempt(times, task, event->time_ns);
    else if (event->type == LANEPOOL_EVENT_END && (stage == RUNNING || task->was_tried))
        handle_end_event(times, task, event->time_ns);
    else if (event->type == LANEPOOL_EVENT_CANCEL && stage != RUNNING)
        handle_cancel_event(times, task);
    return true;
}

static bool handle_event(lanepool_times *times, const lanepool_event *event)
{
    add_passed_time(times, event->time_ns);
    switch (event->type) {
    case LANEPOOL_EVENT_SLEEP:
        times->asleep++;
        return true;
    case LANEPOOL_EVENT_WAKE:
        times->asleep -= times->asleep > 0;
        return true;
    case LANEPOOL_EVENT_ROUTE:
        return handle_route_event(times, event);
    case LANEPOOL_EVENT_CANCEL:
        return event->object != 0 || handle_task_event(times, event);
    default:
        return handle_task_event(times, event);
    }
}

lanepool_status lanepool_times_add(lanepool_times *times, const lanepool_event *events,
                                   size_t count)
{
    if (times == NULL || (events == NULL && count > 0))
        return LANEPOOL_INVALID;
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < count; i++)
        if (!handle_event(times, &events[i]))
            status = LANEPOOL_NOMEM;
    return status;
}

/* --- results --- */

size_t lanepool_times_rows(const lanepool_times *times, lanepool_times_row *rows, size_t capacity)
{
    for (size_t i = 0; i < times->row_count && i < capacity; i++) {
        const struct row *row = times->rows[i];
        rows[i] = (lanepool_times_row){
            .object = row->object,
            .object_type = row->object_type,
            .waiting = lanepool_i_histogram_durations(&row->waiting),
            .latched = lanepool_i_histogram_durations(&row->latched),
            .ready = lanepool_i_histogram_durations(&row->ready),
            .running = lanepool_i_histogram_durations(&row->running),
        };
    }
    return times->row_count;
}

void lanepool_times_of_workers(const lanepool_times *times, lanepool_times_workers *workers)
{
    *workers = times->workers;
}
