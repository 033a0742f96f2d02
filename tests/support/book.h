/*
 * A book: the store of a test's journal. It copies each entry, and may stop at a gate in `write` or
 * fail at the n-th call.
 */
#ifndef TESTS_SUPPORT_BOOK_H
#define TESTS_SUPPORT_BOOK_H

#include <stdatomic.h>

#include "lanepool/lanepool.h"
#include "support/gate.h"

enum { BOOK_ENTRIES_MAX = 1 << 15, BOOK_CLAIMS_MAX = 4 };

struct book_entry {
    lanepool_journal_entry entry;
    lanepool_claim claims[BOOK_CLAIMS_MAX];
    uint64_t lane_numbers[BOOK_CLAIMS_MAX];
    uint64_t watermark; /* of the call that wrote it */
};

struct book {
    struct book_entry *entries;
    _Atomic size_t count;
    _Atomic uint32_t calls;
    _Atomic uint32_t inside; /* calls of `write` at this moment */
    _Atomic bool overlapped; /* two calls were made at once */
    size_t largest;          /* the most entries of a call */
    struct gate *gate;       /* or NULL */
    uint32_t fails_at;       /* the call that fails, from 1; 0: none */
    int code;                /* what it returns */
};

void book_init(struct book *book);
void book_fini(struct book *book);
/* A lanepool_journal_write_fn; `user` is the book. */
int book_write(void *user, const lanepool_journal_entry *entries, size_t count, uint64_t watermark);
/* Creates a pool whose journal writes into the book. Options of the journal without a `write` get
 * the book's; NULL: the defaults. */
lanepool_pool *book_pool_with(struct book *book, lanepool_options options,
                              const lanepool_journal_options *journal);
lanepool_pool *book_pool(struct book *book, unsigned workers,
                         const lanepool_journal_options *journal);
/* Returns the position of the entry with this context, from 0; SIZE_MAX if there is none. */
size_t book_place(const struct book *book, const void *context);
/* Returns the lowest ticket of the entries; UINT64_MAX if there are none. */
uint64_t book_lowest_ticket(const struct book *book);

#endif
