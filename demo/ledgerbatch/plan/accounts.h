/*
 * What the rules say about each account.
 */
#ifndef LEDGERBATCH_PLAN_ACCOUNTS_H
#define LEDGERBATCH_PLAN_ACCOUNTS_H

#include "book/book.h"
#include "plan/rules.h"

enum account_flags {
    ACCOUNT_HOUSE = 1,   /* --commutative: an accumulator, not part of a lane */
    ACCOUNT_GUARDED = 2, /* --no-overdraft */
    ACCOUNT_EARNS = 4,   /* --accrual-accounts, and not a house account */
    ACCOUNT_CLOSES = 8   /* has a component Income or Expenses, and is not a house account */
};

/* The flags of one account name; false if the rules contradict one another about it. */
bool account_classify(const struct rules *rules, struct slice name, uint8_t *flags,
                      struct problem *problem);

/* The flags of all accounts of the book, by number; NULL with the problem. The caller frees. */
uint8_t *accounts_classify(const struct rules *rules, const struct book *book,
                           struct problem *problem);

/* The first `depth` components of an account's name; false if it has fewer. */
bool account_client(struct slice name, unsigned depth, struct slice *client);

#endif
