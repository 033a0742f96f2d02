/* Owns the lanes of a replay: which lane an event names, the entries in it, and their grants. */
#include "inspect/memory.h"
#include "inspect/replay_parts.h"

#define NONE   LANEPOOL_REPLAY_NONE
#define UNSEEN LANEPOOL_REPLAY_UNSEEN

bool lanepool_i_replay_is_lane(uint8_t type)
{
    return type >= LANEPOOL_EVENT_LANE_ID && type <= LANEPOOL_EVENT_LANE_WORKER;
}

static size_t add_lane(lanepool_i_replay *replay, uint8_t type, uint64_t object)
{
    size_t lane = replay->free_lanes;
    if (lane == NONE)
        lane = replay->seen.lane_count++;
    else
        replay->free_lanes = replay->lanes[lane].first_open;
    replay->lanes[lane] = (lanepool_replay_lane){ .object = object,
                                                  .object_type = type,
                                                  .first_open = NONE,
                                                  .last_open = NONE,
                                                  .first_entry = NONE,
                                                  .last_entry = NONE };
    lanepool_i_table_set(&replay->table, type, object, lane);
    return lane;
}

static void free_lane(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_lane *lane = &replay->lanes[index];
    lanepool_i_table_remove(&replay->table, lane->object_type, lane->object, index);
    lane->first_open = replay->free_lanes;
    replay->free_lanes = index;
}

/* --- names --- */

static uint8_t with_lane_type(unsigned type, const lanepool_event *event)
{
    return (uint8_t)(type + event->object_type);
}

/* Missed parts stay as they were. */
void lanepool_i_replay_name_lane(lanepool_i_replay *replay, const lanepool_event *event)
{
    uint8_t type = with_lane_type(LANEPOOL_I_NAME_PARTS, event);
    if (!lanepool_i_replay_is_lane(event->object_type) ||
        (replay->keep & LANEPOOL_REPLAY_LANES) == 0)
        return;
    size_t index = lanepool_i_table_get(&replay->table, type, event->object);
    if (index == LANEPOOL_I_NO_INDEX) {
        index = replay->name_count++;
        replay->names[index] = (lanepool_i_replay_name){ .size = 0 };
        lanepool_i_table_set(&replay->table, type, event->object, index);
    }
    lanepool_i_replay_name *name = &replay->names[index];
    size_t at = event->detail & 0xFFFF;
    name->size = event->detail >> 16;
    if (name->size > sizeof name->bytes)
        name->size = sizeof name->bytes;
    for (size_t i = 0; i < 8 && at + i < name->size; i++)
        name->bytes[at + i] = (char)(unsigned char)(event->task >> 8 * i);
    name->is_new = true;
}

/*
 * Finds or adds the lane with a new name. The number of a byte string may be reused for another
 * string, and a string may return under another number. So the name decides which lane it is.
 */
static void apply_name(lanepool_i_replay *replay, const lanepool_event *event,
                       lanepool_i_replay_name *name)
{
    uint8_t by_name = with_lane_type(LANEPOOL_I_BY_NAME, event);
    uint64_t hash = lanepool_i_number_of_bytes(name->bytes, name->size);
    size_t known = lanepool_i_table_get(&replay->table, by_name, hash);
    name->is_new = false;
    if (name->size == 0)
        return;
    if (known != NONE && replay->lanes[known].name_size == name->size &&
        memcmp(replay->lanes[known].name, name->bytes, name->size) == 0) {
        lanepool_i_table_set(&replay->table, event->object_type, event->object, known);
        return;
    }
    size_t lane = lanepool_i_table_get(&replay->table, event->object_type, event->object);
    if (lane == NONE || replay->lanes[lane].name_size > 0)
        lane = add_lane(replay, event->object_type, event->object);
    replay->lanes[lane].name_size = name->size;
    memcpy(replay->lanes[lane].name, name->bytes, name->size);
    lanepool_i_table_set(&replay->table, by_name, hash, lane);
}

/* Returns the lane that an event names; NONE if the event names a task or a kind instead. */
static size_t lane_of_event(lanepool_i_replay *replay, const lanepool_event *event)
{
    if (!lanepool_i_replay_is_lane(event->object_type))
        return NONE;
    size_t name = lanepool_i_table_get(&replay->table, with_lane_type(LANEPOOL_I_NAME_PARTS, event),
                                       event->object);
    if (name != LANEPOOL_I_NO_INDEX && replay->names[name].is_new)
        apply_name(replay, event, &replay->names[name]);
    size_t lane = lanepool_i_table_get(&replay->table, event->object_type, event->object);
    return lane != NONE ? lane : add_lane(replay, event->object_type, event->object);
}

/* --- entries --- */

/* A lane that is kept may have had several numbers. */
size_t lanepool_i_replay_find_entry(lanepool_i_replay *replay, size_t task,
                                    const lanepool_event *event)
{
    bool is_kept = (replay->keep & LANEPOOL_REPLAY_LANES) != 0;
    size_t lane = is_kept ? lane_of_event(replay, event) : NONE;
    size_t index = replay->tasks[task].first_entry;
    for (; index != NONE; index = replay->entries[index].next_of_task) {
        const lanepool_replay_entry *entry = &replay->entries[index];
        bool is_same_object =
            entry->object_type == event->object_type && entry->object == event->object;
        if (lane != NONE ? entry->lane == lane : is_same_object)
            break;
    }
    return index;
}

static void link_to_lane(lanepool_i_replay *replay, size_t index, bool at_head)
{
    lanepool_replay_entry *entry = &replay->entries[index];
    lanepool_replay_lane *lane = &replay->lanes[entry->lane];
    entry->previous = at_head ? NONE : lane->last_open;
    entry->next = at_head ? lane->first_open : NONE;
    *(entry->previous == NONE ? &lane->first_open : &replay->entries[entry->previous].next) = index;
    *(entry->next == NONE ? &lane->last_open : &replay->entries[entry->next].previous) = index;
    lane->open++;
    lane->waiting++;
    if ((replay->keep & LANEPOOL_REPLAY_TASKS) != 0) {
        *(lane->last_entry == NONE ? &lane->first_entry
                                   : &replay->entries[lane->last_entry].next_of_lane) = index;
        lane->last_entry = index;
    }
}

static void unlink_from_lane(lanepool_i_replay *replay, const lanepool_replay_entry *entry)
{
    lanepool_replay_lane *lane = &replay->lanes[entry->lane];
    *(entry->previous == NONE ? &lane->first_open : &replay->entries[entry->previous].next) =
        entry->next;
    *(entry->next == NONE ? &lane->last_open : &replay->entries[entry->next].previous) =
        entry->previous;
    lane->open--;
    lane->waiting -= entry->arrive_ns == UNSEEN;
    if (lane->open == 0 && (replay->keep & LANEPOOL_REPLAY_LANES) == 0)
        free_lane(replay, entry->lane);
}

static void link_to_task(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_task *task = &replay->tasks[replay->entries[index].task];
    *(task->last_entry == NONE ? &task->first_entry
                               : &replay->entries[task->last_entry].next_of_task) = index;
    task->last_entry = index;
    task->entry_count++;
    task->open++;
    if (replay->entries[index].lane == NONE)
        return;
    task->lane_count++;
    /* Only the second lane shows that the task is a rollup. */
    if (task->lane_count == 2 && task->state == LANEPOOL_REPLAY_WAITING && !task->is_cut)
        replay->seen.latched += task->arrived;
}

size_t lanepool_i_replay_add_entry(lanepool_i_replay *replay, size_t task,
                                   const lanepool_event *event, bool at_head)
{
    size_t index = replay->free_entries;
    if (index == NONE)
        index = replay->seen.entry_count++;
    else
        replay->free_entries = replay->entries[index].next_of_task;
    replay->entries[index] =
        (lanepool_replay_entry){ .task = task,
                                 .lane = lane_of_event(replay, event),
                                 .object = event->object,
                                 .object_type = event->object_type,
                                 .enter_ns = at_head ? UNSEEN : replay->seen.time_ns,
                                 .arrive_ns = UNSEEN,
                                 .visit_ns = UNSEEN,
                                 .visited_ns = UNSEEN,
                                 .release_ns = UNSEEN,
                                 .next_of_task = NONE,
                                 .next_of_lane = NONE };
    link_to_task(replay, index);
    if (replay->entries[index].lane != NONE)
        link_to_lane(replay, index, at_head);
    return index;
}

bool lanepool_i_replay_release(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_entry *entry = &replay->entries[index];
    if (entry->release_ns != UNSEEN)
        return false;
    lanepool_i_replay_end_visit(replay, index);
    replay->seen.to_visit -= lanepool_i_replay_is_to_visit(replay, index);
    entry->release_ns = replay->seen.time_ns;
    replay->tasks[entry->task].open--;
    if (entry->lane != NONE)
        unlink_from_lane(replay, entry);
    lanepool_i_replay_drop_if_over(replay, entry->task);
    return true;
}

/* Gives up the tasks in front of a granted entry: they must be over, unless their modes
 * overlap. */
static void give_up_before(lanepool_i_replay *replay, size_t index)
{
    const lanepool_replay_entry *entry = &replay->entries[index];
    const lanepool_replay_lane *lane = &replay->lanes[entry->lane];
    size_t before = lane->first_open;
    while (before != index && before != NONE) {
        size_t next = replay->entries[before].next;
        if (!lanepool_modes_overlap(entry->mode, replay->entries[before].mode)) {
            lanepool_i_replay_give_up(replay, replay->entries[before].task);
            next = lane->first_open; /* giving up may have released more entries */
        }
        before = next;
    }
}

bool lanepool_i_replay_grant(lanepool_i_replay *replay, size_t index)
{
    lanepool_replay_entry *entry = &replay->entries[index];
    lanepool_replay_task *task = &replay->tasks[entry->task];
    if (entry->arrive_ns != UNSEEN || entry->release_ns != UNSEEN)
        return false;
    entry->arrive_ns = replay->seen.time_ns;
    task->arrived++;
    replay->seen.to_visit += lanepool_i_replay_is_to_visit(replay, index);
    replay->seen.latched +=
        task->state == LANEPOOL_REPLAY_WAITING && task->lane_count > 1 && !task->is_cut;
    if (entry->lane != NONE) {
        replay->lanes[entry->lane].waiting--;
        give_up_before(replay, index);
    }
    return true;
}

void lanepool_i_replay_grant_all(lanepool_i_replay *replay, size_t task)
{
    size_t entry = replay->tasks[task].first_entry;
    for (; entry != NONE; entry = replay->entries[entry].next_of_task)
        lanepool_i_replay_grant(replay, entry);
}

void lanepool_i_replay_release_all(lanepool_i_replay *replay, size_t task)
{
    size_t entry = replay->tasks[task].first_entry;
    for (; entry != NONE; entry = replay->entries[entry].next_of_task)
        lanepool_i_replay_release(replay, entry);
}

/* --- who waits for whom --- */

/* Returns the task in front of an entry: the head of its lane, or the task that it waits for. */
static size_t task_in_front(const lanepool_replay *replay, const lanepool_replay_entry *entry)
{
    if (entry->lane != NONE) {
        size_t head = replay->lanes[entry->lane].first_open;
        size_t task = head == NONE ? NONE : replay->entries[head].task;
        return task == entry->task ? NONE : task;
    }
    if (entry->object_type != LANEPOOL_EVENT_LANE_TASK)
        return NONE;
    const lanepool_i_replay *whole = (const lanepool_i_replay *)replay;
    size_t task = lanepool_i_table_get(&whole->table, LANEPOOL_I_BY_TICKET, entry->object);
    return task != NONE && replay->tasks[task].state < LANEPOOL_REPLAY_ENDED ? task : NONE;
}

size_t lanepool_replay_blocker(const lanepool_replay *replay, size_t task)
{
    if (task >= replay->task_count || replay->tasks[task].state != LANEPOOL_REPLAY_WAITING)
        return NONE;
    size_t index = replay->tasks[task].first_entry;
    for (; index != NONE; index = replay->entries[index].next_of_task) {
        const lanepool_replay_entry *entry = &replay->entries[index];
        bool is_blocked = entry->arrive_ns == UNSEEN && entry->release_ns == UNSEEN;
        size_t front = is_blocked ? task_in_front(replay, entry) : NONE;
        if (front != NONE)
            return front;
    }
    return NONE;
}

size_t lanepool_replay_lane_of(const lanepool_replay *replay, uint8_t type, uint64_t object)
{
    const lanepool_i_replay *whole = (const lanepool_i_replay *)replay;
    return lanepool_i_replay_is_lane(type) ? lanepool_i_table_get(&whole->table, type, object)
                                           : NONE;
}
