/* Owns the SQLite database and its one connection. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "store/sqlite.h"

/* How long SQLite tries again while another program has a lock. */
#define BUSY_MS 5000

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
    if (code == SQLITE_READONLY || (code == SQLITE_CANTOPEN && store->mode == STORE_READ)) {
        return problem_set(problem, EXIT_CODE_IO,
                           store->mode == STORE_READ
                               ? "%s: its last run was killed or another program was reading it; "
                                 "until a command has been run that may write this file and its "
                                 "folder, no other can read it"
                               : "%s: the file and its folder must be writable",
                           store->path);
    }
    return problem_set(problem, EXIT_CODE_IO, "%s: %s", store->path, reason);
}

bool store_i_execute(struct store *store, const char *text, struct problem *problem)
{
    return sqlite3_exec(store->connection, text, NULL, NULL, NULL) == SQLITE_OK ||
           store_i_fail(store, problem);
}

bool store_i_read_number(struct store *store, const char *text, int64_t *number,
                         struct problem *problem)
{
    sqlite3_stmt *query = store_i_query(store, text, &store->window, problem);
    if (!query) {
        return false;
    }
    bool read = sqlite3_step(query) == SQLITE_ROW || store_i_fail(store, problem);
    *number = read ? sqlite3_column_int64(query, 0) : 0;
    sqlite3_finalize(query);
    return read;
}

bool store_i_check_owner(struct store *store, struct problem *problem)
{
    int64_t tables = 0;
    int64_t owner = 0;
    int64_t version = 0;
    if (!store_i_read_number(store, "SELECT count(*) FROM sqlite_master", &tables, problem) ||
        !store_i_read_number(store, "PRAGMA application_id", &owner, problem) ||
        !store_i_read_number(store, "PRAGMA user_version", &version, problem)) {
        return false;
    }
    store->is_empty = tables == 0 && owner == 0;
    if (store->is_empty) {
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
    store->is_own = true;
    return true;
}

/*
 * Reports why a database cannot be opened, which SQLite's message does not say. If SQLite may not
 * create the file, its system error is ENOENT.
 */
static bool report_unopened(struct store *store, struct problem *problem)
{
    int code = sqlite3_system_errno(store->connection);
    if (sqlite3_errcode(store->connection) != SQLITE_CANTOPEN || code == 0) {
        return store_i_fail(store, problem);
    }
    const char *reason = store->mode == STORE_WRITE && code == ENOENT
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
    store->mode = mode;
    store->run.descriptor = -1;
    store->path = memory_zeroed(strlen(path) + 1, 1);
    memcpy(store->path, path, strlen(path));
    if (mode == STORE_WRITE) {
        flags |= SQLITE_OPEN_CREATE;
    }
    bool opened = sqlite3_open_v2(path, &store->connection, flags, NULL) == SQLITE_OK ||
                  report_unopened(store, problem);
    (void)sqlite3_busy_timeout(store->connection, BUSY_MS);
    opened = opened && (mode != STORE_READ || store_i_begin_reading(store, problem)) &&
             store_i_check_owner(store, problem) &&
             (mode == STORE_READ ? store_i_note_progress(store, problem)
                                 : store_i_take_lock(store, problem));
    if (!opened) {
        store_close(store);
        return NULL;
    }
    return store;
}

static bool copy_pages(struct store *to, struct store *from, struct problem *problem)
{
    sqlite3_backup *backup = sqlite3_backup_init(to->connection, "main", from->connection, "main");
    bool copied = backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE;
    return (sqlite3_backup_finish(backup) == SQLITE_OK && copied) || store_i_fail(to, problem);
}

struct store *store_open_memory(const char *path, bool is_copy, struct problem *problem)
{
    struct store *file = is_copy ? store_open(path, STORE_READ, problem) : NULL;
    struct store *store = is_copy && !file ? NULL : store_open(":memory:", STORE_WRITE, problem);
    if (store) {
        free(store->path);
        store->path = memory_copy_text(path);
    }
    if (store && file &&
        !(copy_pages(store, file, problem) && store_i_check_owner(store, problem) &&
          store_i_take_lock(store, problem))) {
        store_close(store);
        store = NULL;
    }
    store_close(file);
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

bool store_close(struct store *store)
{
    if (!store) {
        return true;
    }
    for (size_t i = 0; i < STATEMENT_COUNT; i++) {
        sqlite3_finalize(store->statements[i]);
    }
    sqlite3_finalize(store->find_code);
    bool is_plain = store_i_leave_wal(store);
    sqlite3_close(store->connection);
    run_file_fini(&store->run);
    free(store->path);
    free(store);
    return is_plain;
}

bool store_begin(struct store *store, struct problem *problem)
{
    return store_i_begin_writing(store, problem);
}

bool store_commit(struct store *store, struct problem *problem)
{
    bool committed = store_i_execute(store, "COMMIT", problem);
    if (committed) {
        run_file_note_commit(&store->run);
    }
    return committed;
}

void store_rollback(struct store *store)
{
    /* After a full disk SQLite may have rolled back already. */
    if (!sqlite3_get_autocommit(store->connection)) {
        sqlite3_exec(store->connection, "ROLLBACK", NULL, NULL, NULL);
    }
}
