/*
 * One connection to PostgreSQL: opened with the session settings that the adapter relies on, used
 * for one statement at a time, and closed at the first error that may leave a transaction unknown.
 *
 * No call waits for ever: the server ends a statement after `statement_ms`, and the client stops
 * waiting a little later, as when the network is parted.
 */
#ifndef LANEPOOL_ADAPTERS_PG_CONNECTION_H
#define LANEPOOL_ADAPTERS_PG_CONNECTION_H

#include <libpq-fe.h>

#include "adapters/pg/parameters.h"
#include "lanepool/status.h"

enum { PG_ERROR_SIZE = 512 };

struct pg_connection {
    char *conninfo;        /* owned */
    char *schema;          /* owned; set as the search path */
    PGconn *session;       /* NULL: not connected */
    uint64_t prepared;     /* a bit for each prepared statement */
    unsigned statement_ms; /* the longest time of one statement */
    unsigned lock_ms;      /* the longest time in which a statement waits for one lock */
    unsigned idle_ms;      /* an idle open transaction is ended after this time */
    char error[PG_ERROR_SIZE];
};

enum pg_statement_number {
    PG_SETTINGS,
    PG_FIND_BATCH,
    PG_LOCK_BATCH,
    PG_MAKE_BATCH,
    PG_READ_BATCH,
    PG_HELLO,
    PG_LEASE,
    PG_STEP,
    PG_POLL,
    PG_READ_LANES,
    PG_READ_ENTRIES,
    PG_READ_LETTERS,
    PG_FLUSH,
    PG_APPEND,
    PG_SEAL,
    PG_READ_STATUS,
    PG_READ_PROGRESS
};

/* A statement that is prepared at its first use. */
struct pg_statement {
    enum pg_statement_number number; /* its bit in `prepared` */
    const char *name;
    const char *sql;
};

/* Connects, and pins the session's settings. Returns LANEPOOL_OK at once if connected. */
lanepool_status lanepool_i_pg_connect(struct pg_connection *connection);

/* Closes the session, if there is one, and keeps the rest. */
void lanepool_i_pg_disconnect(struct pg_connection *connection);

/*
 * Executes a statement with parameters. On success the caller frees `*result` by PQclear().
 * Otherwise `error` has the text. The session is closed if the status is UNAVAILABLE: then nothing
 * is known of the statement. FENCED, SHUT_DOWN, INVALID: it had no effect. NOMEM: it was not sent.
 */
lanepool_status lanepool_i_pg_execute(struct pg_connection *connection,
                                      const struct pg_statement *statement,
                                      const struct pg_parameters *parameters, PGresult **result);

/* Executes SQL without parameters; several statements are one transaction. */
lanepool_status lanepool_i_pg_script(struct pg_connection *connection, const char *sql);

/* Sets the error's text. */
__attribute__((format(printf, 2, 3))) void lanepool_i_pg_error(struct pg_connection *connection,
                                                               const char *format, ...);

#endif
