/* Owns the check of month-end steps against the books. */
#include "plan/step_check.h"

#include "plan/pattern_check.h"

struct checker {
    struct rules *rules;
    const struct book *book;
    const struct clients *clients;
    struct problem *problem;
};

static bool check_groups(const struct checker *checker, const struct month_end_step *step)
{
    char hint[NEAREST_HINT_SIZE];
    for (size_t i = 0; i < step->groups.count; i++) {
        struct slice wanted = slice_of(step->groups.items[i]);
        struct nearest nearest = nearest_to(wanted);
        bool is_found = false;
        for (size_t j = 0; j < checker->clients->group_count; j++) {
            is_found |= slice_equal(checker->clients->groups[j].name, wanted);
            nearest_try(&nearest, checker->clients->groups[j].name);
        }
        if (!is_found) {
            return problem_set_place(checker->problem, "%s:%u: no client is in the group '%.*s'%s",
                                     checker->rules->file, step->line, SLICE_ARGUMENTS(wanted),
                                     nearest_hint(&nearest, hint));
        }
    }
    return true;
}

/* Returns true if a pattern matches an account of the house, or of a client. */
static bool matches_one(const struct checker *checker, const char *pattern, bool of_house)
{
    const struct patterns one = { .items = &pattern, .count = 1 };
    const struct names *names = &checker->book->account_names;
    for (size_t i = 0; i < names->count; i++) {
        if (patterns_match(&one, names->items[i]) &&
            patterns_match(&checker->rules->commutative, names->items[i]) == of_house) {
            return true;
        }
    }
    return false;
}

static bool check_pattern(const struct checker *checker, const struct month_end_step *step,
                          const char *pattern)
{
    char hint[NEAREST_HINT_SIZE];
    if (pattern_matches_account(pattern, checker->book)) {
        return true;
    }
    struct nearest nearest = pattern_nearest(pattern, checker->book);
    return problem_set_place(checker->problem, "%s:%u: no account matches '%s'%s",
                             checker->rules->file, step->line, pattern,
                             nearest_hint(&nearest, hint));
}

/* Checks the house accounts of a user's step. */
static bool check_house(const struct checker *checker, const struct month_end_step *step)
{
    for (size_t i = 0; step->user && i < step->user->house.count; i++) {
        const char *pattern = step->user->house.items[i];
        if (!check_pattern(checker, step, pattern)) {
            return false;
        }
        if (!matches_one(checker, pattern, true)) {
            return problem_set_place(checker->problem,
                                     "%s:%u: '%s' matches no house account; commutative has to "
                                     "match it",
                                     checker->rules->file, step->line, pattern);
        }
    }
    return true;
}

static bool check_accounts(const struct checker *checker, const struct month_end_step *step)
{
    for (size_t i = 0; i < step->accounts.count; i++) {
        const char *pattern = step->accounts.items[i];
        if (!check_pattern(checker, step, pattern)) {
            return false;
        }
        if (!matches_one(checker, pattern, false)) {
            return problem_set_place(checker->problem,
                                     "%s:%u: '%s' matches house accounts only; a step is about "
                                     "accounts of clients",
                                     checker->rules->file, step->line, pattern);
        }
    }
    return true;
}

static bool report_commodity(const struct checker *checker, const struct month_end_step *step,
                             const char *symbol)
{
    char hint[NEAREST_HINT_SIZE];
    struct nearest nearest = nearest_to(slice_of(symbol));
    for (size_t i = 0; i < checker->book->commodity_names.count; i++) {
        nearest_try(&nearest, checker->book->commodity_names.items[i]);
    }
    return problem_set_place(
        checker->problem, "%s:%u: nothing in the books has the commodity '%s'%s",
        checker->rules->file, step->line, symbol, nearest_hint(&nearest, hint));
}

/* Finds the amounts in units of the book. */
static bool resolve(const struct checker *checker, const struct month_end_step *step,
                    struct step_amounts *amounts)
{
    for (size_t i = 0; i < amounts->count; i++) {
        struct step_amount *item = &amounts->items[i];
        item->commodity = names_find(&checker->book->commodity_names, slice_of(item->symbol));
        if (item->commodity == NAME_NONE) {
            return report_commodity(checker, step, item->symbol);
        }
        const struct commodity *commodity = &checker->book->commodities[item->commodity];
        struct decimal amount = item->amount;
        decimal_trim(&amount);
        if (amount.scale > commodity->storage_scale ||
            !decimal_rescale(&amount, commodity->storage_scale) || !amount_fits(amount.units)) {
            return problem_set_place(checker->problem,
                                     "%s:%u: an amount has more digits than %s has in the books",
                                     checker->rules->file, step->line, item->symbol);
        }
        item->units = (int64_t)amount.units;
    }
    return true;
}

bool step_check(struct rules *rules, struct book *book, const struct clients *clients,
                struct problem *problem)
{
    const struct checker checker = { rules, book, clients, problem };
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < rules->steps.count; i++) {
        struct month_end_step *step = &rules->steps.items[i];
        bool good =
            step->line == 0 ||
            (check_groups(&checker, step) && check_accounts(&checker, step) &&
             check_house(&checker, step) && resolve(&checker, step, &step->minimum_balance) &&
             resolve(&checker, step, &step->minimum_interest) &&
             resolve(&checker, step, &step->fees) && resolve(&checker, step, &step->waived_from));
        goes_on = good || faults_take(&book->faults, problem);
    }
    return faults_none(&book->faults, problem);
}
