#define _POSIX_C_SOURCE 200809L /* clock_gettime, strdup */
#include "adapters/pg/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The server's own time-outs end a statement first; then its answer is still to come. */
enum { GRACE_MS = 2000, MS_PER_S = 1000, NS_PER_MS = 1000000 };

void lanepool_i_pg_error(struct pg_connection *connection, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(connection->error, sizeof connection->error, format, arguments);
    va_end(arguments);
    size_t length = strlen(connection->error);
    while (length > 0 && connection->error[length - 1] == '\n')
        connection->error[--length] = '\0';
}

void lanepool_i_pg_disconnect(struct pg_connection *connection)
{
    PQfinish(connection->session);
    connection->session = NULL;
    connection->prepared = 0;
}

static lanepool_status fail_session(struct pg_connection *connection, const char *text)
{
    lanepool_i_pg_error(connection, "%s", text);
    lanepool_i_pg_disconnect(connection);
    return LANEPOOL_UNAVAILABLE;
}

/* --- one statement --- */

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

/* Waits until the socket can be read, or written if `is_full`. Returns false at the deadline. */
static bool wait_for_socket(PGconn *session, bool is_full, int64_t deadline_ms)
{
    struct pollfd wait = { .fd = PQsocket(session), .events = POLLIN };
    if (is_full)
        wait.events |= POLLOUT;
    for (;;) {
        int64_t left_ms = deadline_ms - now_ms();
        if (left_ms <= 0)
            return false;
        int ready = poll(&wait, 1, (int)left_ms);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
}

/* Sends what is to be sent, and receives until a result can be taken. */
static bool exchange_messages(PGconn *session, int64_t deadline_ms)
{
    for (;;) {
        int is_full = PQflush(session);
        if (is_full < 0)
            return false;
        if (is_full == 0 && !PQisBusy(session))
            return true;
        if (!wait_for_socket(session, is_full > 0, deadline_ms) || !PQconsumeInput(session))
            return false;
    }
}

/* Receives all results of what was sent. Returns the first failure, or else the last result; NULL
 * if the connection is lost, or the deadline has passed. */
static PGresult *receive_results(struct pg_connection *connection)
{
    int64_t deadline_ms = now_ms() + connection->statement_ms + GRACE_MS;
    PGresult *kept = NULL;
    while (exchange_messages(connection->session, deadline_ms)) {
        PGresult *result = PQgetResult(connection->session);
        if (result == NULL)
            return kept;
        if (PQresultStatus(kept) == PGRES_FATAL_ERROR && kept != NULL) {
            PQclear(result);
            continue;
        }
        PQclear(kept);
        kept = result;
    }
    PQclear(kept);
    return NULL;
}

/* The states that schema.sql raises, and a second row with the key of another one. */
static lanepool_status status_of_state(const char *state)
{
    if (state != NULL && strcmp(state, "LPF01") == 0)
        return LANEPOOL_FENCED;
    if (state != NULL && strcmp(state, "LPS01") == 0)
        return LANEPOOL_SHUT_DOWN;
    if (state != NULL && strcmp(state, "23505") == 0)
        return LANEPOOL_INVALID;
    return LANEPOOL_UNAVAILABLE;
}

static lanepool_status fail_statement(struct pg_connection *connection, const PGresult *result)
{
    lanepool_status status = status_of_state(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    lanepool_i_pg_error(connection, "%s", PQresultErrorMessage(result));
    if (status == LANEPOOL_UNAVAILABLE)
        lanepool_i_pg_disconnect(connection);
    return status;
}

/* Takes the results of what was sent, if it was. */
static lanepool_status take_results(struct pg_connection *connection, int sent, PGresult **result)
{
    *result = sent ? receive_results(connection) : NULL;
    if (*result == NULL) {
        const char *text = PQerrorMessage(connection->session);
        return fail_session(connection, text[0] != '\0' ? text : "the server does not answer");
    }
    ExecStatusType state = PQresultStatus(*result);
    if (state == PGRES_TUPLES_OK || state == PGRES_COMMAND_OK)
        return LANEPOOL_OK;
    lanepool_status status = fail_statement(connection, *result);
    PQclear(*result);
    *result = NULL;
    return status;
}

static lanepool_status prepare_statement(struct pg_connection *connection,
                                         const struct pg_statement *statement)
{
    PGresult *result;
    if (connection->prepared >> statement->number & 1)
        return LANEPOOL_OK;
    int sent = PQsendPrepare(connection->session, statement->name, statement->sql, 0, NULL);
    lanepool_status status = take_results(connection, sent, &result);
    if (status != LANEPOOL_OK)
        return status;
    PQclear(result);
    connection->prepared |= UINT64_C(1) << statement->number;
    return LANEPOOL_OK;
}

lanepool_status lanepool_i_pg_execute(struct pg_connection *connection,
                                      const struct pg_statement *statement,
                                      const struct pg_parameters *parameters, PGresult **result)
{
    const char *values[PG_PARAMETERS_MAX];
    int formats[PG_PARAMETERS_MAX];
    *result = NULL;
    if (parameters->no_memory)
        return LANEPOOL_NOMEM;
    if (connection->session == NULL)
        return LANEPOOL_UNAVAILABLE;
    lanepool_status status = prepare_statement(connection, statement);
    if (status != LANEPOOL_OK)
        return status;
    for (int i = 0; i < parameters->count; i++) {
        values[i] = (const char *)parameters->bytes + parameters->begin[i];
        formats[i] = 1;
    }
    int sent = PQsendQueryPrepared(connection->session, statement->name, parameters->count, values,
                                   parameters->length, formats, 1);
    return take_results(connection, sent, result);
}

lanepool_status lanepool_i_pg_script(struct pg_connection *connection, const char *sql)
{
    PGresult *result;
    lanepool_status status =
        take_results(connection, PQsendQuery(connection->session, sql), &result);
    PQclear(result);
    return status;
}

/* --- connecting --- */

static const struct pg_statement pin_settings = {
    PG_SETTINGS, "lanepool_settings",
    /* Plans are made once, before the tables have rows, and must be right when they are full. */
    "SELECT set_config(name, setting, false) FROM (VALUES"
    " ('search_path', quote_ident($1) || ', pg_temp'),"
    " ('synchronous_commit', 'off'),"
    " ('statement_timeout', $2), ('lock_timeout', $3),"
    " ('idle_in_transaction_session_timeout', $4),"
    " ('default_transaction_isolation', 'read committed'),"
    " ('enable_seqscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'),"
    " ('jit', 'off'), ('plan_cache_mode', 'force_generic_plan')"
    ") pinned (name, setting)"
};

static void add_time(struct pg_parameters *parameters, unsigned time_ms)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%u", time_ms);
    lanepool_i_pg_add_text(parameters, text);
}

static lanepool_status set_session(struct pg_connection *connection)
{
    struct pg_parameters parameters = { .bytes = NULL };
    PGresult *result;
    lanepool_i_pg_add_text(&parameters, connection->schema);
    add_time(&parameters, connection->statement_ms);
    add_time(&parameters, connection->lock_ms);
    add_time(&parameters, connection->idle_ms);
    lanepool_status status = lanepool_i_pg_execute(connection, &pin_settings, &parameters, &result);
    lanepool_i_pg_free(&parameters);
    PQclear(result);
    return status;
}

/* Notices of the server are not for the program's standard error. */
static void ignore_notice(void *context, const PGresult *result)
{
    (void)context;
    (void)result;
}

lanepool_status lanepool_i_pg_connect(struct pg_connection *connection)
{
    /* A value in the program's conninfo comes later, and replaces these. */
    const char *names[] = {
        "fallback_application_name", "connect_timeout",  "keepalives_idle", "keepalives_interval",
        "keepalives_count",          "tcp_user_timeout", "dbname",          NULL
    };
    const char *values[] = {
        "lanepool", "10", "10", "5", "3", "20000", connection->conninfo, NULL
    };
    if (connection->session != NULL)
        return LANEPOOL_OK;
    connection->session = PQconnectdbParams(names, values, 1);
    if (connection->session == NULL)
        return LANEPOOL_NOMEM;
    if (PQstatus(connection->session) != CONNECTION_OK)
        return fail_session(connection, PQerrorMessage(connection->session));
    (void)PQsetNoticeReceiver(connection->session, ignore_notice, NULL);
    (void)PQsetnonblocking(connection->session, 1);
    return set_session(connection);
}
