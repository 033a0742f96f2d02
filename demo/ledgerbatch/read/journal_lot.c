/*
 * Owns lots: AMOUNT {PRICE} [DATE] @ PRICE. hledger ignores what a lot has cost, and ledger
 * balances with it. They agree if the price after @ is that of the lot. posted.journal has no lots.
 */
#include "read/journal_lex.h"

/* The cost of a lot in the journal: of one, or of all. */
struct lot {
    struct money cost;
    bool has_cost, is_total;
};

/* {PRICE}, {=PRICE} or {{PRICE}} */
static bool read_lot_cost(struct journal_parser *parser, struct lot *lot)
{
    parser->at++;
    lot->has_cost = true;
    lot->is_total = parser->at < parser->end && *parser->at == '{';
    parser->at += lot->is_total;
    if (parser->at < parser->end && *parser->at == '=') {
        parser->at++;
    }
    if (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\t')) {
        return journal_problem(parser, "hledger reads no blanks inside the braces of a lot");
    }
    if (!journal_amount(parser, &lot->cost)) {
        return false;
    }
    for (int i = 0; i <= lot->is_total; i++) {
        if (parser->at == parser->end || *parser->at != '}') {
            return journal_problem(parser, "the price of a lot is not closed");
        }
        parser->at++;
    }
    journal_skip_blanks(parser);
    return true;
}

/* [DATE], which changes no balance */
static bool skip_lot_date(struct journal_parser *parser)
{
    uint32_t date;
    parser->at++;
    if (!journal_date(parser, parser->scope.year, &date)) {
        return false;
    }
    if (parser->at == parser->end || *parser->at != ']') {
        return journal_problem(parser, "the date of a lot is not closed");
    }
    parser->at++;
    journal_skip_blanks(parser);
    return true;
}

/* The cost of an amount; `price` is of all, or of one. */
static struct decimal cost_of(struct money amount, struct money price, bool is_total)
{
    struct decimal cost = { price.units, price.scale };
    if (!is_total) {
        cost.units *= amount.units < 0 ? -amount.units : amount.units;
        cost.scale += amount.scale;
    }
    return cost;
}

static bool is_same(struct decimal a, struct decimal b)
{
    decimal_trim(&a);
    decimal_trim(&b);
    return a.units == b.units && (a.units == 0 || a.scale == b.scale);
}

static bool check_price(struct journal_parser *parser, struct money amount, const struct lot *lot,
                        const struct extra *extra)
{
    bool is_total = extra && extra->flags & EXTRA_PRICE_TOTAL;
    bool has_price = is_total || (extra && extra->flags & EXTRA_PRICE_UNIT);
    if (!has_price) {
        return journal_problem(parser, "ledger balances a lot at its price, hledger does not: "
                                       "write '@ PRICE' behind it, too");
    }
    return !lot->has_cost ||
           (lot->cost.commodity == extra->price.commodity &&
            is_same(cost_of(amount, lot->cost, lot->is_total),
                    cost_of(amount, extra->price, is_total))) ||
           journal_problem(parser, "ledger balances a lot at its own price, hledger at that after "
                                   "'@', and they differ: leave the lot out, and write the gain as "
                                   "a posting");
}

bool journal_lot_and_price(struct journal_parser *parser, struct posting *posting,
                           struct money amount)
{
    struct lot lot = { .has_cost = false };
    bool has_lot = parser->at < parser->end && (*parser->at == '{' || *parser->at == '[');
    if (parser->at < parser->end && *parser->at == '{' && !read_lot_cost(parser, &lot)) {
        return false;
    }
    if (parser->at < parser->end && *parser->at == '[' && !skip_lot_date(parser)) {
        return false;
    }
    if (parser->at < parser->end && *parser->at == '@' &&
        !journal_price(parser, posting, amount.commodity)) {
        return false;
    }
    const struct extra *extra =
        posting->extra == NO_INDEX ? NULL : &parser->book->extras[posting->extra];
    return !has_lot || check_price(parser, amount, &lot, extra);
}
