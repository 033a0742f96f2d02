/*
 * Posting the transactions of the input.
 */
#ifndef LEDGERBATCH_BATCH_POST_H
#define LEDGERBATCH_BATCH_POST_H

#include "batch/batch.h"

/* Posts or refuses a transaction, and sets its outcome. Returns 0, or BATCH_FAILED. */
int post_transaction(struct batch *batch, struct task *task);

/* Refuses a transaction that an operator skips. Returns false if it is none: then it must run. */
bool post_is_skipped(struct batch *batch, struct task *task);

#endif
