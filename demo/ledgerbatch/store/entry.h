/*
 * Transactions as journal text, in the portable subset.
 */
#ifndef LEDGERBATCH_STORE_ENTRY_H
#define LEDGERBATCH_STORE_ENTRY_H

#include "base/buffer.h"
#include "store/store.h"

/* A plain amount without its commodity, exact. */
void entry_number(struct buffer *buffer, const struct stored_commodity *commodity, int64_t amount);

/* DATE [STATUS] [(CODE)] TEXT and a line end. */
void entry_header(struct buffer *buffer, const struct stored_transaction *transaction);

/* One posting and a line end; its balance becomes an assertion if it has one. */
void entry_posting(struct buffer *buffer, struct slice account,
                   const struct stored_commodity *commodity, const struct stored_posting *posting,
                   const struct stored_commodity *price_commodity);

/* An amount that shows how a commodity is written: 1000.00 USD. */
void entry_sample(struct buffer *buffer, const struct stored_commodity *commodity);

/* A symbol as a journal writes it, in quotes where it needs them. */
void entry_symbol(struct buffer *buffer, struct slice symbol);

#endif
