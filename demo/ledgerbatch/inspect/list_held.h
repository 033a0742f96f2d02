/*
 * The part of the status command about held clients and tasks.
 */
#ifndef LEDGERBATCH_INSPECT_LIST_HELD_H
#define LEDGERBATCH_INSPECT_LIST_HELD_H

#include "base/buffer.h"
#include "store/stored_book.h"

/*
 * Prints the held clients and tasks with their holders, and the rollups that are incomplete or
 * late. Prints nothing if nothing is held. Then `advice` is empty, too; otherwise it gets the
 * counts and a command that the user can give.
 */
bool list_held(struct store *store, const struct stored_book *book, uint32_t task_count,
               const char *database, struct buffer *advice, struct problem *problem);

#endif
