/*
 * Owns the SQLite database: its tables, its one connection and its prepared
 * statements. WAL with synchronous=FULL: a commit that returned survives a crash.
 * locking_mode=EXCLUSIVE: a second program that opens the file is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "store_sqlite.h"
#include "syntax.h"

/* "LBAT": marks the files that belong to this program. */
#define APPLICATION_ID 0x4c424154
#define FORMAT_VERSION 1
#define DATE_SIZE      10

static const char schema[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE lanes(lane INTEGER PRIMARY KEY, client TEXT NOT NULL, client_group TEXT NOT NULL,"
    " last_seq INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE accounts(account INTEGER PRIMARY KEY, name TEXT NOT NULL, lane INTEGER)"
    " WITHOUT ROWID;"
    "CREATE TABLE commodities(commodity INTEGER PRIMARY KEY, symbol TEXT NOT NULL,"
    " shown_decimals INTEGER NOT NULL, stored_decimals INTEGER NOT NULL,"
    " symbol_first INTEGER NOT NULL, spaced INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE balances(account INTEGER NOT NULL, commodity INTEGER NOT NULL,"
    " amount INTEGER NOT NULL, PRIMARY KEY(account, commodity)) WITHOUT ROWID;"
    "CREATE TABLE transactions(seq INTEGER PRIMARY KEY, date TEXT NOT NULL, kind TEXT NOT NULL,"
    " status TEXT, code TEXT, text TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE postings(seq INTEGER NOT NULL, n INTEGER NOT NULL, account INTEGER NOT NULL,"
    " commodity INTEGER NOT NULL, amount INTEGER NOT NULL, balance INTEGER, price TEXT,"
    " price_commodity INTEGER, price_is_total INTEGER, PRIMARY KEY(seq, n)) WITHOUT ROWID;"
    "CREATE TABLE closings(seq INTEGER NOT NULL, account INTEGER NOT NULL,"
    " commodity INTEGER NOT NULL, amount INTEGER NOT NULL,"
    " PRIMARY KEY(seq, account, commodity)) WITHOUT ROWID;"
    "CREATE TABLE refused(seq INTEGER PRIMARY KEY, reason TEXT NOT NULL, entry TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE held(lane INTEGER PRIMARY KEY, seq INTEGER NOT NULL, reason TEXT NOT NULL)"
    " WITHOUT ROWID;";

static const char *const statement_texts[STATEMENT_COUNT] = {
    [PUT_META] = "INSERT INTO meta VALUES(?,?)",
    [PUT_LANE] = "INSERT INTO lanes VALUES(?,?,?,?)",
    [PUT_ACCOUNT] = "INSERT INTO accounts VALUES(?,?,?)",
    [PUT_COMMODITY] = "INSERT INTO commodities VALUES(?,?,?,?,?,?)",
    [PUT_BALANCE] = "INSERT INTO balances VALUES(?,?,?)",
    [PUT_TRANSACTION] = "INSERT INTO transactions VALUES(?,?,?,?,?,?)",
    [PUT_POSTING] = "INSERT INTO postings VALUES(?,?,?,?,?,?,?,?,?)",
    [PUT_CLOSING] = "INSERT INTO closings VALUES(?,?,?,?)",
    [PUT_REFUSAL] = "INSERT INTO refused VALUES(?,?,?)",
    [PUT_HELD] = "INSERT INTO held VALUES(?,?,?)",
    [SET_BALANCE] = "UPDATE balances SET amount = ?3 WHERE account = ?1 AND commodity = ?2",
    [SET_PROGRESS] = "UPDATE lanes SET last_seq = ?2 WHERE lane = ?1"
};

bool store_i_fail(struct store *store, struct problem *problem)
{
    int code = sqlite3_errcode(store->connection);
    const char *reason = sqlite3_errmsg(store->connection);
    if (code == SQLITE_NOTADB) {
        return problem_set(problem, EXIT_CODE_OTHER, "%s: is not a database of ledgerbatch",
                           store->path);
    }
    if (code == SQLITE_BUSY) {
        return problem_set(problem, EXIT_CODE_IO, "%s: another program is using the database",
                           store->path);
    }
    if (code == SQLITE_FULL) {
        return problem_set(problem, EXIT_CODE_IO,
                           "%s: the disk is full; make room and run the same command again",
                           store->path);
    }
    if (code == SQLITE_READONLY) {
        return problem_set(problem, EXIT_CODE_IO,
                           "%s: SQLite must be able to write this file and its folder, even to "
                           "read it",
                           store->path);
    }
    return problem_set(problem, EXIT_CODE_IO, "%s: %s", store->path, reason);
}

static bool execute(struct store *store, const char *text, struct problem *problem)
{
    return sqlite3_exec(store->connection, text, NULL, NULL, NULL) == SQLITE_OK ||
           store_i_fail(store, problem);
}

static bool read_number(struct store *store, const char *text, int64_t *number,
                        struct problem *problem)
{
    sqlite3_stmt *query = NULL;
    if (sqlite3_prepare_v2(store->connection, text, -1, &query, NULL) != SQLITE_OK) {
        return store_i_fail(store, problem);
    }
    bool read = sqlite3_step(query) == SQLITE_ROW;
    *number = read ? sqlite3_column_int64(query, 0) : 0;
    if (!read) {
        store_i_fail(store, problem);
    }
    sqlite3_finalize(query);
    return read;
}

/* Refuses a database of another program before anything in it is changed. */
static bool check_owner(struct store *store, bool *is_empty, struct problem *problem)
{
    int64_t tables = 0;
    int64_t owner = 0;
    int64_t version = 0;
    if (!read_number(store, "SELECT count(*) FROM sqlite_master", &tables, problem) ||
        !read_number(store, "PRAGMA application_id", &owner, problem) ||
        !read_number(store, "PRAGMA user_version", &version, problem)) {
        return false;
    }
    *is_empty = tables == 0 && owner == 0;
    if (*is_empty) {
        return true;
    }
    if (owner != APPLICATION_ID) {
        return problem_set(problem, EXIT_CODE_OTHER, "%s: is not a database of ledgerbatch",
                           store->path);
    }
    if (version != FORMAT_VERSION) {
        return problem_set(problem, EXIT_CODE_OTHER,
                           "%s: was made by another version of ledgerbatch", store->path);
    }
    return true;
}

/* Larger pages and a rare checkpoint suit a load that mostly appends. */
static bool prepare_writing(struct store *store, bool is_empty, struct problem *problem)
{
    return (!is_empty || execute(store, "PRAGMA page_size = 16384", problem)) &&
           execute(store,
                   "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                   "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000;"
                   "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY",
                   problem) &&
           execute(store, "BEGIN IMMEDIATE; COMMIT", problem);
}

/* SQLite's own words do not say why. Where it may not make a file, its last try finds none. */
static bool report_unopened(struct store *store, enum store_mode mode, struct problem *problem)
{
    int code = sqlite3_system_errno(store->connection);
    if (sqlite3_errcode(store->connection) != SQLITE_CANTOPEN || code == 0) {
        return store_i_fail(store, problem);
    }
    const char *reason = mode == STORE_WRITE && code == ENOENT
                             ? "cannot be made: its folder is missing or not writable"
                             : strerror(code);
    return problem_set(problem, EXIT_CODE_IO, "%s: %s", store->path, reason);
}

struct store *store_open(const char *path, enum store_mode mode, struct problem *problem)
{
    /* Its memory statistics cost a lock for each allocation. After the first store: no effect. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    struct store *store = memory_zeroed(1, sizeof *store);
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE;
    bool is_empty = false;
    store->path = memory_zeroed(strlen(path) + 1, 1);
    memcpy(store->path, path, strlen(path));
    if (mode == STORE_WRITE) {
        flags |= SQLITE_OPEN_CREATE;
    }
    bool opened = sqlite3_open_v2(path, &store->connection, flags, NULL) == SQLITE_OK ||
                  report_unopened(store, mode, problem);
    opened = opened && check_owner(store, &is_empty, problem);
    if (opened && mode == STORE_WRITE) {
        opened = prepare_writing(store, is_empty, problem);
    }
    if (!opened) {
        store_close(store);
        return NULL;
    }
    return store;
}

void store_close(struct store *store)
{
    if (!store) {
        return;
    }
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_finalize(store->statements[i]);
    }
    sqlite3_close(store->connection);
    free(store->path);
    free(store);
}

static bool read_meta(struct store *store, const char *name, char *value, size_t size,
                      struct problem *problem)
{
    sqlite3_stmt *query = NULL;
    if (sqlite3_prepare_v2(store->connection, "SELECT value FROM meta WHERE name = ?", -1, &query,
                           NULL) != SQLITE_OK) {
        return store_i_fail(store, problem);
    }
    bool found = sqlite3_bind_text(query, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_step(query) == SQLITE_ROW;
    if (found) {
        snprintf(value, size, "%s", (const char *)sqlite3_column_text(query, 0));
    }
    sqlite3_finalize(query);
    return found ||
           problem_set(problem, EXIT_CODE_IO, "%s: the database lacks its '%s'", store->path, name);
}

bool store_read_facts(struct store *store, struct store_facts *facts, struct problem *problem)
{
    bool is_empty;
    char tasks[16];
    char state[16];
    *facts = (struct store_facts){ .state = STORE_EMPTY };
    if (!check_owner(store, &is_empty, problem)) {
        return false;
    }
    if (is_empty) {
        return true;
    }
    if (!read_meta(store, "digest", facts->digest, sizeof facts->digest, problem) ||
        !read_meta(store, "tasks", tasks, sizeof tasks, problem) ||
        !read_meta(store, "state", state, sizeof state, problem)) {
        return false;
    }
    facts->task_count = (uint32_t)strtoul(tasks, NULL, 10);
    facts->state = strcmp(state, "finished") == 0 ? STORE_FINISHED : STORE_UNFINISHED;
    return true;
}

bool store_begin(struct store *store, struct problem *problem)
{
    return execute(store, "BEGIN IMMEDIATE", problem);
}

bool store_commit(struct store *store, struct problem *problem)
{
    return execute(store, "COMMIT", problem);
}

void store_rollback(struct store *store)
{
    /* After a full disk SQLite may have rolled back by itself: that is no error here. */
    if (!sqlite3_get_autocommit(store->connection)) {
        sqlite3_exec(store->connection, "ROLLBACK", NULL, NULL, NULL);
    }
}

static sqlite3_stmt *prepared(struct store *store, enum store_statement which,
                              struct problem *problem)
{
    sqlite3_stmt **statement = &store->statements[which];
    if (!*statement && sqlite3_prepare_v3(store->connection, statement_texts[which], -1,
                                          SQLITE_PREPARE_PERSISTENT, statement, NULL)) {
        store_i_fail(store, problem);
    }
    return *statement;
}

/* Binding fails only for lack of memory or a wrong index: the step then reports it. */
static void bind_number(sqlite3_stmt *statement, int column, int64_t number)
{
    (void)sqlite3_bind_int64(statement, column, number);
}

static void bind_slice(sqlite3_stmt *statement, int column, struct slice text)
{
    (void)sqlite3_bind_text(statement, column, text.size ? text.data : "", (int)text.size,
                            SQLITE_STATIC);
}

static void bind_nothing(sqlite3_stmt *statement, int column)
{
    (void)sqlite3_bind_null(statement, column);
}

static bool run(struct store *store, sqlite3_stmt *statement, struct problem *problem)
{
    bool done = sqlite3_step(statement) == SQLITE_DONE || store_i_fail(store, problem);
    sqlite3_reset(statement);
    return done;
}

static bool run_on_one_row(struct store *store, sqlite3_stmt *statement, struct problem *problem)
{
    return run(store, statement, problem) &&
           (sqlite3_changes(store->connection) == 1 ||
            problem_set(problem, EXIT_CODE_IO, "%s: the database lacks a row that must be there",
                        store->path));
}

static bool put_meta(struct store *store, const char *name, const char *value,
                     struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, PUT_META, problem);
    if (!statement) {
        return false;
    }
    bind_slice(statement, 1, slice_of(name));
    bind_slice(statement, 2, slice_of(value));
    return run(store, statement, problem);
}

bool store_create(struct store *store, const char *digest, uint32_t task_count,
                  struct problem *problem)
{
    char pragmas[96];
    char tasks[16];
    snprintf(tasks, sizeof tasks, "%u", task_count);
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             APPLICATION_ID, FORMAT_VERSION);
    return execute(store, pragmas, problem) && execute(store, schema, problem) &&
           put_meta(store, "digest", digest, problem) && put_meta(store, "tasks", tasks, problem) &&
           put_meta(store, "state", "unfinished", problem);
}

bool store_put_lane(struct store *store, const struct stored_lane *lane, struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, PUT_LANE, problem);
    if (!statement) {
        return false;
    }
    bind_number(statement, 1, lane->number);
    bind_slice(statement, 2, lane->client);
    bind_slice(statement, 3, lane->group);
    bind_number(statement, 4, lane->last_seq);
    return run(store, statement, problem);
}

bool store_put_account(struct store *store, const struct stored_account *account,
                       struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, PUT_ACCOUNT, problem);
    if (!statement) {
        return false;
    }
    bind_number(statement, 1, account->number);
    bind_slice(statement, 2, account->name);
    if (account->has_lane) {
        bind_number(statement, 3, account->lane);
    } else {
        bind_nothing(statement, 3);
    }
    return run(store, statement, problem);
}

bool store_put_commodity(struct store *store, const struct stored_commodity *commodity,
                         struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, PUT_COMMODITY, problem);
    if (!statement) {
        return false;
    }
    bind_number(statement, 1, commodity->number);
    bind_slice(statement, 2, commodity->symbol);
    bind_number(statement, 3, commodity->scale);
    bind_number(statement, 4, commodity->storage_scale);
    bind_number(statement, 5, commodity->symbol_first);
    bind_number(statement, 6, commodity->spaced);
    return run(store, statement, problem);
}

static sqlite3_stmt *balance_statement(struct store *store, enum store_statement which,
                                       const struct stored_balance *balance,
                                       struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, which, problem);
    if (statement) {
        bind_number(statement, 1, balance->account);
        bind_number(statement, 2, balance->commodity);
        bind_number(statement, 3, balance->amount);
    }
    return statement;
}

bool store_put_balance(struct store *store, const struct stored_balance *balance,
                       struct problem *problem)
{
    sqlite3_stmt *statement = balance_statement(store, PUT_BALANCE, balance, problem);
    return statement && run(store, statement, problem);
}

bool store_set_balance(struct store *store, const struct stored_balance *balance,
                       struct problem *problem)
{
    sqlite3_stmt *statement = balance_statement(store, SET_BALANCE, balance, problem);
    return statement && run_on_one_row(store, statement, problem);
}

bool store_put_transaction(struct store *store, const struct stored_transaction *transaction,
                           struct problem *problem)
{
    char date[DATE_SIZE];
    sqlite3_stmt *statement = prepared(store, PUT_TRANSACTION, problem);
    if (!statement) {
        return false;
    }
    date_write(date, transaction->date);
    bind_number(statement, 1, transaction->seq);
    bind_slice(statement, 2, (struct slice){ date, DATE_SIZE });
    bind_slice(statement, 3, transaction->kind);
    if (transaction->status) {
        bind_slice(statement, 4, (struct slice){ &transaction->status, 1 });
    } else {
        bind_nothing(statement, 4);
    }
    if (transaction->has_code) {
        bind_slice(statement, 5, transaction->code);
    } else {
        bind_nothing(statement, 5);
    }
    bind_slice(statement, 6, transaction->text);
    return run(store, statement, problem);
}

static void bind_price(sqlite3_stmt *statement, const struct stored_posting *posting)
{
    if (posting->price.size == 0) {
        bind_nothing(statement, 7);
        bind_nothing(statement, 8);
        bind_nothing(statement, 9);
        return;
    }
    bind_slice(statement, 7, posting->price);
    bind_number(statement, 8, posting->price_commodity);
    bind_number(statement, 9, posting->price_is_total);
}

bool store_put_posting(struct store *store, const struct stored_posting *posting,
                       struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, PUT_POSTING, problem);
    if (!statement) {
        return false;
    }
    bind_number(statement, 1, posting->seq);
    bind_number(statement, 2, posting->number);
    bind_number(statement, 3, posting->account);
    bind_number(statement, 4, posting->commodity);
    bind_number(statement, 5, posting->amount);
    if (posting->has_balance) {
        bind_number(statement, 6, posting->balance);
    } else {
        bind_nothing(statement, 6);
    }
    bind_price(statement, posting);
    return run(store, statement, problem);
}

bool store_put_closing(struct store *store, const struct stored_closing *closing,
                       struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, PUT_CLOSING, problem);
    if (!statement) {
        return false;
    }
    bind_number(statement, 1, closing->seq);
    bind_number(statement, 2, closing->account);
    bind_number(statement, 3, closing->commodity);
    bind_number(statement, 4, closing->amount);
    return run(store, statement, problem);
}

bool store_put_refusal(struct store *store, const struct stored_refusal *refusal,
                       struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, PUT_REFUSAL, problem);
    if (!statement) {
        return false;
    }
    bind_number(statement, 1, refusal->seq);
    bind_slice(statement, 2, refusal->reason);
    bind_slice(statement, 3, refusal->entry);
    return run(store, statement, problem);
}

bool store_put_held(struct store *store, const struct stored_held *held, struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, PUT_HELD, problem);
    if (!statement) {
        return false;
    }
    bind_number(statement, 1, held->lane);
    bind_number(statement, 2, held->seq);
    bind_slice(statement, 3, held->reason);
    return run(store, statement, problem);
}

bool store_set_progress(struct store *store, uint32_t lane, uint32_t last_seq,
                        struct problem *problem)
{
    sqlite3_stmt *statement = prepared(store, SET_PROGRESS, problem);
    if (!statement) {
        return false;
    }
    bind_number(statement, 1, lane);
    bind_number(statement, 2, last_seq);
    return run_on_one_row(store, statement, problem);
}

bool store_clear_held(struct store *store, struct problem *problem)
{
    return execute(store, "DELETE FROM held", problem);
}

bool store_mark_finished(struct store *store, struct problem *problem)
{
    return execute(store, "UPDATE meta SET value = 'finished' WHERE name = 'state'", problem);
}
