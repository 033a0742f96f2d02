#define _GNU_SOURCE /* pipe2 */
#include "remote/pg/server.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

enum { EXIT_SKIPPED = 77 };

extern char **environ;

static FILE *commands;
static FILE *answers;
static char folder[256];

/* Reads the script's next line. A script that has ended fails the test. */
static void read_answer(char *line, size_t size)
{
    if (fgets(line, (int)size, answers) == NULL)
        test_fail(__FILE__, __LINE__, "the server's script has ended");
    line[strcspn(line, "\n")] = '\0';
}

/*
 * Starts the script apart from this process: setsid's fork ends its parent. A runner that kills a
 * test kills its children, too, but the script must live to remove the folder.
 */
static void start_script(void)
{
    int in[2];
    int out[2];
    pid_t pid;
    int status;
    posix_spawn_file_actions_t actions;
    char *arguments[] = { "setsid",
                          "--fork",
                          "bash",
                          SERVER_SCRIPT,
                          "wal_writer_delay=10s",
                          "wal_writer_flush_after=1GB",
                          "autovacuum=off",
                          NULL };
    expect(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    expect_eq(posix_spawnp(&pid, "setsid", &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    expect_eq(waitpid(pid, &status, 0), pid);
    commands = fdopen(in[1], "w");
    answers = fdopen(out[0], "r");
    expect(commands != NULL && answers != NULL);
}

static void create_database(void)
{
    char info[300];
    snprintf(info, sizeof info, "host=%s user=admin dbname=postgres", folder);
    PGconn *admin = PQconnectdb(info);
    if (PQstatus(admin) != CONNECTION_OK)
        test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(admin));
    server_sql(admin, "CREATE ROLE app LOGIN");
    server_sql(admin, "CREATE DATABASE books OWNER app");
    PQfinish(admin);
}

void server_begin(void)
{
    char line[512];
    if (folder[0] != '\0')
        return;
    start_script();
    read_answer(line, sizeof line);
    if (strncmp(line, "skip ", 5) == 0) {
        printf("skipped: %s\n", line + 5);
        fflush(stdout);
        _Exit(EXIT_SKIPPED);
    }
    if (sscanf(line, "ready %255s", folder) != 1)
        test_fail(__FILE__, __LINE__, "%s", line);
    create_database();
}

const char *server_folder(void)
{
    return folder;
}

bool server_command(const char *command)
{
    char line[512];
    fprintf(commands, "%s\n", command);
    fflush(commands);
    read_answer(line, sizeof line);
    if (strncmp(line, "skip ", 5) == 0) {
        printf("skipped: %s\n", line + 5);
        return false;
    }
    if (strcmp(line, "done") != 0)
        test_fail(__FILE__, __LINE__, "%s: %s", command, line);
    return true;
}

const char *server_conninfo(const char *role)
{
    static char info[400];
    snprintf(info, sizeof info, "host=%s user=%s dbname=books", folder, role);
    return info;
}

PGconn *server_connect(const char *role)
{
    PGconn *connection = PQconnectdb(server_conninfo(role));
    if (PQstatus(connection) != CONNECTION_OK)
        test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(connection));
    return connection;
}

long long server_sql(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        test_fail(__FILE__, __LINE__, "%s: %s", sql, PQerrorMessage(connection));
    long long value = 0;
    if (status == PGRES_TUPLES_OK && PQntuples(result) > 0)
        value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return value;
}
