/* What the other tests rely on: the server that they start, and how it crashes. */
#include <stdlib.h>

#include "remote/pg/server.h"
#include "support/test.h"

Test(pg_server, role_of_the_tests_is_no_superuser)
{
    server_begin();
    PGconn *app = server_connect("app");
    expect_eq(server_sql(app, "SELECT rolsuper::int FROM pg_roles WHERE rolname = current_user"),
              0);
    PQfinish(app);
}

Test(pg_server, crash_loses_a_suffix_of_what_was_not_flushed)
{
    enum { ROWS = 300 };
    server_begin();
    PGconn *app = server_connect("app");
    server_sql(app, "CREATE TABLE number (n int); INSERT INTO number VALUES (0)");
    server_sql(app, "SET synchronous_commit = off");
    for (int i = 1; i <= ROWS; i++)
        server_sql(app, "INSERT INTO number SELECT max(n) + 1 FROM number");
    server_command("crash");
    server_command("start");
    PQfinish(app);

    app = server_connect("app");
    long long count = server_sql(app, "SELECT count(*) FROM number");
    expect(count >= 1 && count <= ROWS);
    expect_eq(server_sql(app, "SELECT max(n) + 1 FROM number"), count);
    server_sql(app, "DROP TABLE number");
    PQfinish(app);
}
