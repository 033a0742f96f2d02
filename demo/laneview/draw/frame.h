/*
 * One frame of the live view: the model's current state. A frame depends on nothing but the model
 * and the options.
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

/* Initialises the cells, which the caller finishes. */
void frame_draw(struct cells *cells, const struct model *model,
                const struct frame_options *options);

/* The number of rows that a frame without a footer needs to show everything. */
size_t frame_height(const struct model *model);

/* Adds a summary of the current state in one line, for use without a terminal. */
void frame_line(struct text *text, const struct model *model);

#endif
