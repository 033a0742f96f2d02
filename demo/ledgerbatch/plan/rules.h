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
#include "plan/month_end_steps.h"
#include "plan/patterns.h"
#include "read/journal.h"

/* The default of --accrual-accounts. */
#define RULES_ACCRUAL_ACCOUNTS "*Savings*"

/* Rules that an option or a rules file can give: bits. */
enum rules_given {
    RULES_CLIENT_DEPTH = 1,
    RULES_COMMUTATIVE = 2,
    RULES_NO_OVERDRAFT = 4,
    RULES_MONTH_END = 8,
    RULES_CLIENT_BY = 16
};

struct rules {
    const char *file; /* of --rules, or NULL */
    char **texts;     /* of that file: the rules point to them */
    size_t text_count, text_capacity;
    unsigned given; /* enum rules_given: by options */
    unsigned client_depth;
    struct journal_clients clients;
    struct patterns commutative, no_overdraft;
    uint32_t commutative_line, no_overdraft_line; /* in the file; 0: they are options */
    const char *accrual_accounts;                 /* of --accrual-accounts, or NULL */
    bool csv;
    bool unique_codes;
    uint32_t until;  /* later transactions are left out; 0: none are */
    bool ends_month; /* --end-month: the month of the last transaction is over, too */
    struct month_end_steps steps;
};

void rules_init(struct rules *rules);
void rules_fini(struct rules *rules);

/* Returns a copy of a text that lives as long as the rules. */
const char *rules_keep_text(struct rules *rules, struct slice text);

/* Reads depth, file, payee or tag:NAME. Returns false if it is none of them. Keeps no copy. */
bool rules_read_client_by(struct rules *rules, const char *text);

/* Returns true if each transaction has a client of its own, whatever its accounts are. */
static inline bool rules_divide_accounts(const struct rules *rules)
{
    return rules->clients.by == CLIENT_BY_PAYEE || rules->clients.by == CLIENT_BY_TAG;
}

/* Returns true if the month-end has an accrual. */
bool rules_accrue(const struct rules *rules);

/*
 * Completes the rules when all options are read: an accrual of --monthly gets the accounts of
 * --accrual-accounts.
 */
void rules_complete(struct rules *rules);

/*
 * Computes the SHA-256 of the rules, all sources and the day, which is 0 for a run: 64 hexadecimal
 * digits and a zero byte.
 */
void rules_digest(const struct rules *rules, struct book *book, uint32_t day,
                  char digest[SHA256_TEXT_SIZE]);

#endif
