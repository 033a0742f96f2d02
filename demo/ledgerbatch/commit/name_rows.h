/*
 * The rows of a store that are written before the first task: lanes, commodities and accounts.
 */
#ifndef LEDGERBATCH_COMMIT_NAME_ROWS_H
#define LEDGERBATCH_COMMIT_NAME_ROWS_H

#include "plan/plan.h"
#include "store/store.h"

/* Returns the row of a commodity of the plan. */
struct stored_commodity name_rows_commodity(const struct plan *plan, uint32_t number);

/* Returns the row of a lane of the plan, without progress. */
struct stored_lane name_rows_lane(const struct plan *plan, uint32_t number);

/* Puts the commodities and accounts that are new in the plan, and sets the lanes of the others. */
bool name_rows_put(struct store *store, const struct plan *plan, struct problem *problem);

/*
 * Checks that the rows of a store are those of the plan. Outputs are made from the store, so a
 * wrong name or number of decimals in it would not be noticed later.
 */
bool name_rows_check(struct store *store, const struct plan *plan, struct problem *problem);

#endif
