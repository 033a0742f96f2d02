/*
 * The part of the status command about held clients and tasks.
 */
#ifndef LEDGERBATCH_INSPECT_LIST_HELD_H
#define LEDGERBATCH_INSPECT_LIST_HELD_H

#include "store/stored_book.h"

/*
 * Prints the held clients and tasks with their holders, and the rollups that are incomplete or
 * late. Then prints a command that the user can give. Prints nothing if nothing is held.
 */
bool list_held(struct store *store, const struct stored_book *book, uint32_t task_count,
               const char *database, struct problem *problem);

#endif
