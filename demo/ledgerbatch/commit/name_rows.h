/*
 * The rows of a store that are known before the first task: lanes, commodities and accounts.
 */
#ifndef LEDGERBATCH_COMMIT_NAME_ROWS_H
#define LEDGERBATCH_COMMIT_NAME_ROWS_H

#include "plan/plan.h"
#include "store/store.h"

/* A commodity of the plan as it is stored. */
struct stored_commodity store_names_commodity(const struct plan *plan, uint32_t number);

/* Puts them into an empty store. */
bool store_names_put(struct store *store, const struct plan *plan, struct problem *problem);

/*
 * Whether a store has the plan's: outputs are made from the store, where a name or a number of
 * decimals that is not the plan's would go unnoticed.
 */
bool store_names_check(struct store *store, const struct plan *plan, struct problem *problem);

#endif
