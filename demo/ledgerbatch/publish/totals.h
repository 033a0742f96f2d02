/*
 * Control totals: all transactions of a batch by outcome, in counts and in amounts. They tie
 * if the amounts that were read are those posted, refused, deferred and held, and if the postings
 * add up to the balances, from the opening ones on.
 */
#ifndef LEDGERBATCH_PUBLISH_TOTALS_H
#define LEDGERBATCH_PUBLISH_TOTALS_H

#include "base/buffer.h"
#include "publish/reject_totals.h"
#include "store/stored_book.h"

enum total_kind {
    TOTAL_READ,
    TOTAL_POSTED,
    TOTAL_REFUSED,
    TOTAL_DEFERRED,  /* skipped because a client is held, and not yet posted at a retry */
    TOTAL_HELD,      /* read, and none of these yet */
    TOTAL_GENERATED, /* postings of month-end rollups */
    TOTAL_KINDS
};

struct total {
    size_t transactions;
    wide debits, credits; /* the sums of the positive and of the negative amounts */
};

/* The totals of one commodity. */
struct commodity_totals {
    struct total kinds[TOTAL_KINDS];
    struct total opening; /* of the balances before the batch; a database begins with zero */
    struct total closing; /* of the balances */
    uint32_t last_seqs[TOTAL_KINDS]; /* the last transaction that was counted */
};

/* How a client is concerned by deferred transactions. */
enum reach { REACH_NONE, REACH_OTHER, REACH_HELD };

struct totals {
    size_t counts[TOTAL_KINDS]; /* of transactions, whatever their commodities */
    struct commodity_totals *commodities;
    size_t commodity_count;
    const struct stored_book *book;
    uint8_t *reach;          /* by lane: enum reach */
    uint32_t *deferred_seqs; /* sorted */
    size_t deferred_capacity;
    size_t carried_count; /* transactions that earlier batches have deferred, and none has posted */
    struct reject_totals rejected;
    bool is_partial; /* some of the input has not been posted or refused yet */
};

/* Prepares for adding. The book must stay where it is. */
void totals_begin(struct totals *totals, const struct stored_book *book);
void totals_fini(struct totals *totals);

/* Counts a transaction that is done. */
void totals_add_transaction(struct totals *totals, const struct stored_transaction *transaction);

/* Adds a posting of the transaction that was counted last. Its commodity is one of the book. */
void totals_add_posting(struct totals *totals, const struct stored_transaction *transaction,
                        const struct stored_posting *posting);

/*
 * Reads the totals of input, refusals and deferrals, and checks that all totals tie. `is_partial`
 * allows that something is held.
 */
bool totals_finish(struct totals *totals, struct store *store, const struct stored_book *book,
                   bool is_partial, struct problem *problem);

/* Does all of the above with the rows of a store. */
bool totals_load(struct totals *totals, struct store *store, const struct stored_book *book,
                 bool is_partial, struct problem *problem);

/* Returns how many clients are concerned in that way. */
size_t totals_count_clients(const struct totals *totals, enum reach reach);

/* Adds the lines of totals.csv: what,commodity,transactions,debits,credits,net. */
void totals_write(const struct totals *totals, const struct stored_book *book, struct buffer *text);

/* Adds a table for the user. `held_word` says what the rest of the input is. */
void totals_show(const struct totals *totals, const struct stored_book *book, const char *held_word,
                 struct buffer *text);

#endif
