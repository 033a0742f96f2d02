/*
 * What is held, on its way to the store: so that the status command can say it,
 * and a retry knows whom to leave alone.
 */
#ifndef LEDGERBATCH_COMMIT_HELD_ROWS_H
#define LEDGERBATCH_COMMIT_HELD_ROWS_H

#include "batch/quarantine.h"
#include "store/store.h"

/* Whom a command resumes of those that are held. */
struct held_choice {
    bool is_retry; /* it must name somebody; otherwise all are resumed, if there are any */
    bool all;
    const char *const *clients;
    size_t client_count;
};

/* Holds the lanes that have failed and are not resumed, before any task runs. */
bool held_load(struct store *store, struct quarantine *quarantine, const struct held_choice *choice,
               struct problem *problem);

/* Replaces what the store says is held, in one commit. No task runs any more. */
bool held_record(struct store *store, struct quarantine *quarantine, struct problem *problem);

#endif
