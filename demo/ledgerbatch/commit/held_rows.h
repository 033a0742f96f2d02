/*
 * The rows of the store about held clients and tasks. The status command prints them, and a retry
 * reads them.
 */
#ifndef LEDGERBATCH_COMMIT_HELD_ROWS_H
#define LEDGERBATCH_COMMIT_HELD_ROWS_H

#include "batch/quarantine.h"
#include "store/store.h"

/* Which of the held clients a command resumes. */
struct held_choice {
    bool is_retry; /* the command retry, which names clients or all; else all are resumed */
    bool all;
    const char *const *clients;
    size_t client_count;
};

/*
 * Holds the lanes that failed and are not resumed. Called before any task runs. Counts the held
 * lanes. A retry is a problem if there are none, and nothing has been deferred.
 */
bool held_rows_load(struct store *store, struct quarantine *quarantine,
                    const struct held_choice *choice, size_t deferral_count, size_t *held_count,
                    struct problem *problem);

/* Replaces the rows in one commit. Called when no task runs any more. */
bool held_rows_record(struct store *store, struct quarantine *quarantine, struct problem *problem);

#endif
