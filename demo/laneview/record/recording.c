/* Owns recordings in memory, and the check of events. */
#include "record/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "memory.h"

void recording_init(struct recording *recording, unsigned worker_count, lanepool_layout layout,
                    uint64_t zero_ns)
{
    *recording =
        (struct recording){ .worker_count = worker_count, .layout = layout, .zero_ns = zero_ns };
}

void recording_fini(struct recording *recording)
{
    for (size_t i = 0; i < RECORDING_TAGS; i++) {
        free(recording->tags[i]);
    }
    for (size_t i = 0; i < recording->lane_count; i++) {
        free(recording->lanes[i].name);
    }
    free(recording->lanes);
    map_fini(&recording->lane_indexes);
    free(recording->events);
    *recording = (struct recording){ 0 };
}

static char *copy_clean_name(const char *name)
{
    struct text text = { 0 };
    text_add_clean(&text, name, strlen(name));
    return text.data ? text.data : memory_copy_text("");
}

void recording_name_tag(struct recording *recording, unsigned tag, const char *name)
{
    free(recording->tags[tag]);
    recording->tags[tag] = copy_clean_name(name);
}

void recording_name_lane(struct recording *recording, uint8_t type, uint64_t object,
                         const char *name)
{
    recording->lanes = memory_grow(recording->lanes, &recording->lane_capacity,
                                   recording->lane_count + 1, sizeof *recording->lanes);
    if (map_get(&recording->lane_indexes, type, object) == MAP_NONE) {
        map_set(&recording->lane_indexes, type, object, recording->lane_count);
    }
    recording->lanes[recording->lane_count++] =
        (struct recording_lane){ type, object, copy_clean_name(name) };
}

const char *recording_lane_name(const struct recording *recording, uint8_t type, uint64_t object)
{
    size_t index = map_get(&recording->lane_indexes, type, object);
    return index == MAP_NONE ? NULL : recording->lanes[index].name;
}

void recording_add(struct recording *recording, const lanepool_event *events, size_t count)
{
    recording->events = memory_grow(recording->events, &recording->event_capacity,
                                    recording->event_count + count, sizeof *events);
    if (count > 0) {
        memcpy(recording->events + recording->event_count, events, count * sizeof *events);
    }
    recording->event_count += count;
}

static bool is_about_lane(const lanepool_event *event)
{
    return event->type == LANEPOOL_EVENT_ENTER || event->type == LANEPOOL_EVENT_ARRIVE ||
           event->type == LANEPOOL_EVENT_VISIT || event->type == LANEPOOL_EVENT_VISITED ||
           event->type == LANEPOOL_EVENT_RELEASE || event->type == LANEPOOL_EVENT_NAME;
}

/* Sums of such times are exact as floating-point numbers, and far from overflow. */
#define SPAN_MAX_NS ((uint64_t)1 << 53)

static const char *check_lane(const struct recording *recording, const lanepool_event *event)
{
    if (event->object_type < LANEPOOL_EVENT_LANE_ID ||
        event->object_type > LANEPOOL_EVENT_LANE_KIND) {
        return "not a type of lane";
    }
    if (event->object_type == LANEPOOL_EVENT_LANE_WORKER &&
        event->object >= recording->worker_count) {
        return "the lane of a worker that is not there";
    }
    if (event->type == LANEPOOL_EVENT_NAME && (event->detail >> 16 > LANEPOOL_EVENT_NAME_MAX ||
                                               (event->detail & 0xFFFF) >= event->detail >> 16 ||
                                               event->object_type > LANEPOOL_EVENT_LANE_WORKER)) {
        return "not a part of a lane's name";
    }
    return NULL;
}

const char *recording_check(const struct recording *recording, const lanepool_event *event)
{
    if (event->type < LANEPOOL_EVENT_SUBMIT || event->type > LANEPOOL_EVENT_VISITED) {
        return "not a type of event";
    }
    if (event->time_ns < recording->zero_ns) {
        return "earlier than the recording's zero";
    }
    if (event->time_ns - recording->zero_ns > SPAN_MAX_NS) {
        return "more than 104 days after the recording's zero";
    }
    if (event->thread < LANEPOOL_EVENT_OUTSIDE && event->thread >= recording->worker_count) {
        return "on a worker that is not there";
    }
    if (event->type != LANEPOOL_EVENT_NAME && event->task >= RECORDING_TICKET_COUNT) {
        return "not a ticket";
    }
    if (event->type == LANEPOOL_EVENT_ROUTE && event->detail >= RECORDING_TAGS) {
        return "not a tag";
    }
    return is_about_lane(event) ? check_lane(recording, event) : NULL;
}
