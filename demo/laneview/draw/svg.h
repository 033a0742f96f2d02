/*
 * A picture of a whole run as SVG: workers above, lanes below, one time axis.
 */
#ifndef LANEVIEW_SVG_H
#define LANEVIEW_SVG_H

#include "base/text.h"
#include "model/model.h"

struct svg_options {
    const char *title; /* clean */
    uint64_t from, to; /* the part of the run to show; `to` is LANEPOOL_REPLAY_UNSEEN for the end */
};

/* The model has been fed all events. */
void svg_draw(struct text *svg, const struct model *model, const struct svg_options *options);

#endif
