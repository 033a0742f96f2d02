/* Owns entries: when a task enters a lane, is granted, and leaves the lane. */
#include "memory.h"
#include "model/model_internal.h"

static void note_depth(struct model *model, struct model_lane *lane)
{
    struct model_depth *last = lane->depth_count ? &lane->depths[lane->depth_count - 1] : NULL;
    if (!last || last->time != model->now) {
        lane->depths = memory_grow(lane->depths, &lane->depth_capacity, lane->depth_count + 1,
                                   sizeof *lane->depths);
        last = &lane->depths[lane->depth_count++];
        last->time = model->now;
    }
    last->waiting = lane->waiting;
}

size_t model_find_entry(struct model *model, size_t task, const lanepool_event *event)
{
    size_t lane = model_lane_of(model, event);
    size_t index = model->tasks[task].first_entry;
    for (; index != MODEL_NONE; index = model->entries[index].next_of_task) {
        const struct model_entry *entry = &model->entries[index];
        bool same_object =
            entry->object_type == event->object_type && entry->object == event->object;
        if (entry->lane == lane && (lane != MODEL_NONE || same_object)) {
            return index;
        }
    }
    return MODEL_NONE;
}

static void link_entry(struct model *model, size_t index, bool at_head)
{
    struct model_entry *entry = &model->entries[index];
    struct model_lane *lane = &model->lanes[entry->lane];
    entry->previous = at_head ? MODEL_NONE : lane->last_open;
    entry->next = at_head ? lane->first_open : MODEL_NONE;
    *(entry->previous == MODEL_NONE ? &lane->first_open : &model->entries[entry->previous].next) =
        index;
    *(entry->next == MODEL_NONE ? &lane->last_open : &model->entries[entry->next].previous) = index;
    lane->open++;
    lane->waiting++;
    lane->entries = memory_grow(lane->entries, &lane->entry_capacity, lane->entry_count + 1,
                                sizeof *lane->entries);
    lane->entries[lane->entry_count++] = index;
    note_depth(model, lane);
}

size_t model_add_entry(struct model *model, size_t task, const lanepool_event *event, bool at_head)
{
    size_t index = model->entry_count;
    model->entries =
        memory_grow(model->entries, &model->entry_capacity, index + 1, sizeof *model->entries);
    model->entry_count++;
    model->entries[index] = (struct model_entry){ .task = task,
                                                  .lane = model_lane_of(model, event),
                                                  .object = event->object,
                                                  .object_type = event->object_type,
                                                  .enter = MODEL_UNSEEN,
                                                  .arrive = MODEL_UNSEEN,
                                                  .release = MODEL_UNSEEN,
                                                  .next_of_task = MODEL_NONE };
    struct model_task *owner = &model->tasks[task];
    *(owner->last_entry == MODEL_NONE ? &owner->first_entry
                                      : &model->entries[owner->last_entry].next_of_task) = index;
    owner->last_entry = index;
    owner->entry_count++;
    if (model->entries[index].lane != MODEL_NONE) {
        owner->lane_count++;
        if (owner->lane_count == 2 && owner->state == MODEL_WAITING) {
            model->latched += owner->arrived; /* only the second lane shows that it is a rollup */
        }
        link_entry(model, index, at_head);
    }
    return index;
}

void model_release(struct model *model, size_t index)
{
    struct model_entry *entry = &model->entries[index];
    if (entry->release != MODEL_UNSEEN) {
        return;
    }
    entry->release = model->now;
    if (entry->lane == MODEL_NONE) {
        return;
    }
    struct model_lane *lane = &model->lanes[entry->lane];
    *(entry->previous == MODEL_NONE ? &lane->first_open : &model->entries[entry->previous].next) =
        entry->next;
    *(entry->next == MODEL_NONE ? &lane->last_open : &model->entries[entry->next].previous) =
        entry->previous;
    lane->open--;
    if (entry->arrive == MODEL_UNSEEN) {
        lane->waiting--;
        note_depth(model, lane);
    }
}

void model_give_up(struct model *model, size_t task)
{
    if (model->tasks[task].state < MODEL_ENDED &&
        model_advance_task(model, task, MODEL_CANCELLED)) {
        model_pop_run(model, task);
    }
    size_t entry = model->tasks[task].first_entry;
    for (; entry != MODEL_NONE; entry = model->entries[entry].next_of_task) {
        model_release(model, entry);
    }
}

/* Gives up the tasks in front of a granted entry: they must be over, unless both share the lane. */
static void give_up_before(struct model *model, size_t index)
{
    const struct model_entry *entry = &model->entries[index];
    size_t before = model->lanes[entry->lane].first_open;
    while (before != index && before != MODEL_NONE) {
        size_t next = model->entries[before].next;
        if (!entry->shared || !model->entries[before].shared) {
            model_give_up(model, model->entries[before].task);
            next =
                model->lanes[entry->lane].first_open; /* giving up may have released more entries */
        }
        before = next;
    }
}

void model_arrive(struct model *model, size_t index)
{
    struct model_entry *entry = &model->entries[index];
    struct model_task *task = &model->tasks[entry->task];
    if (entry->arrive != MODEL_UNSEEN || entry->release != MODEL_UNSEEN) {
        return;
    }
    entry->arrive = model->now;
    task->arrived++;
    if (task->state == MODEL_WAITING && model_is_rollup(task)) {
        model->latched++;
    }
    if (entry->lane != MODEL_NONE) {
        model->lanes[entry->lane].waiting--;
        note_depth(model, &model->lanes[entry->lane]);
        give_up_before(model, index);
    }
}

void model_arrive_everywhere(struct model *model, size_t task)
{
    size_t entry = model->tasks[task].first_entry;
    for (; entry != MODEL_NONE; entry = model->entries[entry].next_of_task) {
        model_arrive(model, entry);
    }
}

unsigned model_arrived_at(const struct model *model, size_t task, uint64_t time)
{
    unsigned arrived = 0;
    size_t entry = model->tasks[task].first_entry;
    for (; entry != MODEL_NONE; entry = model->entries[entry].next_of_task) {
        arrived += model->entries[entry].arrive <= time;
    }
    return arrived;
}

unsigned model_entries_at(const struct model *model, size_t task, uint64_t time)
{
    unsigned count = 0;
    size_t index = model->tasks[task].first_entry;
    for (; index != MODEL_NONE; index = model->entries[index].next_of_task) {
        const struct model_entry *entry = &model->entries[index];
        count += entry->arrive != MODEL_UNSEEN || entry->release > time;
    }
    return count;
}
