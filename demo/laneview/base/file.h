/*
 * Whole files.
 */
#ifndef LANEVIEW_FILE_H
#define LANEVIEW_FILE_H

#include "base/text.h"
#include "problem.h"

/* Reads all of a file, "-" being standard input, into an empty text. */
bool file_read(const char *file, struct text *text, struct problem *problem);

/*
 * Writes a file; NULL and "-" are standard output. A reader of standard output that has gone is
 * no error: it has seen what it wanted.
 */
bool file_write(const char *file, const char *bytes, size_t size, struct problem *problem);

/* Writes to standard output; `is_gone` tells whether its reader has gone. */
bool file_print(const char *bytes, size_t size, bool *is_gone, struct problem *problem);

/* A file's name without folders and ending, clean. */
void file_add_title(struct text *title, const char *file);

#endif
