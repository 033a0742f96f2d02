/* Owns the reading of rows: one query for each kind. */
#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "store/sqlite.h"

/* Sums of numbers with so many digits fit into 128 bits. */
#define WIDE_DIGITS_MAX 36

struct store_cursor {
    struct store *store;
    sqlite3_stmt *query;
    enum store_rows rows;
};

/*
 * ?1 and ?2 are the begin and the end of the window, ?3 says whether it is open, and ?4 is the
 * number of its batch.
 */
#define IN_WINDOW " WHERE seq > ?1 AND seq <= ?2"

const char *const store_i_queries[STORE_ROW_KINDS] = {
    [STORE_LANES] = "SELECT lane, client, client_group, last_seq FROM lanes ORDER BY lane",
    [STORE_ACCOUNTS] = "SELECT account, name, lane FROM accounts ORDER BY account",
    [STORE_COMMODITIES] = "SELECT commodity, symbol, shown_decimals, stored_decimals, symbol_first,"
                          " spaced FROM commodities ORDER BY commodity",
    [STORE_INPUT_TOTALS] = "SELECT commodity, transactions, debits, credits FROM input_totals"
                           " WHERE batch = ?4 ORDER BY commodity",
    [STORE_REJECTS] = "SELECT batch, n, file, line, reason, entry FROM rejected WHERE batch = ?4"
                      " ORDER BY n",
    [STORE_REJECT_TOTALS] = "SELECT batch, symbol, transactions, debits, credits, decimals"
                            " FROM rejected_totals WHERE batch = ?4 ORDER BY symbol",
    [STORE_REOPENINGS] = "SELECT batch, month, reason FROM reopened WHERE batch = ?4"
                         " ORDER BY month",
    [STORE_BALANCES] =
        "SELECT account, commodity, amount FROM balances ORDER BY account, commodity",
    [STORE_OPENINGS] =
        "SELECT account, commodity, amount FROM opening WHERE ?3 ORDER BY account, commodity",
    [STORE_TRANSACTIONS] =
        "SELECT seq, date, kind, status, code, text, value_date FROM transactions" IN_WINDOW
        " ORDER BY seq",
    [STORE_EARLIER_CODES] = "SELECT seq, date, kind, status, code, text, value_date"
                            " FROM transactions WHERE seq <= ?1 AND kind = 'post'"
                            " AND code IS NOT NULL ORDER BY seq",
    [STORE_POSTINGS] = "SELECT seq, n, account, commodity, amount, balance, price, price_commodity,"
                       " price_is_total FROM postings" IN_WINDOW " ORDER BY seq, n",
    [STORE_UNPOSTED] =
        "SELECT seq, n, account, commodity, amount FROM unposted" IN_WINDOW " ORDER BY seq, n",
    [STORE_CLOSINGS] = "SELECT seq, account, commodity, amount FROM closings" IN_WINDOW
                       " ORDER BY seq, account, commodity",
    [STORE_REFUSALS] = "SELECT seq, reason, entry FROM refused" IN_WINDOW " ORDER BY seq",
    [STORE_HELD] = "SELECT lane, seq, failed_seq, reason FROM held ORDER BY lane",
    [STORE_HELD_TASKS] =
        "SELECT seq, date, kind, status, code, text, NULL FROM held_tasks ORDER BY seq",
    [STORE_HOLDERS] = "SELECT seq, lane FROM holders ORDER BY seq, lane",
    [STORE_MISSING] = "SELECT seq, lane FROM missing" IN_WINDOW " ORDER BY seq, lane",
    [STORE_DEFERRALS] = "SELECT seq, date, lane, root_seq, reason, entry, done_seq FROM deferred"
                        " WHERE seq > ?1 OR done_seq > ?1 OR done_seq IS NULL ORDER BY seq",
    [STORE_CARRIED] = "SELECT DISTINCT deferred.seq, accounts.lane FROM deferred"
                      " JOIN unposted USING(seq) JOIN accounts USING(account)"
                      " WHERE deferred.seq <= ?1 AND done_seq IS NULL"
                      " AND accounts.lane IS NOT NULL ORDER BY deferred.seq, accounts.lane",
    [STORE_OUTPUTS] = "SELECT batch, CASE kind WHEN 'day' THEN date END, path, outputs.digest"
                      " FROM outputs LEFT JOIN batches USING(batch) ORDER BY batch, path",
    [STORE_CONTRIBUTIONS] =
        "SELECT seq, lane, bytes FROM contributions" IN_WINDOW " ORDER BY seq, lane",
    [STORE_REPORTS] = "SELECT seq, text FROM reports" IN_WINDOW " ORDER BY seq",
    [STORE_STEPS] = "SELECT batch, n, name, digest FROM steps ORDER BY batch, n",
    [STORE_PRICES] = "SELECT commodity, currency, date, units, decimals FROM prices"
                     " ORDER BY commodity, currency, date",
    [STORE_FAILED_ROLLUPS] = "SELECT seq, code, reason FROM failed" IN_WINDOW " ORDER BY seq"
};

sqlite3_stmt *store_i_query(struct store *store, const char *text,
                            const struct store_window *window, struct problem *problem)
{
    sqlite3_stmt *query = NULL;
    if (sqlite3_prepare_v2(store->connection, text, -1, &query, NULL) != SQLITE_OK) {
        store_i_fail(store, problem);
        return NULL;
    }
    /* The first and the last batch have all that is outside, so that no row is overlooked. */
    const int64_t values[] = { window->base_seq > 0 ? window->base_seq : INT64_MIN,
                               window->end_seq < UINT32_MAX ? window->end_seq : INT64_MAX,
                               window->is_open, window->number };
    int count = sqlite3_bind_parameter_count(query);
    for (int i = 0; i < count && i < (int)(sizeof values / sizeof *values); i++) {
        (void)sqlite3_bind_int64(query, i + 1, values[i]);
    }
    return query;
}

static const char register_query[] =
    "SELECT p.seq, p.n, p.account, p.commodity, p.amount, p.balance, p.price, p.price_commodity,"
    " p.price_is_total, t.seq, t.date, t.kind, t.status, t.code, t.text, t.value_date"
    " FROM postings p"
    " LEFT JOIN transactions t ON t.seq = p.seq WHERE p.account = ? ORDER BY p.seq, p.n";
#define REGISTER_TRANSACTION 9 /* the first column of the transaction */

static struct store_cursor *open_query(struct store *store, enum store_rows rows, const char *text,
                                       const struct store_window *window, struct problem *problem)
{
    struct store_cursor *cursor = memory_zeroed(1, sizeof *cursor);
    cursor->store = store;
    cursor->rows = rows;
    cursor->query = store_i_query(store, text, window, problem);
    if (!cursor->query) {
        store_cursor_close(cursor);
        return NULL;
    }
    return cursor;
}

struct store_cursor *store_cursor_open(struct store *store, enum store_rows rows,
                                       struct problem *problem)
{
    return open_query(store, rows, store_i_queries[rows], &store->window, problem);
}

struct store_cursor *store_cursor_open_at(struct store *store, enum store_rows rows, uint32_t seq,
                                          struct problem *problem)
{
    struct store_window window = { .base_seq = seq - (seq > 0), .end_seq = seq };
    return open_query(store, rows, store_i_queries[rows], &window, problem);
}

struct store_cursor *store_register_open(struct store *store, uint32_t account,
                                         struct problem *problem)
{
    struct store_cursor *cursor =
        open_query(store, STORE_POSTINGS, register_query, &store->window, problem);
    if (cursor) {
        (void)sqlite3_bind_int64(cursor->query, 1, account);
    }
    return cursor;
}

void store_cursor_close(struct store_cursor *cursor)
{
    if (cursor) {
        sqlite3_finalize(cursor->query);
        free(cursor);
    }
}

static uint32_t number_at(sqlite3_stmt *query, int column)
{
    return (uint32_t)sqlite3_column_int64(query, column);
}

static struct slice slice_at(sqlite3_stmt *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query, column);
    return (struct slice){ text ? text : "", (size_t)sqlite3_column_bytes(query, column) };
}

static struct slice blob_at(sqlite3_stmt *query, int column)
{
    const char *bytes = sqlite3_column_blob(query, column);
    return (struct slice){ bytes ? bytes : "", (size_t)sqlite3_column_bytes(query, column) };
}

static bool has_value(sqlite3_stmt *query, int column)
{
    return sqlite3_column_type(query, column) != SQLITE_NULL;
}

uint32_t store_i_date_at(sqlite3_stmt *query, int column)
{
    struct slice text = slice_at(query, column);
    const char *at = text.data;
    uint32_t date = 0;
    return syntax_date(&at, text.data + text.size, &date) ? 0 : date;
}

/* Returns a whole number of up to 36 digits. Of a damaged text, returns some other number. */
static wide wide_at(sqlite3_stmt *query, int column)
{
    struct slice text = slice_at(query, column);
    bool is_negative = text.size > 0 && text.data[0] == '-';
    wide number = 0;
    for (size_t i = is_negative; i < text.size && i < WIDE_DIGITS_MAX; i++) {
        number = number * 10 + (text.data[i] - '0') % 10;
    }
    return is_negative ? -number : number;
}

/* Returns a transaction whose first column is `first`. */
static struct stored_transaction transaction_at(sqlite3_stmt *query, int first)
{
    struct slice status = slice_at(query, first + 3);
    return (struct stored_transaction){ .seq = number_at(query, first),
                                        .date = store_i_date_at(query, first + 1),
                                        .kind = slice_at(query, first + 2),
                                        .status = status.size ? status.data[0] : 0,
                                        .has_code = has_value(query, first + 4),
                                        .code = slice_at(query, first + 4),
                                        .text = slice_at(query, first + 5),
                                        .value_date = store_i_date_at(query, first + 6) };
}

static struct stored_posting posting_at(sqlite3_stmt *query)
{
    struct stored_posting posting = { .seq = number_at(query, 0),
                                      .number = number_at(query, 1),
                                      .account = number_at(query, 2),
                                      .commodity = number_at(query, 3),
                                      .amount = sqlite3_column_int64(query, 4),
                                      .has_balance = has_value(query, 5),
                                      .balance = sqlite3_column_int64(query, 5) };
    if (has_value(query, 6)) {
        posting.price = slice_at(query, 6);
        posting.price_commodity = number_at(query, 7);
        posting.price_is_total = number_at(query, 8) != 0;
    }
    return posting;
}

static struct stored_commodity commodity_at(sqlite3_stmt *query)
{
    return (struct stored_commodity){ .number = number_at(query, 0),
                                      .symbol = slice_at(query, 1),
                                      .scale = number_at(query, 2),
                                      .storage_scale = number_at(query, 3),
                                      .symbol_first = number_at(query, 4) != 0,
                                      .spaced = number_at(query, 5) != 0 };
}

static void read_row(const struct store_cursor *cursor, void *row)
{
    sqlite3_stmt *query = cursor->query;
    switch (cursor->rows) {
    case STORE_LANES:
        *(struct stored_lane *)row =
            (struct stored_lane){ number_at(query, 0), slice_at(query, 1), slice_at(query, 2),
                                  number_at(query, 3) };
        break;
    case STORE_ACCOUNTS:
        *(struct stored_account *)row =
            (struct stored_account){ number_at(query, 0), slice_at(query, 1), has_value(query, 2),
                                     number_at(query, 2) };
        break;
    case STORE_COMMODITIES:
        *(struct stored_commodity *)row = commodity_at(query);
        break;
    case STORE_INPUT_TOTALS:
        *(struct stored_input_total *)row =
            (struct stored_input_total){ cursor->store->window.number, number_at(query, 0),
                                         number_at(query, 1), wide_at(query, 2),
                                         wide_at(query, 3) };
        break;
    case STORE_REJECTS:
        *(struct stored_reject *)row =
            (struct stored_reject){ number_at(query, 0), number_at(query, 1), slice_at(query, 2),
                                    number_at(query, 3), slice_at(query, 4),  slice_at(query, 5) };
        break;
    case STORE_REJECT_TOTALS:
        *(struct stored_reject_total *)row =
            (struct stored_reject_total){ number_at(query, 0), slice_at(query, 1),
                                          number_at(query, 2), wide_at(query, 3),
                                          wide_at(query, 4),   number_at(query, 5) };
        break;
    case STORE_REOPENINGS:
        *(struct stored_reopening *)row =
            (struct stored_reopening){ number_at(query, 0), slice_at(query, 1),
                                       slice_at(query, 2) };
        break;
    case STORE_BALANCES:
    case STORE_OPENINGS:
        *(struct stored_balance *)row =
            (struct stored_balance){ number_at(query, 0), number_at(query, 1),
                                     sqlite3_column_int64(query, 2) };
        break;
    case STORE_TRANSACTIONS:
    case STORE_EARLIER_CODES:
    case STORE_HELD_TASKS:
        *(struct stored_transaction *)row = transaction_at(query, 0);
        break;
    case STORE_POSTINGS:
        *(struct stored_posting *)row = posting_at(query);
        break;
    case STORE_UNPOSTED:
        *(struct stored_unposted *)row =
            (struct stored_unposted){ number_at(query, 0), number_at(query, 1), number_at(query, 2),
                                      number_at(query, 3), sqlite3_column_int64(query, 4) };
        break;
    case STORE_CLOSINGS:
        *(struct stored_closing *)row =
            (struct stored_closing){ number_at(query, 0), number_at(query, 1), number_at(query, 2),
                                     sqlite3_column_int64(query, 3) };
        break;
    case STORE_REFUSALS:
        *(struct stored_refusal *)row =
            (struct stored_refusal){ number_at(query, 0), slice_at(query, 1), slice_at(query, 2) };
        break;
    case STORE_OUTPUTS:
        *(struct stored_output *)row =
            (struct stored_output){ number_at(query, 0), store_i_date_at(query, 1),
                                    slice_at(query, 2), slice_at(query, 3) };
        break;
    case STORE_HELD:
        *(struct stored_held *)row =
            (struct stored_held){ number_at(query, 0), number_at(query, 1), number_at(query, 2),
                                  slice_at(query, 3) };
        break;
    case STORE_FAILED_ROLLUPS:
        *(struct stored_failed *)row =
            (struct stored_failed){ number_at(query, 0), slice_at(query, 1), slice_at(query, 2) };
        break;
    case STORE_DEFERRALS:
        *(struct stored_deferral *)row =
            (struct stored_deferral){ number_at(query, 0), store_i_date_at(query, 1),
                                      has_value(query, 2), number_at(query, 2),
                                      number_at(query, 3), slice_at(query, 4),
                                      slice_at(query, 5),  number_at(query, 6) };
        break;
    case STORE_CONTRIBUTIONS:
        *(struct stored_contribution *)row =
            (struct stored_contribution){ number_at(query, 0), number_at(query, 1),
                                          blob_at(query, 2) };
        break;
    case STORE_REPORTS:
        *(struct stored_report *)row =
            (struct stored_report){ number_at(query, 0), slice_at(query, 1) };
        break;
    case STORE_STEPS:
        *(struct stored_step *)row = (struct stored_step){ number_at(query, 0), number_at(query, 1),
                                                           slice_at(query, 2), slice_at(query, 3) };
        break;
    case STORE_PRICES:
        *(struct stored_price *)row =
            (struct stored_price){ number_at(query, 0), number_at(query, 1),
                                   store_i_date_at(query, 2), sqlite3_column_int64(query, 3),
                                   number_at(query, 4) };
        break;
    case STORE_HOLDERS:
    case STORE_CARRIED:
    case STORE_MISSING:
        *(struct stored_share *)row =
            (struct stored_share){ number_at(query, 0), number_at(query, 1) };
        break;
    }
}

enum store_step store_cursor_next(struct store_cursor *cursor, void *row, struct problem *problem)
{
    switch (sqlite3_step(cursor->query)) {
    case SQLITE_ROW:
        read_row(cursor, row);
        return STORE_ROW;
    case SQLITE_DONE:
        return STORE_END;
    default:
        store_i_fail(cursor->store, problem);
        return STORE_FAILED;
    }
}

enum store_step store_register_next(struct store_cursor *cursor, struct stored_register_row *row,
                                    struct problem *problem)
{
    int step = sqlite3_step(cursor->query);
    if (step == SQLITE_ROW) {
        row->posting = posting_at(cursor->query);
        row->transaction = transaction_at(cursor->query, REGISTER_TRANSACTION);
        return STORE_ROW;
    }
    if (step == SQLITE_DONE) {
        return STORE_END;
    }
    store_i_fail(cursor->store, problem);
    return STORE_FAILED;
}
