/*
 * The terminal on which a run is shown: a screen of its own, and single keys. At the end everything
 * is as before, however the program ends.
 */
#ifndef LANEVIEW_TERMINAL_H
#define LANEVIEW_TERMINAL_H

#include "draw/cells.h"
#include "problem.h"

/* Returns true if standard output is a terminal on which pictures can be redrawn. */
bool terminal_is_there(void);

/* The size of the terminal; from $COLUMNS and $LINES if the terminal does not report it. */
void terminal_size(size_t *width, size_t *height);

/* Returns true unless $NO_COLOR is set. */
bool terminal_has_colours(void);

/* Switches to the other screen and to single keys, and back. Either may be called repeatedly. */
void terminal_enter(void);
void terminal_leave(void);

/* The file from which keys can be read; -1 if there is none. */
int terminal_keys(void);

/* Reads the next key; 0 if no more keys come. */
char terminal_read_key(void);

/* Draws a whole screen. `is_gone` is as for file_print(). */
bool terminal_draw(const struct cells *cells, bool *is_gone, struct problem *problem);

#endif
