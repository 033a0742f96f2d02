/*
 * The rows about the input of a batch that are few: rejected transactions, reopened months.
 */
#ifndef LEDGERBATCH_COMMIT_INPUT_ROWS_H
#define LEDGERBATCH_COMMIT_INPUT_ROWS_H

#include "plan/plan.h"
#include "store/store.h"

/* Puts the months that the plan reopens. */
bool input_rows_put_months(struct store *store, const struct plan *plan, struct problem *problem);

/* Puts the transactions that the plan rejects, and their sums. */
bool input_rows_put_rejects(struct store *store, const struct plan *plan, struct problem *problem);

#endif
