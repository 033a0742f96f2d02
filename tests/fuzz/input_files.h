/*
 * An input that stands for files: what comes first is INPUT_FILE_NAME, and every line
 * "==> NAME <==" begins another, which the ones before can include. This file has ledgerbatch's
 * sources_read(), which finds the files there. Each source's bytes lie in a block of exactly their
 * size, so that reading past the end is noticed.
 */
#ifndef TESTS_FUZZ_INPUT_FILES_H
#define TESTS_FUZZ_INPUT_FILES_H

#include "base/slice.h"

#define INPUT_FILE_NAME "input"

/* The text is not copied: it must stay until the next call. */
void input_files_set(struct slice text);

#endif
