/*
 * Exact decimal arithmetic: an amount is an integer number of units of
 * 10^-scale. Sums and products use 128 bits; nothing is a floating-point number.
 */
#ifndef LEDGERBATCH_BASE_AMOUNT_H
#define LEDGERBATCH_BASE_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef __int128 wide;

/* The most digits, and so the most decimals, of an amount that is read. */
#define AMOUNT_DIGITS_MAX 18
/* So every amount and every balance can be read again. */
#define AMOUNT_MAX ((wide)999999999999999999)
/* The largest scale of a product of two amounts. */
#define AMOUNT_SCALE_MAX (2 * AMOUNT_DIGITS_MAX)
/* Room for any amount as text. */
#define AMOUNT_TEXT_SIZE 64

struct decimal {
    wide units;
    unsigned scale;
};

enum number_problem {
    NUMBER_OK = 0,
    NUMBER_MISSING,       /* no digit here */
    NUMBER_AMBIGUOUS,     /* one group and no point: 1,000 */
    NUMBER_DECIMAL_COMMA, /* groups are not of three digits */
    NUMBER_NO_DECIMALS,   /* nothing after the point */
    NUMBER_TOO_LONG       /* more than AMOUNT_DIGITS_MAX digits */
};

/*
 * Reads an unsigned number such as 1234.50 or 1,234.50 and moves *cursor past
 * it. Neither units nor scale is set when there is a problem.
 */
enum number_problem number_read(const char **cursor, const char *end, int64_t *units,
                                unsigned *scale);

/* 10^exponent, for exponents up to AMOUNT_SCALE_MAX. */
wide power_of_ten(unsigned exponent);

/* Brings a decimal to a larger scale; false if it does not fit. */
bool decimal_rescale(struct decimal *value, unsigned scale);

/* Adds, at the larger of the two scales; false if it does not fit. */
bool decimal_add(struct decimal *sum, struct decimal value);

/* Drops trailing zero decimals. */
void decimal_trim(struct decimal *value);

/* Whether the value, rounded half to even at so many decimals, is zero. */
bool decimal_rounds_to_zero(struct decimal value, unsigned decimals);

/* numerator / denominator, rounded half to even; denominator > 0. */
wide divide_half_even(wide numerator, wide denominator);

/*
 * Writes an amount with at least scale_min decimals, further ones only where
 * they are not zero. Returns the length; `text` has AMOUNT_TEXT_SIZE bytes and
 * is not terminated.
 */
size_t amount_write(char *text, int64_t units, unsigned scale, unsigned scale_min);

/* Whether a wide value fits an amount. */
static inline bool amount_fits(wide value)
{
    return value >= -AMOUNT_MAX && value <= AMOUNT_MAX;
}

/* Adds two amounts; false, with *sum as it was, if the sum does not fit. */
static inline bool amount_add(int64_t a, int64_t b, int64_t *sum)
{
    wide value = (wide)a + b;
    if (!amount_fits(value)) {
        return false;
    }
    *sum = (int64_t)value;
    return true;
}

#endif
