/*
 * The terminal that standard output is, and frames on it.
 */
#ifndef LANEVIEW_SCREEN_H
#define LANEVIEW_SCREEN_H

#include "model.h"

struct screen_options {
    const char *title; /* clean */
    bool is_ascii;
};

/* Whether standard output is a terminal. */
bool screen_is_there(void);

/* Draws a frame over the one before, in colours unless NO_COLOR is set. */
bool screen_draw(const struct model *model, const struct screen_options *options,
                 struct problem *problem);

/* Hides the cursor, which else jumps about, and shows it again. */
void screen_begin(void);
void screen_end(void);

#endif
