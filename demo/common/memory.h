/*
 * Memory for a program that cannot work without it. If memory cannot be allocated, the program ends
 * with a message and exit code 1.
 */
#ifndef DEMO_MEMORY_H
#define DEMO_MEMORY_H

#include <stddef.h>

/* Sets the message; the default is "out of memory". The text is not copied. */
void memory_set_message(const char *message);

/* Ends the program, because memory cannot be allocated. */
_Noreturn void memory_fail(void);

/* Returns zeroed memory for count items; never NULL. */
void *memory_zeroed(size_t count, size_t item_size);

/*
 * Makes room for at least `needed` items in a growing array. Returns the array, which may have
 * moved. *capacity counts items.
 */
void *memory_grow(void *items, size_t *capacity, size_t needed, size_t item_size);

/* Returns a copy of a text. The caller frees it. */
char *memory_copy_text(const char *text);

#endif
