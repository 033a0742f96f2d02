/*
 * One frame of the live view: what the model is like now. Nothing but the model and the options
 * decides what it looks like.
 */
#ifndef LANEVIEW_FRAME_H
#define LANEVIEW_FRAME_H

#include "draw/cells.h"
#include "model/model.h"

struct frame_options {
    const char *title;  /* clean */
    const char *footer; /* clean; NULL: none */
    size_t width, height;
    bool is_ascii;
};

/* The cells are initialised here, and finished by the caller. */
void frame_draw(struct cells *cells, const struct model *model,
                const struct frame_options *options);

/* How many rows a frame without a footer needs to show everything. */
size_t frame_height(const struct model *model);

/* The same in one line, for when there is no terminal. */
void frame_line(struct text *text, const struct model *model);

#endif
