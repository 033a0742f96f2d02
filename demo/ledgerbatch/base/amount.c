/* Owns the arithmetic of money: reading, scaling, rounding and writing decimals. */
#include "base/amount.h"

#include <string.h>

wide power_of_ten(unsigned exponent)
{
    static const int64_t small[] = { 1,
                                     10,
                                     100,
                                     1000,
                                     10000,
                                     100000,
                                     1000000,
                                     10000000,
                                     100000000,
                                     1000000000,
                                     10000000000,
                                     100000000000,
                                     1000000000000,
                                     10000000000000,
                                     100000000000000,
                                     1000000000000000,
                                     10000000000000000,
                                     100000000000000000,
                                     1000000000000000000 };
    if (exponent <= AMOUNT_DIGITS_MAX) {
        return small[exponent];
    }
    return (wide)small[AMOUNT_DIGITS_MAX] * small[exponent - AMOUNT_DIGITS_MAX];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct digits {
    int64_t value;
    unsigned count; /* of significant digits: leading zeros do not count */
    bool too_long;
};

static void take_digit(struct digits *digits, char c)
{
    if (digits->count >= AMOUNT_DIGITS_MAX) {
        digits->too_long = true;
        return;
    }
    digits->value = digits->value * 10 + (c - '0');
    digits->count += digits->value != 0;
}

/* Reads the part before the point; *groups receives its number of commas. */
static enum number_problem read_whole(const char **cursor, const char *end, struct digits *digits,
                                      unsigned *groups)
{
    const char *at = *cursor;
    unsigned run = 0;
    *groups = 0;
    for (; at < end; at++) {
        if (is_digit(*at)) {
            take_digit(digits, *at);
            run++;
        } else if (*at == ',') {
            if (run == 0 || run > 3 || (*groups > 0 && run != 3)) {
                return NUMBER_DECIMAL_COMMA;
            }
            ++*groups;
            run = 0;
        } else {
            break;
        }
    }
    *cursor = at;
    return *groups > 0 && run != 3 ? NUMBER_DECIMAL_COMMA : NUMBER_OK;
}

enum number_problem number_read(const char **cursor, const char *end, int64_t *units,
                                unsigned *scale)
{
    const char *at = *cursor;
    struct digits digits = { 0, 0, false };
    unsigned groups = 0;
    unsigned decimals = 0;
    if (at >= end || !is_digit(*at)) {
        return NUMBER_MISSING;
    }
    enum number_problem problem = read_whole(&at, end, &digits, &groups);
    if (problem) {
        return problem;
    }
    if (at < end && *at == '.') {
        at++;
        while (at < end && is_digit(*at)) {
            take_digit(&digits, *at++);
            decimals++;
        }
        if (decimals == 0) {
            return NUMBER_NO_DECIMALS;
        }
        if (at < end && *at == ',') {
            return NUMBER_DECIMAL_COMMA;
        }
    } else if (groups == 1) {
        return NUMBER_AMBIGUOUS;
    }
    if (digits.too_long || decimals > AMOUNT_DIGITS_MAX) {
        return NUMBER_TOO_LONG;
    }
    *units = digits.value;
    *scale = decimals;
    *cursor = at;
    return NUMBER_OK;
}

bool number_read_comma(const char **cursor, const char *end, int64_t *units, unsigned *scale)
{
    const char *at = *cursor;
    struct digits digits = { 0, 0, false };
    unsigned run = 0;
    unsigned groups = 0;
    unsigned decimals = 0;
    for (; at < end && (is_digit(*at) || *at == '.'); at++) {
        if (is_digit(*at)) {
            take_digit(&digits, *at);
            run++;
        } else if (run == 0 || run > 3 || (groups > 0 && run != 3)) {
            return false;
        } else {
            groups++;
            run = 0;
        }
    }
    if (run == 0 || (groups > 0 && run != 3) || at == end || *at != ',') {
        return false;
    }
    at++;
    for (; at < end && is_digit(*at); at++) {
        take_digit(&digits, *at);
        decimals++;
    }
    bool goes_on = at < end && (*at == ',' || *at == '.');
    if (goes_on || decimals % 3 == 0 || decimals > AMOUNT_DIGITS_MAX || digits.too_long) {
        return false;
    }
    *units = digits.value;
    *scale = decimals;
    *cursor = at;
    return true;
}

bool decimal_rescale(struct decimal *value, unsigned scale)
{
    if (scale > AMOUNT_SCALE_MAX || scale < value->scale) {
        return false;
    }
    wide units;
    if (__builtin_mul_overflow(value->units, power_of_ten(scale - value->scale), &units)) {
        return false;
    }
    value->units = units;
    value->scale = scale;
    return true;
}

bool decimal_add(struct decimal *sum, struct decimal value)
{
    if (value.scale < sum->scale && !decimal_rescale(&value, sum->scale)) {
        return false;
    }
    if (sum->scale < value.scale && !decimal_rescale(sum, value.scale)) {
        return false;
    }
    return !__builtin_add_overflow(sum->units, value.units, &sum->units);
}

void decimal_trim(struct decimal *value)
{
    while (value->scale > 0 && value->units % 10 == 0) {
        value->units /= 10;
        value->scale--;
    }
}

bool decimal_rounds_to_zero(struct decimal value, unsigned decimals)
{
    if (value.scale <= decimals) {
        return value.units == 0;
    }
    return divide_rounded(value.units, power_of_ten(value.scale - decimals), ROUND_HALF_EVEN) == 0;
}

wide divide_rounded(wide numerator, wide denominator, enum rounding rounding)
{
    wide quotient = numerator / denominator;
    wide rest = numerator % denominator;
    wide distance = rest < 0 ? -rest : rest;
    wide other = denominator - distance;
    bool is_half_up = rounding == ROUND_HALF_UP || quotient % 2 != 0;
    if (rounding != ROUND_DOWN && (distance > other || (distance == other && is_half_up))) {
        quotient += numerator < 0 ? -1 : 1;
    }
    return quotient;
}

size_t amount_write(char *text, wide units, unsigned scale, unsigned scale_min)
{
    char reversed[AMOUNT_TEXT_SIZE];
    size_t count = 0;
    wide left = units < 0 ? -units : units;
    while (scale > scale_min && left % 10 == 0) {
        left /= 10;
        scale--;
    }
    for (unsigned i = 0; i < scale; i++, left /= 10) {
        reversed[count++] = (char)('0' + left % 10);
    }
    if (scale > 0) {
        reversed[count++] = '.';
    }
    do {
        reversed[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (units < 0) {
        reversed[count++] = '-';
    }
    for (size_t i = 0; i < count; i++) {
        text[i] = reversed[count - 1 - i];
    }
    return count;
}
