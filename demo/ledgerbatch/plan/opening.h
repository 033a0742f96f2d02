/*
 * The opening of a day: the names, balances and deferred transactions of the batches before it.
 */
#ifndef LEDGERBATCH_PLAN_OPENING_H
#define LEDGERBATCH_PLAN_OPENING_H

#include "base/buffer.h"
#include "plan/clients.h"
#include "store/stored_book.h"

/* A task of an earlier batch, and what an operator says about it. */
struct opening_request {
    uint32_t seq;
    const char *reason; /* one line without ';' */
};

/* A month whose transactions are booked on the day, although its days are closed. */
struct opening_month {
    uint32_t month; /* year * 12 + (0 to 11) */
    const char *reason;
};

/* The requests of an operator about earlier batches. */
struct opening_requests {
    bool posts_deferred; /* what earlier batches have deferred is posted */
    struct opening_request *skips,
        *reversals;               /* deferred ones are skipped, posted ones taken back */
    struct opening_month *months; /* that are reopened */
    size_t skip_count, reversal_count, month_count;
};

enum opening_item_kind { ITEM_POST, ITEM_SKIP, ITEM_REVERSE };

/* A transaction of the day that comes from an earlier one. */
struct opening_item {
    enum opening_item_kind kind;
    uint32_t seq, date;       /* of the deferred or reversed transaction */
    uint32_t text, text_size; /* in `texts`: the transaction as journal text */
    const char *reason;       /* of a skip */
};

struct opening {
    uint32_t day;      /* the date of the day */
    uint32_t last_day; /* the date of the batch before it; 0: there is none */
    uint32_t base_seq, number;
    struct store *store; /* or NULL if there is no earlier batch */
    bool is_new;         /* the store does not have the day yet */
    struct stored_book book;
    const struct opening_month *months; /* of the requests, in order */
    size_t month_count;
    struct opening_item *items; /* deferred ones, then reversals, each in the order of seq */
    size_t item_count, item_capacity;
    struct buffer texts;
    struct stored_price *prices; /* that earlier batches have left */
    size_t price_count, price_capacity;
};

/*
 * Loads names, balances and what the requests are about. In a new day the balances so far are the
 * opening balances. The store has the day's window. Sorts the requests, which must stay.
 */
bool opening_load(struct opening *opening, struct store *store, struct opening_requests *requests,
                  struct problem *problem);
void opening_fini(struct opening *opening);

/*
 * Puts names and deferred transactions into an empty book, before files are read. So numbers of
 * accounts and commodities stay as they are stored, and each stored balance has a cell: the cell of
 * `opening->book` with the same number.
 */
bool opening_fill(const struct opening *opening, struct book *book, struct problem *problem);

/*
 * Checks the dates of the transactions, and that each commodity keeps its decimals. Those of months
 * that are reopened get the date of the day, and their own as value date.
 */
bool opening_check_book(const struct opening *opening, struct book *book, struct problem *problem);

/* Returns how many transactions of the files are booked later than their dates. */
size_t opening_count_backdated(const struct book *book);

/* Checks that stored accounts still belong to the same clients, or to the house. */
bool opening_check_clients(const struct opening *opening, const struct book *book,
                           const struct clients *clients, struct problem *problem);

/* Returns whether the day tries a transaction again that an earlier batch has deferred. */
bool opening_has_deferred(const struct opening *opening, uint32_t seq);

/* Returns the stored group of a client; an empty one if the client is new. */
struct slice opening_group(const struct opening *opening, struct slice client);

#endif
