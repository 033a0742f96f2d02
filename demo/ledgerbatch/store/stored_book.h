/*
 * The names and balances of a store, loaded for writing outputs: outputs are
 * made from the database alone.
 */
#ifndef LEDGERBATCH_STORE_STORED_BOOK_H
#define LEDGERBATCH_STORE_STORED_BOOK_H

#include "base/cell_index.h"
#include "base/names.h"
#include "store/store.h"

/* One balance; in outputs they come by lane, account and commodity. */
struct stored_cell {
    uint32_t account, commodity;
    int64_t balance; /* as stored */
    int64_t running; /* what postings add up to, while they are being read */
    int64_t opening; /* at the client's last statement */
};

struct stored_book {
    struct names texts; /* keeps the bytes of all names */
    struct stored_account *accounts;
    struct stored_commodity *commodities;
    struct stored_lane *lanes;
    struct stored_cell *cells; /* by lane, account's name, symbol; house accounts last */
    uint32_t *lane_cells;      /* lane -> its first cell; one more entry than lanes */
    struct cell_index index;   /* of cells, by account and commodity */
    size_t account_count, commodity_count, lane_count, cell_count;
    size_t account_capacity, commodity_capacity, lane_capacity, cell_capacity;
};

bool stored_book_load(struct stored_book *book, struct store *store, struct problem *problem);
void stored_book_fini(struct stored_book *book);

/* The cell of an account in a commodity, or NULL. */
struct stored_cell *stored_book_cell(const struct stored_book *book, uint32_t account,
                                     uint32_t commodity);

/* "The database is damaged": always false. */
bool stored_book_damaged(struct problem *problem, const char *what);

#endif
