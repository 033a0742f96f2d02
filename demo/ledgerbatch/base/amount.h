/*
 * Exact decimal arithmetic: an amount is a whole number of units of 10^-scale. Sums and products
 * use 128 bits. No floating-point numbers are used.
 */
#ifndef LEDGERBATCH_BASE_AMOUNT_H
#define LEDGERBATCH_BASE_AMOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef __int128 wide;

/* An amount in the input has at most this many digits, and so at most this many decimals. */
#define AMOUNT_DIGITS_MAX 18
/* The limit of every amount and balance: each can be written and read again. */
#define AMOUNT_MAX ((wide)999999999999999999)
/* The largest scale: that of a product of two amounts. */
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
 * Reads an unsigned number such as 1234.50 or 1,234.50 and moves *cursor past it. After a problem
 * *units, *scale and *cursor are unchanged.
 */
enum number_problem number_read(const char **cursor, const char *end, int64_t *units,
                                unsigned *scale);

/*
 * Reads an unsigned number with a decimal comma, such as 1234,5 or 1.234,50. It has another count
 * of decimals than three, so that the comma cannot be one between groups. Returns false, and moves
 * nothing, if this is not such a number.
 */
bool number_read_comma(const char **cursor, const char *end, int64_t *units, unsigned *scale);

/* Returns 10^exponent, for exponents up to AMOUNT_SCALE_MAX. */
wide power_of_ten(unsigned exponent);

/* Brings a decimal to a larger scale. Returns false if the result does not fit. */
bool decimal_rescale(struct decimal *value, unsigned scale);

/* Adds at the larger of the two scales. Returns false if the sum does not fit. */
bool decimal_add(struct decimal *sum, struct decimal value);

/* Removes trailing zero decimals. */
void decimal_trim(struct decimal *value);

/* Returns true if the value, rounded half to even at `decimals` decimals, is zero. */
bool decimal_rounds_to_zero(struct decimal value, unsigned decimals);

enum rounding {
    ROUND_HALF_EVEN,
    ROUND_HALF_UP, /* a half goes away from zero */
    ROUND_DOWN     /* toward zero */
};

/* Returns numerator / denominator, rounded. The denominator is positive. */
wide divide_rounded(wide numerator, wide denominator, enum rounding rounding);

/*
 * Writes an amount with at least scale_min decimals; trailing zeros after these are left out.
 * Returns the length. `text` has room for AMOUNT_TEXT_SIZE bytes and is not terminated.
 */
size_t amount_write(char *text, wide units, unsigned scale, unsigned scale_min);

/* Returns true if the value is within the limit of amounts. */
static inline bool amount_fits(wide value)
{
    return value >= -AMOUNT_MAX && value <= AMOUNT_MAX;
}

/* Adds two amounts. Returns false if the sum does not fit; *sum is then unchanged. */
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
