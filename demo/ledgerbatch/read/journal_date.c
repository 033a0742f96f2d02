/* Owns the dates of a journal. */
#include "base/syntax.h"
#include "read/journal_lex.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads one or two digits. */
static bool read_day_or_month(const char **cursor, const char *end, char digits[2])
{
    const char *at = *cursor;
    if (at >= end || !is_digit(*at)) {
        return false;
    }
    bool has_two = at + 1 < end && is_digit(at[1]);
    digits[0] = has_two ? at[0] : '0';
    digits[1] = has_two ? at[1] : at[0];
    *cursor = at + (has_two ? 2 : 1);
    return true;
}

/* Writes the year of a date without one. */
static void write_year(char *text, uint32_t year)
{
    for (int i = 3; i >= 0; i--, year /= 10) {
        text[i] = (char)('0' + year % 10);
    }
}

/* Returns NULL, or what is wrong. Moves *cursor past the date. */
static const char *read_date(const char **cursor, const char *end, uint32_t year, uint32_t *date)
{
    static const char shape[] = "a date is YYYY-MM-DD, YYYY/MM/DD or YYYY.MM.DD";
    char text[DATE_SIZE] = "YYYY-MM-DD";
    const char *at = *cursor;
    char separator = 0;
    bool has_year = end - at > 4 && is_digit(at[0]) && is_digit(at[1]) && is_digit(at[2]) &&
                    is_digit(at[3]) && memchr("-/.", at[4], 3);
    if (has_year) {
        memcpy(text, at, 4);
        separator = at[4];
        at += 5;
    }
    if (!read_day_or_month(&at, end, text + 5) || at >= end || !memchr("-/.", *at, 3) ||
        (has_year && *at != separator)) {
        return shape;
    }
    at++;
    if (!read_day_or_month(&at, end, text + 8) ||
        (at < end && (is_digit(*at) || memchr("-/.", *at, 3)))) {
        return shape;
    }
    if (!has_year && year == 0) {
        return "a date without a year needs a line such as 'Y2024' before it, in the same file";
    }
    if (!has_year) {
        write_year(text, year);
    }
    const char *digits = text;
    *cursor = at;
    return syntax_date(&digits, text + sizeof text, date);
}

/* Returns the unread bytes of the line up to a blank. */
static struct slice first_word(const struct journal_parser *parser)
{
    const char *end = parser->at;
    while (end < parser->end && *end != ' ' && *end != '\t') {
        end++;
    }
    return slice_between(parser->at, end);
}

bool journal_date(struct journal_parser *parser, uint32_t year, uint32_t *date)
{
    struct slice word = first_word(parser);
    const char *wrong = read_date(&parser->at, parser->end, year, date);
    return !wrong || journal_problem(parser, "%s: '%.*s'", wrong, SLICE_ARGUMENTS(word));
}

bool journal_is_date(struct slice text, uint32_t year)
{
    uint32_t date;
    const char *at = text.data;
    const char *end = text.data + text.size;
    return !read_date(&at, end, year, &date) && at == end;
}
