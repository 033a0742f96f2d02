/* Owns the style of transactions in journals. */
#include "store/entry.h"

#include "base/amount.h"
#include "base/syntax.h"

#define AMOUNT_COLUMN 52

void entry_number(struct buffer *buffer, const struct stored_commodity *commodity, wide amount)
{
    buffer->size += amount_write(buffer_room(buffer, AMOUNT_TEXT_SIZE), amount,
                                 commodity->storage_scale, commodity->scale);
}

void entry_symbol(struct buffer *buffer, struct slice symbol)
{
    bool plain = syntax_symbol_is_plain(symbol);
    if (!plain) {
        buffer_add_byte(buffer, '"');
    }
    buffer_add(buffer, symbol);
    if (!plain) {
        buffer_add_byte(buffer, '"');
    }
}

static void add_styled(struct buffer *buffer, const struct stored_commodity *commodity,
                       struct slice number)
{
    if (commodity->symbol.size == 0) {
        buffer_add(buffer, number);
        return;
    }
    if (commodity->symbol_first) {
        entry_symbol(buffer, commodity->symbol);
    } else {
        buffer_add(buffer, number);
    }
    if (commodity->spaced) {
        buffer_add_byte(buffer, ' ');
    }
    if (commodity->symbol_first) {
        buffer_add(buffer, number);
    } else {
        entry_symbol(buffer, commodity->symbol);
    }
}

static void add_amount(struct buffer *buffer, const struct stored_commodity *commodity,
                       int64_t amount)
{
    char text[AMOUNT_TEXT_SIZE];
    struct slice number = { text, amount_write(text, amount, commodity->storage_scale,
                                               commodity->scale) };
    add_styled(buffer, commodity, number);
}

void entry_sample(struct buffer *buffer, const struct stored_commodity *commodity)
{
    char text[AMOUNT_TEXT_SIZE] = "1000.";
    size_t size = sizeof "1000." - 1;
    for (unsigned i = 0; i < commodity->scale; i++) {
        text[size++] = '0';
    }
    add_styled(buffer, commodity, (struct slice){ text, size });
}

void entry_header(struct buffer *buffer, const struct stored_transaction *transaction)
{
    date_write(buffer_room(buffer, DATE_SIZE), transaction->date);
    buffer->size += DATE_SIZE;
    if (transaction->status) {
        buffer_add_byte(buffer, ' ');
        buffer_add_byte(buffer, transaction->status);
    }
    if (transaction->has_code) {
        buffer_add_text(buffer, " (");
        buffer_add(buffer, transaction->code);
        buffer_add_byte(buffer, ')');
    }
    if (transaction->text.size > 0) {
        buffer_add_byte(buffer, ' ');
        buffer_add(buffer, transaction->text);
    }
    buffer_add_byte(buffer, '\n');
}

void entry_posting(struct buffer *buffer, struct slice account,
                   const struct stored_commodity *commodity, const struct stored_posting *posting,
                   const struct stored_commodity *price_commodity)
{
    static const char blanks[AMOUNT_COLUMN + 1] =
        "                                                    ";
    buffer_add_text(buffer, "    ");
    buffer_add(buffer, account);
    size_t padding = account.size < AMOUNT_COLUMN - 6 ? AMOUNT_COLUMN - 4 - account.size : 2;
    buffer_add(buffer, (struct slice){ blanks, padding });
    add_amount(buffer, commodity, posting->amount);
    if (posting->price.size > 0) {
        buffer_add_text(buffer, posting->price_is_total ? " @@ " : " @ ");
        add_styled(buffer, price_commodity, posting->price);
    }
    /* ledger takes a balance without a commodity for that of all commodities. */
    if (posting->has_balance && commodity->symbol.size > 0) {
        buffer_add_text(buffer, " = ");
        add_amount(buffer, commodity, posting->balance);
    }
    buffer_add_byte(buffer, '\n');
}

void entry_place(struct buffer *text, uint32_t seq, uint32_t date)
{
    buffer_add_number(text, seq);
    buffer_add_byte(text, ',');
    date_write(buffer_room(text, DATE_SIZE), date);
    text->size += DATE_SIZE;
    buffer_add_byte(text, ',');
}

void entry_text(struct buffer *text, const struct stored_transaction *transaction)
{
    if (transaction->value_date == 0) {
        buffer_add_field(text, transaction->text);
    } else {
        struct buffer both = { 0 };
        buffer_add(&both, transaction->text);
        buffer_add_text(&both, " (value date ");
        date_write(buffer_room(&both, DATE_SIZE), transaction->value_date);
        both.size += DATE_SIZE;
        buffer_add_byte(&both, ')');
        buffer_add_field(text, buffer_slice(&both));
        buffer_fini(&both);
    }
    buffer_add_byte(text, ',');
}

void entry_amounts(struct buffer *text, const struct stored_commodity *commodity, int64_t amount,
                   int64_t balance)
{
    buffer_add_field(text, commodity->symbol);
    buffer_add_byte(text, ',');
    entry_number(text, commodity, amount);
    buffer_add_byte(text, ',');
    entry_number(text, commodity, balance);
    buffer_add_byte(text, '\n');
}
