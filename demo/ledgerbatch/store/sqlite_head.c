/* Owns the head: the hash of everything that the database says. */
#include <string.h>

#include "base/sha256.h"
#include "store/sqlite.h"

/* The schema, so that a trigger or another index is found, too. SQLite's own tables of statistics
 * are no part of the head. */
static const char schema_text[] =
    "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    " WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name";
static const char meta_text[] = "SELECT name, value FROM meta ORDER BY name";

/* Hashes a type and a number, which is a value, a size or a count. */
static void hash_number(struct sha256 *hash, int type, uint64_t number)
{
    uint8_t bytes[9] = { (uint8_t)type };
    for (int i = 0; i < 8; i++) {
        bytes[1 + i] = (uint8_t)(number >> (8 * i));
    }
    sha256_update(hash, bytes, sizeof bytes);
}

/* Hashes the type first, and the size of a text, so that no two rows look alike. */
static void hash_value(struct sha256 *hash, sqlite3_stmt *query, int column)
{
    int type = sqlite3_column_type(query, column);
    if (type == SQLITE_INTEGER) {
        hash_number(hash, type, (uint64_t)sqlite3_column_int64(query, column));
        return;
    }
    const void *bytes = sqlite3_column_blob(query, column);
    size_t size = (size_t)sqlite3_column_bytes(query, column);
    hash_number(hash, type, size);
    if (size > 0) {
        sha256_update(hash, bytes, size);
    }
}

/* Hashes all rows of a query, and their number. */
static bool hash_rows(struct sha256 *hash, struct store *store, const char *text,
                      struct problem *problem)
{
    sqlite3_stmt *query = NULL;
    uint64_t count = 0;
    if (sqlite3_prepare_v2(store->connection, text, -1, &query, NULL) != SQLITE_OK) {
        return store_i_fail(store, problem);
    }
    int columns = sqlite3_column_count(query);
    int step;
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++) {
            hash_value(hash, query, i);
        }
        count++;
    }
    hash_number(hash, 0, count);
    if (step != SQLITE_DONE) {
        store_i_fail(store, problem);
    }
    sqlite3_finalize(query);
    return step == SQLITE_DONE;
}

bool store_read_head(struct store *store, char head[SHA256_TEXT_SIZE], struct problem *problem)
{
    struct sha256 hash;
    sha256_init(&hash);
    hash_number(&hash, 0, STORE_I_FORMAT_VERSION);
    if (!hash_rows(&hash, store, schema_text, problem) ||
        !hash_rows(&hash, store, meta_text, problem)) {
        return false;
    }
    for (size_t rows = 0; rows < STORE_ROW_KINDS; rows++) {
        if (!hash_rows(&hash, store, store_i_queries[rows], problem)) {
            return false;
        }
    }
    sha256_finish_text(&hash, head);
    return true;
}

bool store_check_file(struct store *store, struct problem *problem)
{
    sqlite3_stmt *query = NULL;
    if (sqlite3_prepare_v2(store->connection, "PRAGMA integrity_check(1)", -1, &query, NULL) !=
        SQLITE_OK) {
        return store_i_fail(store, problem);
    }
    bool found = sqlite3_step(query) == SQLITE_ROW;
    const char *answer = found ? (const char *)sqlite3_column_text(query, 0) : NULL;
    bool good = answer && strcmp(answer, "ok") == 0;
    if (answer && !good) {
        const char *newline = strrchr(answer, '\n');
        problem_set(problem, EXIT_CODE_IO, "the database is damaged: %s",
                    newline ? newline + 1 : answer);
    } else if (!answer) {
        store_i_fail(store, problem);
    }
    sqlite3_finalize(query);
    return good;
}
