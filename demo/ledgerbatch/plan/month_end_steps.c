/* Owns what each kind of month-end step is about, and the list of --monthly. */
#include "plan/month_end_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/syntax.h"
#include "memory.h"

void month_end_steps_fini(struct month_end_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++) {
        struct month_end_step *step = &steps->items[i];
        patterns_fini(&step->groups);
        patterns_fini(&step->accounts);
        free(step->rates);
        free(step->minimum_balance.items);
        free(step->minimum_interest.items);
        free(step->fees.items);
        free(step->waived_from.items);
        user_step_free(step->user);
    }
    free(steps->items);
    *steps = (struct month_end_steps){ 0 };
}

struct month_end_step *month_end_steps_add(struct month_end_steps *steps, enum month_end_kind kind)
{
    steps->items =
        memory_grow(steps->items, &steps->capacity, steps->count + 1, sizeof *steps->items);
    steps->items[steps->count] = (struct month_end_step){ .kind = kind };
    return &steps->items[steps->count++];
}

const struct month_end_step *month_end_steps_find(const struct month_end_steps *steps,
                                                  enum month_end_kind kind)
{
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->items[i].kind == kind) {
            return &steps->items[i];
        }
    }
    return NULL;
}

void month_end_step_add_rate(struct month_end_step *step, struct dated_rate rate)
{
    step->rates = memory_grow(step->rates, &step->rate_capacity, step->rate_count + 1, sizeof rate);
    step->rates[step->rate_count++] = rate;
}

int64_t month_end_step_rate(const struct month_end_step *step, uint32_t day)
{
    size_t count = step->rate_count;
    while (count > 0 && step->rates[count - 1].from > day) {
        count--;
    }
    return count > 0 ? step->rates[count - 1].units : 0;
}

void step_amounts_add(struct step_amounts *amounts, struct step_amount amount)
{
    amounts->items =
        memory_grow(amounts->items, &amounts->capacity, amounts->count + 1, sizeof amount);
    amounts->items[amounts->count++] = amount;
}

const int64_t *step_amounts_find(const struct step_amounts *amounts, uint32_t commodity)
{
    for (size_t i = 0; i < amounts->count; i++) {
        if (amounts->items[i].commodity == commodity) {
            return &amounts->items[i].units;
        }
    }
    return NULL;
}

bool step_amounts_is_below(const struct step_amounts *amounts, uint32_t commodity, int64_t value)
{
    const int64_t *limit = step_amounts_find(amounts, commodity);
    return limit && value < *limit;
}

/* --- the list of --monthly --- */

static const char accrual_word[] = "accrual=";
static const char user_word[] = "step=";

#define ACCRUAL_SIZE (sizeof accrual_word - 1)
#define USER_SIZE    (sizeof user_word - 1)

static bool is_word_of(struct slice word, enum month_end_kind kind)
{
    static const char *const words[] = { [MONTH_END_STATEMENT] = "statement",
                                         [MONTH_END_CLOSE] = "close",
                                         [MONTH_END_TRIAL_BALANCE] = "trial-balance" };
    if (kind == MONTH_END_ACCRUAL) {
        return word.size > ACCRUAL_SIZE && memcmp(word.data, accrual_word, ACCRUAL_SIZE) == 0;
    }
    if (kind == MONTH_END_USER) {
        return word.size > USER_SIZE && memcmp(word.data, user_word, USER_SIZE) == 0;
    }
    return slice_equal(word, slice_of(words[kind]));
}

static bool read_rate(struct slice text, struct month_end_step *step)
{
    const char *at = text.data;
    const char *end = text.data + text.size;
    int64_t units;
    if (number_read(&at, end, &units, &step->rate_scale) != NUMBER_OK || at != end) {
        return false;
    }
    month_end_step_add_rate(step, (struct dated_rate){ .units = units });
    return true;
}

/* Finds the words of the list: by kind, each at most once. */
static const char *split_list(const char *text, struct slice words[MONTH_END_TRIAL_BALANCE + 1])
{
    for (;;) {
        struct slice word = { text, strcspn(text, ",") };
        int kind = 0;
        while (kind <= MONTH_END_TRIAL_BALANCE && !is_word_of(word, (enum month_end_kind)kind)) {
            kind++;
        }
        if (kind > MONTH_END_TRIAL_BALANCE) {
            return "--monthly takes statement, accrual=RATE, step=PATH, close and trial-balance, "
                   "with commas between";
        }
        if (words[kind].size > 0) {
            return "--monthly names a step twice";
        }
        words[kind] = word;
        if (text[word.size] == 0) {
            return NULL;
        }
        text += word.size + 1;
    }
}

const char *month_end_steps_read_list(struct month_end_steps *steps, const char *text)
{
    struct slice words[MONTH_END_TRIAL_BALANCE + 1] = { 0 };
    const char *wrong = split_list(text, words);
    for (int kind = 0; !wrong && kind <= MONTH_END_TRIAL_BALANCE; kind++) {
        struct slice word = words[kind];
        if (word.size == 0) {
            continue;
        }
        struct month_end_step *step = month_end_steps_add(steps, (enum month_end_kind)kind);
        struct slice rate = { word.data + ACCRUAL_SIZE, word.size - ACCRUAL_SIZE };
        if (kind == MONTH_END_ACCRUAL && !read_rate(rate, step)) {
            wrong = "accrual takes a rate a year as a decimal, as in accrual=0.015";
        }
        if (kind == MONTH_END_USER) {
            step->user = user_step_create();
            user_step_set_path(step->user,
                               slice_between(word.data + USER_SIZE, word.data + word.size));
            wrong = user_step_is_name(step->user->name)
                        ? NULL
                        : "the file name of a step begins with letters, digits, '-' and '_'";
        }
    }
    return wrong;
}

/* --- what a step is about --- */

static bool has_component(struct slice name, const char *component)
{
    size_t size = strlen(component);
    const char *at = name.data;
    const char *end = name.data + name.size;
    while (at <= end) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        const char *stop = colon ? colon : end;
        if ((size_t)(stop - at) == size && memcmp(at, component, size) == 0) {
            return true;
        }
        at = stop + 1;
    }
    return false;
}

bool month_end_step_has_tally(const struct month_end_step *step)
{
    return (step->kind == MONTH_END_ACCRUAL && step->balances != BALANCES_MONTH_END) ||
           (step->kind == MONTH_END_FEES && step->is_per_posting);
}

bool month_end_step_has_group(const struct month_end_step *step, struct slice name)
{
    bool is_for = step->groups.count == 0;
    for (size_t i = 0; i < step->groups.count && !is_for; i++) {
        is_for = slice_equal(slice_of(step->groups.items[i]), name);
    }
    return is_for;
}

bool month_end_step_has_account(const struct month_end_step *step, struct slice name)
{
    switch (step->kind) {
    case MONTH_END_ACCRUAL:
    case MONTH_END_FEES:
        return patterns_match(&step->accounts, name);
    case MONTH_END_CLOSE:
        return has_component(name, "Income") || has_component(name, "Expenses");
    case MONTH_END_STATEMENT:
    case MONTH_END_TRIAL_BALANCE:
    case MONTH_END_USER:
        break;
    }
    return false;
}

bool month_end_step_posts(const struct month_end_step *step)
{
    return step->kind == MONTH_END_ACCRUAL || step->kind == MONTH_END_FEES ||
           step->kind == MONTH_END_CLOSE;
}

const char *month_end_step_suffix(const struct month_end_step *step)
{
    return step->kind == MONTH_END_CLOSE ? ":Equity:Retained" : ":Income:Interest";
}

static void hash_rates(const struct month_end_step *step, struct sha256 *hash)
{
    sha256_add_number(hash, step->rate_count);
    for (size_t i = 0; i < step->rate_count; i++) {
        struct decimal rate = { step->rates[i].units, step->rate_scale };
        decimal_trim(&rate);
        sha256_add_number(hash, step->rates[i].from);
        sha256_add_number(hash, (uint64_t)rate.units);
        sha256_add_number(hash, rate.scale);
    }
}

static void hash_amounts(const struct step_amounts *amounts, struct sha256 *hash)
{
    sha256_add_number(hash, amounts->count);
    for (size_t i = 0; i < amounts->count; i++) {
        struct decimal amount = amounts->items[i].amount;
        decimal_trim(&amount);
        sha256_add_text(hash, amounts->items[i].symbol);
        sha256_add_number(hash, (uint64_t)amount.units);
        sha256_add_number(hash, amount.scale);
    }
}

static void hash_step(const struct month_end_step *step, struct sha256 *hash)
{
    sha256_add_number(hash, step->kind);
    patterns_hash(&step->groups, hash);
    patterns_hash(&step->accounts, hash);
    sha256_add_text(hash, step->house ? step->house : "");
    hash_rates(step, hash);
    sha256_add_number(hash, step->balances);
    sha256_add_number(hash, step->is_per_posting);
    sha256_add_number(hash, step->rounding);
    hash_amounts(&step->minimum_balance, hash);
    hash_amounts(&step->minimum_interest, hash);
    hash_amounts(&step->fees, hash);
    hash_amounts(&step->waived_from, hash);
    if (step->user) {
        user_step_hash(step->user, hash);
    }
}

bool month_end_steps_open(struct month_end_steps *steps, struct problem *problem)
{
    bool opened = true;
    for (size_t i = 0; opened && i < steps->count; i++) {
        struct user_step *user = steps->items[i].user;
        opened = !user || step_object_open(&user->object, user->path, problem);
    }
    return opened;
}

void month_end_steps_hash(const struct month_end_steps *steps, struct sha256 *hash)
{
    sha256_add_number(hash, steps->count);
    for (size_t i = 0; i < steps->count; i++) {
        hash_step(&steps->items[i], hash);
    }
}
