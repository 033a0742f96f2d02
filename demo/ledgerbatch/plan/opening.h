/*
 * What a day begins with: the names, balances and deferred transactions of the batches before it.
 */
#ifndef LEDGERBATCH_PLAN_OPENING_H
#define LEDGERBATCH_PLAN_OPENING_H

#include "base/buffer.h"
#include "plan/clients.h"
#include "store/stored_book.h"

/* A deferred transaction of an earlier batch, which the day posts. */
struct opening_item {
    uint32_t seq, date;
    uint32_t text, text_size; /* in `texts`: the transaction as journal text */
};

struct opening {
    uint32_t day;      /* the date of the day */
    uint32_t last_day; /* the date of the batch before it; 0: there is none */
    uint32_t base_seq, number;
    bool is_new; /* the store does not have the day yet */
    struct stored_book book;
    struct opening_item *items;
    size_t item_count, item_capacity;
    struct buffer texts;
};

/*
 * Loads names and balances. In a new day the balances so far are the opening balances. With
 * `posts_deferred` loads the deferred transactions, too. The store has the day's window.
 */
bool opening_load(struct opening *opening, struct store *store, bool posts_deferred,
                  struct problem *problem);
void opening_fini(struct opening *opening);

/*
 * Puts names and deferred transactions into an empty book, before files are read. So numbers of
 * accounts and commodities stay as they are stored, and each stored balance has a cell: the cell of
 * `opening->book` with the same number.
 */
bool opening_fill(const struct opening *opening, struct book *book, struct problem *problem);

/* Checks the dates of the transactions, and that each commodity keeps its decimals. */
bool opening_check_book(const struct opening *opening, struct book *book, struct problem *problem);

/* Checks that stored accounts still belong to the same clients, or to the house. */
bool opening_check_clients(const struct opening *opening, const struct book *book,
                           const struct clients *clients, struct problem *problem);

/* Returns the stored group of a client; an empty one if the client is new. */
struct slice opening_group(const struct opening *opening, struct slice client);

#endif
