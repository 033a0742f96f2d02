/*
 * Finds the name that the user has probably meant.
 */
#ifndef LEDGERBATCH_BASE_NEAREST_H
#define LEDGERBATCH_BASE_NEAREST_H

#include <stddef.h>

#include "base/slice.h"

struct nearest {
    struct slice wanted; /* a name or a pattern, as the user wrote it */
    struct slice name;   /* the best so far; empty: none is near */
    size_t distance;
};

struct nearest nearest_to(struct slice wanted);

/*
 * Compares one more name. The distance is the number of letters to change, add or remove. In the
 * wanted text, '*' stands for any letters, and '?' for any one. Names with many more changes
 * than a third of the wanted letters are not near.
 */
void nearest_try(struct nearest *nearest, struct slice name);

/* Room for the hint of nearest_hint(). */
#define NEAREST_HINT_SIZE 256

/* Writes "; the nearest is 'NAME'", or nothing if no name is near. Returns `text`. */
const char *nearest_hint(const struct nearest *nearest, char text[NEAREST_HINT_SIZE]);

#endif
