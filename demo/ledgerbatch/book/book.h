/*
 * The book: everything that the input says, as compact arrays.
 *
 * A cell is one account in one commodity; it has a balance. A posting changes one cell. The readers
 * (read/journal.c, read/csv.c) fill the book and settle transactions. plan/check_book.c settles
 * those with balance assignments and verifies the assertions. plan/clients.c renumbers the cells.
 * After that the book does not change.
 */
#ifndef LEDGERBATCH_BOOK_BOOK_H
#define LEDGERBATCH_BOOK_BOOK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/amount.h"
#include "base/cell_index.h"
#include "base/names.h"
#include "base/slice.h"
#include "book/faults.h"
#include "book/rejects.h"
#include "book/sources.h"
#include "problem.h"

#define NO_INDEX UINT32_MAX

enum posting_flags {
    POSTING_ELIDED = 1,   /* has no amount; until it is filled in, `cell` is the account */
    POSTING_ASSIGNED = 2, /* has only "= AMOUNT"; plan/check_book.c computes the amount */
    POSTING_BRACKETED = 4 /* [ACCOUNT]: such postings balance among themselves */
};

/* The amount has the scale that was read; after the check, the commodity's storage scale. */
struct posting {
    int64_t amount;
    uint32_t cell;  /* of the book; after clients_find(), of the clients */
    uint32_t extra; /* the index of its price and assertion, or NO_INDEX */
    uint32_t line;
    uint8_t scale;
    uint8_t flags;
};

enum extra_flags {
    EXTRA_PRICE_UNIT = 1,  /* @ */
    EXTRA_PRICE_TOTAL = 2, /* @@ */
    EXTRA_ASSERTION = 4    /* = */
};

struct money {
    int64_t units;
    uint32_t commodity;
    uint8_t scale;
};

/* The parts that few postings have. */
struct extra {
    struct money price, assertion;
    uint8_t flags;
};

struct transaction {
    const char *code, *text; /* inside a source, or constant */
    uint32_t code_size, text_size;
    uint32_t date; /* year * 10000 + month * 100 + day */
    uint32_t first_posting, posting_count;
    uint32_t line;
    uint32_t source;
    uint32_t deferred_seq;   /* if it was deferred in an earlier batch; else 0 */
    uint32_t value_date;     /* the date that it is about, if it is booked later; else 0 */
    uint32_t reversed_seq;   /* the posted transaction that it takes back; or 0 */
    const char *skip_reason; /* why it is not posted, as an operator says; or NULL */
    char status;             /* '*', '!' or 0 */
    bool has_code, has_assigned, has_bracketed;
};

struct account {
    bool has_cells;                /* false: it is only declared */
    bool has_plain, has_bracketed; /* postings of the input without, and with square brackets */
    uint32_t source, line;         /* of its first use */
};

struct commodity {
    uint8_t scale;         /* the most decimals in the input; at least as many are shown */
    uint8_t storage_scale; /* enough for every exact amount; at least scale */
    bool symbol_first, spaced, seen;
    bool has_points, has_commas; /* the input writes decimals, or groups, in this way */
};

struct cell {
    uint32_t account, commodity;
};

/* `account NAME  ; group:GROUP` */
struct group_tag {
    struct slice group;
    uint32_t account, source, line;
};

/* A `P` directive: the price of one of a commodity from a date on. */
struct market_price {
    uint32_t commodity, date;
    uint32_t number; /* among all in the order of reading: of equal dates, the last one holds */
    struct money price;
};

/*
 * The sum of a transaction in one commodity, if it is not zero but rounds to zero at the decimals
 * of its own postings.
 */
struct remainder {
    struct decimal rest;
    uint32_t transaction, commodity;
};

struct book {
    struct sources sources;
    struct faults faults;
    struct rejects rejects;
    struct names account_names, commodity_names;
    struct names ended_aliases; /* of files that are read; ledger still reads them */
    struct names file_clients;  /* if each file is of a client: their names, in order */
    struct account *accounts;
    struct commodity *commodities;
    struct cell *cells;
    struct cell_index cell_index;
    struct posting *postings;
    struct extra *extras;
    struct transaction *transactions;
    uint32_t *order; /* transactions by date, then in the order of reading */
    struct group_tag *group_tags;
    struct remainder *remainders;
    struct market_price *prices; /* as read; see book_sort_prices() */
    size_t price_count, price_capacity;
    size_t remainder_count, remainder_capacity;
    size_t cell_count, posting_count, extra_count, transaction_count, group_tag_count;
    size_t account_capacity, commodity_capacity, cell_capacity, posting_capacity, extra_capacity,
        transaction_capacity, group_tag_capacity;
};

void book_fini(struct book *book);

/* Empties the book, so that the same input can be read again without what is rejected. */
void book_restart(struct book *book);

/* These return the number of a name, and add the name if it is new. */
uint32_t book_account(struct book *book, struct slice name, uint32_t source, uint32_t line);
uint32_t book_commodity(struct book *book, struct slice symbol);

/* Returns the cell of an account in a commodity; adds it if it is new. */
uint32_t book_cell(struct book *book, uint32_t account, uint32_t commodity);

/* Removes the last transactions with their postings, so that `count` are left. */
void book_drop_transactions(struct book *book, size_t count);

/* Removes the transactions after a date, and returns how many these were. */
size_t book_drop_later(struct book *book, uint32_t date);

struct posting *book_add_posting(struct book *book);
struct transaction *book_add_transaction(struct book *book);
/* Adds an empty extra and returns its index. */
uint32_t book_add_extra(struct book *book);
void book_add_group_tag(struct book *book, struct group_tag tag);
/* Adds a price behind all others. */
void book_add_price(struct book *book, uint32_t commodity, uint32_t date, struct money price);
/* Sorts the prices by commodity, by the commodity that they are in, by date, and as read. */
void book_sort_prices(struct book *book);
void book_add_remainder(struct book *book, struct remainder remainder);

/* Takes the decimals of an amount into account for the scales of its commodity. */
void book_see_scale(struct book *book, uint32_t commodity, unsigned scale);

static inline struct slice book_account_name(const struct book *book, uint32_t account)
{
    return book->account_names.items[account];
}

static inline struct slice book_symbol(const struct book *book, uint32_t commodity)
{
    return book->commodity_names.items[commodity];
}

/* Amounts without a commodity have one whose symbol is empty. */
static inline bool book_is_nameless(const struct book *book, uint32_t commodity)
{
    return book->commodity_names.items[commodity].size == 0;
}

/* Sets an input problem as "FILE:LINE: message". Always returns false. */
bool book_problem(const struct book *book, struct problem *problem, uint32_t source, uint32_t line,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));
bool book_problem_list(const struct book *book, struct problem *problem, uint32_t source,
                       uint32_t line, const char *format, va_list arguments)
    __attribute__((format(printf, 5, 0)));

#endif
