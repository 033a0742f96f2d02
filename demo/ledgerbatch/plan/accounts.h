/*
 * The properties of accounts, which follow from their names and the rules.
 */
#ifndef LEDGERBATCH_PLAN_ACCOUNTS_H
#define LEDGERBATCH_PLAN_ACCOUNTS_H

#include "book/book.h"
#include "plan/rules.h"

enum account_flags {
    ACCOUNT_HOUSE = 1,   /* --commutative: it is only summed, and belongs to no client */
    ACCOUNT_GUARDED = 2, /* --no-overdraft */
    ACCOUNT_EARNS = 4,   /* --accrual-accounts, and not a house account */
    ACCOUNT_CLOSES = 8   /* has a component Income or Expenses, and is not a house account */
};

/* Finds the flags of one account. Returns false if two rules contradict each other about it. */
bool account_classify(const struct rules *rules, struct slice name, uint8_t *flags,
                      struct problem *problem);

/* Sets *client to the first `depth` components of a name. Returns false if it has fewer. */
bool account_client(struct slice name, unsigned depth, struct slice *client);

#endif
