/* Owns the times of lanes, tags and workers. A replay says what each event changed. */
#include "inspect/times.h"

#include "lanepool/replay.h"

#include "inspect/growing.h"
#include "inspect/memory.h"

#define UNSEEN LANEPOOL_REPLAY_UNSEEN
#define IS_TAG ((uint8_t)0)

/* A lane or a tag, each allocated by itself: histograms are large. */
struct row {
    uint64_t object;
    uint8_t object_type;
    lanepool_i_histogram histograms[LANEPOOL_I_TIMES_PHASES];
};

struct lanepool_times {
    size_t lanes_max;
    size_t lane_count; /* rows of lanes */
    struct row **rows; /* in order of first appearance */
    size_t row_count;
    size_t row_capacity;
    lanepool_i_table table;  /* from a lane or a tag to its row */
    lanepool_replay *replay; /* of pending tasks */
    lanepool_times_workers workers;
};

/* --- create and destroy --- */

lanepool_status lanepool_times_create(size_t lanes_max, lanepool_times **times)
{
    if (times != NULL)
        *times = NULL;
    if (times == NULL || lanes_max == 0)
        return LANEPOOL_INVALID;

    lanepool_times *created = lanepool_i_inspect_alloc_zeroed(sizeof *created);
    if (created == NULL || lanepool_replay_create(0, &created->replay) != LANEPOOL_OK) {
        lanepool_i_inspect_free(created);
        return LANEPOOL_NOMEM;
    }
    created->lanes_max = lanes_max;
    *times = created;
    return LANEPOOL_OK;
}

void lanepool_times_forget_pending(lanepool_times *times)
{
    lanepool_replay_clear(times->replay);
}

void lanepool_times_destroy(lanepool_times *times)
{
    if (times == NULL)
        return;
    for (size_t i = 0; i < times->row_count; i++)
        lanepool_i_inspect_free(times->rows[i]);
    lanepool_i_inspect_free(times->rows);
    lanepool_i_table_fini(&times->table);
    lanepool_replay_destroy(times->replay);
    lanepool_i_inspect_free(times);
}

/* --- rows --- */

static bool is_lane(uint8_t type)
{
    return type >= LANEPOOL_EVENT_LANE_ID && type <= LANEPOOL_EVENT_LANE_WORKER;
}

/* Returns the row of a lane or tag; NULL if it has none, since memory could not be allocated. */
static struct row *find_row(const lanepool_times *times, uint64_t object, uint8_t type)
{
    size_t index = lanepool_i_table_get(&times->table, type, object);
    if (index == LANEPOOL_I_NO_INDEX && is_lane(type))
        index = lanepool_i_table_get(&times->table, LANEPOOL_TIMES_OTHERS, 0);
    return index != LANEPOOL_I_NO_INDEX ? times->rows[index] : NULL;
}

static bool add_row(lanepool_times *times, uint64_t object, uint8_t type)
{
    if (!lanepool_i_inspect_grow(&times->rows, &times->row_capacity, times->row_count + 1,
                                 sizeof(struct row *)) ||
        !lanepool_i_table_reserve(&times->table, 1))
        return false;
    struct row *row = lanepool_i_inspect_alloc_zeroed(sizeof *row);
    if (row == NULL)
        return false;
    times->lane_count += is_lane(type);
    row->object = object;
    row->object_type = type;
    lanepool_i_table_set(&times->table, type, object, times->row_count);
    times->rows[times->row_count++] = row;
    return true;
}

/* Creates the row if needed. Returns false if memory cannot be allocated. */
static bool require_row(lanepool_times *times, uint64_t object, uint8_t type)
{
    if (lanepool_i_table_get(&times->table, type, object) != LANEPOOL_I_NO_INDEX)
        return true;
    if (is_lane(type) && times->lane_count == times->lanes_max)
        return require_row(times, 0, LANEPOOL_TIMES_OTHERS);
    return add_row(times, object, type);
}

/* --- events --- */

static void add_duration(struct row *row, lanepool_i_times_phase phase, uint64_t ns)
{
    if (row != NULL)
        lanepool_i_histogram_add(&row->histograms[phase], ns);
}

/* Adds a duration to the task's tag and to each of the lanes that it has. */
static void add_to_all(const lanepool_times *times, const lanepool_replay_task *task,
                       lanepool_i_times_phase phase, uint64_t ns)
{
    const lanepool_replay_entry *entries = times->replay->entries;
    add_duration(find_row(times, task->tag, IS_TAG), phase, ns);
    if (task->is_cut)
        return; /* its function has no lane */
    for (size_t i = task->first_entry; i != LANEPOOL_REPLAY_NONE; i = entries[i].next_of_task)
        if (is_lane(entries[i].object_type))
            add_duration(find_row(times, entries[i].object, entries[i].object_type), phase, ns);
}

static bool note_entry(lanepool_times *times, const lanepool_replay_entry *entry)
{
    if (!is_lane(entry->object_type) || entry->enter_ns == UNSEEN)
        return true;
    if (!require_row(times, entry->object, entry->object_type))
        return false;
    if (entry->arrive_ns != UNSEEN)
        add_duration(find_row(times, entry->object, entry->object_type), LANEPOOL_I_TIMES_WAITING,
                     entry->arrive_ns - entry->enter_ns);
    return true;
}

/* A visit begins or ends. A later visit of the same lane is a retry. */
static void note_visit(const lanepool_times *times, const lanepool_event *event,
                       const lanepool_replay_entry *entry)
{
    struct row *row = find_row(times, entry->object, entry->object_type);
    if (event->type == LANEPOOL_EVENT_VISITED && entry->visit_ns != UNSEEN)
        add_duration(row, LANEPOOL_I_TIMES_RUNNING, entry->visited_ns - entry->visit_ns);
    else if (event->type == LANEPOOL_EVENT_VISIT && entry->arrive_ns != UNSEEN &&
             times->replay->tasks[entry->task].failed_count == 0)
        add_duration(row, LANEPOOL_I_TIMES_READY, entry->visit_ns - entry->arrive_ns);
}

/* A task with one lane is never latched, and a cut neither. */
static void note_ready(const lanepool_times *times, const lanepool_replay_task *task)
{
    const lanepool_replay_entry *entries = times->replay->entries;
    uint64_t first_ns = UNSEEN;
    struct row *tag = find_row(times, task->tag, IS_TAG);
    add_duration(tag, LANEPOOL_I_TIMES_WAITING, task->ready_ns - task->route_ns);
    if (task->lane_count < 2 || task->is_cut)
        return;
    for (size_t i = task->first_entry; i != LANEPOOL_REPLAY_NONE; i = entries[i].next_of_task) {
        if (entries[i].arrive_ns == UNSEEN || !is_lane(entries[i].object_type))
            continue;
        add_duration(find_row(times, entries[i].object, entries[i].object_type),
                     LANEPOOL_I_TIMES_LATCHED, task->ready_ns - entries[i].arrive_ns);
        first_ns = entries[i].arrive_ns < first_ns ? entries[i].arrive_ns : first_ns;
    }
    if (first_ns != UNSEEN)
        add_duration(tag, LANEPOOL_I_TIMES_LATCHED, task->ready_ns - first_ns);
}

/* Returns true if a task waits in a lane. A cut that has been granted all of its lanes waits in
 * none, although it is WAITING. */
static bool some_wait(const lanepool_replay *replay)
{
    size_t i = replay->first[LANEPOOL_REPLAY_WAITING];
    while (i != LANEPOOL_REPLAY_NONE && replay->tasks[i].is_cut &&
           replay->tasks[i].arrived == replay->tasks[i].entry_count)
        i = replay->tasks[i].next;
    return i != LANEPOOL_REPLAY_NONE;
}

/* Adds the time since the latest event, in which nothing changed, to the workers' times. */
static void add_passed_time(lanepool_times *times, uint64_t now_ns)
{
    const lanepool_replay *replay = times->replay;
    uint64_t last_ns = replay->time_ns;
    uint64_t passed = last_ns != 0 && now_ns > last_ns ? now_ns - last_ns : 0;
    uint64_t *idle = &times->workers.idle_ns;
    if (replay->counts[LANEPOOL_REPLAY_READY] + replay->to_visit > 0)
        idle = &times->workers.idle_ready_ns;
    else if (some_wait(replay))
        idle = &times->workers.idle_blocked_ns;
    *idle += passed * replay->asleep;
    times->workers.running_ns +=
        passed * (replay->counts[LANEPOOL_REPLAY_RUNNING] + replay->visits);
}

/* Adds what the event completed. The times of a task whose ROUTE was missed are left out. */
static bool add_completed(lanepool_times *times, const lanepool_event *event)
{
    const lanepool_replay *replay = times->replay;
    const lanepool_replay_task *task = &replay->tasks[replay->task];
    bool is_new_state = task->state != replay->before;
    if (task->route_ns == UNSEEN)
        return true;
    switch ((lanepool_event_type)event->type) {
    case LANEPOOL_EVENT_ROUTE:
        return require_row(times, task->tag, IS_TAG);
    case LANEPOOL_EVENT_ENTER:
    case LANEPOOL_EVENT_ARRIVE:
        return replay->entry == LANEPOOL_REPLAY_NONE ||
               note_entry(times, &replay->entries[replay->entry]);
    case LANEPOOL_EVENT_VISIT:
    case LANEPOOL_EVENT_VISITED:
        if (replay->entry != LANEPOOL_REPLAY_NONE)
            note_visit(times, event, &replay->entries[replay->entry]);
        return true;
    case LANEPOOL_EVENT_READY:
        if (is_new_state && replay->before == LANEPOOL_REPLAY_WAITING && task->failed_count == 0)
            note_ready(times, task);
        return true;
    case LANEPOOL_EVENT_START:
        if (is_new_state && replay->before == LANEPOOL_REPLAY_READY &&
            !(task->is_cut && task->failed_count > 0))
            add_to_all(times, task, LANEPOOL_I_TIMES_READY,
                       task->start_ns -
                           (task->failed_count > 0 ? task->failed.ready_ns : task->ready_ns));
        return true;
    case LANEPOOL_EVENT_END:
        if (is_new_state && (replay->before == LANEPOOL_REPLAY_RUNNING || task->failed_count > 0))
            add_to_all(times, task, LANEPOOL_I_TIMES_RUNNING, task->ran_ns);
        return true;
    default:
        return true;
    }
}

lanepool_status lanepool_times_add(lanepool_times *times, const lanepool_event *events,
                                   size_t count)
{
    if (times == NULL || (events == NULL && count > 0))
        return LANEPOOL_INVALID;
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < count; i++) {
        add_passed_time(times, events[i].time_ns);
        if (lanepool_replay_feed(times->replay, &events[i]) != LANEPOOL_OK ||
            (times->replay->task != LANEPOOL_REPLAY_NONE && !add_completed(times, &events[i])))
            status = LANEPOOL_NOMEM;
    }
    return status;
}

/* --- results --- */

static lanepool_durations durations_of(const struct row *row, lanepool_i_times_phase phase)
{
    return lanepool_i_histogram_durations(&row->histograms[phase]);
}

size_t lanepool_times_rows(const lanepool_times *times, lanepool_times_row *rows, size_t capacity)
{
    for (size_t i = 0; i < times->row_count && i < capacity; i++) {
        const struct row *row = times->rows[i];
        rows[i] = (lanepool_times_row){
            .object = row->object,
            .object_type = row->object_type,
            .waiting = durations_of(row, LANEPOOL_I_TIMES_WAITING),
            .latched = durations_of(row, LANEPOOL_I_TIMES_LATCHED),
            .ready = durations_of(row, LANEPOOL_I_TIMES_READY),
            .running = durations_of(row, LANEPOOL_I_TIMES_RUNNING),
        };
    }
    return times->row_count;
}

void lanepool_times_of_workers(const lanepool_times *times, lanepool_times_workers *workers)
{
    *workers = times->workers;
}

const lanepool_i_histogram *lanepool_i_times_of_tag(const lanepool_times *times, size_t row,
                                                    lanepool_i_times_phase phase, uint64_t *tag)
{
    const struct row *found = times->rows[row];
    *tag = found->object;
    return found->object_type == IS_TAG ? &found->histograms[phase] : NULL;
}

bool lanepool_i_times_mean_of_tag(const lanepool_times *times, uint32_t tag, uint64_t *mean_ns)
{
    const struct row *row = find_row(times, tag, IS_TAG);
    if (row == NULL || row->histograms[LANEPOOL_I_TIMES_RUNNING].count == 0)
        return false;
    const lanepool_i_histogram *running = &row->histograms[LANEPOOL_I_TIMES_RUNNING];
    *mean_ns = running->sum_ns / running->count;
    return true;
}
