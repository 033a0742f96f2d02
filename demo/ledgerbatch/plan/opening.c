/* Owns what a day takes over from the batches before it; see plan/opening.h. */
#include "plan/opening.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "read/journal.h"

/* The names of sources that are no files. */
#define DATABASE_SOURCE "the database"

static void add_item(struct opening *opening, const struct stored_deferral *deferral)
{
    opening->items = memory_grow(opening->items, &opening->item_capacity, opening->item_count + 1,
                                 sizeof *opening->items);
    opening->items[opening->item_count++] =
        (struct opening_item){ deferral->seq, deferral->date, (uint32_t)opening->texts.size,
                               (uint32_t)deferral->entry.size };
    buffer_add(&opening->texts, deferral->entry);
}

/* Loads those that were deferred before the day. If the day was stopped, some are done already. */
static bool load_items(struct opening *opening, struct store *store, struct problem *problem)
{
    struct stored_deferral deferral;
    struct store_cursor *cursor = store_cursor_open(store, STORE_DEFERRALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &deferral, problem);
        if (step == STORE_ROW && deferral.seq <= opening->base_seq) {
            add_item(opening, &deferral);
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

bool opening_load(struct opening *opening, struct store *store, bool posts_deferred,
                  struct problem *problem)
{
    if (!stored_book_load(&opening->book, store, problem) ||
        (posts_deferred && !load_items(opening, store, problem))) {
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
    buffer_fini(&opening->texts);
}

static void fill_names(const struct stored_book *stored, struct book *book)
{
    for (size_t i = 0; i < stored->account_count; i++) {
        book_account(book, stored->accounts[i].name, 0, 0);
    }
    for (size_t i = 0; i < stored->commodity_count; i++) {
        const struct stored_commodity *commodity = &stored->commodities[i];
        uint32_t number = book_commodity(book, commodity->symbol);
        book->commodities[number] =
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
}

static bool read_item(const struct opening *opening, const struct opening_item *item,
                      struct book *book, struct problem *problem)
{
    char name[40];
    size_t count = book->transaction_count;
    struct slice text = { opening->texts.data + item->text, item->text_size };
    snprintf(name, sizeof name, "deferred task %u", item->seq);
    if (!journal_read_text(book, name, text, problem)) {
        return false;
    }
    if (book->transaction_count != count + 1) {
        return stored_book_damaged(problem, "a deferred transaction cannot be read");
    }
    struct transaction *transaction = &book->transactions[count];
    transaction->date = opening->day;
    transaction->value_date = item->date;
    transaction->deferred_seq = item->seq;
    return true;
}

bool opening_fill(const struct opening *opening, struct book *book, struct problem *problem)
{
    struct source *source = sources_add(&book->sources, DATABASE_SOURCE);
    bool filled = sources_accept(source, problem);
    fill_names(&opening->book, book);
    for (size_t i = 0; filled && i < opening->item_count; i++) {
        filled = read_item(opening, &opening->items[i], book, problem);
    }
    return filled;
}

/* --- checks --- */

static bool check_date(const struct opening *opening, struct book *book,
                       const struct transaction *transaction, struct problem *problem)
{
    bool is_late = transaction->date > opening->day;
    char date[DATE_SIZE];
    if (!is_late && transaction->date > opening->last_day) {
        return true;
    }
    date_write(date, is_late ? opening->day : opening->last_day);
    book_problem(book, problem, transaction->source, transaction->line,
                 is_late ? "the date is after the day, %.*s" : "the day %.*s is closed already",
                 DATE_SIZE, date);
    return faults_take(&book->faults, problem);
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
    for (size_t i = 0; goes_on && i < book->transaction_count; i++) {
        goes_on = check_date(opening, book, &book->transactions[i], problem);
    }
    return goes_on && faults_none(&book->faults, problem) && check_decimals(opening, book, problem);
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
