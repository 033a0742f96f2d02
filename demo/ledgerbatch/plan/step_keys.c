/* Owns the keys of month-end steps in a rules file. */
#include "plan/step_keys.h"

#include <string.h>

#include "base/syntax.h"
#include "plan/user_step_keys.h"

/* Rates of a rules file have this scale, and are smaller than this. */
#define RATE_SCALE 9
#define RATE_MAX   100

/* A step, and the rules that own its texts: for the readers of keys. */
struct step_target {
    struct rules *rules;
    struct month_end_step *step;
};

/* --- patterns, names, words --- */

struct text_list {
    struct rules *rules;
    struct patterns *patterns;
};

static void add_pattern(struct yaml_reader *reader, const yaml_node_t *item, void *target)
{
    const struct text_list *list = target;
    struct slice text;
    if (yaml_text(reader, item, "a pattern of account names, such as '*:Savings'", &text)) {
        patterns_add(list->patterns, rules_keep_text(list->rules, text));
    }
}

static void add_group(struct yaml_reader *reader, const yaml_node_t *item, void *target)
{
    const struct text_list *list = target;
    struct slice text;
    if (yaml_text(reader, item, "the name of a group", &text)) {
        patterns_add(list->patterns, rules_keep_text(list->rules, text));
    }
}

void step_keys_read_patterns(struct yaml_reader *reader, const yaml_node_t *value,
                             struct rules *rules, struct patterns *patterns)
{
    struct text_list list = { rules, patterns };
    yaml_read_list(reader, value, add_pattern, &list);
}

static void read_accounts(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    step_keys_read_patterns(reader, value, at->rules, &at->step->accounts);
}

static void read_groups(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    struct text_list list = { at->rules, &at->step->groups };
    yaml_read_list(reader, value, add_group, &list);
}

static void read_house(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    struct slice text;
    if (!yaml_text(reader, value, "the name of a house account, such as Bank:Interest", &text)) {
        return;
    }
    const char *wrong = syntax_account_problem(text);
    if (wrong) {
        yaml_fault(reader, value, "'%.*s': %s", SLICE_ARGUMENTS(text), wrong);
        return;
    }
    at->step->house = rules_keep_text(at->rules, text);
}

/* Reads one of some words. Returns its number, or -1 after a fault. */
static int read_word(struct yaml_reader *reader, const yaml_node_t *value, const char *what,
                     const char *const *words, size_t word_count)
{
    struct slice text;
    if (!yaml_text(reader, value, what, &text)) {
        return -1;
    }
    for (size_t i = 0; i < word_count; i++) {
        if (slice_equal(text, slice_of(words[i]))) {
            return (int)i;
        }
    }
    yaml_fault_word(reader, value, what, words, word_count);
    return -1;
}

static void read_rounding(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    static const char *const words[] = {
        [ROUND_HALF_EVEN] = "half-even", [ROUND_HALF_UP] = "half-up", [ROUND_DOWN] = "down"
    };
    const struct step_target *at = target;
    int word = read_word(reader, value, "a rounding", words, sizeof words / sizeof *words);
    if (word >= 0) {
        at->step->rounding = (enum rounding)word;
    }
}

/* The value is checked with that of `days`, when all keys are read. */
static void read_balances(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    static const char *const words[] = { "month-end", "daily" };
    (void)target;
    (void)read_word(reader, value, "one of the balances", words, sizeof words / sizeof *words);
}

static void read_days(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    static const char *const words[] = { "365", "360", "actual" };
    const struct step_target *at = target;
    int word =
        read_word(reader, value, "a number of days of a year", words, sizeof words / sizeof *words);
    if (word >= 0) {
        at->step->balances = (enum step_balances)(BALANCES_DAILY_365 + word);
    }
}

/* --- rates --- */

static bool read_rate_text(struct yaml_reader *reader, const yaml_node_t *value, int64_t *units)
{
    struct slice text;
    unsigned scale;
    if (!yaml_text(reader, value, "a rate a year as a decimal, such as 0.015", &text)) {
        return false;
    }
    bool is_negative = text.data[0] == '-';
    const char *at = text.data + is_negative;
    const char *end = text.data + text.size;
    enum number_problem wrong = number_read(&at, end, units, &scale);
    if (wrong || at != end) {
        yaml_fault(reader, value,
                   "'%.*s' is no rate; write a decimal, such as 0.015 for 1.5 per cent",
                   SLICE_ARGUMENTS(text));
        return false;
    }
    struct decimal rate = { is_negative ? -*units : *units, scale };
    decimal_trim(&rate);
    if (rate.scale > RATE_SCALE || !decimal_rescale(&rate, RATE_SCALE) ||
        rate.units >= RATE_MAX * power_of_ten(RATE_SCALE) ||
        rate.units <= -RATE_MAX * power_of_ten(RATE_SCALE)) {
        yaml_fault(reader, value, "the rate '%.*s' has more than %d decimals, or is %d or more",
                   SLICE_ARGUMENTS(text), RATE_SCALE, RATE_MAX);
        return false;
    }
    *units = (int64_t)rate.units;
    return true;
}

static void read_rate(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    struct dated_rate rate = { 0 };
    if (read_rate_text(reader, value, &rate.units)) {
        month_end_step_add_rate(at->step, rate);
    }
}

static bool read_date(struct yaml_reader *reader, const yaml_node_t *key, uint32_t *date)
{
    struct slice text;
    if (!yaml_text(reader, key, "a day, such as 2024-03-05", &text)) {
        return false;
    }
    const char *at = text.data;
    const char *end = text.data + text.size;
    const char *wrong = syntax_date(&at, end, date);
    if (wrong || at != end) {
        yaml_fault(reader, key, "'%.*s' is no day; write one such as 2024-03-05",
                   SLICE_ARGUMENTS(text));
        return false;
    }
    return true;
}

/* Reads a mapping of days to rates, in the order of the days. */
static void read_rates(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    if (value->type != YAML_MAPPING_NODE) {
        yaml_fault(reader, value, "write days with rates here, such as 2024-01-01: 0.015");
        return;
    }
    uint32_t last = 0;
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top && !reader->has_stopped; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
        struct dated_rate rate;
        bool has_day = read_date(reader, key, &rate.from);
        bool has_rate = read_rate_text(
            reader, yaml_document_get_node(&reader->document, pair->value), &rate.units);
        if (has_day && rate.from <= last) {
            yaml_fault(reader, key,
                       "the day is not after the one before; write each day once, "
                       "the earliest first");
        }
        if (has_day && has_rate) {
            month_end_step_add_rate(at->step, rate);
        }
        last = has_day ? rate.from : last;
    }
}

/* --- amounts --- */

/* Reads a symbol: in quotes, or as long as its letters go. */
static bool read_symbol(const char **at, const char *end, struct slice *symbol)
{
    const char *begin = *at;
    if (begin < end && *begin == '"') {
        const char *close = memchr(begin + 1, '"', (size_t)(end - begin - 1));
        if (!close) {
            return false;
        }
        *symbol = slice_between(begin + 1, close);
        *at = close + 1;
    } else {
        while (*at < end && syntax_symbol_byte(**at)) {
            ++*at;
        }
        *symbol = slice_between(begin, *at);
    }
    return !syntax_symbol_problem(*symbol);
}

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && **at == ' ') {
        ++*at;
    }
}

/* Reads -1.50 USD, USD 1.50 or $1.50. */
static bool read_amount(struct slice text, struct decimal *amount, struct slice *symbol)
{
    const char *at = text.data;
    const char *end = text.data + text.size;
    int64_t units;
    bool is_negative = *at == '-';
    at += is_negative;
    bool is_number_first = at < end && *at >= '0' && *at <= '9';
    if (!is_number_first && !read_symbol(&at, end, symbol)) {
        return false;
    }
    skip_blanks(&at, end);
    if (number_read(&at, end, &units, &amount->scale) != NUMBER_OK) {
        return false;
    }
    skip_blanks(&at, end);
    amount->units = is_negative ? -units : units;
    return (!is_number_first || read_symbol(&at, end, symbol)) && at == end;
}

struct amount_list {
    struct rules *rules;
    struct step_amounts *amounts;
    bool is_fee; /* a fee is positive; another amount may be zero */
};

static void add_amount(struct yaml_reader *reader, const yaml_node_t *item, void *target)
{
    const struct amount_list *list = target;
    struct slice text;
    struct slice symbol;
    struct step_amount amount = { 0 };
    if (!yaml_text(reader, item, "an amount, such as 2.50 USD", &text)) {
        return;
    }
    if (!read_amount(text, &amount.amount, &symbol)) {
        yaml_fault(reader, item, "'%.*s' is no amount; write one such as 2.50 USD",
                   SLICE_ARGUMENTS(text));
        return;
    }
    if (amount.amount.units < 0 || (list->is_fee && amount.amount.units == 0)) {
        yaml_fault(reader, item, "the amount '%.*s' is not positive", SLICE_ARGUMENTS(text));
        return;
    }
    for (size_t i = 0; i < list->amounts->count; i++) {
        if (slice_equal(symbol, slice_of(list->amounts->items[i].symbol))) {
            yaml_fault(reader, item,
                       "there is an amount in %.*s before; write one for each "
                       "commodity",
                       SLICE_ARGUMENTS(symbol));
            return;
        }
    }
    amount.symbol = rules_keep_text(list->rules, symbol);
    step_amounts_add(list->amounts, amount);
}

static void read_amounts(struct yaml_reader *reader, const yaml_node_t *value,
                         const struct step_target *target, struct step_amounts *amounts)
{
    struct amount_list list = { target->rules, amounts, amounts == &target->step->fees };
    yaml_read_list(reader, value, add_amount, &list);
}

static void read_minimum_balance(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    read_amounts(reader, value, at, &at->step->minimum_balance);
}

static void read_minimum_interest(struct yaml_reader *reader, const yaml_node_t *value,
                                  void *target)
{
    const struct step_target *at = target;
    read_amounts(reader, value, at, &at->step->minimum_interest);
}

static void read_fee(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    read_amounts(reader, value, at, &at->step->fees);
}

static void read_fee_per_posting(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    at->step->is_per_posting = true;
    read_amounts(reader, value, at, &at->step->fees);
}

static void read_waived_from(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct step_target *at = target;
    read_amounts(reader, value, at, &at->step->waived_from);
}

/* --- steps --- */

static const struct yaml_key group_keys[] = { { "step", NULL }, { "groups", read_groups } };
static const struct yaml_key trial_keys[] = { { "step", NULL } };
static const struct yaml_key accrual_keys[] = { { "step", NULL },
                                                { "groups", read_groups },
                                                { "accounts", read_accounts },
                                                { "balances", read_balances },
                                                { "days", read_days },
                                                { "rate", read_rate },
                                                { "rates", read_rates },
                                                { "minimum-balance", read_minimum_balance },
                                                { "minimum-interest", read_minimum_interest },
                                                { "rounding", read_rounding },
                                                { "house", read_house } };
static const struct yaml_key fee_keys[] = { { "step", NULL },
                                            { "groups", read_groups },
                                            { "accounts", read_accounts },
                                            { "fee", read_fee },
                                            { "fee-per-posting", read_fee_per_posting },
                                            { "waived-from", read_waived_from },
                                            { "house", read_house } };

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

static const struct step_kind {
    const struct yaml_key *keys;
    size_t key_count;
    const char *what;
} step_kinds[] = {
    [MONTH_END_STATEMENT] = { group_keys, COUNT_OF(group_keys), "the step statement" },
    [MONTH_END_ACCRUAL] = { accrual_keys, COUNT_OF(accrual_keys), "the step accrual" },
    [MONTH_END_CLOSE] = { group_keys, COUNT_OF(group_keys), "the step close" },
    [MONTH_END_TRIAL_BALANCE] = { trial_keys, COUNT_OF(trial_keys), "the step trial-balance" },
    [MONTH_END_FEES] = { fee_keys, COUNT_OF(fee_keys), "the step fees" },
};

static const char *const step_words[] = {
    [MONTH_END_STATEMENT] = "statement", [MONTH_END_ACCRUAL] = "accrual",
    [MONTH_END_CLOSE] = "close",         [MONTH_END_TRIAL_BALANCE] = "trial-balance",
    [MONTH_END_FEES] = "fees",           [MONTH_END_USER] = "user"
};

/* Requires a key, unless the step is a word without keys, or has it. */
static void require(struct yaml_reader *reader, const yaml_node_t *node, const char *step,
                    const char *key, const char *example)
{
    if (node->type != YAML_MAPPING_NODE || !yaml_find(reader, node, key)) {
        yaml_fault(reader, node, "the step %s needs the key '%s', such as %s: %s", step, key, key,
                   example);
    }
}

/* Checks that one of two keys is there, and not both. */
static void require_one(struct yaml_reader *reader, const yaml_node_t *node, const char *first,
                        const char *second, const char *wanted)
{
    bool has_keys = node->type == YAML_MAPPING_NODE;
    bool has_first = has_keys && yaml_find(reader, node, first);
    bool has_second = has_keys && yaml_find(reader, node, second);
    if (has_first == has_second) {
        yaml_fault(reader, node, "%s", wanted);
    }
}

static void check_accrual(struct yaml_reader *reader, const yaml_node_t *node)
{
    bool has_keys = node->type == YAML_MAPPING_NODE;
    const yaml_node_t *balances = has_keys ? yaml_find(reader, node, "balances") : NULL;
    const yaml_node_t *days = has_keys ? yaml_find(reader, node, "days") : NULL;
    bool is_daily = balances && balances->type == YAML_SCALAR_NODE &&
                    strcmp((const char *)balances->data.scalar.value, "daily") == 0;
    require(reader, node, "accrual", "accounts", "'*:Savings'");
    require_one(reader, node, "rate", "rates",
                "the step accrual needs either 'rate', or 'rates' with the days that each holds "
                "from");
    if (is_daily && !days) {
        yaml_fault(reader, node, "daily balances need the key 'days': 365, 360 or actual");
    } else if (days && !is_daily) {
        yaml_fault(reader, days, "'days' is about daily balances; write balances: daily, too");
    }
}

static void check_fees(struct yaml_reader *reader, const yaml_node_t *node)
{
    require(reader, node, "fees", "accounts", "'*:Checking'");
    require(reader, node, "fees", "house", "Bank:Fees");
    require_one(reader, node, "fee", "fee-per-posting",
                "the step fees needs either 'fee', such as fee: 2.50 USD, or 'fee-per-posting'");
}

static bool share_a_group(const struct month_end_step *a, const struct month_end_step *b)
{
    bool share = a->groups.count == 0 || b->groups.count == 0;
    for (size_t i = 0; i < a->groups.count && !share; i++) {
        share = month_end_step_has_group(b, slice_of(a->groups.items[i]));
    }
    return share;
}

/* Checks that an output file has one step: a group has one statement and one close a month. */
static void check_single(struct yaml_reader *reader, const yaml_node_t *node,
                         const struct rules *rules, const struct month_end_step *step)
{
    bool is_single = step->kind != MONTH_END_ACCRUAL && step->kind != MONTH_END_FEES &&
                     step->kind != MONTH_END_USER;
    for (const struct month_end_step *other = rules->steps.items; is_single && other < step;
         other++) {
        if (other->kind == step->kind && share_a_group(other, step)) {
            yaml_fault(reader, node,
                       "there is a step %s in line %u; a month has one of them for each group",
                       step_words[step->kind], other->line);
            return;
        }
    }
}

/* Reads a step of the user's. Only the groups are as for other steps. */
static void read_user_step(struct yaml_reader *reader, const yaml_node_t *node,
                           struct step_target *target)
{
    bool has_keys = node->type == YAML_MAPPING_NODE;
    const yaml_node_t *groups = has_keys ? yaml_find(reader, node, "groups") : NULL;
    target->step->user = user_step_create();
    require(reader, node, "user", "object", "/usr/lib/ledgerbatch/revaluation.so");
    if (has_keys) {
        user_step_keys_read(reader, node, target->rules, target->step->user);
    }
    if (groups) {
        read_groups(reader, groups, target);
    }
}

static void read_step_of_kind(struct yaml_reader *reader, const yaml_node_t *node,
                              struct rules *rules, enum month_end_kind kind)
{
    struct step_target target = { rules, month_end_steps_add(&rules->steps, kind) };
    target.step->line = yaml_line(node);
    target.step->rate_scale = kind == MONTH_END_ACCRUAL ? RATE_SCALE : 0;
    if (node->type == YAML_MAPPING_NODE && kind != MONTH_END_USER) {
        const struct step_kind *described = &step_kinds[kind];
        yaml_read_mapping(reader, node, described->what, described->keys, described->key_count,
                          &target);
    }
    if (kind == MONTH_END_USER) {
        read_user_step(reader, node, &target);
    } else if (kind == MONTH_END_ACCRUAL) {
        check_accrual(reader, node);
    } else if (kind == MONTH_END_FEES) {
        check_fees(reader, node);
    }
    check_single(reader, node, rules, target.step);
}

/* Reads a word such as close, or a mapping with the key step. */
static void read_step(struct yaml_reader *reader, const yaml_node_t *item, void *target)
{
    struct rules *rules = target;
    const yaml_node_t *name = item;
    if (item->type == YAML_MAPPING_NODE) {
        name = yaml_find(reader, item, "step");
    }
    if (!name) {
        yaml_fault(reader, item, "a step needs the key 'step', such as step: accrual");
        return;
    }
    int kind = read_word(reader, name, "a step", step_words, COUNT_OF(step_words));
    if (kind >= 0 && rules->steps.count == MONTH_END_STEPS_MAX) {
        yaml_fault(reader, item, "there are more than %d steps", MONTH_END_STEPS_MAX);
    } else if (kind >= 0) {
        read_step_of_kind(reader, item, rules, (enum month_end_kind)kind);
    }
}

void step_keys_read_steps(struct yaml_reader *reader, const yaml_node_t *value, struct rules *rules)
{
    if (value->type != YAML_SEQUENCE_NODE) {
        yaml_fault(reader, value, "write a list of steps here, each after a '-'");
        return;
    }
    yaml_read_list(reader, value, read_step, rules);
}
