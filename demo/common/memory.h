/*
 * Memory for a program that cannot go on without it: running out ends the
 * program with a message and exit code 1.
 */
#ifndef DEMO_MEMORY_H
#define DEMO_MEMORY_H

#include <stddef.h>

/* What is printed before the program ends: at first "out of memory". The text must stay. */
void memory_set_message(const char *message);

/* Zeroed memory for count items; never NULL. */
void *memory_zeroed(size_t count, size_t item_size);

/*
 * Makes room for at least `needed` items in a growing array and returns where
 * it now lies. *capacity is kept in items.
 */
void *memory_grow(void *items, size_t *capacity, size_t needed, size_t item_size);

/* A copy of a text, to be freed. */
char *memory_copy_text(const char *text);

#endif
