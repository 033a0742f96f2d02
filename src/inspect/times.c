/*
 * Owns the times of lanes, tags and workers: a table of the tasks that are under
 * way, by ticket, and one of rows, by lane or tag. Both are open addressing with
 * linear probing; a task that goes leaves its place to those behind it.
 */
#include "lanepool/times.h"

#include "inspect/histogram.h"
#include "platform/platform.h"

#include <string.h>

#define SLOTS_MIN ((size_t)64)
#define LANES_MIN ((size_t)2)
#define NO_TIME   UINT64_MAX
#define IS_TAG    ((uint8_t)0)

/* A lane or a tag. Histograms are large: rows stand by themselves. */
struct row {
    uint64_t object;
    uint8_t object_type;
    lanepool_i_histogram waiting, latched, ready, running;
};

struct visit {
    struct row *row;
    uint64_t object;
    uint8_t object_type;

    uint64_t entered_ns;
    uint64_t arrived_ns; /* NO_TIME: it waits there */
};

/* How far a task has come. A task that has failed is BETWEEN its attempts until it is ready anew,
 * or has ended. */
enum stage { WAITING, READY, RUNNING, BETWEEN };

struct pending {
    bool used;
    enum stage stage;
    bool was_tried; /* an attempt is over */
    uint64_t ticket;
    uint64_t routed_ns;
    uint64_t arrived_ns; /* NO_TIME: not yet */
    uint64_t since_ns;   /* when the stage began; from READY on */
    uint64_t ran_ns;     /* in attempts that are over */
    struct row *tag;
    struct visit *visits;
    size_t visit_count;
    size_t visit_capacity;
};

struct lanepool_times {
    size_t lanes_max;
    size_t lane_count; /* rows of lanes */

    struct pending *pending; /* slot_count, of which pending_count are used */
    size_t slot_count;
    size_t pending_count;
    struct row **rows; /* in the order of their first appearance */
    size_t row_count;
    size_t row_capacity;
    size_t *row_slots; /* index + 1 into rows; 0: free */
    size_t row_slot_count;
    uint64_t now_ns;  /* of the last event; 0: none yet */
    uint64_t waiting; /* tasks that are routed and not ready */
    uint64_t ready;   /* tasks that are ready and have not started */
    uint64_t running; /* tasks that have started, on workers */
    uint64_t asleep;  /* workers */
    lanepool_times_workers workers;
};

/* --- making --- */

lanepool_status lanepool_times_create(size_t lanes_max, lanepool_times **times)
{
    if (times != NULL)
        *times = NULL;
    if (times == NULL || lanes_max == 0)
        return LANEPOOL_INVALID;

    *times = lanepool_i_memory_alloc(sizeof **times);
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
            lanepool_i_memory_free(times->pending[i].visits);
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
        lanepool_i_memory_free(times->rows[i]);
    lanepool_i_memory_free(times->rows);
    lanepool_i_memory_free(times->row_slots);
    lanepool_i_memory_free(times->pending);
    lanepool_i_memory_free(times);
}

static void *zeroed(size_t count, size_t size)
{
    void *memory = lanepool_i_memory_alloc(count * size);
    if (memory != NULL)
        memset(memory, 0, count * size);
    return memory;
}

static size_t mix(uint64_t value)
{
    value *= 0x9E3779B97F4A7C15u;
    return (size_t)(value ^ value >> 32);
}

/* --- rows --- */

static bool is_lane(uint8_t type)
{
    return type >= LANEPOOL_EVENT_LANE_ID && type <= LANEPOOL_EVENT_LANE_WORKER;
}

static size_t row_slot(const lanepool_times *times, uint64_t object, uint8_t type)
{
    size_t slot = mix(object + type) & (times->row_slot_count - 1);
    for (;; slot = (slot + 1) & (times->row_slot_count - 1)) {
        if (times->row_slots[slot] == 0)
            return slot;
        const struct row *row = times->rows[times->row_slots[slot] - 1];
        if (row->object == object && row->object_type == type)
            return slot;
    }
}

/* Room for one more row in both tables. */
static bool make_room_for_row(lanepool_times *times)
{
    if (times->row_count < times->row_capacity)
        return true;
    size_t capacity = times->row_capacity == 0 ? SLOTS_MIN / 2 : 2 * times->row_capacity;
    struct row **rows = lanepool_i_memory_alloc(capacity * sizeof *rows);
    size_t *slots = zeroed(2 * capacity, sizeof *slots);
    if (rows == NULL || slots == NULL) {
        lanepool_i_memory_free(rows);
        lanepool_i_memory_free(slots);
        return false;
    }
    if (times->row_count > 0)
        memcpy(rows, times->rows, times->row_count * sizeof *rows);
    lanepool_i_memory_free(times->rows);
    lanepool_i_memory_free(times->row_slots);
    times->rows = rows;
    times->row_capacity = capacity;
    times->row_slots = slots;
    times->row_slot_count = 2 * capacity;
    for (size_t i = 0; i < times->row_count; i++)
        slots[row_slot(times, rows[i]->object, rows[i]->object_type)] = i + 1;
    return true;
}

/* NULL: memory is lacking. */
static struct row *find_row(lanepool_times *times, uint64_t object, uint8_t type)
{
    if (!make_room_for_row(times))
        return NULL;
    size_t slot = row_slot(times, object, type);
    if (times->row_slots[slot] != 0)
        return times->rows[times->row_slots[slot] - 1];
    if (is_lane(type) && times->lane_count == times->lanes_max)
        return find_row(times, 0, LANEPOOL_TIMES_OTHERS);
    struct row *row = zeroed(1, sizeof *row);
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

/* Where the task stands, or would stand. */
static struct pending *slot_of(const lanepool_times *times, uint64_t ticket)
{
    size_t slot = mix(ticket) & (times->slot_count - 1);
    while (times->pending[slot].used && times->pending[slot].ticket != ticket)
        slot = (slot + 1) & (times->slot_count - 1);
    return &times->pending[slot];
}

static struct pending *find_pending(const lanepool_times *times, uint64_t ticket)
{
    if (times->slot_count == 0)
        return NULL;
    struct pending *task = slot_of(times, ticket);
    return task->used ? task : NULL;
}

static bool make_room_for_pending(lanepool_times *times)
{
    if (2 * times->pending_count < times->slot_count)
        return true;
    size_t old_count = times->slot_count;
    struct pending *old = times->pending;
    size_t count = old_count == 0 ? SLOTS_MIN : 2 * old_count;
    struct pending *slots = zeroed(count, sizeof *slots);
    if (slots == NULL)
        return false;
    times->pending = slots;
    times->slot_count = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i].used)
            *slot_of(times, old[i].ticket) = old[i];
    lanepool_i_memory_free(old);
    return true;
}

/* Those behind it move up, as far as the place where each is looked for first allows. */
static void remove_pending(lanepool_times *times, struct pending *task)
{
    size_t mask = times->slot_count - 1;
    size_t hole = (size_t)(task - times->pending);
    lanepool_i_memory_free(task->visits);
    for (size_t next = (hole + 1) & mask; times->pending[next].used; next = (next + 1) & mask) {
        size_t home = mix(times->pending[next].ticket) & mask;
        if (((next - home) & mask) < ((next - hole) & mask))
            continue;
        times->pending[hole] = times->pending[next];
        hole = next;
    }
    memset(&times->pending[hole], 0, sizeof times->pending[hole]);
    times->pending_count--;
}

static bool add_visit(struct pending *task, const struct visit *visit)
{
    if (task->visit_count == task->visit_capacity) {
        size_t capacity = task->visit_capacity == 0 ? LANES_MIN : 2 * task->visit_capacity;
        struct visit *visits = lanepool_i_memory_alloc(capacity * sizeof *visits);
        if (visits == NULL)
            return false;
        if (task->visit_count > 0)
            memcpy(visits, task->visits, task->visit_count * sizeof *visits);
        lanepool_i_memory_free(task->visits);
        task->visits = visits;
        task->visit_capacity = capacity;
    }
    task->visits[task->visit_count++] = *visit;
    return true;
}

/* --- events --- */

static bool route(lanepool_times *times, const lanepool_event *event)
{
    if (!make_room_for_pending(times))
        return false;
    struct row *tag = find_row(times, event->detail, IS_TAG);
    struct pending *task = slot_of(times, event->task);
    if (tag == NULL || task->used)
        return tag != NULL;
    *task = (struct pending){ .used = true,
                              .stage = WAITING,
                              .ticket = event->task,
                              .routed_ns = event->time_ns,
                              .arrived_ns = NO_TIME,
                              .tag = tag };
    times->pending_count++;
    times->waiting++;
    return true;
}

static void arrive_at(struct pending *task, struct visit *visit, uint64_t time_ns)
{
    visit->arrived_ns = time_ns;
    lanepool_i_histogram_add(&visit->row->waiting, time_ns - visit->entered_ns);
    if (task->arrived_ns == NO_TIME)
        task->arrived_ns = time_ns;
}

static bool enter(lanepool_times *times, struct pending *task, const lanepool_event *event)
{
    if (!is_lane(event->object_type))
        return true;
    struct row *row = find_row(times, event->object, event->object_type);
    struct visit visit = { row, event->object, event->object_type, event->time_ns, NO_TIME };
    if (row == NULL || !add_visit(task, &visit))
        return false;
    if ((event->detail & LANEPOOL_EVENT_GRANTED) != 0)
        arrive_at(task, &task->visits[task->visit_count - 1], event->time_ns);
    return true;
}

static void arrive(struct pending *task, const lanepool_event *event)
{
    for (size_t i = 0; i < task->visit_count; i++) {
        struct visit *visit = &task->visits[i];
        if (visit->object == event->object && visit->object_type == event->object_type &&
            visit->arrived_ns == NO_TIME) {
            arrive_at(task, visit, event->time_ns);
            return;
        }
    }
}

static void come_to(struct pending *task, enum stage stage, uint64_t now_ns)
{
    task->stage = stage;
    task->since_ns = now_ns;
}

/* A task with one lane is never latched. */
static void end_waiting(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    times->waiting--;
    lanepool_i_histogram_add(&task->tag->waiting, now_ns - task->routed_ns);
    if (task->visit_count < 2 || task->arrived_ns == NO_TIME)
        return;
    lanepool_i_histogram_add(&task->tag->latched, now_ns - task->arrived_ns);
    for (size_t i = 0; i < task->visit_count; i++)
        if (task->visits[i].arrived_ns != NO_TIME)
            lanepool_i_histogram_add(&task->visits[i].row->latched,
                                     now_ns - task->visits[i].arrived_ns);
}

/* Before an attempt, which need not be the first. */
static void become_ready(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    if (task->stage == WAITING)
        end_waiting(times, task, now_ns);
    times->ready++;
    come_to(task, READY, now_ns);
}

static void start(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    uint64_t stood_ns = now_ns - task->since_ns;
    times->ready--;
    times->running++;
    lanepool_i_histogram_add(&task->tag->ready, stood_ns);
    for (size_t i = 0; i < task->visit_count; i++)
        lanepool_i_histogram_add(&task->visits[i].row->ready, stood_ns);
    come_to(task, RUNNING, now_ns);
}

static void end_attempt(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    times->running--;
    task->ran_ns += now_ns - task->since_ns;
    task->was_tried = true;
    come_to(task, BETWEEN, now_ns);
}

/* It stood ready for another attempt, which is not made. */
static void call_off(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    times->ready--;
    come_to(task, BETWEEN, now_ns);
}

/* With its last attempt, or without another one. */
static void end(lanepool_times *times, struct pending *task, uint64_t now_ns)
{
    if (task->stage == RUNNING)
        end_attempt(times, task, now_ns);
    else if (task->stage == READY)
        call_off(times, task, now_ns);
    lanepool_i_histogram_add(&task->tag->running, task->ran_ns);
    for (size_t i = 0; i < task->visit_count; i++)
        lanepool_i_histogram_add(&task->visits[i].row->running, task->ran_ns);
    remove_pending(times, task);
}

/* It will not run, or not again. */
static void cancel(lanepool_times *times, struct pending *task)
{
    times->waiting -= task->stage == WAITING;
    times->ready -= task->stage == READY;
    remove_pending(times, task);
}

/* Since the last event nothing has changed. */
static void pass_time(lanepool_times *times, uint64_t now_ns)
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

/* What comes out of turn, since something was missed before, is left out. */
static bool add_of_task(lanepool_times *times, const lanepool_event *event)
{
    struct pending *task = find_pending(times, event->task);
    if (task == NULL)
        return true;
    enum stage stage = task->stage;
    bool has_failed = event->type == LANEPOOL_EVENT_RETRY || event->type == LANEPOOL_EVENT_KEEP;
    if (event->type == LANEPOOL_EVENT_ENTER && stage == WAITING)
        return enter(times, task, event);
    if (event->type == LANEPOOL_EVENT_ARRIVE && stage == WAITING)
        arrive(task, event);
    else if (event->type == LANEPOOL_EVENT_READY && (stage == WAITING || stage == BETWEEN))
        become_ready(times, task, event->time_ns);
    else if (event->type == LANEPOOL_EVENT_START && stage == READY)
        start(times, task, event->time_ns);
    else if (has_failed && stage == RUNNING)
        end_attempt(times, task, event->time_ns);
    else if (has_failed && stage == READY && task->was_tried)
        call_off(times, task, event->time_ns);
    else if (event->type == LANEPOOL_EVENT_END && (stage == RUNNING || task->was_tried))
        end(times, task, event->time_ns);
    else if (event->type == LANEPOOL_EVENT_CANCEL && stage != RUNNING)
        cancel(times, task);
    return true;
}

static bool add(lanepool_times *times, const lanepool_event *event)
{
    pass_time(times, event->time_ns);
    switch (event->type) {
    case LANEPOOL_EVENT_PARK:
        times->asleep++;
        return true;
    case LANEPOOL_EVENT_WAKE:
        times->asleep -= times->asleep > 0;
        return true;
    case LANEPOOL_EVENT_ROUTE:
        return route(times, event);
    case LANEPOOL_EVENT_CANCEL:
        return event->object != 0 || add_of_task(times, event);
    default:
        return add_of_task(times, event);
    }
}

lanepool_status lanepool_times_add(lanepool_times *times, const lanepool_event *events,
                                   size_t count)
{
    if (times == NULL || (events == NULL && count > 0))
        return LANEPOOL_INVALID;
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < count; i++)
        if (!add(times, &events[i]))
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
