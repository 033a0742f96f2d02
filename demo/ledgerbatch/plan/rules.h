/*
 * The rules of a run: those options that decide what is posted. A database belongs to one input and
 * one set of rules. Workers, paths and similar options are no rules.
 */
#ifndef LEDGERBATCH_PLAN_RULES_H
#define LEDGERBATCH_PLAN_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/amount.h"
#include "book/book.h"

/* The default of --accrual-accounts. */
#define RULES_ACCRUAL_ACCOUNTS "*Savings*"

struct patterns {
    const char **items;
    size_t count, capacity;
};

struct rules {
    unsigned client_depth;
    struct patterns commutative, no_overdraft;
    const char *accrual_accounts;
    bool csv;
    bool statement, accrual, close; /* the month-end rollups */
    bool trial_balance;             /* an output for each month; no task */
    uint32_t until;                 /* later transactions are left out; 0: none are */
    int64_t rate_units;             /* the rate of the accrual, a year */
    unsigned rate_scale;
};

void rules_init(struct rules *rules);
void rules_fini(struct rules *rules);

void patterns_add(struct patterns *patterns, const char *pattern);

/* Returns true if one of the patterns, which are shell globs, matches the whole name. */
bool patterns_match(const struct patterns *patterns, struct slice name);

/* Reads statement,accrual=RATE,close,trial-balance. Returns NULL, or what is wrong. */
const char *rules_read_monthly(struct rules *rules, const char *text);

/*
 * Computes the SHA-256 of the rules, all sources and the day, which is 0 for a run: 64 hexadecimal
 * digits and a zero byte.
 */
void rules_digest(const struct rules *rules, struct book *book, uint32_t day,
                  char digest[SHA256_TEXT_SIZE]);

#endif
