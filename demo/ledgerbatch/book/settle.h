/*
 * Settling a transaction: filling in what was left out, and its balance.
 */
#ifndef LEDGERBATCH_BOOK_SETTLE_H
#define LEDGERBATCH_BOOK_SETTLE_H

#include "book/book.h"

/* The sum at cost of one transaction in one commodity. */
struct commodity_sum {
    uint32_t commodity;
    unsigned written; /* the most decimals that a posting writes */
    bool is_written;  /* false: the commodity appears in prices only */
    struct decimal total;
};

/*
 * Checks again what transactions leave over, once the whole input is read: hledger rounds to the
 * decimals that any posting writes, not only those of the transaction, and so do both programs
 * when they read what was posted.
 */
bool settle_remainders(const struct book *book, struct problem *problem);

/* Scratch space, reused from one transaction to the next. */
struct settler {
    struct commodity_sum *sums;
    uint32_t *places; /* by commodity: its place in sums, counted from 1; 0: not there */
    size_t count, capacity, place_count, place_capacity;
    bool priced; /* some posting has a price */
};

void settler_fini(struct settler *settler);

/*
 * Fills in an elided amount, exactly, and checks that the transaction balances
 * at cost. An elided amount in several commodities becomes as many postings.
 */
bool settle_transaction(struct settler *settler, struct book *book, uint32_t transaction,
                        struct problem *problem);

/*
 * For a transaction with balance assignments, which can only be settled in date
 * order: makes sure that the commodities store enough decimals for it.
 */
bool settle_later(struct settler *settler, struct book *book, uint32_t transaction,
                  struct problem *problem);

#endif
