/*
 * What suites of the model share: events, told one by one.
 */
#ifndef LANEVIEW_STORY_H
#define LANEVIEW_STORY_H

#include "model/model.h"

struct story {
    struct recording recording;
    struct model model;
};

static inline void begin_with(struct story *story, lanepool_layout layout, bool has_history)
{
    recording_init(&story->recording, 2, layout, 0);
    model_init(&story->model, &story->recording, has_history);
}

static inline void begin(struct story *story, lanepool_layout layout)
{
    begin_with(story, layout, true);
}

static inline void end(struct story *story)
{
    model_fini(&story->model);
    recording_fini(&story->recording);
}

/* An event of a task, in the lane of an id where it has one. */
static inline void tell_on(struct story *story, uint16_t thread, uint64_t time, int type,
                           uint64_t task, uint64_t object, uint32_t detail)
{
    lanepool_event event = { .time_ns = time,
                             .task = task,
                             .object = object,
                             .detail = detail,
                             .thread = thread,
                             .type = (uint8_t)type,
                             .object_type = LANEPOOL_EVENT_LANE_ID };
    model_feed(&story->model, &event);
}

static inline void tell(struct story *story, uint64_t time, int type, uint64_t task,
                        uint64_t object, uint32_t detail)
{
    tell_on(story, 0, time, type, task, object, detail);
}

#endif
