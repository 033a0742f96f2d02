/* Owns recordings in memory, what a good event is, and the writing of the file. */
#include "recording.h"

#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "memory.h"
#include "recording_bytes.h"
#include "text.h"

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
    free(recording->events);
    *recording = (struct recording){ 0 };
}

static char *clean_copy(const char *name)
{
    struct text text = { 0 };
    text_add_clean(&text, name, strlen(name));
    return text.data ? text.data : memory_copy_text("");
}

void recording_name_tag(struct recording *recording, unsigned tag, const char *name)
{
    free(recording->tags[tag]);
    recording->tags[tag] = clean_copy(name);
}

void recording_name_lane(struct recording *recording, uint8_t type, uint64_t object,
                         const char *name)
{
    recording->lanes = memory_grow(recording->lanes, &recording->lane_capacity,
                                   recording->lane_count + 1, sizeof *recording->lanes);
    recording->lanes[recording->lane_count++] =
        (struct recording_lane){ type, object, clean_copy(name) };
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

static bool has_lane(const lanepool_event *event)
{
    return event->type == LANEPOOL_EVENT_ENTER || event->type == LANEPOOL_EVENT_ARRIVE ||
           event->type == LANEPOOL_EVENT_RELEASE || event->type == LANEPOOL_EVENT_NAME;
}

/* Sums of times stay far from the end of 64 bits, and are exact as floating-point numbers. */
#define SPAN_NS_MAX ((uint64_t)1 << 53)

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
    if (event->type == LANEPOOL_EVENT_NAME && (event->detail >= LANEPOOL_EVENT_NAME_MAX ||
                                               event->object_type > LANEPOOL_EVENT_LANE_WORKER)) {
        return "not a part of a lane's name";
    }
    return NULL;
}

const char *recording_check(const struct recording *recording, const lanepool_event *event)
{
    if (event->type < LANEPOOL_EVENT_SUBMIT || event->type > LANEPOOL_EVENT_NAME) {
        return "not a type of event";
    }
    if (event->time_ns < recording->zero_ns) {
        return "earlier than the recording's zero";
    }
    if (event->time_ns - recording->zero_ns > SPAN_NS_MAX) {
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
    return has_lane(event) ? check_lane(recording, event) : NULL;
}

static void add_header(struct text *text, const struct recording *recording)
{
    text_add(text, RECORDING_MAGIC "workers %u\nlayout %s\nzero %llu\nmissed %llu\n",
             recording->worker_count, recording->layout == LANEPOOL_PER_WORKER ? "worker" : "key",
             (unsigned long long)recording->zero_ns, (unsigned long long)recording->missed);
    for (unsigned tag = 0; tag < RECORDING_TAGS; tag++) {
        if (recording->tags[tag]) {
            text_add(text, "tag %u %s\n", tag, recording->tags[tag]);
        }
    }
    for (size_t i = 0; i < recording->lane_count; i++) {
        const struct recording_lane *lane = &recording->lanes[i];
        text_add(text, "lane %s %llu %s\n", recording_lane_types[lane->type],
                 (unsigned long long)lane->object, lane->name);
    }
    text_add(text, "events %llu\n", (unsigned long long)recording->event_count);
}

static void put(unsigned char *bytes, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
}

static void add_record(struct text *text, const lanepool_event *event)
{
    unsigned char bytes[RECORDING_RECORD_SIZE];
    put(bytes, event->time_ns, 8);
    put(bytes + 8, event->task, 8);
    put(bytes + 16, event->object, 8);
    put(bytes + 24, event->detail, 4);
    put(bytes + 28, event->thread, 2);
    bytes[30] = event->type;
    bytes[31] = event->object_type;
    text_add_bytes(text, (const char *)bytes, sizeof bytes);
}

bool recording_write(const struct recording *recording, const char *file, struct problem *problem)
{
    struct text text = { 0 };
    add_header(&text, recording);
    for (size_t i = 0; i < recording->event_count; i++) {
        add_record(&text, &recording->events[i]);
    }
    bool written = file_write(file, text.data, text.size, problem);
    text_fini(&text);
    return written;
}
