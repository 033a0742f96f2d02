/*
 * Names of files and folders that are made from names in the input.
 */
#ifndef LEDGERBATCH_BASE_FILE_NAME_H
#define LEDGERBATCH_BASE_FILE_NAME_H

#include "base/buffer.h"

/*
 * Appends a name as one component of a path: '/', '%', control bytes and a leading dot become %XX.
 */
void file_name_add(struct buffer *path, struct slice name);

#endif
