/*
 * A connection to PostgreSQL that begins anew when it is lost.
 */
#ifndef LEDGERBATCH_REMOTE_SESSION_H
#define LEDGERBATCH_REMOTE_SESSION_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "problem.h"

struct session {
    const char *store;  /* the URI */
    PGconn *connection; /* NULL while there is none */
    bool is_known_away; /* a message has said that the server does not answer */
};

enum answer {
    ANSWER_DONE,
    ANSWER_AWAY,   /* there is no connection, or it was lost: the call may have taken effect */
    ANSWER_REFUSED /* the server refuses the call; the problem says why */
};

/*
 * Makes a call with parameters as text; connects first if necessary. If the
 * call is done, `result` receives the rows, in binary format if `is_binary`; the caller clears it.
 * It may be NULL.
 */
enum answer session_call(struct session *session, const char *sql, int parameter_count,
                         const char *const *parameters, bool is_binary, PGresult **result,
                         struct problem *problem);

/* Ends the connection, and with it all locks. */
void session_close(struct session *session);

#endif
