/* Owns the rows about batches, and which of them cursors read. */
#include <stdio.h>
#include <string.h>

#include "base/syntax.h"
#include "store/sqlite.h"

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
    const char *damage = NULL;
    if (facts->state == STORE_EMPTY) {
        damage = "a batch has no state";
    } else if (!sqlite3_column_int(query, 8)) {
        damage = "the batches are not numbered from 1";
    } else if (facts->number > 1 && !facts->is_day) {
        damage = "a batch that follows another is not a day";
    }
    return !damage || problem_set(problem, EXIT_CODE_IO, "%s: the database is damaged: %s",
                                  store->path, damage);
}

bool store_read_facts(struct store *store, struct store_facts *facts, struct problem *problem)
{
    *facts = (struct store_facts){ .state = STORE_EMPTY };
    if (!store_i_check_owner(store, problem)) {
        return false;
    }
    if (store->is_empty) {
        return true;
    }
    sqlite3_stmt *query =
        store_i_query(store,
                      "SELECT batch, kind, date, digest, base_seq, tasks, state, transactions,"
                      " (SELECT min(batch) = 1 AND max(batch) = count(*) FROM batches)"
                      " FROM batches ORDER BY batch DESC LIMIT 1",
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
    bool read =
        store_i_read_number(store,
                            "SELECT max(s) FROM (SELECT max(base_seq + tasks) AS s FROM batches"
                            " UNION ALL SELECT max(seq) FROM transactions UNION ALL SELECT "
                            "max(done_seq) FROM deferred)",
                            &number, problem);
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

bool store_read_begin_seq(struct store *store, uint32_t date, uint32_t *seq,
                          struct problem *problem)
{
    char text[DATE_SIZE];
    sqlite3_stmt *query = store_i_query(store,
                                        "SELECT base_seq FROM batches WHERE date >= ?1"
                                        " ORDER BY batch LIMIT 1",
                                        &store->window, problem);
    if (!query) {
        return false;
    }
    date_write(text, date);
    (void)sqlite3_bind_text(query, 1, text, DATE_SIZE, SQLITE_STATIC);
    int step = sqlite3_step(query);
    *seq = step == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(query, 0) : 0;
    bool read = step == SQLITE_ROW || step == SQLITE_DONE || store_i_fail(store, problem);
    sqlite3_finalize(query);
    return read;
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

bool store_has_code_index(struct store *store, bool *has_index, struct problem *problem)
{
    int64_t count = 0;
    bool read = store_i_read_number(
        store, "SELECT count(*) FROM sqlite_schema WHERE name = 'transactions_by_code'", &count,
        problem);
    *has_index = count > 0;
    return read;
}

bool store_index_codes(struct store *store, struct problem *problem)
{
    return store_i_execute(store,
                           "CREATE INDEX IF NOT EXISTS transactions_by_code ON transactions(code)"
                           " WHERE kind = 'post' AND code IS NOT NULL",
                           problem);
}

bool store_find_code(struct store *store, struct slice code, uint32_t *seq, uint32_t *date,
                     struct problem *problem)
{
    sqlite3_stmt **query = &store->find_code;
    if (!*query &&
        sqlite3_prepare_v3(store->connection,
                           "SELECT seq, date FROM transactions INDEXED BY transactions_by_code"
                           " WHERE code = ?1 AND kind = 'post' AND code IS NOT NULL AND seq <= ?2"
                           " ORDER BY seq LIMIT 1",
                           -1, SQLITE_PREPARE_PERSISTENT, query, NULL) != SQLITE_OK) {
        return store_i_fail(store, problem);
    }
    (void)sqlite3_bind_text(*query, 1, code.data, (int)code.size, SQLITE_STATIC);
    (void)sqlite3_bind_int64(*query, 2, store->window.base_seq);
    int step = sqlite3_step(*query);
    *seq = step == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(*query, 0) : 0;
    *date = step == SQLITE_ROW ? store_i_date_at(*query, 1) : 0;
    bool found = step == SQLITE_ROW || step == SQLITE_DONE || store_i_fail(store, problem);
    sqlite3_reset(*query);
    return found;
}

bool store_find_reversal(struct store *store, uint32_t reversed_seq, uint32_t *seq,
                         struct problem *problem)
{
    struct store_window window = { .base_seq = reversed_seq };
    sqlite3_stmt *query =
        store_i_query(store, "SELECT seq FROM reversals WHERE reversed_seq = ?1", &window, problem);
    int step = query ? sqlite3_step(query) : SQLITE_ERROR;
    *seq = step == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(query, 0) : 0;
    bool found = step == SQLITE_ROW || step == SQLITE_DONE || store_i_fail(store, problem);
    sqlite3_finalize(query);
    return found;
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
