/*
 * The begin and the end of all commands that only read a database.
 */
#ifndef LEDGERBATCH_INSPECT_EXISTING_H
#define LEDGERBATCH_INSPECT_EXISTING_H

#include "store/store.h"

/* Opens a database that a batch has written to. Returns NULL after a problem. */
struct store *inspect_open(const char *database, struct store_facts *facts,
                           struct problem *problem);
/* Says on standard error that the batch is not finished, if it is not. */
void inspect_warn(const char *database, const struct store_facts *facts, const char *what);
/* Returns false, with the problem set, if standard output cannot be written. */
bool inspect_flush(struct problem *problem);

#endif
