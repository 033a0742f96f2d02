/* Owns the lexical rules that all readers share. */
#include "base/syntax.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns true if a text has a Unicode blank: hledger reads it as a space, ledger does not. */
static bool has_unicode_blank(struct slice text)
{
    for (size_t i = 0; i + 1 < text.size; i++) {
        const unsigned char *at = (const unsigned char *)text.data + i;
        if (at[0] == 0xc2 && at[1] == 0xa0) {
            return true;
        }
        if (at[0] < 0xe1 || at[0] > 0xe3 || i + 2 == text.size) {
            continue;
        }
        unsigned code = (at[0] & 0xfu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
        if (code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
            code == 0x205f || code == 0x3000) {
            return true;
        }
    }
    return false;
}

/* Returns true if a text begins with a word that a space or the end follows. */
static bool begins_with_word(struct slice text, const char *word)
{
    size_t size = strlen(word);
    return text.size >= size && memcmp(text.data, word, size) == 0 &&
           (text.size == size || text.data[size] == ' ');
}

const char *syntax_account_problem(struct slice name)
{
    if (name.size == 0) {
        return "an account's name is missing";
    }
    if (name.size > ACCOUNT_SIZE_MAX) {
        return "an account's name has at most 1000 bytes";
    }
    if (begins_with_word(name, "assert") || begins_with_word(name, "check") ||
        begins_with_word(name, "expr")) {
        return "ledger reads a posting that begins with assert, check or expr as an expression";
    }
    if (has_unicode_blank(name)) {
        return "an account's name has a blank that is not a plain space";
    }
    if (memchr("!*#%|=~@([<{&", name.data[0], 13)) {
        return "a posting starts with an account's name (no marks, brackets or rules)";
    }
    for (size_t i = 0; i < name.size; i++) {
        unsigned char c = (unsigned char)name.data[i];
        bool last = i + 1 == name.size;
        if (c < 0x20 || c == 0x7f) {
            return "a control character in an account's name";
        }
        if (c == ';') {
            return "';' in an account's name (two spaces go before a comment)";
        }
        if (c == ' ' && (i == 0 || last || name.data[i + 1] == ' ')) {
            return "an account's name has single spaces inside only";
        }
        if (c == ':' && (i == 0 || last || name.data[i + 1] == ':')) {
            return "an account's name has an empty component";
        }
    }
    return NULL;
}

const char *syntax_symbol_problem(struct slice symbol)
{
    if (symbol.size == 0) {
        return "an amount needs a commodity";
    }
    if (symbol.size > SYMBOL_SIZE_MAX) {
        return "a commodity has at most 100 bytes";
    }
    if (symbol.size == 1 && memchr("hms", symbol.data[0], 3)) {
        return "ledger reads h, m and s as hours, minutes and seconds: use another symbol";
    }
    if (has_unicode_blank(symbol)) {
        return "a commodity has a blank that is not a plain space";
    }
    for (size_t i = 0; i < symbol.size; i++) {
        unsigned char c = (unsigned char)symbol.data[i];
        if (c < 0x20 || c == 0x7f || c == '"' || c == ';') {
            return "a commodity has no quotes, semicolons or control characters";
        }
    }
    return NULL;
}

bool syntax_symbol_byte(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80 ||
           c == '$' || c == '_' || c == '%' || c == '#' || c == '\'';
}

bool syntax_symbol_is_plain(struct slice symbol)
{
    static const char *const reserved[] = {
        "and", "div", "else", "false", "if", "not", "or", "true"
    };
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (slice_equal(symbol, slice_of(reserved[i]))) {
            return false;
        }
    }
    for (size_t i = 0; i < symbol.size; i++) {
        if (!syntax_symbol_byte(symbol.data[i])) {
            return false;
        }
    }
    return symbol.size > 0;
}

static uint32_t days_in_month(uint32_t year, uint32_t month)
{
    static const uint32_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

const char *syntax_date(const char **cursor, const char *end, uint32_t *date)
{
    static const char shape[] = "a date is YYYY-MM-DD, YYYY/MM/DD or YYYY.MM.DD";
    const char *at = *cursor;
    uint32_t digits = 0;
    if (end - at < 10 || !memchr("-/.", at[4], 3) || at[7] != at[4]) {
        return shape;
    }
    for (int i = 0; i < 10; i++) {
        if (i == 4 || i == 7) {
            continue;
        }
        if (!is_digit(at[i])) {
            return shape;
        }
        digits = digits * 10 + (uint32_t)(at[i] - '0');
    }
    uint32_t year = digits / 10000;
    uint32_t month = digits / 100 % 100;
    uint32_t day = digits % 100;
    if (year < 1400) {
        return "years run from 1400 to 9999";
    }
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month)) {
        return "there is no such day";
    }
    *date = digits;
    *cursor = at + 10;
    return NULL;
}

uint32_t date_month_end(uint32_t month)
{
    uint32_t year = month / 12;
    uint32_t number = month % 12 + 1;
    return year * 10000 + number * 100 + days_in_month(year, number);
}

uint32_t date_days(uint32_t date)
{
    uint32_t year = date / 10000;
    uint32_t days = date % 100;
    if (date < 1000000) {
        return 0; /* of a damaged database */
    }
    for (uint32_t month = 1; month < date / 100 % 100; month++) {
        days += days_in_month(year, month);
    }
    year--;
    return days + 365 * year + year / 4 - year / 100 + year / 400;
}

void date_write(char *text, uint32_t date)
{
    static const uint32_t weights[] = { 10000000, 1000000, 100000, 10000, 0, 1000, 100, 0, 10, 1 };
    for (int i = 0; i < 10; i++) {
        text[i] = weights[i] ? (char)('0' + date / weights[i] % 10) : '-';
    }
}

const char *syntax_number_problem(enum number_problem problem)
{
    switch (problem) {
    case NUMBER_OK:
        return NULL;
    case NUMBER_MISSING:
        return "a number is missing";
    case NUMBER_AMBIGUOUS:
        return "one comma and no point can be read in two ways: write 1000 or 1,000.00";
    case NUMBER_DECIMAL_COMMA:
        return "commas separate groups of three digits; decimals follow a point";
    case NUMBER_NO_DECIMALS:
        return "digits are missing after the point";
    case NUMBER_TOO_LONG:
        return "more than 18 digits";
    }
    return NULL;
}

void date_write_month(char *text, uint32_t month)
{
    char date[DATE_SIZE];
    date_write(date, date_month_end(month));
    memcpy(text, date, MONTH_SIZE);
}
