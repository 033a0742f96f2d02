/*
 * Transactions as journal text, in the portable subset.
 */
#ifndef LEDGERBATCH_STORE_ENTRY_H
#define LEDGERBATCH_STORE_ENTRY_H

#include "base/amount.h"
#include "base/buffer.h"
#include "store/store.h"

/* Writes an exact amount without its commodity. */
void entry_number(struct buffer *buffer, const struct stored_commodity *commodity, wide amount);

/* Writes DATE [STATUS] [(CODE)] TEXT and a line end. */
void entry_header(struct buffer *buffer, const struct stored_transaction *transaction);

/* Writes one posting and a line end. If the posting has a balance, it becomes an assertion. */
void entry_posting(struct buffer *buffer, struct slice account,
                   const struct stored_commodity *commodity, const struct stored_posting *posting,
                   const struct stored_commodity *price_commodity);

/* Writes an amount that shows the style of a commodity: 1000.00 USD. */
void entry_sample(struct buffer *buffer, const struct stored_commodity *commodity);

/* Writes a symbol, in quotes if it needs them. */
void entry_symbol(struct buffer *buffer, struct slice symbol);

/* Adds the fields SEQ,DATE, with a comma behind. */
void entry_place(struct buffer *text, uint32_t seq, uint32_t date);
/* Adds the field TEXT, with a comma behind. If the transaction has a value date, the text ends with
 * it. */
void entry_text(struct buffer *text, const struct stored_transaction *transaction);
/* Adds the fields COMMODITY,AMOUNT,BALANCE and a newline. */
void entry_amounts(struct buffer *text, const struct stored_commodity *commodity, int64_t amount,
                   int64_t balance);

#endif
