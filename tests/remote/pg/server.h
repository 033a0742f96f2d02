/*
 * A PostgreSQL server of the test program's own (server.sh). The server ends with the program,
 * however that ends. Its superuser is "admin"; the role "app" has no special right, and owns the
 * database "books".
 */
#ifndef TESTS_REMOTE_PG_SERVER_H
#define TESTS_REMOTE_PG_SERVER_H

#include <libpq-fe.h>
#include <stdbool.h>

/*
 * Starts the server at the first call. Skips the whole program (exit 77) if a server's programs are
 * not installed.
 */
void server_begin(void);

/* Gives a command to the script: "crash", "stop", "start" or "disk". Returns false, and prints why,
 * if the script cannot do it here. */
bool server_command(const char *command);

/* Returns the server's folder. */
const char *server_folder(void);

/* Returns how to connect as a role, for libpq; valid until the next call. */
const char *server_conninfo(const char *role);

/* Returns a new connection of a role; the test fails if there is none. */
PGconn *server_connect(const char *role);

/* Runs SQL that must succeed. Returns the first row's first column as a number; 0 if there is none.
 */
long long server_sql(PGconn *connection, const char *sql);

#endif
