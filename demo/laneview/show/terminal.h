/*
 * The terminal that a run is shown on: a screen of its own, keys one by one, and everything as it
 * was before at the end, however the program ends.
 */
#ifndef LANEVIEW_TERMINAL_H
#define LANEVIEW_TERMINAL_H

#include "draw/cells.h"
#include "problem.h"

/* Whether standard output is one on which a picture can be drawn again and again. */
bool terminal_is_there(void);

/* Its size; what it does not tell is told by $COLUMNS and $LINES. */
void terminal_size(size_t *width, size_t *height);

/* Whether colours are wanted there. */
bool terminal_has_colours(void);

/* Puts the screen and the keyboard aside, and back. Both may be called again and again. */
void terminal_enter(void);
void terminal_leave(void);

/* Where keys can be waited for; -1: nowhere. */
int terminal_keys(void);

/* The next key, once there is one; 0: there will be none any more. */
char terminal_read_key(void);

/* Draws a whole screen. `is_gone`: as with file_print(). */
bool terminal_draw(const struct cells *cells, bool *is_gone, struct problem *problem);

#endif
