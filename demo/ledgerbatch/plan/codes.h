/*
 * The check of --unique-codes: no two transactions have the same code.
 */
#ifndef LEDGERBATCH_PLAN_CODES_H
#define LEDGERBATCH_PLAN_CODES_H

#include "plan/opening.h"

/*
 * Finds transactions whose code belongs to one that was read before, or that an earlier batch has
 * posted or deferred. Transactions without a code are not concerned. `opening` is NULL without
 * earlier batches. Takes O(log n) for each code, where n transactions were posted, if the store has
 * an index of codes.
 */
bool codes_check(struct book *book, const struct opening *opening, struct problem *problem);

#endif
