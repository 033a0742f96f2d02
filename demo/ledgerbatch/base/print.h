/*
 * Standard output. Texts of the input must not control a terminal: control characters other than
 * tabs and newlines are printed as \xHH.
 */
#ifndef LEDGERBATCH_BASE_PRINT_H
#define LEDGERBATCH_BASE_PRINT_H

#include "base/slice.h"

/* Prints a text. The caller checks the stream for errors. */
void print_slice(struct slice text);

/* Prints as printf() does. */
__attribute__((format(printf, 1, 2))) void print_format(const char *format, ...);

#endif
