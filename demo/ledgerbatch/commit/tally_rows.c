/* Owns the reading of a month's postings; see commit/tally_rows.h. */
#include "commit/tally_rows.h"

#include "base/cell_index.h"
#include "base/syntax.h"
#include "store/stored_book.h"

struct tally_loading {
    struct store *store;
    struct batch *batch;
    struct cell_index cells;
    struct problem *problem;
};

static bool report_digits(const struct tally_loading *loading)
{
    return stored_book_damaged(loading->problem, "a posting has more digits than an amount has");
}

/* Finds the cell of a posting, and checks the amount. */
static bool find_cell(const struct tally_loading *loading, const struct stored_posting *posting,
                      uint32_t *cell)
{
    *cell = cell_index_find(&loading->cells, posting->account, posting->commodity);
    if (*cell == CELL_NONE) {
        return stored_book_damaged(loading->problem, "a posting is of no account or commodity");
    }
    return amount_fits(posting->amount) || report_digits(loading);
}

/* Changes a balance. Those of house accounts are not tallied. */
static bool change(const struct tally_loading *loading, uint32_t cell, int64_t by)
{
    return loading->batch->plan->clients.cells[cell].client == NO_INDEX ||
           amount_add(loading->batch->balances[cell], by, &loading->batch->balances[cell]) ||
           report_digits(loading);
}

/* Takes all postings of the window back: then the balances are those before it. */
static bool take_back(const struct tally_loading *loading)
{
    struct stored_posting posting;
    uint32_t cell;
    struct store_cursor *cursor =
        store_cursor_open(loading->store, STORE_POSTINGS, loading->problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &posting, loading->problem);
        if (step == STORE_ROW &&
            (!find_cell(loading, &posting, &cell) || !change(loading, cell, -posting.amount))) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static bool tally_posting(const struct tally_loading *loading, const struct stored_posting *posting,
                          const struct stored_transaction *transaction)
{
    struct batch *batch = loading->batch;
    uint32_t cell;
    if (!find_cell(loading, posting, &cell)) {
        return false;
    }
    if (batch->plan->clients.cells[cell].client != NO_INDEX) {
        month_tally_end_balance(&batch->tally, cell, batch->balances[cell], transaction->date);
    }
    if (slice_equal(transaction->kind, slice_of("post"))) {
        month_tally_count_posting(&batch->tally, cell, transaction->date, 1);
    }
    return change(loading, cell, posting->amount);
}

/* Posts what was taken back once more, day by day. Postings have the order of transactions. */
static bool post_again(const struct tally_loading *loading)
{
    struct stored_transaction transaction = { .seq = 0 };
    struct stored_posting posting;
    struct store_cursor *transactions =
        store_cursor_open(loading->store, STORE_TRANSACTIONS, loading->problem);
    struct store_cursor *postings =
        store_cursor_open(loading->store, STORE_POSTINGS, loading->problem);
    enum store_step step = transactions && postings ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        enum store_step next = STORE_ROW;
        step = store_cursor_next(postings, &posting, loading->problem);
        while (step == STORE_ROW && next == STORE_ROW && transaction.seq < posting.seq) {
            next = store_cursor_next(transactions, &transaction, loading->problem);
        }
        if (step == STORE_ROW && (next != STORE_ROW || transaction.seq != posting.seq)) {
            step = STORE_FAILED;
            if (next != STORE_FAILED) {
                stored_book_damaged(loading->problem, "a posting is of no transaction");
            }
        } else if (step == STORE_ROW && !tally_posting(loading, &posting, &transaction)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(transactions);
    store_cursor_close(postings);
    return step == STORE_END;
}

/* Widens the window to the begin of the first month that ends. */
static bool widen(const struct tally_loading *loading)
{
    const struct plan *plan = loading->batch->plan;
    uint32_t seq = plan->base_seq;
    uint32_t begin = date_month_end(plan->first_month) / 100 * 100 + 1;
    if (seq > 0 && !store_read_begin_seq(loading->store, begin, &seq, loading->problem)) {
        return false;
    }
    store_widen_window(loading->store, seq < plan->base_seq ? seq : plan->base_seq);
    return true;
}

bool tally_rows_load(struct store *store, struct batch *batch, struct problem *problem)
{
    const struct plan *plan = batch->plan;
    struct tally_loading loading = { .store = store, .batch = batch, .problem = problem };
    if (!batch->tally.is_used) {
        return true;
    }
    for (uint32_t i = 0; i < plan->clients.cell_count; i++) {
        const struct client_cell *cell = &plan->clients.cells[i];
        cell_index_add(&loading.cells, cell->account, cell->commodity, i);
    }
    bool loaded = widen(&loading) && take_back(&loading) && post_again(&loading);
    store_widen_window(store, plan->base_seq);
    cell_index_fini(&loading.cells);
    return loaded;
}
