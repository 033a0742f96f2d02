/*
 * Loads what month-end steps have to know about the days of a month, from the postings of that
 * month in the store. So an ordinary day reads nothing of earlier ones, and the day that ends a
 * month reads its month.
 */
#ifndef LEDGERBATCH_COMMIT_TALLY_ROWS_H
#define LEDGERBATCH_COMMIT_TALLY_ROWS_H

#include "batch/batch.h"
#include "store/store.h"

/* The batch has its balances, and no task has run yet. Does nothing if no step needs this. */
bool tally_rows_load(struct store *store, struct batch *batch, struct problem *problem);

#endif
