/*
 * The rows about user's steps that begin a batch: which objects it uses, and the prices that later
 * batches need.
 */
#ifndef LEDGERBATCH_COMMIT_STEP_ROWS_H
#define LEDGERBATCH_COMMIT_STEP_ROWS_H

#include "plan/plan.h"
#include "store/store.h"

/* Puts the steps of a batch, and all prices that a later month-end may need. */
bool step_rows_put(struct store *store, const struct plan *plan, uint32_t batch,
                   struct problem *problem);

/*
 * Checks that the steps of a batch in the store have the objects of the plan. If one has not, the
 * problem names it.
 */
bool step_rows_check(struct store *store, const struct plan *plan, uint32_t batch,
                     const char *database, struct problem *problem);

#endif
