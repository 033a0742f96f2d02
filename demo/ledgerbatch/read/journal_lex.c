/* Owns the tokens of a journal: names, symbols, amounts. */
#include "read/journal_lex.h"

#include <stdarg.h>

#include "base/syntax.h"

bool journal_problem(struct journal_parser *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    book_problem_list(parser->book, parser->problem, parser->source, parser->line, format,
                      arguments);
    va_end(arguments);
    return false;
}

bool journal_check_line_end(struct journal_parser *parser, const char *what)
{
    return parser->has_line_end ||
           journal_problem(
               parser, "hledger needs a line end after %s, and the file ends without one", what);
}

void journal_skip_blanks(struct journal_parser *parser)
{
    while (parser->at < parser->end && (*parser->at == ' ' || *parser->at == '\t')) {
        parser->at++;
    }
}

bool journal_at_end(const struct journal_parser *parser)
{
    return parser->at == parser->end || *parser->at == ';';
}

static bool ends_account_name(const char *at, const char *end)
{
    return *at == '\t' || (*at == ' ' && (at + 1 == end || at[1] == ' ' || at[1] == '\t'));
}

struct slice journal_name(struct journal_parser *parser)
{
    const char *begin = parser->at;
    const char *at = begin;
    while (at < parser->end && !ends_account_name(at, parser->end)) {
        at++;
    }
    parser->at = at;
    journal_skip_blanks(parser);
    return slice_between(begin, at);
}

static bool read_quoted_symbol(struct journal_parser *parser, struct slice *symbol)
{
    const char *begin = parser->at + 1;
    const char *close = memchr(begin, '"', (size_t)(parser->end - begin));
    if (!close) {
        return journal_problem(parser, "the quote of a commodity is not closed");
    }
    *symbol = slice_between(begin, close);
    parser->at = close + 1;
    return true;
}

bool journal_symbol(struct journal_parser *parser, uint32_t *commodity)
{
    struct slice symbol;
    if (parser->at < parser->end && *parser->at == '"') {
        if (!read_quoted_symbol(parser, &symbol)) {
            return false;
        }
    } else {
        const char *begin = parser->at;
        while (parser->at < parser->end && syntax_symbol_byte(*parser->at)) {
            parser->at++;
        }
        symbol = slice_between(begin, parser->at);
        if (symbol.size > 0 && !syntax_symbol_is_plain(symbol)) {
            return journal_problem(parser, "the commodity '%.*s' needs quotes",
                                   SLICE_ARGUMENTS(symbol));
        }
    }
    const char *wrong = syntax_symbol_problem(symbol);
    if (wrong) {
        return journal_problem(parser, "%s", wrong);
    }
    *commodity = book_commodity(parser->book, symbol);
    return true;
}

static bool read_sign(struct journal_parser *parser, bool *negative)
{
    if (parser->at == parser->end || *parser->at != '-') {
        return true;
    }
    if (*negative) {
        return journal_problem(parser, "an amount has two signs");
    }
    *negative = true;
    parser->at++;
    return true;
}

/* How a number says where its decimals begin, or its groups. */
enum number_style { STYLE_PLAIN, STYLE_POINTS, STYLE_COMMAS };

static bool read_unsigned(struct journal_parser *parser, struct money *money,
                          enum number_style *style)
{
    unsigned scale;
    const char *begin = parser->at;
    if (number_read_comma(&parser->at, parser->end, &money->units, &scale)) {
        money->scale = (uint8_t)scale;
        *style = STYLE_COMMAS;
        return true;
    }
    enum number_problem wrong = number_read(&parser->at, parser->end, &money->units, &scale);
    if (wrong) {
        return journal_problem(parser, "%s: '%.*s'", syntax_number_problem(wrong),
                               (int)(parser->end - begin), begin);
    }
    size_t size = (size_t)(parser->at - begin);
    bool is_plain = !memchr(begin, '.', size) && !memchr(begin, ',', size);
    *style = is_plain ? STYLE_PLAIN : STYLE_POINTS;
    money->scale = (uint8_t)scale;
    return true;
}

/*
 * Checks that a commodity is not written in both styles: 1.000 would then be one or a thousand.
 * ledger keeps a commodity's style from one amount to the next.
 */
static bool check_number_style(struct journal_parser *parser, uint32_t number,
                               enum number_style style)
{
    struct commodity *commodity = &parser->book->commodities[number];
    if (parser->scope.has_default && style != STYLE_PLAIN &&
        (style == STYLE_COMMAS) != parser->scope.has_default_comma) {
        return journal_problem(parser, "hledger reads decimals of all commodities as those of 'D', "
                                       "ledger does not: write 'commodity' instead of 'D'");
    }
    bool has_points = commodity->has_points || style == STYLE_POINTS;
    bool has_commas = commodity->has_commas || style == STYLE_COMMAS;
    if (has_points && has_commas) {
        /* The first style stays, so only amounts in the other style are faults. */
        return journal_problem(parser,
                               "amounts of '%.*s' have decimal points in one place and decimal "
                               "commas in another: write one of them everywhere",
                               SLICE_ARGUMENTS(book_symbol(parser->book, number)));
    }
    commodity->has_points = has_points;
    commodity->has_commas = has_commas;
    return true;
}

/* Takes the style of a commodity in the outputs from its first use. */
static void set_commodity_style(struct journal_parser *parser, uint32_t commodity, bool first,
                                bool spaced)
{
    struct commodity *seen = &parser->book->commodities[commodity];
    if (!seen->seen) {
        seen->seen = true;
        seen->symbol_first = first;
        seen->spaced = spaced;
    }
}

static bool read_symbol_then_number(struct journal_parser *parser, struct money *money,
                                    bool negative)
{
    if (!journal_symbol(parser, &money->commodity)) {
        return false;
    }
    const char *after = parser->at;
    journal_skip_blanks(parser);
    bool spaced = parser->at > after;
    enum number_style style;
    if (!read_sign(parser, &negative) || !read_unsigned(parser, money, &style)) {
        return false;
    }
    set_commodity_style(parser, money->commodity, true, spaced);
    money->units = negative ? -money->units : money->units;
    return check_number_style(parser, money->commodity, style);
}

static bool read_number_then_symbol(struct journal_parser *parser, struct money *money,
                                    bool negative)
{
    enum number_style style;
    if (!read_unsigned(parser, money, &style)) {
        return false;
    }
    const char *after = parser->at;
    journal_skip_blanks(parser);
    bool spaced = parser->at > after;
    bool has_symbol =
        parser->at < parser->end && (*parser->at == '"' || syntax_symbol_byte(*parser->at));
    if (!has_symbol) {
        money->commodity = book_commodity(parser->book, (struct slice){ "", 0 });
    } else if (!journal_symbol(parser, &money->commodity)) {
        return false;
    }
    set_commodity_style(parser, money->commodity, false, has_symbol && spaced);
    money->units = negative ? -money->units : money->units;
    return check_number_style(parser, money->commodity, style);
}

bool journal_amount(struct journal_parser *parser, struct money *money)
{
    bool negative = false;
    if (!read_sign(parser, &negative)) {
        return false;
    }
    if (negative) {
        journal_skip_blanks(parser);
    }
    char first = parser->at < parser->end ? *parser->at : 0;
    if (first >= '0' && first <= '9') {
        return read_number_then_symbol(parser, money, negative);
    }
    if (first == '"' || syntax_symbol_byte(first)) {
        return read_symbol_then_number(parser, money, negative);
    }
    if (first == '(') {
        return journal_problem(parser,
                               "expressions are not in the portable subset: write the result");
    }
    const char *hint = first == '.'   ? "; write the zero before the point"
                       : first == '+' ? "; write it without '+'"
                                      : "";
    return journal_problem(parser, "an amount is expected here: '%.*s'%s",
                           (int)(parser->end - parser->at), parser->at, hint);
}

bool journal_check_default(struct journal_parser *parser, const struct money *money)
{
    return !parser->scope.has_default || money->units == 0 ||
           !book_is_nameless(parser->book, money->commodity) ||
           journal_problem(parser,
                           "hledger gives an amount without a commodity that of 'D', ledger "
                           "gives it none: write the commodity");
}
