/* Owns the tables, and the writing of rows: one prepared statement for each kind. */
#include <stdio.h>

#include "base/syntax.h"
#include "store/sqlite.h"

static const char schema[] =
    "CREATE TABLE batches(batch INTEGER PRIMARY KEY, kind TEXT NOT NULL, date TEXT NOT NULL,"
    " digest TEXT NOT NULL, base_seq INTEGER NOT NULL, tasks INTEGER NOT NULL,"
    " transactions INTEGER NOT NULL, state TEXT NOT NULL, chain TEXT) WITHOUT ROWID;"
    "CREATE TABLE files(digest TEXT PRIMARY KEY, batch INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE lanes(lane INTEGER PRIMARY KEY, client TEXT NOT NULL, client_group TEXT NOT NULL,"
    " last_seq INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE accounts(account INTEGER PRIMARY KEY, name TEXT NOT NULL, lane INTEGER)"
    " WITHOUT ROWID;"
    "CREATE TABLE commodities(commodity INTEGER PRIMARY KEY, symbol TEXT NOT NULL,"
    " shown_decimals INTEGER NOT NULL, stored_decimals INTEGER NOT NULL,"
    " symbol_first INTEGER NOT NULL, spaced INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE input_totals(batch INTEGER NOT NULL, commodity INTEGER NOT NULL,"
    " transactions INTEGER NOT NULL, debits TEXT NOT NULL, credits TEXT NOT NULL,"
    " PRIMARY KEY(batch, commodity)) WITHOUT ROWID;"
    "CREATE TABLE balances(account INTEGER NOT NULL, commodity INTEGER NOT NULL,"
    " amount INTEGER NOT NULL, PRIMARY KEY(account, commodity)) WITHOUT ROWID;"
    "CREATE TABLE opening(account INTEGER NOT NULL, commodity INTEGER NOT NULL,"
    " amount INTEGER NOT NULL, PRIMARY KEY(account, commodity)) WITHOUT ROWID;"
    "CREATE TABLE transactions(seq INTEGER PRIMARY KEY, date TEXT NOT NULL, kind TEXT NOT NULL,"
    " status TEXT, code TEXT, text TEXT NOT NULL, value_date TEXT) WITHOUT ROWID;"
    "CREATE TABLE postings(seq INTEGER NOT NULL, n INTEGER NOT NULL, account INTEGER NOT NULL,"
    " commodity INTEGER NOT NULL, amount INTEGER NOT NULL, balance INTEGER, price TEXT,"
    " price_commodity INTEGER, price_is_total INTEGER, PRIMARY KEY(seq, n)) WITHOUT ROWID;"
    "CREATE TABLE unposted(seq INTEGER NOT NULL, n INTEGER NOT NULL, account INTEGER NOT NULL,"
    " commodity INTEGER NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY(seq, n)) WITHOUT ROWID;"
    "CREATE TABLE closings(seq INTEGER NOT NULL, account INTEGER NOT NULL,"
    " commodity INTEGER NOT NULL, amount INTEGER NOT NULL,"
    " PRIMARY KEY(seq, account, commodity)) WITHOUT ROWID;"
    "CREATE TABLE refused(seq INTEGER PRIMARY KEY, reason TEXT NOT NULL, entry TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE held(lane INTEGER PRIMARY KEY, seq INTEGER NOT NULL, failed_seq INTEGER NOT NULL,"
    " reason TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE held_tasks(seq INTEGER PRIMARY KEY, date TEXT NOT NULL, kind TEXT NOT NULL,"
    " status TEXT, code TEXT, text TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE missing(seq INTEGER NOT NULL, lane INTEGER NOT NULL, PRIMARY KEY(seq, lane))"
    " WITHOUT ROWID;"
    "CREATE TABLE failed(seq INTEGER PRIMARY KEY, code TEXT NOT NULL, reason TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE deferred(seq INTEGER PRIMARY KEY, date TEXT NOT NULL, lane INTEGER,"
    " root_seq INTEGER NOT NULL, reason TEXT NOT NULL, entry TEXT NOT NULL,"
    " done_seq INTEGER) WITHOUT ROWID;"
    "CREATE TABLE outputs(batch INTEGER NOT NULL, path TEXT NOT NULL, digest TEXT NOT NULL,"
    " PRIMARY KEY(batch, path)) WITHOUT ROWID;"
    "CREATE TABLE reversals(reversed_seq INTEGER PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE rejected(batch INTEGER NOT NULL, n INTEGER NOT NULL, file TEXT NOT NULL,"
    " line INTEGER NOT NULL, reason TEXT NOT NULL, entry TEXT NOT NULL, PRIMARY KEY(batch, n))"
    " WITHOUT ROWID;"
    "CREATE TABLE reopened(batch INTEGER NOT NULL, month TEXT NOT NULL, reason TEXT NOT NULL,"
    " PRIMARY KEY(batch, month)) WITHOUT ROWID;"
    "CREATE TABLE rejected_totals(batch INTEGER NOT NULL, symbol TEXT NOT NULL,"
    " transactions INTEGER NOT NULL, debits TEXT NOT NULL, credits TEXT NOT NULL,"
    " decimals INTEGER NOT NULL, PRIMARY KEY(batch, symbol)) WITHOUT ROWID;"
    "CREATE TABLE holders(seq INTEGER NOT NULL, lane INTEGER NOT NULL, PRIMARY KEY(seq, lane))"
    " WITHOUT ROWID;"
    "CREATE TABLE contributions(seq INTEGER NOT NULL, lane INTEGER NOT NULL, bytes BLOB NOT NULL,"
    " PRIMARY KEY(seq, lane)) WITHOUT ROWID;"
    "CREATE TABLE reports(seq INTEGER PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE steps(batch INTEGER NOT NULL, n INTEGER NOT NULL, name TEXT NOT NULL,"
    " digest TEXT NOT NULL, PRIMARY KEY(batch, n)) WITHOUT ROWID;"
    "CREATE TABLE prices(commodity INTEGER NOT NULL, currency INTEGER NOT NULL, date TEXT NOT NULL,"
    " units INTEGER NOT NULL, decimals INTEGER NOT NULL, PRIMARY KEY(commodity, currency, date))"
    " WITHOUT ROWID;";

static const char *const statement_texts[STATEMENT_COUNT] = {
    [PUT_BATCH] = "INSERT INTO batches VALUES(?,?,?,?,?,?,?,'unfinished',NULL)",
    [PUT_FILE] = "INSERT OR IGNORE INTO files VALUES(?,?)",
    [PUT_LANE] = "INSERT INTO lanes VALUES(?,?,?,?)",
    [PUT_ACCOUNT] = "INSERT INTO accounts VALUES(?,?,?)",
    [PUT_COMMODITY] = "INSERT INTO commodities VALUES(?,?,?,?,?,?)",
    [PUT_INPUT_TOTAL] = "INSERT INTO input_totals VALUES(?,?,?,?,?)",
    [PUT_UNPOSTED] = "INSERT INTO unposted VALUES(?,?,?,?,?)",
    [PUT_BALANCE] = "INSERT INTO balances VALUES(?,?,?)",
    [PUT_TRANSACTION] = "INSERT INTO transactions VALUES(?,?,?,?,?,?,?)",
    [PUT_POSTING] = "INSERT INTO postings VALUES(?,?,?,?,?,?,?,?,?)",
    [PUT_CLOSING] = "INSERT INTO closings VALUES(?,?,?,?)",
    [PUT_REFUSAL] = "INSERT INTO refused VALUES(?,?,?)",
    [PUT_HELD] = "INSERT INTO held VALUES(?,?,?,?)",
    [PUT_HELD_TASK] = "INSERT INTO held_tasks VALUES(?,?,?,?,?,?)",
    [PUT_HOLDER] = "INSERT INTO holders VALUES(?,?)",
    [PUT_MISSING] = "INSERT INTO missing VALUES(?,?)",
    [PUT_FAILED] = "INSERT INTO failed VALUES(?,?,?)",
    [PUT_DEFERRAL] = "INSERT INTO deferred VALUES(?,?,?,?,?,?,?)",
    [PUT_OUTPUT] = "INSERT INTO outputs VALUES(?,?,?)",
    [PUT_CONTRIBUTION] = "INSERT INTO contributions VALUES(?,?,?)",
    [REMOVE_CONTRIBUTIONS] = "DELETE FROM contributions WHERE seq = ?",
    [PUT_REPORT] = "INSERT INTO reports VALUES(?,?)",
    [PUT_STEP] = "INSERT INTO steps VALUES(?,?,?,?)",
    [PUT_PRICE] = "INSERT INTO prices VALUES(?,?,?,?,?)",
    [PUT_REJECT] = "INSERT INTO rejected VALUES(?,?,?,?,?,?)",
    [PUT_REJECT_TOTAL] = "INSERT INTO rejected_totals VALUES(?,?,?,?,?,?)",
    [PUT_REOPENING] = "INSERT INTO reopened VALUES(?,?,?)",
    [PUT_REVERSAL] = "INSERT INTO reversals VALUES(?,?)",
    [SET_DEFERRAL_DONE] = "UPDATE deferred SET done_seq = ?2 WHERE seq = ?1 AND done_seq IS NULL",
    [SET_DEFERRAL_LANE] = "UPDATE deferred SET lane = ?2 WHERE seq = ?1",
    [SET_ACCOUNT_LANE] = "UPDATE accounts SET lane = ?2 WHERE account = ?1",
    [SET_STATE] = "UPDATE batches SET state = ? WHERE batch = (SELECT max(batch) FROM batches)",
    [REMOVE_UNPOSTED] = "DELETE FROM unposted WHERE seq = ?",
    [REMOVE_MISSING] = "DELETE FROM missing WHERE seq = ?1 AND lane = ?2",
    [SET_BALANCE] = "UPDATE balances SET amount = ?3 WHERE account = ?1 AND commodity = ?2",
    [SET_PROGRESS] = "UPDATE lanes SET last_seq = ?2 WHERE lane = ?1"
};

sqlite3_stmt *store_i_prepare(struct store *store, enum store_statement which,
                              struct problem *problem)
{
    sqlite3_stmt **statement = &store->statements[which];
    if (!*statement && sqlite3_prepare_v3(store->connection, statement_texts[which], -1,
                                          SQLITE_PREPARE_PERSISTENT, statement, NULL)) {
        store_i_fail(store, problem);
    }
    return *statement;
}

static void bind_null(sqlite3_stmt *statement, int column)
{
    (void)sqlite3_bind_null(statement, column);
}

static void bind_optional(sqlite3_stmt *statement, int column, bool has_value, int64_t number)
{
    if (has_value) {
        store_i_bind_number(statement, column, number);
    } else {
        bind_null(statement, column);
    }
}

bool store_i_run(struct store *store, sqlite3_stmt *statement, struct problem *problem)
{
    bool done = sqlite3_step(statement) == SQLITE_DONE || store_i_fail(store, problem);
    sqlite3_reset(statement);
    return done;
}

static bool run_on_one_row(struct store *store, sqlite3_stmt *statement, struct problem *problem)
{
    return store_i_run(store, statement, problem) &&
           (sqlite3_changes(store->connection) == 1 ||
            problem_set(problem, EXIT_CODE_IO, "%s: the database lacks a row that must be there",
                        store->path));
}

bool store_create(struct store *store, struct problem *problem)
{
    char pragmas[96];
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             STORE_I_APPLICATION_ID, STORE_I_FORMAT_VERSION);
    return store_i_execute(store, pragmas, problem) && store_i_execute(store, schema, problem) &&
           store_i_execute(store, store_i_views, problem);
}

static bool put_batch(struct store *store, const struct store_facts *facts, struct problem *problem)
{
    char date[DATE_SIZE];
    sqlite3_stmt *statement = store_i_prepare(store, PUT_BATCH, problem);
    if (!statement) {
        return false;
    }
    date_write(date, facts->date);
    store_i_bind_number(statement, 1, facts->number);
    store_i_bind_text(statement, 2, slice_of(facts->is_day ? "day" : "run"));
    store_i_bind_text(statement, 3, (struct slice){ date, DATE_SIZE });
    store_i_bind_text(statement, 4, slice_of(facts->digest));
    store_i_bind_number(statement, 5, facts->base_seq);
    store_i_bind_number(statement, 6, facts->task_count);
    store_i_bind_number(statement, 7, facts->transaction_count);
    return store_i_run(store, statement, problem);
}

bool store_begin_batch(struct store *store, const struct store_facts *facts,
                       struct problem *problem)
{
    return (facts->number == 1 || store_i_extend_chain(store, problem)) &&
           put_batch(store, facts, problem) &&
           store_i_execute(store,
                           "DROP INDEX IF EXISTS postings_by_account;"
                           "DELETE FROM opening; INSERT INTO opening"
                           " SELECT account, commodity, amount FROM balances WHERE amount != 0",
                           problem);
}

bool store_put_file(struct store *store, const struct stored_file *file, struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_FILE, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_text(statement, 1, slice_of(file->digest));
    store_i_bind_number(statement, 2, file->number);
    return store_i_run(store, statement, problem);
}

bool store_clear_outputs(struct store *store, struct problem *problem)
{
    return store_i_execute(
        store, "DELETE FROM outputs WHERE batch = (SELECT max(batch) FROM batches)", problem);
}

bool store_put_output(struct store *store, const struct stored_output *output,
                      struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_OUTPUT, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, output->number);
    store_i_bind_text(statement, 2, output->path);
    store_i_bind_text(statement, 3, output->digest);
    return store_i_run(store, statement, problem);
}

bool store_clear_lanes(struct store *store, struct problem *problem)
{
    return store_i_execute(store, "DELETE FROM lanes", problem);
}

bool store_put_lane(struct store *store, const struct stored_lane *lane, struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_LANE, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, lane->number);
    store_i_bind_text(statement, 2, lane->client);
    store_i_bind_text(statement, 3, lane->group);
    store_i_bind_number(statement, 4, lane->last_seq);
    return store_i_run(store, statement, problem);
}

bool store_put_account(struct store *store, const struct stored_account *account,
                       struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_ACCOUNT, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, account->number);
    store_i_bind_text(statement, 2, account->name);
    bind_optional(statement, 3, account->has_lane, account->lane);
    return store_i_run(store, statement, problem);
}

bool store_set_account_lane(struct store *store, const struct stored_account *account,
                            struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, SET_ACCOUNT_LANE, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, account->number);
    bind_optional(statement, 2, account->has_lane, account->lane);
    return run_on_one_row(store, statement, problem);
}

bool store_put_commodity(struct store *store, const struct stored_commodity *commodity,
                         struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_COMMODITY, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, commodity->number);
    store_i_bind_text(statement, 2, commodity->symbol);
    store_i_bind_number(statement, 3, commodity->scale);
    store_i_bind_number(statement, 4, commodity->storage_scale);
    store_i_bind_number(statement, 5, commodity->symbol_first);
    store_i_bind_number(statement, 6, commodity->spaced);
    return store_i_run(store, statement, problem);
}

bool store_put_input_total(struct store *store, const struct stored_input_total *total,
                           struct problem *problem)
{
    char debits[AMOUNT_TEXT_SIZE];
    char credits[AMOUNT_TEXT_SIZE];
    sqlite3_stmt *statement = store_i_prepare(store, PUT_INPUT_TOTAL, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, total->batch);
    store_i_bind_number(statement, 2, total->commodity);
    store_i_bind_number(statement, 3, total->transactions);
    store_i_bind_text(statement, 4,
                      (struct slice){ debits, amount_write(debits, total->debits, 0, 0) });
    store_i_bind_text(statement, 5,
                      (struct slice){ credits, amount_write(credits, total->credits, 0, 0) });
    return store_i_run(store, statement, problem);
}

static sqlite3_stmt *prepare_balance(struct store *store, enum store_statement which,
                                     const struct stored_balance *balance, struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, which, problem);
    if (statement) {
        store_i_bind_number(statement, 1, balance->account);
        store_i_bind_number(statement, 2, balance->commodity);
        store_i_bind_number(statement, 3, balance->amount);
    }
    return statement;
}

bool store_put_balance(struct store *store, const struct stored_balance *balance,
                       struct problem *problem)
{
    sqlite3_stmt *statement = prepare_balance(store, PUT_BALANCE, balance, problem);
    return statement && store_i_run(store, statement, problem);
}

bool store_set_balance(struct store *store, const struct stored_balance *balance,
                       struct problem *problem)
{
    sqlite3_stmt *statement = prepare_balance(store, SET_BALANCE, balance, problem);
    return statement && run_on_one_row(store, statement, problem);
}

static bool put_header(struct store *store, enum store_statement which,
                       const struct stored_transaction *transaction, struct problem *problem)
{
    char date[DATE_SIZE];
    char value_date[DATE_SIZE];
    sqlite3_stmt *statement = store_i_prepare(store, which, problem);
    if (!statement) {
        return false;
    }
    date_write(date, transaction->date);
    store_i_bind_number(statement, 1, transaction->seq);
    store_i_bind_text(statement, 2, (struct slice){ date, DATE_SIZE });
    store_i_bind_text(statement, 3, transaction->kind);
    if (transaction->status) {
        store_i_bind_text(statement, 4, (struct slice){ &transaction->status, 1 });
    } else {
        bind_null(statement, 4);
    }
    if (transaction->has_code) {
        store_i_bind_text(statement, 5, transaction->code);
    } else {
        bind_null(statement, 5);
    }
    store_i_bind_text(statement, 6, transaction->text);
    if (which == PUT_TRANSACTION && transaction->value_date) {
        date_write(value_date, transaction->value_date);
        store_i_bind_text(statement, 7, (struct slice){ value_date, DATE_SIZE });
    } else if (which == PUT_TRANSACTION) {
        bind_null(statement, 7);
    }
    return store_i_run(store, statement, problem);
}

bool store_put_transaction(struct store *store, const struct stored_transaction *transaction,
                           struct problem *problem)
{
    return put_header(store, PUT_TRANSACTION, transaction, problem);
}

static void bind_price(sqlite3_stmt *statement, const struct stored_posting *posting)
{
    if (posting->price.size == 0) {
        bind_null(statement, 7);
        bind_null(statement, 8);
        bind_null(statement, 9);
        return;
    }
    store_i_bind_text(statement, 7, posting->price);
    store_i_bind_number(statement, 8, posting->price_commodity);
    store_i_bind_number(statement, 9, posting->price_is_total);
}

bool store_put_posting(struct store *store, const struct stored_posting *posting,
                       struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_POSTING, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, posting->seq);
    store_i_bind_number(statement, 2, posting->number);
    store_i_bind_number(statement, 3, posting->account);
    store_i_bind_number(statement, 4, posting->commodity);
    store_i_bind_number(statement, 5, posting->amount);
    bind_optional(statement, 6, posting->has_balance, posting->balance);
    bind_price(statement, posting);
    return store_i_run(store, statement, problem);
}

bool store_put_unposted(struct store *store, const struct stored_unposted *posting,
                        struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_UNPOSTED, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, posting->seq);
    store_i_bind_number(statement, 2, posting->number);
    store_i_bind_number(statement, 3, posting->account);
    store_i_bind_number(statement, 4, posting->commodity);
    store_i_bind_number(statement, 5, posting->amount);
    return store_i_run(store, statement, problem);
}

bool store_put_closing(struct store *store, const struct stored_closing *closing,
                       struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_CLOSING, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, closing->seq);
    store_i_bind_number(statement, 2, closing->account);
    store_i_bind_number(statement, 3, closing->commodity);
    store_i_bind_number(statement, 4, closing->amount);
    return store_i_run(store, statement, problem);
}

bool store_put_refusal(struct store *store, const struct stored_refusal *refusal,
                       struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_REFUSAL, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, refusal->seq);
    store_i_bind_text(statement, 2, refusal->reason);
    store_i_bind_text(statement, 3, refusal->entry);
    return store_i_run(store, statement, problem);
}

bool store_put_held(struct store *store, const struct stored_held *held, struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_HELD, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, held->lane);
    store_i_bind_number(statement, 2, held->seq);
    store_i_bind_number(statement, 3, held->failed_seq);
    store_i_bind_text(statement, 4, held->reason);
    return store_i_run(store, statement, problem);
}

bool store_put_held_task(struct store *store, const struct stored_transaction *task,
                         struct problem *problem)
{
    return put_header(store, PUT_HELD_TASK, task, problem);
}

static sqlite3_stmt *prepare_share(struct store *store, enum store_statement which,
                                   const struct stored_share *share, struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, which, problem);
    if (statement) {
        store_i_bind_number(statement, 1, share->seq);
        store_i_bind_number(statement, 2, share->lane);
    }
    return statement;
}

bool store_put_holder(struct store *store, const struct stored_share *holder,
                      struct problem *problem)
{
    sqlite3_stmt *statement = prepare_share(store, PUT_HOLDER, holder, problem);
    return statement && store_i_run(store, statement, problem);
}

bool store_put_missing(struct store *store, const struct stored_share *missing,
                       struct problem *problem)
{
    sqlite3_stmt *statement = prepare_share(store, PUT_MISSING, missing, problem);
    return statement && store_i_run(store, statement, problem);
}

bool store_put_reversal(struct store *store, uint32_t reversed_seq, uint32_t seq,
                        struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_REVERSAL, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, reversed_seq);
    store_i_bind_number(statement, 2, seq);
    return store_i_run(store, statement, problem);
}

bool store_put_failed(struct store *store, const struct stored_failed *failed,
                      struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_FAILED, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, failed->seq);
    store_i_bind_text(statement, 2, failed->code);
    store_i_bind_text(statement, 3, failed->reason);
    return store_i_run(store, statement, problem);
}

bool store_put_deferral(struct store *store, const struct stored_deferral *deferral,
                        struct problem *problem)
{
    char date[DATE_SIZE];
    sqlite3_stmt *statement = store_i_prepare(store, PUT_DEFERRAL, problem);
    if (!statement) {
        return false;
    }
    date_write(date, deferral->date);
    store_i_bind_number(statement, 1, deferral->seq);
    store_i_bind_text(statement, 2, (struct slice){ date, DATE_SIZE });
    bind_optional(statement, 3, deferral->has_lane, deferral->lane);
    store_i_bind_number(statement, 4, deferral->root_seq);
    store_i_bind_text(statement, 5, deferral->reason);
    store_i_bind_text(statement, 6, deferral->entry);
    bind_optional(statement, 7, deferral->done_seq != 0, deferral->done_seq);
    return store_i_run(store, statement, problem);
}

bool store_set_deferral_done(struct store *store, uint32_t seq, uint32_t done_seq,
                             struct problem *problem)
{
    sqlite3_stmt *done = store_i_prepare(store, SET_DEFERRAL_DONE, problem);
    sqlite3_stmt *removed = done ? store_i_prepare(store, REMOVE_UNPOSTED, problem) : NULL;
    if (!removed) {
        return false;
    }
    store_i_bind_number(done, 1, seq);
    store_i_bind_number(done, 2, done_seq);
    store_i_bind_number(removed, 1, seq);
    return run_on_one_row(store, done, problem) && store_i_run(store, removed, problem);
}

bool store_set_deferral_lane(struct store *store, uint32_t seq, uint32_t lane,
                             struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, SET_DEFERRAL_LANE, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, seq);
    store_i_bind_number(statement, 2, lane);
    return run_on_one_row(store, statement, problem);
}

bool store_remove_missing(struct store *store, const struct stored_share *missing,
                          struct problem *problem)
{
    sqlite3_stmt *statement = prepare_share(store, REMOVE_MISSING, missing, problem);
    return statement && run_on_one_row(store, statement, problem);
}

bool store_set_progress(struct store *store, uint32_t lane, uint32_t last_seq,
                        struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, SET_PROGRESS, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, lane);
    store_i_bind_number(statement, 2, last_seq);
    return run_on_one_row(store, statement, problem);
}

bool store_clear_held_tasks(struct store *store, struct problem *problem)
{
    return store_i_execute(store, "DELETE FROM held_tasks; DELETE FROM holders", problem);
}

bool store_clear_held(struct store *store, struct problem *problem)
{
    return store_clear_held_tasks(store, problem) &&
           store_i_execute(store, "DELETE FROM held", problem);
}

bool store_set_state(struct store *store, enum store_state state, struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, SET_STATE, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_text(statement, 1, slice_of(store_i_state_words[state]));
    return run_on_one_row(store, statement, problem);
}
