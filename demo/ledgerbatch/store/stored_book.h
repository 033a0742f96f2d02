/*
 * The names and balances of a store in memory. The outputs are made from these and the other rows
 * of the store, not from the input.
 */
#ifndef LEDGERBATCH_STORE_STORED_BOOK_H
#define LEDGERBATCH_STORE_STORED_BOOK_H

#include "base/cell_index.h"
#include "base/names.h"
#include "store/store.h"

/* One balance. The outputs list balances by lane, account and commodity. */
struct stored_cell {
    uint32_t account, commodity;
    int64_t balance; /* as stored */
    int64_t start;   /* its opening balance in the store's window */
    int64_t running; /* with the postings that have been read */
    int64_t opening; /* at the client's last statement */
};

struct stored_book {
    struct names texts; /* the bytes of all names */
    struct stored_account *accounts;
    struct stored_commodity *commodities;
    struct stored_lane *lanes;
    struct stored_cell *cells; /* by lane, account's name, symbol; house accounts last */
    uint32_t *lane_cells;      /* by lane: its first cell; one more, for the end of the last lane */
    struct cell_index index;   /* of cells, by account and commodity */
    size_t account_count, commodity_count, lane_count, cell_count;
    size_t account_capacity, commodity_capacity, lane_capacity, cell_capacity;
};

bool stored_book_load(struct stored_book *book, struct store *store, struct problem *problem);
void stored_book_fini(struct stored_book *book);

/* Returns the cell of an account in a commodity, or NULL. */
struct stored_cell *stored_book_cell(const struct stored_book *book, uint32_t account,
                                     uint32_t commodity);

/* Adds a posting to the running balance of its account, and sets *cell to that. */
bool stored_book_add_posting(const struct stored_book *book, const struct stored_posting *posting,
                             struct stored_cell **cell, struct problem *problem);
/* Checks that all balances are the opening balances with the postings that were added. */
bool stored_book_check_balances(const struct stored_book *book, struct problem *problem);

/* Sets the problem "the database is damaged" with a reason. Always returns false. */
bool stored_book_damaged(struct problem *problem, const char *what);

#endif
