/*
 * The balances that assertions and assignments are about: those of the accounts that the journal
 * names. If transactions have clients of their own, such an account is divided among the clients,
 * and its balance is the sum over them.
 */
#ifndef LEDGERBATCH_PLAN_JUDGED_H
#define LEDGERBATCH_PLAN_JUDGED_H

#include "book/book.h"

struct judged_account {
    uint32_t named_count, named_open; /* cells in commodities with a name; open: not zero */
    bool has_plain, has_bracketed;    /* postings without, and with square brackets */
};

struct judged_cell {
    wide balance;
    wide pending; /* the sum of the postings so far of the transaction that is settled */
    uint32_t account;
    bool is_named; /* its commodity has a name */
};

struct judged {
    const struct book *book;
    bool is_divided;
    struct names names;   /* of accounts, without the client; empty if they are not divided */
    uint32_t *account_of; /* by account of the book */
    struct judged_account *accounts;
    struct cell_index index; /* of `cells`; empty if accounts are not divided */
    uint32_t *cell_of;       /* by cell of the book */
    struct judged_cell *cells;
    size_t account_of_count, account_of_capacity, account_count, account_capacity;
    size_t cell_of_count, cell_of_capacity, cell_count, cell_capacity;
};

void judged_init(struct judged *judged, const struct book *book, bool is_divided);
void judged_fini(struct judged *judged);

/* Adds the next cell of the book, with its opening balance. */
void judged_add_cell(struct judged *judged, int64_t start);

/* Returns the judged cell of a cell of the book. */
static inline struct judged_cell *judged_of(const struct judged *judged, uint32_t cell)
{
    return &judged->cells[judged->cell_of[cell]];
}

/* Returns the judged cell of an account of the book in a commodity, or NULL. */
struct judged_cell *judged_find(const struct judged *judged, uint32_t account, uint32_t commodity);

/* Returns the judged account of an account of the book. */
static inline const struct judged_account *judged_account_of(const struct judged *judged,
                                                             uint32_t account)
{
    return &judged->accounts[judged->account_of[account]];
}

void judged_set(struct judged *judged, struct judged_cell *cell, wide balance);

#endif
