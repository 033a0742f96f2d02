/*
 * Transactions of the input that are rejected, so that the rest can be posted: --rejects. One is
 * rejected if it cannot be read, does not balance, or has a wrong assertion or date.
 *
 * The input is then read again without these transactions, until no other one is at fault. So the
 * result is that of the input without them.
 */
#ifndef LEDGERBATCH_BOOK_REJECTS_H
#define LEDGERBATCH_BOOK_REJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/amount.h"
#include "base/slice.h"
#include "problem.h"

struct book;

/* How many are allowed without --max-rejects. */
#define REJECTS_MAX 100

struct reject {
    uint32_t source, line; /* the place of its first line */
    struct slice text;     /* its lines, inside a source; set when they are passed over */
    char *reason;          /* "FILE:LINE: message" */
    size_t reason_size;    /* without the place of another one, "; see FILE:LINE" */
    bool is_new;           /* found since the input was read last */
    uint32_t transaction;  /* if it is new: its number in the book, or NO_INDEX */
};

/* The sums of those whose amounts are known, in one commodity. */
struct reject_sum {
    char *symbol;
    size_t transactions;
    uint32_t last_transaction;      /* the one that was counted last, counted from 1 */
    struct decimal debits, credits; /* both have the same scale, and less than 36 digits */
};

struct rejects {
    bool is_on;
    bool is_exceeded; /* there are more than the limit */
    bool has_new;
    size_t limit;
    struct reject *items; /* in the order of the input */
    size_t count, capacity;
    size_t summed_count; /* how many have known amounts */
    struct reject_sum *sums;
    size_t sum_count, sum_capacity;
};

void rejects_fini(struct rejects *rejects);

/* Prepares for reading the input again. */
void rejects_restart(struct rejects *rejects);

/* Finds the transaction that begins at a place, or NULL. */
struct reject *rejects_find(const struct rejects *rejects, uint32_t source, uint32_t line);

/*
 * Notes a fault of the transaction that begins at a line. A line of 0, or a book that rejects
 * nothing, makes it a fault of the whole input. Returns false if the reader must stop.
 */
bool book_take_fault(struct book *book, uint32_t source, uint32_t line,
                     const struct problem *problem);

/* Returns true if a fault of a transaction of the book may reject it. */
bool book_can_reject(const struct book *book, uint32_t transaction);

/* Notes a fault of a transaction that was read as a whole. */
bool book_take_transaction(struct book *book, uint32_t transaction, const struct problem *problem);

/* Adds the amounts of a transaction that is rejected, if all are known. */
void book_add_reject_sums(struct book *book, uint32_t transaction);

/*
 * Adds to a problem about an account's balance a hint at a rejected transaction that names this
 * account: "; see FILE:LINE". The hint is no part of what is stored.
 */
void book_hint_reject(const struct book *book, struct slice account, struct problem *problem);

#endif
