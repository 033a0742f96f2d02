/*
 * Owns the SQLite database and its one connection. With WAL and synchronous=FULL, a commit that has
 * returned survives a crash. With locking_mode=EXCLUSIVE, no second program can open the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "store/sqlite.h"

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

bool store_i_execute(struct store *store, const char *text, struct problem *problem)
{
    return sqlite3_exec(store->connection, text, NULL, NULL, NULL) == SQLITE_OK ||
           store_i_fail(store, problem);
}

bool store_i_read_number(struct store *store, const char *text, int64_t *number, bool *found,
                         struct problem *problem)
{
    sqlite3_stmt *query = store_i_query(store, text, &store->window, problem);
    if (!query) {
        return false;
    }
    int step = sqlite3_step(query);
    bool read = step == SQLITE_ROW || step == SQLITE_DONE || store_i_fail(store, problem);
    *found = step == SQLITE_ROW && sqlite3_column_type(query, 0) != SQLITE_NULL;
    *number = *found ? sqlite3_column_int64(query, 0) : 0;
    sqlite3_finalize(query);
    return read;
}

static bool read_number(struct store *store, const char *text, int64_t *number,
                        struct problem *problem)
{
    bool found;
    return store_i_read_number(store, text, number, &found, problem);
}

/* Refuses the database of another program. Changes nothing in it. */
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
    if (owner != STORE_I_APPLICATION_ID) {
        return problem_set(problem, EXIT_CODE_OTHER, "%s: is not a database of ledgerbatch",
                           store->path);
    }
    if (version != STORE_I_FORMAT_VERSION) {
        return problem_set(problem, EXIT_CODE_OTHER,
                           "%s: was made by another version of ledgerbatch", store->path);
    }
    return true;
}

/* Prepares for writing: large pages and rare checkpoints, since most writes append. */
static bool prepare_writing(struct store *store, bool is_empty, struct problem *problem)
{
    return (!is_empty || store_i_execute(store, "PRAGMA page_size = 16384", problem)) &&
           store_i_execute(store,
                           "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;"
                           "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000;"
                           "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY",
                           problem) &&
           store_i_execute(store, "BEGIN IMMEDIATE; COMMIT", problem);
}

/*
 * Reports why a database cannot be opened, which SQLite's message does not say. If SQLite may not
 * create the file, its system error is ENOENT.
 */
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
    /* Memory statistics would lock at each allocation. After the first store this has no effect. */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    struct store *store = memory_zeroed(1, sizeof *store);
    store->window.end_seq = UINT32_MAX;
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
    if (opened && mode != STORE_READ) {
        opened = prepare_writing(store, is_empty, problem);
    }
    if (!opened) {
        store_close(store);
        return NULL;
    }
    return store;
}

bool store_exists(const char *path)
{
    sqlite3 *connection = NULL;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE;
    int code = sqlite3_open_v2(path, &connection, flags, NULL);
    bool is_missing = code != SQLITE_OK && sqlite3_system_errno(connection) == ENOENT;
    sqlite3_close(connection);
    return !is_missing;
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

const char *const store_i_state_words[] = { [STORE_EMPTY] = "",
                                            [STORE_UNFINISHED] = "unfinished",
                                            [STORE_CLOSED] = "closed",
                                            [STORE_FINISHED] = "finished" };

static const char *text_or_empty(sqlite3_stmt *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query, column);
    return text ? text : "";
}

static bool read_batch(struct store *store, sqlite3_stmt *query, struct store_facts *facts,
                       struct problem *problem)
{
    const char *kind = text_or_empty(query, 1);
    const char *state = text_or_empty(query, 6);
    const char *digest = text_or_empty(query, 3);
    facts->number = (uint32_t)sqlite3_column_int64(query, 0);
    facts->is_day = strcmp(kind, "day") == 0;
    facts->date = store_i_date_at(query, 2);
    facts->base_seq = (uint32_t)sqlite3_column_int64(query, 4);
    facts->task_count = (uint32_t)sqlite3_column_int64(query, 5);
    facts->transaction_count = (uint32_t)sqlite3_column_int64(query, 7);
    for (int i = STORE_UNFINISHED; i <= STORE_FINISHED; i++) {
        if (strcmp(state, store_i_state_words[i]) == 0) {
            facts->state = (enum store_state)i;
        }
    }
    snprintf(facts->digest, sizeof facts->digest, "%s", digest);
    return facts->state != STORE_EMPTY ||
           problem_set(problem, EXIT_CODE_IO, "%s: the database is damaged: a batch has no state",
                       store->path);
}

bool store_read_facts(struct store *store, struct store_facts *facts, struct problem *problem)
{
    bool is_empty;
    *facts = (struct store_facts){ .state = STORE_EMPTY };
    if (!check_owner(store, &is_empty, problem)) {
        return false;
    }
    if (is_empty) {
        return true;
    }
    sqlite3_stmt *query = store_i_query(store,
                                        "SELECT batch, kind, date, digest, base_seq, tasks, state,"
                                        " transactions FROM batches ORDER BY batch DESC LIMIT 1",
                                        &store->window, problem);
    if (!query) {
        return false;
    }
    int step = sqlite3_step(query);
    bool read =
        step == SQLITE_ROW ? read_batch(store, query, facts, problem)
        : step == SQLITE_DONE
            ? problem_set(problem, EXIT_CODE_IO, "%s: the database lacks its batches", store->path)
            : store_i_fail(store, problem);
    sqlite3_finalize(query);
    return read;
}

void store_set_window(struct store *store, const struct store_facts *facts)
{
    store->window =
        (struct store_window){ facts->base_seq, UINT32_MAX, facts->number, facts->base_seq > 0 };
}

void store_widen_window(struct store *store, uint32_t base_seq)
{
    store->window.base_seq = base_seq;
}

bool store_read_last_seq(struct store *store, uint32_t *seq, struct problem *problem)
{
    int64_t number;
    bool found;
    bool read =
        store_i_read_number(store,
                            "SELECT max(s) FROM (SELECT max(base_seq + tasks) AS s FROM batches"
                            " UNION ALL SELECT max(seq) FROM transactions UNION ALL SELECT "
                            "max(done_seq) FROM deferred)",
                            &number, &found, problem);
    *seq = (uint32_t)number;
    return read;
}

/* Reads a date, or 0 if there is no row. */
static bool read_date(struct store *store, sqlite3_stmt *query, uint32_t *date,
                      struct problem *problem)
{
    int step = query ? sqlite3_step(query) : SQLITE_ERROR;
    *date = step == SQLITE_ROW ? store_i_date_at(query, 0) : 0;
    bool read = step == SQLITE_ROW || step == SQLITE_DONE || store_i_fail(store, problem);
    sqlite3_finalize(query);
    return read;
}

bool store_read_earlier_date(struct store *store, uint32_t *date, struct problem *problem)
{
    return read_date(store,
                     store_i_query(store,
                                   "SELECT date FROM batches ORDER BY batch DESC LIMIT 1 OFFSET 1",
                                   &store->window, problem),
                     date, problem);
}

bool store_find_file(struct store *store, const char *digest, uint32_t *date,
                     struct problem *problem)
{
    sqlite3_stmt *query = store_i_query(
        store, "SELECT date FROM files JOIN batches USING(batch) WHERE files.digest = ?1",
        &store->window, problem);
    if (query) {
        (void)sqlite3_bind_text(query, 1, digest, -1, SQLITE_STATIC);
    }
    return read_date(store, query, date, problem);
}

bool store_read_statement_seq(struct store *store, uint32_t until, uint32_t *seq,
                              struct problem *problem)
{
    struct store_window window = { 0, until, 0, false };
    char month[sizeof "statement YYYY-MM"] = "";
    sqlite3_stmt *query = store_i_query(store,
                                        "SELECT seq, code FROM transactions WHERE seq > ?1"
                                        " AND seq <= ?2 AND kind = 'statement' ORDER BY seq DESC",
                                        &window, problem);
    int step;
    *seq = 0;
    if (!query) {
        return false;
    }
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        const char *code = text_or_empty(query, 1);
        if (month[0] && strncmp(month, code, sizeof month - 1) != 0) {
            break;
        }
        snprintf(month, sizeof month, "%s", code);
        *seq = (uint32_t)sqlite3_column_int64(query, 0);
    }
    bool read = step == SQLITE_ROW || step == SQLITE_DONE || store_i_fail(store, problem);
    sqlite3_finalize(query);
    return read;
}

bool store_begin(struct store *store, struct problem *problem)
{
    return store_i_execute(store, "BEGIN IMMEDIATE", problem);
}

bool store_commit(struct store *store, struct problem *problem)
{
    return store_i_execute(store, "COMMIT", problem);
}

void store_rollback(struct store *store)
{
    /* After a full disk SQLite may have rolled back already. */
    if (!sqlite3_get_autocommit(store->connection)) {
        sqlite3_exec(store->connection, "ROLLBACK", NULL, NULL, NULL);
    }
}
