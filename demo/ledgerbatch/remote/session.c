/* Owns a connection of ledgerbatch to PostgreSQL. */
#include "remote/session.h"

#include <stdio.h>
#include <string.h>

/* The URI is last, so that what it says counts. */
static PGconn *connect(const char *store)
{
    const char *keywords[] = { "application_name", "connect_timeout",
                               "keepalives_idle",  "keepalives_interval",
                               "keepalives_count", "tcp_user_timeout",
                               "dbname",           NULL };
    const char *values[] = { "ledgerbatch", "10", "10", "5", "3", "20000", store, NULL };
    return PQconnectdbParams(keywords, values, 1);
}

/* Sets the problem to the text of the server or of libpq, in one line. */
static void set_problem(const char *text, struct problem *problem)
{
    problem_set(problem, EXIT_CODE_IO, "the store: %s", text);
    size_t size = strlen(problem->text);
    while (size > 0 && problem->text[size - 1] == '\n') {
        problem->text[--size] = 0;
    }
    for (char *at = problem->text; (at = strchr(at, '\n')) != NULL;) {
        *at = ' ';
    }
}

static enum answer lose(struct session *session, struct problem *problem)
{
    set_problem(PQerrorMessage(session->connection), problem);
    session_close(session);
    if (!session->is_known_away) {
        fprintf(stderr, "ledgerbatch: %s; waiting for it\n", problem->text);
    }
    session->is_known_away = true;
    return ANSWER_AWAY;
}

/*
 * Begins a connection whose commits are durable, whatever the server's default is. The server finds
 * out soon if this machine is gone, and gives its locks to others.
 */
static enum answer begin(struct session *session, struct problem *problem)
{
    session->connection = connect(session->store);
    if (PQstatus(session->connection) != CONNECTION_OK) {
        return lose(session, problem);
    }
    PGresult *result = PQexec(session->connection,
                              "SET synchronous_commit = on; SET client_min_messages = error; "
                              "SET statement_timeout = 0; SET tcp_keepalives_idle = 10; "
                              "SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3");
    bool is_set = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return is_set ? ANSWER_DONE : lose(session, problem);
}

enum answer session_call(struct session *session, const char *sql, int parameter_count,
                         const char *const *parameters, bool is_binary, PGresult **result,
                         struct problem *problem)
{
    if (!session->connection && begin(session, problem) != ANSWER_DONE) {
        return ANSWER_AWAY;
    }
    PGresult *got = PQexecParams(session->connection, sql, parameter_count, NULL, parameters, NULL,
                                 NULL, is_binary);
    ExecStatusType status = PQresultStatus(got);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
        session->is_known_away = false;
        if (result) {
            *result = got;
        } else {
            PQclear(got);
        }
        return ANSWER_DONE;
    }
    if (PQstatus(session->connection) != CONNECTION_OK) {
        PQclear(got);
        return lose(session, problem);
    }
    set_problem(PQresultErrorMessage(got), problem);
    PQclear(got);
    return ANSWER_REFUSED;
}

void session_close(struct session *session)
{
    PQfinish(session->connection);
    session->connection = NULL;
}
