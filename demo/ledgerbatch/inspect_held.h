/*
 * What the status command says about held work.
 */
#ifndef LEDGERBATCH_INSPECT_HELD_H
#define LEDGERBATCH_INSPECT_HELD_H

#include "stored_book.h"

/* Prints each held client and task, what holds it, and what to do; nothing if nothing is held. */
bool inspect_held(struct store *store, const struct stored_book *book, const char *database,
                  struct problem *problem);

#endif
