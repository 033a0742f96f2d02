/*
 * The rows about the whole input: how much the transactions say about each commodity. They are
 * written once, from the plan. The control totals are compared with them.
 */
#ifndef LEDGERBATCH_COMMIT_INPUT_TOTALS_H
#define LEDGERBATCH_COMMIT_INPUT_TOTALS_H

#include "plan/plan.h"
#include "store/store.h"

bool input_totals_put(struct store *store, const struct plan *plan, struct problem *problem);

#endif
