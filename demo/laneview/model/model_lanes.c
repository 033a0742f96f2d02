/* Owns lanes: how they are identified, named and sorted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory.h"
#include "model/model_internal.h"

/* --- identity and names --- */

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

static size_t add_lane(struct model *model, uint8_t type, uint64_t object)
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

static struct model_alias *find_or_add_alias(struct model *model, const lanepool_event *event)
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

/* An event has up to eight bytes of the name, the first one lowest. Missed parts stay as they
 * were. */
void model_name_lane(struct model *model, const lanepool_event *event)
{
    struct model_alias *alias = find_or_add_alias(model, event);
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

static size_t find_lane_by_name(const struct model *model, uint8_t type, const char *name)
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
 * Gives a lane the name from NAME events. The number of a byte string may be reused for another
 * string, and a string may return under another number. So the name decides which lane it is.
 */
static void apply_name(struct model *model, const lanepool_event *event, struct model_alias *alias)
{
    struct text name = { 0 };
    text_add_clean(&name, alias->name, alias->size);
    alias->is_new = false;
    if (alias->size == 0) {
        return;
    }
    size_t known = find_lane_by_name(model, event->object_type, name.data);
    if (known != MODEL_NONE) {
        alias->lane = known;
    } else {
        if (alias->lane == MODEL_NONE || model->lanes[alias->lane].is_named) {
            alias->lane = add_lane(model, event->object_type, event->object);
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
    struct model_alias *alias = find_or_add_alias(model, event);
    if (alias->is_new) {
        apply_name(model, event, alias);
    }
    if (alias->lane == MODEL_NONE) {
        alias->lane = add_lane(model, event->object_type, event->object);
    }
    return alias->lane;
}

/* --- order --- */

struct sorted_lane {
    const struct model_lane *lane;
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
