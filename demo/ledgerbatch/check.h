/*
 * The input's own claims, verified serially before anything is written:
 * transactions in date order, balance assignments computed, assertions true.
 */
#ifndef LEDGERBATCH_CHECK_H
#define LEDGERBATCH_CHECK_H

#include "accounts.h"
#include "book/book.h"

/*
 * Puts the book in its final form: `order` is filled, every amount stands at
 * its commodity's storage scale. `account_flags` are those of accounts_classify().
 */
bool check_book(struct book *book, const uint8_t *account_flags, struct problem *problem);

#endif
