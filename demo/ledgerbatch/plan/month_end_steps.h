/*
 * The steps of month-ends, as data.
 *
 * The order of the steps is that of the array. Steps between two trial balances are run group by
 * group: a group's steps touch no client of another group, so that no result depends on it.
 */
#ifndef LEDGERBATCH_PLAN_MONTH_END_STEPS_H
#define LEDGERBATCH_PLAN_MONTH_END_STEPS_H

#include "base/amount.h"
#include "base/sha256.h"
#include "book/book.h"
#include "plan/patterns.h"
#include "plan/user_step.h"

/* At most this many steps: an account has a bit for each of them. */
#define MONTH_END_STEPS_MAX 64

enum month_end_kind {
    MONTH_END_STATEMENT,
    MONTH_END_ACCRUAL,
    MONTH_END_USER, /* a step of the user's: a shared object */
    MONTH_END_CLOSE,
    MONTH_END_TRIAL_BALANCE, /* an output at its place; no task */
    MONTH_END_FEES
};

/* The balances that earn interest, and how many parts of a year a rate is divided by. */
enum step_balances {
    BALANCES_MONTH_END,   /* the one at the place of the step, a twelfth of the rate */
    BALANCES_DAILY_365,   /* that of each day, 1 / 365 of the rate */
    BALANCES_DAILY_360,   /* 1 / 360 */
    BALANCES_DAILY_ACTUAL /* 1 / 365, or 1 / 366 in a leap year */
};

/* A rate, and the first day that it holds for. Units of 10^-rate_scale a year. */
struct dated_rate {
    uint32_t from; /* 0: it has always held */
    int64_t units;
};

/* An amount of a rules file. */
struct step_amount {
    const char *symbol;
    struct decimal amount;
    uint32_t commodity; /* known when the book is */
    int64_t units;      /* the amount as the book has it; likewise */
};

struct step_amounts {
    struct step_amount *items;
    size_t count, capacity;
};

struct month_end_step {
    enum month_end_kind kind;
    uint32_t line;            /* in the rules file; 0: the step is one of --monthly */
    struct patterns groups;   /* the names of the only groups that it is for; empty: for all */
    struct patterns accounts; /* of an accrual: those that earn; of fees: those that pay */
    const char *house; /* the house account of the other side; NULL if that is the client's */
    /* Of an accrual: */
    enum step_balances balances;
    struct dated_rate *rates; /* in the order of their days */
    size_t rate_count, rate_capacity;
    unsigned rate_scale;
    enum rounding rounding;
    struct step_amounts minimum_balance;  /* a smaller balance earns nothing */
    struct step_amounts minimum_interest; /* less is not posted */
    /* Of fees: */
    struct step_amounts fees;
    bool is_per_posting;
    struct step_amounts waived_from; /* an account with this balance pays nothing */
    struct user_step *user;          /* of a step of the user's: the rest of its rule */
};

struct month_end_steps {
    struct month_end_step *items;
    size_t count, capacity;
};

void month_end_steps_fini(struct month_end_steps *steps);

/* Adds a step behind all others, and returns it. It is valid until the next call. */
struct month_end_step *month_end_steps_add(struct month_end_steps *steps, enum month_end_kind kind);

/* Returns the first step of a kind; NULL if there is none. */
const struct month_end_step *month_end_steps_find(const struct month_end_steps *steps,
                                                  enum month_end_kind kind);

/*
 * Reads statement,accrual=RATE,step=PATH,close,trial-balance. The steps have this order, whatever
 * that of the list is. Returns NULL, or what is wrong.
 */
const char *month_end_steps_read_list(struct month_end_steps *steps, const char *text);

void month_end_step_add_rate(struct month_end_step *step, struct dated_rate rate);

/* Returns the rate of a day; 0 before the first one. */
int64_t month_end_step_rate(const struct month_end_step *step, uint32_t day);

void step_amounts_add(struct step_amounts *amounts, struct step_amount amount);

/* Returns the amount in a commodity of the book; NULL if there is none. */
const int64_t *step_amounts_find(const struct step_amounts *amounts, uint32_t commodity);

/* Returns true if a value is below the amount in its commodity. */
bool step_amounts_is_below(const struct step_amounts *amounts, uint32_t commodity, int64_t value);

/* Returns true if the step has to know about the days of the month: see batch/month_tally.h. */
bool month_end_step_has_tally(const struct month_end_step *step);

/* Returns true if the step is done for a group. */
bool month_end_step_has_group(const struct month_end_step *step, struct slice name);

/* Returns true if the step is about accounts with this name, which are no house accounts. */
bool month_end_step_has_account(const struct month_end_step *step, struct slice name);

/* Returns true if the step posts opposite amounts to accounts that the plan finds. */
bool month_end_step_posts(const struct month_end_step *step);

/*
 * Of a step that posts, and has no house account: returns what follows the name of a client in the
 * name of the account that gets the opposite amounts.
 */
const char *month_end_step_suffix(const struct month_end_step *step);

/* Loads the objects of the user's steps. */
bool month_end_steps_open(struct month_end_steps *steps, struct problem *problem);

/* Adds the steps to a hash of rules. */
void month_end_steps_hash(const struct month_end_steps *steps, struct sha256 *hash);

#endif
