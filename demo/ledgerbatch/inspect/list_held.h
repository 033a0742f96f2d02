/*
 * What the status command says about held work.
 */
#ifndef LEDGERBATCH_INSPECT_LIST_HELD_H
#define LEDGERBATCH_INSPECT_LIST_HELD_H

#include "store/stored_book.h"

/* Prints each held client and task, what holds it, rollups that are incomplete or late, and what to
 * do; nothing if nothing is held. */
bool inspect_held(struct store *store, const struct stored_book *book, uint32_t task_count,
                  const char *database, struct problem *problem);

#endif
