/* Owns the distance between what was written and what there is. */
#include "base/nearest.h"

#include <stdio.h>

/* Longer texts are not compared: a hint is not worth the time. */
#define SIZE_MAX_COMPARED 200

struct nearest nearest_to(struct slice wanted)
{
    size_t letters = 0;
    for (size_t i = 0; i < wanted.size; i++) {
        letters += wanted.data[i] != '*' && wanted.data[i] != '?';
    }
    size_t limit = letters < 3 ? 1 : letters / 3 + 1;
    return (struct nearest){ .wanted = wanted, .distance = limit + 1 };
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Computes one row of the table of distances from the row of the letters before. */
static void next_row(size_t *row, char wanted, struct slice name)
{
    size_t diagonal = row[0];
    size_t step = wanted == '*' ? 0 : 1;
    row[0] += step;
    for (size_t i = 1; i <= name.size; i++) {
        size_t above = row[i];
        size_t changed = diagonal + (wanted != '?' && wanted != name.data[i - 1]);
        if (wanted == '*') {
            row[i] = least(above, row[i - 1]);
        } else {
            row[i] = least(changed, least(above, row[i - 1]) + 1);
        }
        diagonal = above;
    }
}

void nearest_try(struct nearest *nearest, struct slice name)
{
    size_t row[SIZE_MAX_COMPARED + 1];
    if (name.size > SIZE_MAX_COMPARED || nearest->wanted.size > SIZE_MAX_COMPARED) {
        return;
    }
    for (size_t i = 0; i <= name.size; i++) {
        row[i] = i;
    }
    for (size_t i = 0; i < nearest->wanted.size; i++) {
        next_row(row, nearest->wanted.data[i], name);
    }
    if (row[name.size] < nearest->distance) {
        nearest->distance = row[name.size];
        nearest->name = name;
    }
}

const char *nearest_hint(const struct nearest *nearest, char text[NEAREST_HINT_SIZE])
{
    text[0] = 0;
    if (nearest->name.size > 0) {
        snprintf(text, NEAREST_HINT_SIZE, "; the nearest is '%.*s'",
                 SLICE_ARGUMENTS(nearest->name));
    }
    return text;
}
