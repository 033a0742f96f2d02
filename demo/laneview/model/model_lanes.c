/* Owns lanes: how they are named and sorted, and how many entries waited in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory.h"
#include "model/model_internal.h"

/* --- names --- */

/* The name of a lane that the recording does not name. */
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

static struct model_lane name_lane(const struct model *model, const lanepool_replay_lane *lane)
{
    struct text clean = { 0 };
    const char *name = recording_lane_name(model->recording, lane->object_type, lane->object);
    if (lane->name_size > 0) {
        text_add_clean(&clean, lane->name, lane->name_size);
        return (struct model_lane){ clean.data, true };
    }
    return name ? (struct model_lane){ memory_copy_text(name), true }
                : (struct model_lane){ default_name(lane->object_type, lane->object), false };
}

void model_update_lanes(struct model *model, const lanepool_event *event)
{
    const lanepool_replay *replay = model->replay;
    size_t lane = lanepool_replay_lane_of(replay, event->object_type, event->object);
    if (lane < model->lane_count && replay->lanes[lane].name_size > 0 &&
        !model->lanes[lane].is_named) {
        free(model->lanes[lane].name);
        model->lanes[lane] = name_lane(model, &replay->lanes[lane]);
    }
    for (; model->lane_count < replay->lane_count; model->lane_count++) {
        model->lanes = memory_grow(model->lanes, &model->lane_capacity, model->lane_count + 1,
                                   sizeof *model->lanes);
        model->lanes[model->lane_count] = name_lane(model, &replay->lanes[model->lane_count]);
    }
}

/* --- depths --- */

/* A moment at which one more or one fewer entry waits. */
struct change {
    uint64_t time;
    int by;
};

static int compare_changes(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    return (a->time > b->time) - (a->time < b->time);
}

/* Returns the changes by the entries of a lane, sorted by time. The caller frees them. */
static struct change *list_changes(const lanepool_replay *replay, size_t lane, size_t *count)
{
    struct change *changes = NULL;
    size_t capacity = 0, entry = replay->lanes[lane].first_entry;
    for (; entry != LANEPOOL_REPLAY_NONE; entry = replay->entries[entry].next_of_lane) {
        const lanepool_replay_entry *waiting = &replay->entries[entry];
        uint64_t end =
            waiting->arrive_ns < waiting->release_ns ? waiting->arrive_ns : waiting->release_ns;
        uint64_t begin = waiting->enter_ns < end ? waiting->enter_ns : end;
        changes = memory_grow(changes, &capacity, *count + 2, sizeof *changes);
        changes[(*count)++] = (struct change){ begin, 1 };
        if (end != LANEPOOL_REPLAY_UNSEEN) {
            changes[(*count)++] = (struct change){ end, -1 };
        }
    }
    if (*count > 0) {
        qsort(changes, *count, sizeof *changes, compare_changes);
    }
    return changes;
}

struct model_depths model_depths(const struct model *model, size_t lane)
{
    size_t count = 0;
    struct change *changes = list_changes(model->replay, lane, &count);
    struct model_depths depths = { memory_zeroed(count, sizeof *depths.items), 0 };
    int waiting = 0;
    for (size_t i = 0; i < count; i++) {
        waiting += changes[i].by;
        if (i + 1 == count || changes[i + 1].time != changes[i].time) {
            depths.items[depths.count++] =
                (struct model_depth){ changes[i].time, (unsigned)waiting };
        }
    }
    free(changes);
    return depths;
}

/* --- order --- */

struct sorted_lane {
    const struct model_lane *lane;
    const lanepool_replay_lane *replayed;
    size_t index;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Digits within names count as numbers: client 9 is before client 10. */
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
    if (!a->lane->is_named && a->replayed->object_type == b->replayed->object_type &&
        a->replayed->object != b->replayed->object) {
        return compare_numbers(a->replayed->object, b->replayed->object);
    }
    int order = compare_names(a->lane->name, b->lane->name);
    return order != 0 ? order : compare_numbers(a->index, b->index);
}

size_t *model_sorted_lanes(const struct model *model)
{
    struct sorted_lane *sorted = memory_zeroed(model->lane_count, sizeof *sorted);
    size_t *indexes = memory_zeroed(model->lane_count, sizeof *indexes);
    for (size_t i = 0; i < model->lane_count; i++) {
        sorted[i] = (struct sorted_lane){ &model->lanes[i], &model->replay->lanes[i], i };
    }
    qsort(sorted, model->lane_count, sizeof *sorted, compare_lanes);
    for (size_t i = 0; i < model->lane_count; i++) {
        indexes[i] = sorted[i].index;
    }
    free(sorted);
    return indexes;
}
