/*
 * The file of --rejects: the rejected transactions of a batch, each with its place and the reason.
 * It can be corrected, and posted on a later day.
 */
#ifndef LEDGERBATCH_RUN_REJECTS_FILE_H
#define LEDGERBATCH_RUN_REJECTS_FILE_H

#include "plan/plan.h"

/*
 * Writes the file and makes it durable. Does nothing if nothing is rejected, or if the file has
 * this content already; a file with another content is a problem.
 */
bool rejects_file_write(const char *path, const struct plan *plan, struct problem *problem);

#endif
