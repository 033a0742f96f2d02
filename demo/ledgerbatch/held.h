/*
 * What is held, on its way to the store: so that the status command can say it,
 * and a retry knows whom to leave alone.
 */
#ifndef LEDGERBATCH_HELD_H
#define LEDGERBATCH_HELD_H

#include "quarantine.h"
#include "store.h"

/* Replaces what the store says is held, in one commit. No task runs any more. */
bool held_record(struct store *store, struct quarantine *quarantine, struct problem *problem);

#endif
