/* Owns the record of a batch in PostgreSQL. */
#include "remote/record.h"

#include <stdio.h>
#include <stdlib.h>

/* To be raised when payloads, states or effects change: see remote/wire.h. */
#define FORMAT "1"

/* Two processes that make the schema at the same time would meet an error. */
static const char lock_schema[] = "SELECT pg_advisory_lock(hashtext('ledgerbatch'), 0)";
static const char unlock_schema[] = "SELECT pg_advisory_unlock(hashtext('ledgerbatch'), 0)";

static const char make_table[] =
    "CREATE TABLE IF NOT EXISTS ledgerbatch.batch (id int PRIMARY KEY CHECK (id = 1),"
    " format int NOT NULL, digest text NOT NULL, task_count bigint NOT NULL,"
    " appended bigint NOT NULL DEFAULT 0, is_sealed bool NOT NULL DEFAULT false,"
    " head text NOT NULL DEFAULT '', publisher text NOT NULL DEFAULT '')";

static const char make_row[] = "INSERT INTO ledgerbatch.batch (id, format, digest, task_count)"
                               " VALUES (1, " FORMAT ", $1, $2) ON CONFLICT DO NOTHING";

static enum answer run(struct record *record, const char *sql, struct problem *problem)
{
    return session_call(&record->session, sql, 0, NULL, false, NULL, problem);
}

static enum answer make_record(struct record *record, const struct plan *plan,
                               struct problem *problem)
{
    char count[24];
    const char *parameters[] = { plan->digest, count };
    snprintf(count, sizeof count, "%zu", plan->task_count);
    enum answer answer = run(record, lock_schema, problem);
    answer = answer != ANSWER_DONE
                 ? answer
                 : run(record, "CREATE SCHEMA IF NOT EXISTS ledgerbatch", problem);
    answer = answer != ANSWER_DONE ? answer : run(record, make_table, problem);
    answer = answer != ANSWER_DONE
                 ? answer
                 : session_call(&record->session, make_row, 2, parameters, false, NULL, problem);
    return answer != ANSWER_DONE ? answer : run(record, unlock_schema, problem);
}

static void copy_text(char *to, size_t size, const PGresult *rows, int column)
{
    snprintf(to, size, "%s", PQgetvalue(rows, 0, column));
}

/* Takes the columns appended, is_sealed, head and publisher, which begin with `first`. */
static void take_row(struct record *record, const PGresult *rows, int first)
{
    record->appended = strtoull(PQgetvalue(rows, 0, first), NULL, 10);
    record->is_sealed = PQgetvalue(rows, 0, first + 1)[0] == 't';
    copy_text(record->head, sizeof record->head, rows, first + 2);
    copy_text(record->publisher, sizeof record->publisher, rows, first + 3);
}

static enum answer read_row(struct record *record, const char *sql, int count,
                            const char *const *parameters, PGresult **rows, struct problem *problem)
{
    enum answer answer =
        session_call(&record->session, sql, count, parameters, false, rows, problem);
    if (answer == ANSWER_DONE && PQntuples(*rows) != 1) {
        PQclear(*rows);
        problem_set(problem, EXIT_CODE_IO, "the store: its batch was removed");
        return ANSWER_REFUSED;
    }
    return answer;
}

static bool has_format(const PGresult *rows, struct problem *problem)
{
    return strcmp(PQgetvalue(rows, 0, 0), FORMAT) == 0 ||
           problem_set(problem, EXIT_CODE_OTHER,
                       "the store: its batch was made by another version of ledgerbatch");
}

/* Reads the row; `digest` and the number of tasks are of the batch. */
static bool read_whole_row(struct record *record, char digest[SHA256_TEXT_SIZE], size_t *task_count,
                           struct problem *problem)
{
    PGresult *rows;
    if (read_row(record,
                 "SELECT format, digest, task_count, appended, is_sealed, head, publisher "
                 "FROM ledgerbatch.batch",
                 0, NULL, &rows, problem) != ANSWER_DONE) {
        return false;
    }
    bool has = has_format(rows, problem);
    snprintf(digest, SHA256_TEXT_SIZE, "%s", PQgetvalue(rows, 0, 1));
    *task_count = strtoull(PQgetvalue(rows, 0, 2), NULL, 10);
    take_row(record, rows, 3);
    PQclear(rows);
    return has;
}

static bool check_record(struct record *record, const struct plan *plan, struct problem *problem)
{
    char digest[SHA256_TEXT_SIZE];
    size_t task_count;
    if (!read_whole_row(record, digest, &task_count, problem)) {
        return false;
    }
    return (strcmp(digest, plan->digest) == 0 && task_count == plan->task_count) ||
           problem_set(problem, EXIT_CODE_OTHER,
                       "the store: its batch is of other input or rules; name another database "
                       "with --store");
}

/* Finds out whether there is a batch. */
static bool has_record(struct record *record, bool *has, struct problem *problem)
{
    PGresult *rows;
    if (session_call(&record->session, "SELECT to_regclass('ledgerbatch.batch') IS NOT NULL", 0,
                     NULL, false, &rows, problem) != ANSWER_DONE) {
        return false;
    }
    *has = PQgetvalue(rows, 0, 0)[0] == 't';
    PQclear(rows);
    return true;
}

static void begin(struct record *record, const char *store)
{
    *record = (struct record){ .session = { .store = store, .is_known_away = true } };
}

bool record_open(struct record *record, const char *store, bool must_exist, const struct plan *plan,
                 struct problem *problem)
{
    begin(record, store);
    if (!has_record(record, &record->is_there, problem)) {
        return false;
    }
    if (!record->is_there && must_exist) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the store has no batch to join; without --join, this command makes it");
    }
    return !record->is_there || check_record(record, plan, problem);
}

bool record_make(struct record *record, const struct plan *plan, struct problem *problem)
{
    return record->is_there || (make_record(record, plan, problem) == ANSWER_DONE &&
                                check_record(record, plan, problem));
}

bool record_view(struct record *record, const char *store, size_t *task_count,
                 struct problem *problem)
{
    char digest[SHA256_TEXT_SIZE];
    begin(record, store);
    return has_record(record, &record->is_there, problem) &&
           (record->is_there || problem_set(problem, EXIT_CODE_INPUT, "the store has no batch")) &&
           read_whole_row(record, digest, task_count, problem);
}

void record_close(struct record *record)
{
    session_close(&record->session);
}

enum answer record_read(struct record *record, struct problem *problem)
{
    PGresult *rows;
    enum answer answer =
        read_row(record, "SELECT appended, is_sealed, head, publisher FROM ledgerbatch.batch", 0,
                 NULL, &rows, problem);
    if (answer == ANSWER_DONE) {
        take_row(record, rows, 0);
        PQclear(rows);
    }
    return answer;
}

/* The lock comes first: what the record says afterwards is what its last owner has left. */
enum answer record_lock(struct record *record, enum record_lock lock, bool *is_got,
                        struct problem *problem)
{
    static const char *const numbers[] = { [RECORD_APPEND] = "1", [RECORD_PUBLISH] = "2" };
    PGresult *rows;
    enum answer answer =
        read_row(record, "SELECT pg_try_advisory_lock(hashtext('ledgerbatch'), $1)", 1,
                 &numbers[lock], &rows, problem);
    if (answer != ANSWER_DONE) {
        return answer;
    }
    *is_got = PQgetvalue(rows, 0, 0)[0] == 't';
    PQclear(rows);
    return record_read(record, problem);
}

enum answer record_set_appended(struct record *record, size_t appended, bool is_sealed,
                                struct problem *problem)
{
    char count[24];
    const char *parameters[] = { count, is_sealed ? "t" : "f" };
    snprintf(count, sizeof count, "%zu", appended);
    enum answer answer = session_call(&record->session,
                                      "UPDATE ledgerbatch.batch SET appended = $1,"
                                      " is_sealed = is_sealed OR $2",
                                      2, parameters, false, NULL, problem);
    if (answer == ANSWER_DONE) {
        record->appended = appended;
        record->is_sealed |= is_sealed;
    }
    return answer;
}

enum answer record_set_head(struct record *record, const char *head, const char *publisher,
                            struct problem *problem)
{
    const char *parameters[] = { head, publisher };
    return session_call(&record->session,
                        "UPDATE ledgerbatch.batch SET head = $1, publisher = $2 WHERE head = ''", 2,
                        parameters, false, NULL, problem);
}
