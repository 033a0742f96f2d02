/* Owns the check that patterns match something. */
#include "plan/pattern_check.h"

bool pattern_matches_account(const char *pattern, const struct book *book)
{
    const struct patterns one = { .items = &pattern, .count = 1 };
    for (size_t i = 0; i < book->account_names.count; i++) {
        if (patterns_match(&one, book->account_names.items[i])) {
            return true;
        }
    }
    return false;
}

struct nearest pattern_nearest(const char *pattern, const struct book *book)
{
    struct nearest nearest = nearest_to(slice_of(pattern));
    for (size_t i = 0; i < book->account_names.count; i++) {
        nearest_try(&nearest, book->account_names.items[i]);
    }
    return nearest;
}

static bool report_unmatched(const char *pattern, const char *option, const struct book *book,
                             struct problem *problem)
{
    char hint[NEAREST_HINT_SIZE];
    struct nearest nearest = pattern_nearest(pattern, book);
    return problem_set(problem, EXIT_CODE_INPUT, "no account matches %s '%s'%s", option, pattern,
                       nearest_hint(&nearest, hint));
}

bool pattern_check(const struct patterns *patterns, const char *option, const struct book *book,
                   struct problem *problem)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (!pattern_matches_account(patterns->items[i], book)) {
            return report_unmatched(patterns->items[i], option, book, problem);
        }
    }
    return true;
}

/* Checks the patterns of a rule: those of an option, or in a line of the rules file. */
static bool check_rule(const struct rules *rules, const struct patterns *patterns,
                       const char *option, uint32_t line, const struct book *book,
                       struct problem *problem)
{
    char hint[NEAREST_HINT_SIZE];
    if (line == 0) {
        return pattern_check(patterns, option, book, problem);
    }
    for (size_t i = 0; i < patterns->count; i++) {
        if (!pattern_matches_account(patterns->items[i], book)) {
            struct nearest nearest = pattern_nearest(patterns->items[i], book);
            return problem_set_place(problem, "%s:%u: no account matches '%s'%s", rules->file, line,
                                     patterns->items[i], nearest_hint(&nearest, hint));
        }
    }
    return true;
}

bool pattern_check_rules(const struct rules *rules, const struct book *book,
                         struct problem *problem)
{
    bool is_given = rules->accrual_accounts != NULL;
    bool good = check_rule(rules, &rules->commutative, "--commutative", rules->commutative_line,
                           book, problem) &&
                check_rule(rules, &rules->no_overdraft, "--no-overdraft", rules->no_overdraft_line,
                           book, problem);
    for (size_t i = 0; good && i < rules->steps.count; i++) {
        const struct month_end_step *step = &rules->steps.items[i];
        good = step->line != 0 ||
               pattern_check(&step->accounts,
                             is_given ? "--accrual-accounts" : "the default of --accrual-accounts,",
                             book, problem);
    }
    return good;
}
