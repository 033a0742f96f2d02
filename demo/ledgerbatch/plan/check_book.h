/*
 * Checks a book serially, before anything is written: sorts the transactions by date, computes the
 * balance assignments, and verifies the balance assertions.
 */
#ifndef LEDGERBATCH_PLAN_CHECK_BOOK_H
#define LEDGERBATCH_PLAN_CHECK_BOOK_H

#include "book/book.h"

/*
 * Checks the book. Fills `order`, and brings every amount to the storage scale of its commodity.
 * The first `start_count` cells begin with the balances `starts`. If accounts are divided among
 * clients, assertions are about the sums over all clients.
 */
bool check_book(struct book *book, bool is_divided, const int64_t *starts, size_t start_count,
                struct problem *problem);

#endif
