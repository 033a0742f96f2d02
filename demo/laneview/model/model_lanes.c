/* Owns lanes: how they are identified and named, and the entries in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory.h"
#include "model/model_internal.h"

/* --- which lane --- */

/* What a lane is called that nobody has named. */
static char *default_name(uint8_t type, uint64_t object)
{
    static const char *const formats[] = { [LANEPOOL_EVENT_LANE_ID] = "%llu",
                                           [LANEPOOL_EVENT_LANE_POINTER] = "0x%llx",
                                           [LANEPOOL_EVENT_LANE_BYTES] = "key %llu",
                                           [LANEPOOL_EVENT_LANE_WORKER] = "worker %llu" };
    char name[32];
    snprintf(name, sizeof name, formats[type], (unsigned long long)object);
    return memory_copy_text(name);
}

static size_t new_lane(struct model *model, uint8_t type, uint64_t object)
{
    model->lanes = memory_grow(model->lanes, &model->lane_capacity, model->lane_count + 1,
                               sizeof *model->lanes);
    const char *name = recording_lane_name(model->recording, type, object);
    model->lanes[model->lane_count] =
        (struct model_lane){ .type = type,
                             .object = object,
                             .name = name ? memory_copy_text(name) : default_name(type, object),
                             .is_named = name != NULL,
                             .first_open = MODEL_NONE,
                             .last_open = MODEL_NONE };
    return model->lane_count++;
}

static struct model_alias *alias_of(struct model *model, const lanepool_event *event)
{
    size_t index = map_get(&model->lane_aliases, event->object_type, event->object);
    if (index == MAP_NONE) {
        model->aliases = memory_grow(model->aliases, &model->alias_capacity, model->alias_count + 1,
                                     sizeof *model->aliases);
        index = model->alias_count++;
        model->aliases[index] = (struct model_alias){ .lane = MODEL_NONE };
        map_set(&model->lane_aliases, event->object_type, event->object, index);
    }
    return &model->aliases[index];
}

/* Up to eight bytes, the first one lowest. What of a name is missing stays as it was. */
void model_name_lane(struct model *model, const lanepool_event *event)
{
    struct model_alias *alias = alias_of(model, event);
    size_t at = event->detail & 0xFFFF;
    alias->size = event->detail >> 16;
    if (alias->size > sizeof alias->name) {
        alias->size = sizeof alias->name;
    }
    for (size_t i = 0; i < 8 && at + i < alias->size; i++) {
        alias->name[at + i] = (char)(unsigned char)(event->task >> 8 * i);
    }
    alias->is_new = true;
}

static size_t lane_named(const struct model *model, uint8_t type, const char *name)
{
    for (size_t i = 0; i < model->lane_count; i++) {
        const struct model_lane *lane = &model->lanes[i];
        if (lane->type == type && lane->is_named && strcmp(lane->name, name) == 0) {
            return i;
        }
    }
    return MODEL_NONE;
}

/*
 * Numbers of byte strings are used again for other strings, and a string may come back under
 * another number: its name decides which lane it is.
 */
static void give_name(struct model *model, const lanepool_event *event, struct model_alias *alias)
{
    struct text name = { 0 };
    text_add_clean(&name, alias->name, alias->size);
    alias->is_new = false;
    if (alias->size == 0) {
        return;
    }
    size_t known = lane_named(model, event->object_type, name.data);
    if (known != MODEL_NONE) {
        alias->lane = known;
    } else {
        if (alias->lane == MODEL_NONE || model->lanes[alias->lane].is_named) {
            alias->lane = new_lane(model, event->object_type, event->object);
        }
        struct model_lane *lane = &model->lanes[alias->lane];
        free(lane->name);
        lane->name = name.data;
        lane->is_named = true;
        return;
    }
    text_fini(&name);
}

size_t model_lane_of(struct model *model, const lanepool_event *event)
{
    if (event->object_type >= LANEPOOL_EVENT_LANE_TASK) {
        return MODEL_NONE;
    }
    struct model_alias *alias = alias_of(model, event);
    if (alias->is_new) {
        give_name(model, event, alias);
    }
    if (alias->lane == MODEL_NONE) {
        alias->lane = new_lane(model, event->object_type, event->object);
    }
    return alias->lane;
}

/* --- entries --- */

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
            model->latched += owner->arrived; /* only now it is known to be a rollup */
        }
        link_entry(model, index, at_head);
    }
    return index;
}

/* What stood before an entry that has arrived is over, unless both share the lane. */
static void give_up_before(struct model *model, size_t index)
{
    const struct model_entry *entry = &model->entries[index];
    size_t before = model->lanes[entry->lane].first_open;
    while (before != index && before != MODEL_NONE) {
        size_t next = model->entries[before].next;
        if (!entry->shared || !model->entries[before].shared) {
            model_give_up(model, model->entries[before].task);
            next = model->lanes[entry->lane].first_open; /* others may have gone with it */
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

/* --- their order --- */

struct sorted_lane {
    const struct model_lane *lane;
    size_t index;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Digits within names count as numbers: client 9 stands before client 10. */
static int compare_names(const char *a, const char *b)
{
    while (*a && *b) {
        size_t a_digits = strspn(a, "0123456789"), b_digits = strspn(b, "0123456789");
        if (a_digits > 0 && b_digits > 0) {
            int order = compare_numbers(strtoull(a, NULL, 10), strtoull(b, NULL, 10));
            if (order != 0) {
                return order;
            }
            a += a_digits;
            b += b_digits;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static int compare_lanes(const void *left, const void *right)
{
    const struct sorted_lane *a = left, *b = right;
    if (a->lane->is_named != b->lane->is_named) {
        return b->lane->is_named - a->lane->is_named;
    }
    if (!a->lane->is_named && a->lane->type == b->lane->type &&
        a->lane->object != b->lane->object) {
        return compare_numbers(a->lane->object, b->lane->object);
    }
    int order = compare_names(a->lane->name, b->lane->name);
    return order != 0 ? order : compare_numbers(a->index, b->index);
}

size_t *model_sorted_lanes(const struct model *model)
{
    struct sorted_lane *sorted = memory_zeroed(model->lane_count, sizeof *sorted);
    size_t *indexes = memory_zeroed(model->lane_count, sizeof *indexes);
    for (size_t i = 0; i < model->lane_count; i++) {
        sorted[i] = (struct sorted_lane){ &model->lanes[i], i };
    }
    qsort(sorted, model->lane_count, sizeof *sorted, compare_lanes);
    for (size_t i = 0; i < model->lane_count; i++) {
        indexes[i] = sorted[i].index;
    }
    free(sorted);
    return indexes;
}
