/*
 * The form of names, dates and amounts, for all readers of input. The functions return messages
 * that fit after "FILE:LINE: ".
 */
#ifndef LEDGERBATCH_BASE_SYNTAX_H
#define LEDGERBATCH_BASE_SYNTAX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/amount.h"
#include "base/slice.h"

/*
 * The longest account name and symbol, in bytes. ledger reads lines of at most 4095 bytes, and a
 * line of posted.journal has one name and up to three amounts.
 */
#define ACCOUNT_SIZE_MAX 1000
#define SYMBOL_SIZE_MAX  100

/* Returns why a text cannot be an account's name; NULL if it can. */
const char *syntax_account_problem(struct slice name);

/* Returns why a text cannot be a commodity's symbol, even in quotes; NULL if it can. */
const char *syntax_symbol_problem(struct slice symbol);

/* Returns true if a symbol can be written without quotes. */
bool syntax_symbol_is_plain(struct slice symbol);

/* Returns true if a byte can be part of a symbol without quotes. */
bool syntax_symbol_byte(char c);

/*
 * Reads YYYY-MM-DD, YYYY/MM/DD or YYYY.MM.DD and moves *cursor past it. Returns NULL, or what is
 * wrong.
 */
const char *syntax_date(const char **cursor, const char *end, uint32_t *date);

/* Returns the message for a problem; NULL for NUMBER_OK. */
const char *syntax_number_problem(enum number_problem problem);

/* Returns the last day of a month, which is given as year * 12 + (0 to 11). */
uint32_t date_month_end(uint32_t month);

/* Returns the number of a day, counted from some day before all dates. */
uint32_t date_days(uint32_t date);

/* Returns the month of a date, as year * 12 + (0 to 11). */
static inline uint32_t date_month(uint32_t date)
{
    return date / 10000 * 12 + date / 100 % 100 - 1;
}

/* The size of YYYY-MM-DD. */
#define DATE_SIZE 10

/* The size of YYYY-MM. */
#define MONTH_SIZE 7

/* Writes YYYY-MM of a month, which is given as year * 12 + (0 to 11): MONTH_SIZE bytes. */
void date_write_month(char *text, uint32_t month);

/* Writes YYYY-MM-DD: DATE_SIZE bytes, not terminated. */
void date_write(char *text, uint32_t date);

#endif
