/*
 * The input's own claims, verified serially before anything is written:
 * transactions in date order, balance assignments computed, assertions true.
 */
#ifndef LEDGERBATCH_PLAN_CHECK_BOOK_H
#define LEDGERBATCH_PLAN_CHECK_BOOK_H

#include "book/book.h"
#include "plan/accounts.h"

/*
 * Puts the book in its final form: `order` is filled, every amount stands at
 * its commodity's storage scale. `account_flags` are those of accounts_classify().
 */
bool check_book(struct book *book, const uint8_t *account_flags, struct problem *problem);

#endif
