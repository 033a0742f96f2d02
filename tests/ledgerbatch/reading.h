/*
 * Reads a journal given as text, for tests of the reader and its checks.
 */
#ifndef TESTS_LEDGERBATCH_READING_H
#define TESTS_LEDGERBATCH_READING_H

#include "plan/plan.h"

/* Plans a journal whose rules are already in plan->rules; the text becomes a file. */
bool reading_plan(struct plan *plan, const char *text, struct problem *problem);

/*
 * The balances that a text leads to, as "ACCOUNT AMOUNT SYMBOL\n" lines sorted by
 * account and commodity, zero balances included; or "FILE:LINE: MESSAGE" with the
 * folder left out. Static storage: the next call overwrites it.
 */
const char *reading_result(const char *text);

/* The same for transfers. */
const char *reading_csv_result(const char *text);

/* The same with rules of the caller's. */
const char *reading_result_with(const struct rules *rules, const char *text);

#endif
