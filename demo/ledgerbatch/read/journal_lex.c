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

bool journal_account(struct journal_parser *parser, uint32_t *account)
{
    const char *begin = parser->at;
    const char *at = begin;
    while (at < parser->end && !ends_account_name(at, parser->end)) {
        at++;
    }
    struct slice name = slice_between(begin, at);
    uint32_t known = names_find(&parser->book->account_names, name);
    if (known == NAME_NONE) {
        const char *wrong = syntax_account_problem(name);
        if (wrong) {
            return journal_problem(parser, "%s: '%.*s'", wrong, SLICE_ARGUMENTS(name));
        }
        known = book_account(parser->book, name, parser->source, parser->line);
    }
    *account = known;
    parser->at = at;
    journal_skip_blanks(parser);
    return true;
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

static bool read_unsigned(struct journal_parser *parser, struct money *money)
{
    unsigned scale;
    const char *begin = parser->at;
    enum number_problem wrong = number_read(&parser->at, parser->end, &money->units, &scale);
    if (wrong) {
        return journal_problem(parser, "%s: '%.*s'", syntax_number_problem(wrong),
                               (int)(parser->end - begin), begin);
    }
    money->scale = (uint8_t)scale;
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
    if (!read_sign(parser, &negative) || !read_unsigned(parser, money)) {
        return false;
    }
    set_commodity_style(parser, money->commodity, true, spaced);
    money->units = negative ? -money->units : money->units;
    return true;
}

static bool read_number_then_symbol(struct journal_parser *parser, struct money *money,
                                    bool negative)
{
    if (!read_unsigned(parser, money)) {
        return false;
    }
    const char *after = parser->at;
    journal_skip_blanks(parser);
    bool spaced = parser->at > after;
    if (!journal_symbol(parser, &money->commodity)) {
        return false;
    }
    set_commodity_style(parser, money->commodity, false, spaced);
    money->units = negative ? -money->units : money->units;
    return true;
}

bool journal_amount(struct journal_parser *parser, struct money *money)
{
    bool negative = false;
    if (!read_sign(parser, &negative)) {
        return false;
    }
    char first = parser->at < parser->end ? *parser->at : 0;
    if (first >= '0' && first <= '9') {
        return read_number_then_symbol(parser, money, negative);
    }
    if (first == '"' || syntax_symbol_byte(first)) {
        return read_symbol_then_number(parser, money, negative);
    }
    if (first == '(') {
        return journal_problem(parser, "expressions are not in the portable subset");
    }
    return journal_problem(parser, "an amount is expected here: '%.*s'",
                           (int)(parser->end - parser->at), parser->at);
}
