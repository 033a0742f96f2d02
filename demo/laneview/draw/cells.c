/* Owns rectangles of characters. */
#include "draw/cells.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

static const char *const escapes[] = {
    [CELLS_PLAIN] = "\033[0m",     [CELLS_BOLD] = "\033[1m",      [CELLS_DIM] = "\033[2m",
    [CELLS_GOOD] = "\033[32m",     [CELLS_WARN] = "\033[33m",     [CELLS_BAD] = "\033[31m",
    [CELLS_RETRYING] = "\033[36m", [CELLS_PARKED] = "\033[1;35m",
};

void cells_init(struct cells *cells, size_t width, size_t height, bool is_ascii)
{
    *cells = (struct cells){ width, height, is_ascii,
                             memory_zeroed(width * height, sizeof *cells->items) };
    for (size_t y = 0; y < height; y++) {
        cells_fill(cells, 0, y, width, CELLS_PLAIN, " ");
    }
}

void cells_fini(struct cells *cells)
{
    free(cells->items);
    *cells = (struct cells){ 0 };
}

size_t cells_put(struct cells *cells, size_t x, size_t y, enum cells_style style, const char *text)
{
    while (*text && x < cells->width && y < cells->height) {
        struct cells_character *cell = &cells->items[y * cells->width + x];
        size_t size = text_character(text, strlen(text));
        if (size == 0) {
            break;
        }
        memset(cell->bytes, 0, sizeof cell->bytes);
        memcpy(cell->bytes, cells->is_ascii && size > 1 ? "?" : text, cells->is_ascii ? 1 : size);
        cell->style = (unsigned char)style;
        text += size;
        x++;
    }
    return x;
}

void cells_fill(struct cells *cells, size_t x, size_t y, size_t count, enum cells_style style,
                const char *character)
{
    for (size_t i = 0; i < count; i++) {
        cells_put(cells, x + i, y, style, character);
    }
}

bool cells_is_blank(const struct cells *cells, size_t x, size_t y)
{
    return x >= cells->width || y >= cells->height ||
           strcmp(cells->items[y * cells->width + x].bytes, " ") == 0;
}

static size_t used_width(const struct cells *cells, size_t y)
{
    size_t width = cells->width;
    while (width > 0 && cells_is_blank(cells, width - 1, y)) {
        width--;
    }
    return width;
}

void cells_print(struct text *text, const struct cells *cells, bool has_colours, const char *clear,
                 const char *line_end)
{
    for (size_t y = 0; y < cells->height; y++) {
        unsigned char style = CELLS_PLAIN;
        size_t width = used_width(cells, y);
        for (size_t x = 0; x < width; x++) {
            const struct cells_character *cell = &cells->items[y * cells->width + x];
            if (has_colours && cell->style != style) {
                style = cell->style;
                text_add(text, "%s%s", escapes[CELLS_PLAIN],
                         style == CELLS_PLAIN ? "" : escapes[style]);
            }
            text_add(text, "%s", cell->bytes);
        }
        text_add(text, "%s%s%s", style != CELLS_PLAIN ? escapes[CELLS_PLAIN] : "",
                 width < cells->width ? clear : "", line_end);
    }
}
