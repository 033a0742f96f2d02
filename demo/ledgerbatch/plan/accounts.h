/*
 * The properties of accounts, which follow from their names and the rules.
 */
#ifndef LEDGERBATCH_PLAN_ACCOUNTS_H
#define LEDGERBATCH_PLAN_ACCOUNTS_H

#include "book/book.h"
#include "plan/rules.h"

enum account_flags {
    ACCOUNT_HOUSE = 1,  /* --commutative: it is only summed, and belongs to no client */
    ACCOUNT_GUARDED = 2 /* --no-overdraft */
};

struct account_properties {
    uint8_t flags;
    uint64_t steps; /* bit i: step i of month-ends is about this account */
};

/* Finds the properties of one account. Returns false if two rules contradict each other about it.
 */
bool account_classify(const struct rules *rules, struct slice name,
                      struct account_properties *properties, struct problem *problem);

/* Sets *client to the first `depth` components of a name. Returns false if it has fewer. */
bool account_client(struct slice name, unsigned depth, struct slice *client);

#endif
