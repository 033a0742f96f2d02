/*
 * Settling a transaction: computes a missing amount, or checks that the transaction balances.
 */
#ifndef LEDGERBATCH_BOOK_SETTLE_H
#define LEDGERBATCH_BOOK_SETTLE_H

#include "book/book.h"

/* The sum at cost of one transaction in one commodity. */
struct commodity_sum {
    uint32_t commodity;
    unsigned written; /* the most decimals of a posting */
    bool is_written;  /* false: the commodity is used in prices only */
    bool has_cost;    /* false: all its amounts have prices */
    struct decimal total;
};

/*
 * Checks the remainders of transactions again, after the whole input is read. hledger rounds to the
 * decimals of all postings in a commodity, not only to those of the transaction. Both programs do
 * so when they read the posted journal.
 */
bool settle_remainders(struct book *book, struct problem *problem);

/* Memory that is reused from one transaction to the next. */
struct settler {
    struct commodity_sum *sums;
    uint32_t *places; /* by commodity: its place in sums, counted from 1; 0: it has none */
    size_t count, capacity, place_count, place_capacity;
    bool priced; /* some posting has a price */
};

void settler_fini(struct settler *settler);

/*
 * Fills in a missing amount exactly; without one, checks that the transaction balances at cost. If
 * several commodities are left over, the posting without an amount becomes one posting for each.
 */
bool settle_transaction(struct settler *settler, struct book *book, uint32_t transaction,
                        struct problem *problem);

/*
 * Prepares a transaction with balance assignments, which can only be settled in date order: makes
 * sure that its commodities store enough decimals.
 */
bool settle_later(struct settler *settler, struct book *book, uint32_t transaction,
                  struct problem *problem);

#endif
