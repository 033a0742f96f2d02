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
    char transactions[16];
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
        !read_meta(store, "transactions", transactions, sizeof transactions, problem) ||
        !read_meta(store, "state", state, sizeof state, problem)) {
        return false;
    }
    facts->task_count = (uint32_t)strtoul(tasks, NULL, 10);
    facts->transaction_count = (uint32_t)strtoul(transactions, NULL, 10);
    facts->state = strcmp(state, "finished") == 0 ? STORE_FINISHED : STORE_UNFINISHED;
    return true;
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
