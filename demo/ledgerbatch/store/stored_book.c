/* Owns the copy of a store's names and balances in memory. */
#include "store/stored_book.h"

#include <stdlib.h>

#include "memory.h"

bool stored_book_damaged(struct problem *problem, const char *what)
{
    return problem_set(problem, EXIT_CODE_IO, "the database is damaged: %s", what);
}

static struct slice copy_text(struct stored_book *book, struct slice text)
{
    uint32_t number = names_intern(&book->texts, text); /* may move the items */
    return book->texts.items[number];
}

/* Rows are numbered from 0 without gaps. */
static bool check_number(uint32_t number, size_t expected, struct problem *problem)
{
    return number == expected || stored_book_damaged(problem, "a row's number is out of order");
}

static bool add_account(struct stored_book *book, const void *row, struct problem *problem)
{
    struct stored_account account = *(const struct stored_account *)row;
    account.name = copy_text(book, account.name);
    book->accounts = memory_grow(book->accounts, &book->account_capacity, book->account_count + 1,
                                 sizeof account);
    book->accounts[book->account_count] = account;
    return check_number(account.number, book->account_count++, problem);
}

static bool add_commodity(struct stored_book *book, const void *row, struct problem *problem)
{
    struct stored_commodity commodity = *(const struct stored_commodity *)row;
    if (commodity.storage_scale > AMOUNT_SCALE_MAX) {
        return stored_book_damaged(problem, "a commodity has more decimals than an amount has");
    }
    if (commodity.scale > commodity.storage_scale) {
        return stored_book_damaged(problem, "a commodity shows more decimals than it stores");
    }
    commodity.symbol = copy_text(book, commodity.symbol);
    book->commodities = memory_grow(book->commodities, &book->commodity_capacity,
                                    book->commodity_count + 1, sizeof commodity);
    book->commodities[book->commodity_count] = commodity;
    return check_number(commodity.number, book->commodity_count++, problem);
}

static bool add_lane(struct stored_book *book, const void *row, struct problem *problem)
{
    struct stored_lane lane = *(const struct stored_lane *)row;
    lane.client = copy_text(book, lane.client);
    lane.group = copy_text(book, lane.group);
    book->lanes = memory_grow(book->lanes, &book->lane_capacity, book->lane_count + 1, sizeof lane);
    book->lanes[book->lane_count] = lane;
    return check_number(lane.number, book->lane_count++, problem);
}

static bool add_cell(struct stored_book *book, const void *row, struct problem *problem)
{
    const struct stored_balance *balance = row;
    struct stored_cell cell = { .account = balance->account,
                                .commodity = balance->commodity,
                                .balance = balance->amount };
    if (cell.account >= book->account_count || cell.commodity >= book->commodity_count) {
        return stored_book_damaged(problem, "a balance is of no account or commodity");
    }
    if (book->accounts[cell.account].has_lane &&
        book->accounts[cell.account].lane >= book->lane_count) {
        return stored_book_damaged(problem, "an account is of no client");
    }
    if (!amount_fits(cell.balance)) {
        return stored_book_damaged(problem, "a balance has more digits than an amount has");
    }
    book->cells = memory_grow(book->cells, &book->cell_capacity, book->cell_count + 1, sizeof cell);
    book->cells[book->cell_count++] = cell;
    return true;
}

typedef bool (*row_adder)(struct stored_book *book, const void *row, struct problem *problem);

union any_row {
    struct stored_lane lane;
    struct stored_account account;
    struct stored_commodity commodity;
    struct stored_balance balance;
};

static bool load_table(struct stored_book *book, struct store *store, enum store_rows rows,
                       row_adder add, struct problem *problem)
{
    union any_row row;
    struct store_cursor *cursor = store_cursor_open(store, rows, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &row, problem);
        if (step == STORE_ROW && !add(book, &row, problem)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

/* A cell with its sort key. */
struct cell_key {
    size_t lane;
    struct slice account, symbol;
    struct stored_cell cell;
};

static int compare_cell_keys(const void *left, const void *right)
{
    const struct cell_key *a = left;
    const struct cell_key *b = right;
    if (a->lane != b->lane) {
        return a->lane < b->lane ? -1 : 1;
    }
    int order = slice_compare(a->account, b->account);
    return order ? order : slice_compare(a->symbol, b->symbol);
}

static void sort_cells(struct stored_book *book)
{
    struct cell_key *keys = memory_zeroed(book->cell_count, sizeof *keys);
    for (size_t i = 0; i < book->cell_count; i++) {
        const struct stored_account *account = &book->accounts[book->cells[i].account];
        keys[i].lane = account->has_lane ? account->lane : book->lane_count;
        keys[i].account = account->name;
        keys[i].symbol = book->commodities[book->cells[i].commodity].symbol;
        keys[i].cell = book->cells[i];
    }
    qsort(keys, book->cell_count, sizeof *keys, compare_cell_keys);
    book->lane_cells = memory_zeroed(book->lane_count + 1, sizeof *book->lane_cells);
    size_t lane = 0;
    for (size_t i = 0; i < book->cell_count; i++) {
        book->cells[i] = keys[i].cell;
        for (; lane <= keys[i].lane && lane <= book->lane_count; lane++) {
            book->lane_cells[lane] = (uint32_t)i;
        }
    }
    for (; lane <= book->lane_count; lane++) {
        book->lane_cells[lane] = (uint32_t)book->cell_count;
    }
    for (size_t i = 0; i < book->cell_count; i++) {
        cell_index_add(&book->index, book->cells[i].account, book->cells[i].commodity, (uint32_t)i);
    }
    free(keys);
}

static bool add_start(struct stored_book *book, const void *row, struct problem *problem)
{
    const struct stored_balance *opening = row;
    struct stored_cell *cell = stored_book_cell(book, opening->account, opening->commodity);
    if (!cell || !amount_fits(opening->amount)) {
        return stored_book_damaged(problem, "an opening balance is of no account");
    }
    cell->start = opening->amount;
    cell->running = opening->amount;
    return true;
}

bool stored_book_load(struct stored_book *book, struct store *store, struct problem *problem)
{
    *book = (struct stored_book){ 0 };
    if (!load_table(book, store, STORE_LANES, add_lane, problem) ||
        !load_table(book, store, STORE_ACCOUNTS, add_account, problem) ||
        !load_table(book, store, STORE_COMMODITIES, add_commodity, problem) ||
        !load_table(book, store, STORE_BALANCES, add_cell, problem)) {
        return false;
    }
    sort_cells(book);
    return load_table(book, store, STORE_OPENINGS, add_start, problem);
}

struct stored_cell *stored_book_cell(const struct stored_book *book, uint32_t account,
                                     uint32_t commodity)
{
    uint32_t cell = cell_index_find(&book->index, account, commodity);
    return cell == CELL_NONE ? NULL : &book->cells[cell];
}

void stored_book_fini(struct stored_book *book)
{
    names_fini(&book->texts);
    free(book->accounts);
    free(book->commodities);
    free(book->lanes);
    free(book->cells);
    free(book->lane_cells);
    cell_index_fini(&book->index);
    *book = (struct stored_book){ 0 };
}

bool stored_book_add_posting(const struct stored_book *book, const struct stored_posting *posting,
                             struct stored_cell **cell, struct problem *problem)
{
    *cell = stored_book_cell(book, posting->account, posting->commodity);
    if (!*cell) {
        return stored_book_damaged(problem, "a posting is of no account or commodity");
    }
    return !__builtin_add_overflow((*cell)->running, posting->amount, &(*cell)->running) ||
           stored_book_damaged(problem, "a running balance does not add up");
}

bool stored_book_check_balances(const struct stored_book *book, struct problem *problem)
{
    for (size_t i = 0; i < book->cell_count; i++) {
        if (book->cells[i].running != book->cells[i].balance) {
            return stored_book_damaged(problem, "a balance is not what its postings add up to");
        }
    }
    return true;
}
