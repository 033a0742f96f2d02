/*
 * The lines of a statement: kind,seq,date,text,account,commodity,amount,balance.
 */
#ifndef LEDGERBATCH_PUBLISH_STATEMENT_LINE_H
#define LEDGERBATCH_PUBLISH_STATEMENT_LINE_H

#include "base/buffer.h"
#include "store/stored_book.h"

#define STATEMENT_HEADER       "kind,seq,date,text,account,commodity,amount,balance\n"
#define STATEMENT_GROUP_HEADER "client," STATEMENT_HEADER

/* In all of them `client` is the name in the first column, or NULL without that column. */

/* Adds a posting with the balance after it. */
void statement_line_posting(struct buffer *text, const struct stored_book *book,
                            const struct slice *client,
                            const struct stored_transaction *transaction,
                            const struct stored_posting *posting, int64_t balance);

/* Adds a balance of the kind opening or closing. */
void statement_line_balance(struct buffer *text, const struct stored_book *book,
                            const struct slice *client, const char *kind,
                            const struct stored_cell *cell, int64_t balance);

/* Says that the statement of a client is missing. */
void statement_line_missing(struct buffer *text, const struct slice *client);

#endif
