/*
 * Checks that patterns match something: one that matches nothing has a typing error, or belongs to
 * other books. In silence, it would change what is posted.
 */
#ifndef LEDGERBATCH_PLAN_PATTERN_CHECK_H
#define LEDGERBATCH_PLAN_PATTERN_CHECK_H

#include "base/nearest.h"
#include "book/book.h"
#include "plan/rules.h"

bool pattern_matches_account(const char *pattern, const struct book *book);

/* Returns the account that is nearest to a pattern. */
struct nearest pattern_nearest(const char *pattern, const struct book *book);

/* Checks that each pattern matches an account. `option` is the name of the option, for messages. */
bool pattern_check(const struct patterns *patterns, const char *option, const struct book *book,
                   struct problem *problem);

/* Checks all patterns of the rules but those of steps in a rules file. */
bool pattern_check_rules(const struct rules *rules, const struct book *book,
                         struct problem *problem);

#endif
