/*
 * The `prepare` calls of the user's steps: each adds the accounts that it will post to.
 */
#ifndef LEDGERBATCH_PLAN_STEP_PREPARE_H
#define LEDGERBATCH_PLAN_STEP_PREPARE_H

#include "book/book.h"
#include "plan/rules.h"

/*
 * Calls `prepare` of each step for each client, in the order of the clients' names. Accounts that
 * it adds get cells. Called before the clients are found.
 */
bool step_prepare(struct book *book, const struct rules *rules, struct problem *problem);

#endif
