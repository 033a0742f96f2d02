/* Owns the head: the hash of everything that the database says. */
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "store/sqlite.h"

/* The schema, so that a trigger or another index is found, too. SQLite's own tables of statistics
 * are no part of the head. */
static const char schema_text[] =
    "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    " WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name";

/*
 * The rows of a batch that never change when it has ended. The postings of a deferred transaction
 * are removed when it is done, so they are not among them.
 */
#define NEVER_DEFERRED " AND seq NOT IN (SELECT seq FROM deferred)"
static const char *const history_texts[] = {
    "SELECT batch, kind, date, digest, base_seq, tasks, transactions FROM batches WHERE batch = ?4",
    "SELECT * FROM transactions WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    "SELECT * FROM postings WHERE seq > ?1 AND seq <= ?2 ORDER BY seq, n",
    "SELECT * FROM unposted WHERE seq > ?1 AND seq <= ?2" NEVER_DEFERRED " ORDER BY seq, n",
    "SELECT * FROM outputs WHERE batch = ?4 ORDER BY path",
    "SELECT * FROM closings WHERE seq > ?1 AND seq <= ?2 ORDER BY seq, account, commodity",
    "SELECT * FROM refused WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    "SELECT * FROM rejected WHERE batch = ?4 ORDER BY n",
    "SELECT * FROM rejected_totals WHERE batch = ?4 ORDER BY symbol",
    "SELECT * FROM reopened WHERE batch = ?4 ORDER BY month",
    "SELECT * FROM reports WHERE seq > ?1 AND seq <= ?2 ORDER BY seq",
    "SELECT * FROM steps WHERE batch = ?4 ORDER BY n"
};

/* All other rows, of all batches: later batches change some of them, and there are few of the rest.
 */
static const char *const current_texts[] = {
    "SELECT batch, state, chain FROM batches ORDER BY batch",
    "SELECT * FROM files ORDER BY digest",
    "SELECT * FROM outputs WHERE batch < 1 OR batch > (SELECT max(batch) FROM batches)"
    " ORDER BY batch, path",
    "SELECT * FROM rejected WHERE batch < 1 OR batch > (SELECT max(batch) FROM batches)"
    " ORDER BY batch, n",
    "SELECT * FROM rejected_totals WHERE batch < 1 OR batch > (SELECT max(batch) FROM batches)"
    " ORDER BY batch, symbol",
    "SELECT * FROM reopened WHERE batch < 1 OR batch > (SELECT max(batch) FROM batches)"
    " ORDER BY batch, month",
    "SELECT * FROM steps WHERE batch < 1 OR batch > (SELECT max(batch) FROM batches)"
    " ORDER BY batch, n",
    "SELECT * FROM contributions ORDER BY seq, lane",
    "SELECT * FROM prices ORDER BY commodity, currency, date",
    "SELECT * FROM input_totals ORDER BY batch, commodity",
    "SELECT * FROM lanes ORDER BY lane",
    "SELECT * FROM accounts ORDER BY account",
    "SELECT * FROM commodities ORDER BY commodity",
    "SELECT * FROM balances ORDER BY account, commodity",
    "SELECT * FROM opening ORDER BY account, commodity",
    "SELECT * FROM held ORDER BY lane",
    "SELECT * FROM held_tasks ORDER BY seq",
    "SELECT * FROM holders ORDER BY seq, lane",
    "SELECT * FROM missing ORDER BY seq, lane",
    "SELECT * FROM failed ORDER BY seq",
    "SELECT * FROM deferred ORDER BY seq",
    "SELECT * FROM reversals ORDER BY reversed_seq",
    "SELECT * FROM unposted WHERE seq IN (SELECT seq FROM deferred) ORDER BY seq, n"
};

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
                      const struct store_window *window, struct problem *problem)
{
    uint64_t count = 0;
    sqlite3_stmt *query = store_i_query(store, text, window, problem);
    if (!query) {
        return false;
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

static bool hash_all(struct sha256 *hash, struct store *store, const char *const *texts,
                     size_t count, const struct store_window *window, struct problem *problem)
{
    bool hashed = true;
    for (size_t i = 0; hashed && i < count; i++) {
        hashed = hash_rows(hash, store, texts[i], window, problem);
    }
    return hashed;
}

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Hashes the rows of the batch in the window behind the hash of the batch before. */
static bool hash_batch(struct sha256 *hash, struct store *store, const char *before,
                       const struct store_window *window, struct problem *problem)
{
    sha256_init(hash);
    hash_number(hash, 0, STORE_I_FORMAT_VERSION);
    sha256_update(hash, before, strlen(before));
    return hash_all(hash, store, history_texts, COUNT_OF(history_texts), window, problem);
}

struct batch_hash {
    struct store_window window;
    char before[SHA256_TEXT_SIZE]; /* the chain of the batch before; empty for the first one */
    char stored[SHA256_TEXT_SIZE]; /* its own; empty for the last one */
};

static const char batches_text[] =
    "SELECT batch, base_seq, lead(base_seq, 1, 4294967295) OVER (ORDER BY batch),"
    " lag(chain) OVER (ORDER BY batch), chain FROM batches ORDER BY batch";

static void copy_text(char *copy, sqlite3_stmt *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query, column);
    snprintf(copy, SHA256_TEXT_SIZE, "%s", text ? text : "");
}

static void read_batch_hash(sqlite3_stmt *query, struct batch_hash *batch)
{
    batch->window = (struct store_window){ (uint32_t)sqlite3_column_int64(query, 1),
                                           (uint32_t)sqlite3_column_int64(query, 2),
                                           (uint32_t)sqlite3_column_int64(query, 0), true };
    copy_text(batch->before, query, 3);
    copy_text(batch->stored, query, 4);
}

/* Finds the last batch. */
static bool find_last_batch(struct store *store, struct batch_hash *batch, struct problem *problem)
{
    sqlite3_stmt *query = store_i_query(store, batches_text, &store->window, problem);
    int step = SQLITE_DONE;
    if (!query) {
        return false;
    }
    *batch = (struct batch_hash){ 0 };
    while ((step = sqlite3_step(query)) == SQLITE_ROW) {
        read_batch_hash(query, batch);
    }
    bool found = step == SQLITE_DONE || store_i_fail(store, problem);
    sqlite3_finalize(query);
    return found;
}

bool store_i_extend_chain(struct store *store, struct problem *problem)
{
    struct sha256 hash;
    struct batch_hash batch;
    char text[SHA256_TEXT_SIZE];
    char update[160];
    if (!find_last_batch(store, &batch, problem) ||
        !hash_batch(&hash, store, batch.before, &batch.window, problem)) {
        return false;
    }
    sha256_finish_text(&hash, text);
    snprintf(update, sizeof update, "UPDATE batches SET chain = '%s' WHERE batch = %u", text,
             batch.window.number);
    return store_i_execute(store, update, problem);
}

static bool check_link(struct store *store, sqlite3_stmt *query, struct problem *problem)
{
    struct sha256 hash;
    struct batch_hash batch;
    char text[SHA256_TEXT_SIZE];
    read_batch_hash(query, &batch);
    if (batch.window.end_seq == UINT32_MAX) {
        return true; /* the last batch is not in the chain yet */
    }
    if (!hash_batch(&hash, store, batch.before, &batch.window, problem)) {
        return false;
    }
    sha256_finish_text(&hash, text);
    return strcmp(text, batch.stored) == 0 ||
           problem_set(problem, EXIT_CODE_OTHER, "%s: rows of batch %u have changed since it ended",
                       store->path, batch.window.number);
}

bool store_check_chain(struct store *store, struct problem *problem)
{
    sqlite3_stmt *query = store_i_query(store, batches_text, &store->window, problem);
    int step = SQLITE_DONE;
    bool good = query != NULL;
    while (good && (step = sqlite3_step(query)) == SQLITE_ROW) {
        good = check_link(store, query, problem);
    }
    good = good && (step == SQLITE_DONE || store_i_fail(store, problem));
    sqlite3_finalize(query);
    return good;
}

bool store_read_head(struct store *store, char head[SHA256_TEXT_SIZE], struct problem *problem)
{
    struct sha256 hash;
    struct batch_hash batch;
    if (!find_last_batch(store, &batch, problem) ||
        !hash_batch(&hash, store, batch.before, &batch.window, problem) ||
        !hash_rows(&hash, store, schema_text, &batch.window, problem) ||
        !hash_all(&hash, store, current_texts, COUNT_OF(current_texts), &batch.window, problem)) {
        return false;
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
