/* Owns what a day takes over from the batches before it; see plan/opening.h. */
#include "plan/opening.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "plan/opening_items.h"
#include "read/journal.h"

/* The names of sources that are no files. */
#define DATABASE_SOURCE "the database"

static bool load_prices(struct opening *opening, struct store *store, struct problem *problem)
{
    struct stored_price price;
    struct store_cursor *cursor = store_cursor_open(store, STORE_PRICES, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &price, problem);
        if (step == STORE_ROW) {
            opening->prices = memory_grow(opening->prices, &opening->price_capacity,
                                          opening->price_count + 1, sizeof price);
            opening->prices[opening->price_count++] = price;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

/* Puts the prices into the book, before those of files: a later one of the same date replaces it.
 */
static bool fill_prices(const struct opening *opening, struct book *book, struct problem *problem)
{
    for (size_t i = 0; i < opening->price_count; i++) {
        const struct stored_price *price = &opening->prices[i];
        if (price->commodity >= opening->book.commodity_count ||
            price->currency >= opening->book.commodity_count || !amount_fits(price->units) ||
            price->decimals > AMOUNT_DIGITS_MAX) {
            return stored_book_damaged(problem,
                                       "a price is of no commodity, or has too many digits");
        }
        struct money money = { price->units, price->currency, (uint8_t)price->decimals };
        book_add_price(book, price->commodity, price->date, money);
    }
    return true;
}

bool opening_load(struct opening *opening, struct store *store, struct opening_requests *requests,
                  struct problem *problem)
{
    opening->store = store;
    opening->months = requests->months;
    opening->month_count = requests->month_count;
    if (!stored_book_load(&opening->book, store, problem) ||
        !opening_items_load(opening, store, requests, problem) ||
        !load_prices(opening, store, problem)) {
        return false;
    }
    for (size_t i = 0; opening->is_new && i < opening->book.cell_count; i++) {
        opening->book.cells[i].start = opening->book.cells[i].balance;
    }
    return true;
}

void opening_fini(struct opening *opening)
{
    stored_book_fini(&opening->book);
    free(opening->items);
    free(opening->prices);
    buffer_fini(&opening->texts);
}

/* Gives accounts and commodities the numbers that the database has for them. */
static bool fill_names(const struct stored_book *stored, struct book *book, struct problem *problem)
{
    for (size_t i = 0; i < stored->account_count; i++) {
        if (book_account(book, stored->accounts[i].name, 0, 0) != i) {
            return stored_book_damaged(problem, "two accounts have one name");
        }
    }
    for (size_t i = 0; i < stored->commodity_count; i++) {
        const struct stored_commodity *commodity = &stored->commodities[i];
        if (book_commodity(book, commodity->symbol) != i) {
            return stored_book_damaged(problem, "two commodities have one symbol");
        }
        book->commodities[i] =
            (struct commodity){ .scale = (uint8_t)commodity->scale,
                                .storage_scale = (uint8_t)commodity->storage_scale,
                                .symbol_first = commodity->symbol_first,
                                .spaced = commodity->spaced,
                                .seen = true };
    }
    for (size_t i = 0; i < stored->cell_count; i++) {
        book_cell(book, stored->cells[i].account, stored->cells[i].commodity);
    }
    /* A client stays one, even if nothing of it has been posted yet. */
    for (uint32_t i = 0; i < stored->account_count; i++) {
        if (stored->accounts[i].has_lane && !book->accounts[i].has_cells) {
            book_cell(book, i, 0);
        }
    }
    return true;
}

static void set_origin(struct transaction *transaction, const struct opening_item *item)
{
    switch (item->kind) {
    case ITEM_POST:
    case ITEM_SKIP:
        transaction->deferred_seq = item->seq;
        transaction->value_date = item->date;
        transaction->skip_reason = item->reason;
        break;
    case ITEM_REVERSE:
        transaction->reversed_seq = item->seq;
        break;
    }
}

static bool read_item(const struct opening *opening, const struct opening_item *item,
                      struct book *book, struct problem *problem)
{
    char name[40];
    size_t count = book->transaction_count;
    struct slice text = { opening->texts.data + item->text, item->text_size };
    snprintf(name, sizeof name, item->kind == ITEM_REVERSE ? "reversal of %u" : "deferred task %u",
             item->seq);
    if (!journal_read_text(book, name, text, problem)) {
        return false;
    }
    if (book->transaction_count != count + 1) {
        return stored_book_damaged(problem, "an earlier transaction cannot be read");
    }
    book->transactions[count].date = opening->day;
    set_origin(&book->transactions[count], item);
    return true;
}

bool opening_has_deferred(const struct opening *opening, uint32_t seq)
{
    size_t begin = 0;
    size_t end = opening->item_count;
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        const struct opening_item *item = &opening->items[middle];
        if (item->kind == ITEM_REVERSE || item->seq > seq) {
            end = middle;
        } else if (item->seq < seq) {
            begin = middle + 1;
        } else {
            return true;
        }
    }
    return false;
}

/* Makes the reopened months a source, so that they are in the digest of the day. */
static bool add_months(const struct opening *opening, struct book *book, struct problem *problem)
{
    struct buffer text = { 0 };
    for (size_t i = 0; i < opening->month_count; i++) {
        buffer_add_text(&text, "; backdated ");
        date_write_month(buffer_room(&text, MONTH_SIZE), opening->months[i].month);
        text.size += MONTH_SIZE;
        buffer_add_text(&text, ": ");
        buffer_add_text(&text, opening->months[i].reason);
        buffer_add_byte(&text, '\n');
    }
    bool added = opening->month_count == 0 ||
                 journal_read_text(book, "reopened months", buffer_slice(&text), problem);
    buffer_fini(&text);
    return added;
}

bool opening_fill(const struct opening *opening, struct book *book, struct problem *problem)
{
    struct source *source = sources_add(&book->sources, DATABASE_SOURCE);
    bool filled = sources_accept(source, problem) && add_months(opening, book, problem) &&
                  fill_names(&opening->book, book, problem);
    for (size_t i = 0; filled && i < opening->item_count; i++) {
        filled = read_item(opening, &opening->items[i], book, problem);
    }
    return filled && fill_prices(opening, book, problem);
}

/* --- checks --- */

/* Returns true if a transaction is of a month that is reopened: it is then booked on the day. */
static bool book_later(const struct opening *opening, struct transaction *transaction)
{
    uint32_t month = date_month(transaction->date);
    for (size_t i = 0; i < opening->month_count; i++) {
        if (opening->months[i].month == month) {
            transaction->value_date = transaction->date;
            transaction->date = opening->day;
            return true;
        }
    }
    return false;
}

static bool is_backdated(const struct transaction *transaction)
{
    return transaction->value_date != 0 && transaction->deferred_seq == 0;
}

size_t opening_count_backdated(const struct book *book)
{
    size_t count = 0;
    for (size_t i = 0; i < book->transaction_count; i++) {
        count += is_backdated(&book->transactions[i]);
    }
    return count;
}

/* Checks that each month that is reopened has transactions: otherwise its number may be wrong. */
static bool check_months(const struct opening *opening, const struct book *book,
                         struct problem *problem)
{
    for (size_t i = 0; i < opening->month_count; i++) {
        uint32_t month = opening->months[i].month;
        bool is_used = false;
        for (size_t j = 0; !is_used && j < book->transaction_count; j++) {
            const struct transaction *transaction = &book->transactions[j];
            is_used = is_backdated(transaction) && date_month(transaction->value_date) == month;
        }
        if (!is_used) {
            return problem_set(problem, EXIT_CODE_INPUT,
                               "--backdated %04u-%02u: the files have no transaction of a closed "
                               "day of this month",
                               month / 12, month % 12 + 1);
        }
    }
    return true;
}

static bool check_date(const struct opening *opening, struct book *book, uint32_t number,
                       struct problem *problem)
{
    struct transaction *transaction = &book->transactions[number];
    bool is_late = transaction->date > opening->day;
    char date[DATE_SIZE];
    if (!is_late && (transaction->date > opening->last_day || book_later(opening, transaction))) {
        return true;
    }
    date_write(date, is_late ? opening->day : opening->last_day);
    book_problem(book, problem, transaction->source, transaction->line,
                 is_late ? "the date is after the day, %.*s"
                         : "the day %.*s is closed already; --backdated reopens a month",
                 DATE_SIZE, date);
    return book_take_transaction(book, number, problem);
}

static bool check_decimals(const struct opening *opening, const struct book *book,
                           struct problem *problem)
{
    for (size_t i = 0; i < opening->book.commodity_count; i++) {
        const struct stored_commodity *stored = &opening->book.commodities[i];
        const struct commodity *commodity = &book->commodities[i];
        if (commodity->scale > stored->scale || commodity->storage_scale > stored->storage_scale) {
            return problem_set(problem, EXIT_CODE_INPUT,
                               "the input has amounts of %.*s with %u decimals, and the database "
                               "keeps %u: give the first day a commodity directive with as many "
                               "decimals as are ever needed",
                               SLICE_ARGUMENTS(stored->symbol),
                               commodity->storage_scale > stored->storage_scale
                                   ? commodity->storage_scale
                                   : commodity->scale,
                               stored->scale);
        }
    }
    return true;
}

bool opening_check_book(const struct opening *opening, struct book *book, struct problem *problem)
{
    bool goes_on = true;
    for (uint32_t i = 0; goes_on && i < book->transaction_count; i++) {
        goes_on = check_date(opening, book, i, problem);
    }
    return goes_on && faults_none(&book->faults, problem) &&
           (book->rejects.has_new ||
            (check_months(opening, book, problem) && check_decimals(opening, book, problem)));
}

bool opening_check_clients(const struct opening *opening, const struct book *book,
                           const struct clients *clients, struct problem *problem)
{
    for (size_t i = 0; i < clients->cell_count; i++) {
        const struct client_cell *cell = &clients->cells[i];
        const struct stored_cell *stored =
            stored_book_cell(&opening->book, cell->account, cell->commodity);
        if (!stored) {
            continue;
        }
        const struct stored_account *account = &opening->book.accounts[cell->account];
        struct slice before =
            account->has_lane ? opening->book.lanes[account->lane].client : slice_of("");
        struct slice now =
            cell->client == NO_INDEX ? slice_of("") : clients->items[cell->client].name;
        if (!slice_equal(before, now)) {
            return problem_set(problem, EXIT_CODE_INPUT,
                               "the account '%.*s' belonged to '%.*s' until now, and would belong "
                               "to '%.*s': --client-depth and --commutative cannot change that",
                               SLICE_ARGUMENTS(book_account_name(book, cell->account)),
                               SLICE_ARGUMENTS(before.size ? before : slice_of("the house")),
                               SLICE_ARGUMENTS(now.size ? now : slice_of("the house")));
        }
    }
    return true;
}

struct slice opening_group(const struct opening *opening, struct slice client)
{
    const struct stored_lane *lanes = opening->book.lanes;
    size_t begin = 0;
    size_t end = opening->book.lane_count;
    end -= end > 0; /* the last lane is the house's, and has no name */
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        int order = slice_compare(lanes[middle].client, client);
        if (order == 0) {
            return lanes[middle].group;
        }
        begin = order < 0 ? middle + 1 : begin;
        end = order < 0 ? end : middle;
    }
    return slice_of("");
}
