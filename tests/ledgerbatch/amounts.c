/* The arithmetic of money: reading, rounding, writing. */
#include "base/amount.h"

#include <string.h>

#include "support/test.h"

static enum number_problem read_text(const char *text, int64_t *units, unsigned *scale)
{
    const char *at = text;
    return number_read(&at, text + strlen(text), units, scale);
}

static void expect_number(const char *text, int64_t wanted_units, unsigned wanted_scale)
{
    int64_t units = -1;
    unsigned scale = 99;
    expect_eq(read_text(text, &units, &scale), NUMBER_OK);
    expect_eq(units, wanted_units);
    expect_eq(scale, wanted_scale);
}

static void expect_refused(const char *text, enum number_problem wanted)
{
    int64_t units = -1;
    unsigned scale = 99;
    expect_eq(read_text(text, &units, &scale), wanted);
    expect_eq(units, -1);
    expect_eq(scale, 99u);
}

Test(amounts, number_keeps_its_decimals)
{
    expect_number("0", 0, 0);
    expect_number("10", 10, 0);
    expect_number("10.50", 1050, 2);
    expect_number("0.00000001", 1, 8);
    expect_number("007.50", 750, 2);
}

Test(amounts, number_with_groups_is_read_when_there_is_one_way_to_read_it)
{
    expect_number("1,000.00", 100000, 2);
    expect_number("1,000,000", 1000000, 0);
    expect_number("12,345,678.9", 123456789, 1);
    expect_number("0,001.00", 100, 2);
}

Test(amounts, number_with_one_group_and_no_point_is_ambiguous)
{
    expect_refused("1,000", NUMBER_AMBIGUOUS);
    expect_refused("10,000", NUMBER_AMBIGUOUS);
}

Test(amounts, number_with_decimal_comma_is_refused)
{
    expect_refused("1,5", NUMBER_DECIMAL_COMMA);
    expect_refused("10,50", NUMBER_DECIMAL_COMMA);
    expect_refused("1,0000.00", NUMBER_DECIMAL_COMMA);
    expect_refused("1,00,000.00", NUMBER_DECIMAL_COMMA);
    expect_refused("1000,000.00", NUMBER_DECIMAL_COMMA);
    expect_refused("1.000,00", NUMBER_DECIMAL_COMMA);
}

Test(amounts, number_without_digits_is_refused)
{
    expect_refused("", NUMBER_MISSING);
    expect_refused(".5", NUMBER_MISSING);
    expect_refused("USD", NUMBER_MISSING);
    expect_refused("10.", NUMBER_NO_DECIMALS);
}

Test(amounts, number_of_eighteen_digits_is_the_longest)
{
    expect_number("999999999999999999", 999999999999999999, 0);
    expect_number("000000999999999999999999", 999999999999999999, 0);
    expect_number("1234567890123456.78", 123456789012345678, 2);
    expect_refused("1000000000000000000", NUMBER_TOO_LONG);
    expect_refused("0.1234567890123456789", NUMBER_TOO_LONG);
}

Test(amounts, division_rounds_half_to_even)
{
    expect_eq(divide_rounded(5, 10, ROUND_HALF_EVEN), 0);
    expect_eq(divide_rounded(15, 10, ROUND_HALF_EVEN), 2);
    expect_eq(divide_rounded(25, 10, ROUND_HALF_EVEN), 2);
    expect_eq(divide_rounded(26, 10, ROUND_HALF_EVEN), 3);
    expect_eq(divide_rounded(24, 10, ROUND_HALF_EVEN), 2);
    expect_eq(divide_rounded(-5, 10, ROUND_HALF_EVEN), 0);
    expect_eq(divide_rounded(-15, 10, ROUND_HALF_EVEN), -2);
    expect_eq(divide_rounded(5, 10, ROUND_HALF_UP), 1);
    expect_eq(divide_rounded(-5, 10, ROUND_HALF_UP), -1);
    expect_eq(divide_rounded(4, 10, ROUND_HALF_UP), 0);
    expect_eq(divide_rounded(19, 10, ROUND_DOWN), 1);
    expect_eq(divide_rounded(-19, 10, ROUND_DOWN), -1);
    expect_eq(divide_rounded(-25, 10, ROUND_HALF_EVEN), -2);
    expect_eq(divide_rounded(-26, 10, ROUND_HALF_EVEN), -3);
    expect_eq(divide_rounded(7, 1, ROUND_HALF_EVEN), 7);
}

Test(amounts, sum_takes_the_larger_scale)
{
    struct decimal sum = { 150, 2 };
    expect(decimal_add(&sum, (struct decimal){ 1, 4 }));
    expect_eq(sum.units, 15001);
    expect_eq(sum.scale, 4u);
    expect(decimal_add(&sum, (struct decimal){ -2, 0 }));
    expect_eq(sum.units, -4999);
}

Test(amounts, sum_that_does_not_fit_is_reported)
{
    struct decimal sum = { (wide)1 << 126, 0 };
    expect(!decimal_add(&sum, (struct decimal){ (wide)1 << 126, 0 }));
    struct decimal fine = { 1, 0 };
    expect(!decimal_add(&fine, (struct decimal){ (wide)1 << 120, AMOUNT_SCALE_MAX + 1 }));
}

Test(amounts, rounding_to_zero_is_half_even)
{
    expect(decimal_rounds_to_zero((struct decimal){ 4, 3 }, 2));
    expect(decimal_rounds_to_zero((struct decimal){ 5, 3 }, 2));
    expect(!decimal_rounds_to_zero((struct decimal){ 6, 3 }, 2));
    expect(decimal_rounds_to_zero((struct decimal){ -5, 3 }, 2));
    expect(!decimal_rounds_to_zero((struct decimal){ -6, 3 }, 2));
    expect(!decimal_rounds_to_zero((struct decimal){ 1, 2 }, 2));
    expect(decimal_rounds_to_zero((struct decimal){ 0, 2 }, 4));
}

static void expect_text(int64_t units, unsigned scale, unsigned scale_min, const char *wanted)
{
    char text[AMOUNT_TEXT_SIZE];
    text[amount_write(text, units, scale, scale_min)] = 0;
    expect(strcmp(text, wanted) == 0);
}

Test(amounts, text_shows_the_least_decimals_and_no_zeros_beyond)
{
    expect_text(0, 0, 0, "0");
    expect_text(0, 2, 2, "0.00");
    expect_text(5, 2, 2, "0.05");
    expect_text(-5, 2, 2, "-0.05");
    expect_text(123456, 2, 2, "1234.56");
    expect_text(1230000, 4, 2, "123.00");
    expect_text(1234500, 4, 2, "123.45");
    expect_text(1234560, 4, 2, "123.456");
    expect_text(INT64_MIN, 0, 0, "-9223372036854775808");
    expect_text(INT64_MAX, 18, 2, "9.223372036854775807");
}
