/*
 * A whole run as text: a row for each worker and each lane, time to the right.
 */
#ifndef LANEVIEW_TIMELINE_H
#define LANEVIEW_TIMELINE_H

#include "base/text.h"
#include "model/model.h"

struct timeline_options {
    size_t width; /* of the whole text */
    bool is_ascii;
    uint64_t from, to; /* the part of the run to show; `to` is LANEPOOL_REPLAY_UNSEEN for the end */
};

/* The model has been fed all events. */
void timeline_draw(struct text *text, const struct model *model,
                   const struct timeline_options *options);

#endif
