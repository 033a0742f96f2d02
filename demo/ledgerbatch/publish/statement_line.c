/* Owns the lines of a statement. */
#include "publish/statement_line.h"

#include "store/entry.h"

static void add_client(struct buffer *text, const struct slice *client)
{
    if (client) {
        buffer_add_field(text, *client);
        buffer_add_byte(text, ',');
    }
}

void statement_line_posting(struct buffer *text, const struct stored_book *book,
                            const struct slice *client,
                            const struct stored_transaction *transaction,
                            const struct stored_posting *posting, int64_t balance)
{
    const struct stored_commodity *commodity = &book->commodities[posting->commodity];
    add_client(text, client);
    buffer_add_text(text, "posting,");
    entry_place(text, posting->seq, transaction->date);
    entry_text(text, transaction);
    buffer_add_field(text, book->accounts[posting->account].name);
    buffer_add_byte(text, ',');
    entry_amounts(text, commodity, posting->amount, balance);
}

void statement_line_balance(struct buffer *text, const struct stored_book *book,
                            const struct slice *client, const char *kind,
                            const struct stored_cell *cell, int64_t balance)
{
    const struct stored_commodity *commodity = &book->commodities[cell->commodity];
    add_client(text, client);
    buffer_add_text(text, kind);
    buffer_add_text(text, ",,,,");
    buffer_add_field(text, book->accounts[cell->account].name);
    buffer_add_byte(text, ',');
    buffer_add_field(text, commodity->symbol);
    buffer_add_text(text, ",,");
    entry_number(text, commodity, balance);
    buffer_add_byte(text, '\n');
}

void statement_line_missing(struct buffer *text, const struct slice *client)
{
    add_client(text, client);
    buffer_add_text(text, "missing,,,,,,,\n");
}
