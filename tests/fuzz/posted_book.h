/*
 * Posts a plan in memory, one task after the other, as one worker would, and checks the result:
 * the effects add up to the balances, and written as a journal they can be read again and lead to
 * the same balances.
 */
#ifndef TESTS_FUZZ_POSTED_BOOK_H
#define TESTS_FUZZ_POSTED_BOOK_H

#include "plan/plan.h"

/* Ends the program if something is wrong. */
void posted_book_check(struct plan *plan);

#endif
