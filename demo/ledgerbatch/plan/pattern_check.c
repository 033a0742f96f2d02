/* Owns the check that patterns match something. */
#include "plan/pattern_check.h"

#include "base/nearest.h"

static bool matches_account(const char *pattern, const struct book *book)
{
    const struct patterns one = { .items = &pattern, .count = 1 };
    for (size_t i = 0; i < book->account_names.count; i++) {
        if (patterns_match(&one, book->account_names.items[i])) {
            return true;
        }
    }
    return false;
}

static bool report_unmatched(const char *pattern, const char *option, const struct book *book,
                             struct problem *problem)
{
    char hint[NEAREST_HINT_SIZE];
    struct nearest nearest = nearest_to(slice_of(pattern));
    for (size_t i = 0; i < book->account_names.count; i++) {
        nearest_try(&nearest, book->account_names.items[i]);
    }
    return problem_set(problem, EXIT_CODE_INPUT, "no account matches %s '%s'%s", option, pattern,
                       nearest_hint(&nearest, hint));
}

bool pattern_check(const struct patterns *patterns, const char *option, const struct book *book,
                   struct problem *problem)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (!matches_account(patterns->items[i], book)) {
            return report_unmatched(patterns->items[i], option, book, problem);
        }
    }
    return true;
}

bool pattern_check_rules(const struct rules *rules, const struct book *book,
                         struct problem *problem)
{
    const char *accrual_accounts = rules->accrual_accounts;
    const struct patterns earning = { .items = &accrual_accounts, .count = rules->accrual ? 1 : 0 };
    return pattern_check(&rules->commutative, "--commutative", book, problem) &&
           pattern_check(&rules->no_overdraft, "--no-overdraft", book, problem) &&
           pattern_check(&earning,
                         strcmp(accrual_accounts, RULES_ACCRUAL_ACCOUNTS) == 0
                             ? "the default of --accrual-accounts,"
                             : "--accrual-accounts",
                         book, problem);
}
