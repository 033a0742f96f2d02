/*
 * The rows that begin a batch: its facts, the files that it posts, and the names that are new.
 */
#ifndef LEDGERBATCH_COMMIT_BATCH_ROWS_H
#define LEDGERBATCH_COMMIT_BATCH_ROWS_H

#include "plan/plan.h"
#include "store/store.h"

/* Returns the facts of the batch that a plan makes, with the state STORE_UNFINISHED. */
struct store_facts batch_rows_facts(const struct plan *plan);

/* Begins the batch in one commit. The store is empty, or all earlier batches have ended. */
bool batch_rows_begin(struct store *store, const struct plan *plan, struct problem *problem);

/* Checks that no file with transactions was posted by an earlier batch. */
bool batch_rows_check_files(struct store *store, const struct plan *plan, struct problem *problem);

#endif
