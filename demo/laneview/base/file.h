/*
 * Whole files.
 */
#ifndef LANEVIEW_FILE_H
#define LANEVIEW_FILE_H

#include "base/text.h"
#include "problem.h"

/* Reads a whole file into an empty text; "-" is standard input. */
bool file_read(const char *file, struct text *text, struct problem *problem);

/*
 * Writes a file; NULL and "-" are standard output. If the reader of standard output has closed it,
 * that is no error: the reader has seen what it wanted.
 */
bool file_write(const char *file, const char *bytes, size_t size, struct problem *problem);

/* Writes to standard output. Sets `is_gone` to whether the reader has closed it. */
bool file_print(const char *bytes, size_t size, bool *is_gone, struct problem *problem);

/* Adds a file's name without folders and ending, clean. */
void file_add_title(struct text *title, const char *file);

#endif
