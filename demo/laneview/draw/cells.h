/*
 * A rectangle of characters: first drawn on, then printed.
 */
#ifndef LANEVIEW_CELLS_H
#define LANEVIEW_CELLS_H

#include <stdbool.h>

#include "base/text.h"

enum cells_style {
    CELLS_PLAIN,
    CELLS_BOLD,
    CELLS_DIM,
    CELLS_GOOD,
    CELLS_WARN,
    CELLS_BAD,
    CELLS_RETRYING,
    CELLS_PARKED
};

struct cells_character {
    char bytes[5]; /* one character, zero-terminated */
    unsigned char style;
};

struct cells {
    size_t width, height;
    bool is_ascii; /* characters beyond ASCII become ? */
    struct cells_character *items;
};

void cells_init(struct cells *cells, size_t width, size_t height, bool is_ascii);
void cells_fini(struct cells *cells);

/* Writes clean text, cut at the end of the row. Returns the column after the text. */
size_t cells_put(struct cells *cells, size_t x, size_t y, enum cells_style style, const char *text);

/* Writes one character `count` times. */
void cells_fill(struct cells *cells, size_t x, size_t y, size_t count, enum cells_style style,
                const char *character);

/* Returns true if nothing is written there. */
bool cells_is_blank(const struct cells *cells, size_t x, size_t y);

/* Adds all rows, without the spaces at their ends. Each is followed by `line_end`, and before it
 * by `clear` if the row is not full. A terminal's cursor stays on the last character of a full
 * row, and clearing would erase that character. A row is cleared after its text, so that no row
 * is blank while a picture is drawn over the one before. */
void cells_print(struct text *text, const struct cells *cells, bool has_colours, const char *clear,
                 const char *line_end);

#endif
