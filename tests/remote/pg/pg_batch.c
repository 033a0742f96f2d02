/*
 * Whole batches of several processes on a real server, with kills, stops beyond the lease, and
 * crashes of the server. What the database has at the end is compared with a serial run, byte by
 * byte. Faults come when the batch has made progress, not after a time.
 */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "remote/pg/node.h"
#include "remote/pg/work.h"
#include "support/test.h"

enum { PROCESSES = 3, SHARDS = 8, NAME_SIZE = 32, SUBMIT_TASKS = 500 };

extern char **environ;

/* The processes of a batch, and a connection that looks at it. */
struct batch {
    const char *name;
    pid_t processes[PROCESSES];
    char names[PROCESSES][NAME_SIZE];
    unsigned started; /* processes, killed ones included */
    PGconn *watch;
};

/* --- processes --- */

static void start_process(struct batch *batch, unsigned place)
{
    char conninfo[400];
    snprintf(conninfo, sizeof conninfo, "%s", server_conninfo("app"));
    snprintf(batch->names[place], NAME_SIZE, "process-%u", batch->started++);
    char *arguments[] = { (char *)NODE_PROGRAM, conninfo, (char *)batch->name, batch->names[place],
                          NULL };
    expect_eq(posix_spawn(&batch->processes[place], NODE_PROGRAM, NULL, NULL, arguments, environ),
              0);
}

static void kill_process(struct batch *batch, unsigned place)
{
    int status;
    expect_eq(kill(batch->processes[place], SIGKILL), 0);
    expect_eq(waitpid(batch->processes[place], &status, 0), batch->processes[place]);
    start_process(batch, place);
}

static void await_process(struct batch *batch, unsigned place)
{
    int status;
    expect_eq(waitpid(batch->processes[place], &status, 0), batch->processes[place]);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* --- progress --- */

/* Waits a moment between two looks at the database. */
static void look_later(void)
{
    const struct timespec moment = { 0, 2000000 };
    (void)nanosleep(&moment, NULL);
}

static long long count_effects(struct batch *batch)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM lanepool_%s.effect", batch->name);
    return server_sql(batch->watch, sql);
}

static bool is_done(struct batch *batch)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT min(low) FROM lanepool_%s.shard", batch->name);
    return server_sql(batch->watch, sql) == WORK_TASKS;
}

static bool is_node_alive(struct batch *batch, unsigned place)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM lanepool_%s.node WHERE name = '%s'::bytea AND NOT dead",
             batch->name, batch->names[place]);
    return server_sql(batch->watch, sql) > 0;
}

static void await_progress(struct batch *batch, long long effects)
{
    while (count_effects(batch) < effects)
        look_later();
}

/* Waits until the process has a node, or the batch is done. */
static void await_node(struct batch *batch, unsigned place)
{
    while (!is_node_alive(batch, place) && !is_done(batch))
        look_later();
}

/* Asks a process to leave, and lets another one join. */
static void replace_process(struct batch *batch, unsigned place)
{
    await_node(batch, place);
    expect_eq(kill(batch->processes[place], SIGTERM), 0);
    await_process(batch, place);
    expect(!is_node_alive(batch, place));
    start_process(batch, place);
}

/* Stops a process until another one has declared its node dead. */
static void stop_process(struct batch *batch, unsigned place)
{
    await_node(batch, place);
    expect_eq(kill(batch->processes[place], SIGSTOP), 0);
    while (is_node_alive(batch, place) && !is_done(batch))
        look_later();
    expect_eq(kill(batch->processes[place], SIGCONT), 0);
}

static void crash_server(struct batch *batch)
{
    PQfinish(batch->watch);
    server_command("crash");
    server_command("start");
    batch->watch = server_connect("app");
}

/* --- the judge --- */

static PGresult *read_rows(struct batch *batch, const char *columns, const char *table,
                           const char *order)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT %s FROM lanepool_%s.%s ORDER BY %s", columns, batch->name,
             table, order);
    PGresult *rows = PQexecParams(batch->watch, sql, 0, NULL, NULL, NULL, NULL, 1);
    if (PQresultStatus(rows) != PGRES_TUPLES_OK)
        test_fail(__FILE__, __LINE__, "%s", PQerrorMessage(batch->watch));
    return rows;
}

/* Returns a number of 4 or 8 bytes. */
static uint64_t number_of(const PGresult *rows, int row, int column)
{
    const unsigned char *bytes = (const unsigned char *)PQgetvalue(rows, row, column);
    uint64_t number = 0;
    for (int i = 0; i < PQgetlength(rows, row, column); i++)
        number = number << 8 | bytes[i];
    return number;
}

static bool has_state(const PGresult *rows, int row, int column, const struct work_state *state)
{
    return PQgetlength(rows, row, column) == (int)sizeof *state &&
           memcmp(PQgetvalue(rows, row, column), state, sizeof *state) == 0;
}

static void compare_effects(struct batch *batch, const struct work_result *serial)
{
    PGresult *rows = read_rows(batch, "seq, part, data", "effect", "seq, part");
    for (int row = 0; row < PQntuples(rows) && (size_t)row < serial->effect_count; row++) {
        const struct work_effect *wanted = &serial->effects[row];
        if (number_of(rows, row, 0) != wanted->seq || number_of(rows, row, 1) != wanted->part ||
            !has_state(rows, row, 2, &wanted->state))
            test_fail(__FILE__, __LINE__, "effect %llu.%u is missing or differs",
                      (unsigned long long)wanted->seq, wanted->part);
    }
    expect_eq(PQntuples(rows), serial->effect_count);
    PQclear(rows);
}

static void compare_refused(struct batch *batch, const struct work_result *serial)
{
    PGresult *rows = read_rows(batch, "seq", "outcome WHERE code = 1", "seq");
    expect_eq(PQntuples(rows), serial->refused_count);
    for (int row = 0; row < PQntuples(rows); row++)
        expect_eq(number_of(rows, row, 0), serial->refused[row]);
    PQclear(rows);
}

static void compare_states(struct batch *batch, const struct work_result *serial)
{
    PGresult *rows = read_rows(batch, "id, state", "lane", "id");
    expect_eq(PQntuples(rows), WORK_LANES);
    for (int row = 0; row < WORK_LANES; row++) {
        expect_eq(number_of(rows, row, 0), row + 1);
        expect(has_state(rows, row, 1, &serial->states[row]));
    }
    PQclear(rows);
}

/* --- batches --- */

/* Appends all tasks, and seals the batch. */
static void submit_tasks(lanepool_remote *remote)
{
    static struct work_task drawn[SUBMIT_TASKS];
    static lanepool_remote_claim claims[SUBMIT_TASKS][WORK_CLAIMS_MOST];
    lanepool_remote_task tasks[SUBMIT_TASKS];
    for (uint64_t first = 1; first <= WORK_TASKS; first += SUBMIT_TASKS) {
        for (size_t i = 0; i < SUBMIT_TASKS; i++) {
            work_draw(&drawn[i], first + i);
            for (size_t j = 0; j < drawn[i].claim_count; j++)
                claims[i][j] = (lanepool_remote_claim){ .lane = drawn[i].lanes[j],
                                                        .mode = LANEPOOL_EXCLUSIVE };
            tasks[i] =
                (lanepool_remote_task){ .kind = drawn[i].kind,
                                        .claims = claims[i],
                                        .claim_count = drawn[i].claim_count,
                                        .payload = { &drawn[i].amount, sizeof drawn[i].amount } };
        }
        uint64_t seq;
        expect_ok(lanepool_remote_submit_many(remote, tasks, SUBMIT_TASKS, LANEPOOL_FOREVER, &seq));
        expect_eq(seq, first);
    }
    expect_ok(lanepool_remote_seal(remote, LANEPOOL_FOREVER));
}

static void submit_all(const char *name)
{
    lanepool_pg_store *store;
    lanepool_remote *remote;
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    lanepool_remote_options none = LANEPOOL_REMOTE_OPTIONS_INIT;
    options.shard_count = SHARDS;
    none.name = "submitter";
    expect_ok(lanepool_pg_open(server_conninfo("app"), name, &options, &store));
    expect_ok(lanepool_remote_open(lanepool_pg_functions(), store, &none, &remote));
    submit_tasks(remote);
    lanepool_remote_close(remote);
    lanepool_pg_close(store);
}

enum fault { KILL, STOP, CRASH, LEAVE, FAULT_KINDS };

static void make_fault(struct batch *batch, enum fault fault, unsigned place)
{
    if (fault == KILL)
        kill_process(batch, place);
    else if (fault == STOP)
        stop_process(batch, place);
    else if (fault == CRASH)
        crash_server(batch);
    else
        replace_process(batch, place);
}

/* Returns the next fault: the kind of which the smallest part was made. */
static enum fault next_fault(const unsigned wanted[FAULT_KINDS], const unsigned made[FAULT_KINDS])
{
    enum fault next = KILL;
    for (enum fault fault = KILL; fault < FAULT_KINDS; fault++)
        if (made[fault] * wanted[next] < made[next] * wanted[fault] || made[next] == wanted[next])
            next = fault;
    return next;
}

/* Runs a batch with so many faults of each kind, spread over its course. */
static void run_batch(const char *name, const unsigned wanted[FAULT_KINDS])
{
    struct batch batch = { .name = name };
    struct work_result serial;
    unsigned made[FAULT_KINDS] = { 0 };
    unsigned fault_count = wanted[KILL] + wanted[STOP] + wanted[CRASH] + wanted[LEAVE];
    server_begin();
    work_run_serially(&serial);
    submit_all(name);
    batch.watch = server_connect("app");
    for (unsigned i = 0; i < PROCESSES; i++)
        start_process(&batch, i);
    for (unsigned i = 0; i < fault_count; i++) {
        await_progress(&batch, (long long)(serial.effect_count * (i + 1) / (fault_count + 2)));
        enum fault fault = next_fault(wanted, made);
        make_fault(&batch, fault, i % PROCESSES);
        made[fault]++;
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        await_process(&batch, i);
    compare_effects(&batch, &serial);
    compare_refused(&batch, &serial);
    compare_states(&batch, &serial);
    expect_eq(node_admin_sql(name, "SELECT min(low) FROM shard"), WORK_TASKS);
    printf("%u kills, %u stops, %u crashes, %u leave\n", made[KILL], made[STOP], made[CRASH],
           made[LEAVE]);
    PQfinish(batch.watch);
    work_free(&serial);
}

Test(pg_batch, several_processes_make_what_a_serial_run_makes)
{
    static const unsigned wanted[FAULT_KINDS] = { 0 };
    run_batch("peaceful", wanted);
}

Test(pg_batch, processes_that_leave_and_join_change_no_byte)
{
    static const unsigned wanted[FAULT_KINDS] = { [LEAVE] = 6 };
    run_batch("leaving", wanted);
}

Test(pg_batch, kills_stops_and_a_crash_change_no_byte)
{
    static const unsigned wanted[FAULT_KINDS] = { 5, 1, 1, 2 };
    run_batch("faulty", wanted);
}

/* Only in deep tests; see CMakeLists.txt. */
Test(pg_batch, fifty_kills_ten_stops_and_five_crashes_change_no_byte)
{
    static const unsigned wanted[FAULT_KINDS] = { 50, 10, 5, 5 };
    run_batch("very_faulty", wanted);
}

/* --- explain --- */

struct text {
    char bytes[2000];
    size_t size;
};

static void keep_text(void *context, const char *text, size_t size)
{
    struct text *kept = context;
    expect(kept->size + size < sizeof kept->bytes);
    memcpy(kept->bytes + kept->size, text, size);
    kept->size += size;
}

static bool explains(lanepool_remote *remote, uint64_t seq, const char *wanted)
{
    struct text text = { .size = 0 };
    expect_ok(lanepool_remote_explain(remote, seq, LANEPOOL_FOREVER, keep_text, &text));
    if (strstr(text.bytes, wanted) == NULL)
        printf("%s", text.bytes);
    return strstr(text.bytes, wanted) != NULL;
}

/* No program runs the tasks. A task that is done in a lane, but not the first one of its shard,
 * shows in the lane's row only. */
Test(pg_batch, explain_names_the_tasks_that_are_not_done_in_a_lane)
{
    enum { TASKS = 600, BOTH = TASKS / 2 };
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    lanepool_pg_store *store;
    lanepool_remote *remote;
    server_begin();
    options.shard_count = 1;
    expect_ok(lanepool_pg_open(server_conninfo("app"), "explain", &options, &store));
    expect_ok(lanepool_remote_open(lanepool_pg_functions(), store, NULL, &remote));
    for (uint64_t i = 1; i <= TASKS; i++) {
        lanepool_remote_claim claim = { .lane = i <= BOTH ? 5 : 6 };
        lanepool_remote_task task = { .claims = &claim, .claim_count = 1 };
        expect_ok(lanepool_remote_submit_many(remote, &task, 1, LANEPOOL_FOREVER, NULL));
    }
    expect(explains(remote, 2, "    lane 5: task 1 is before it.\n"));
    expect(explains(remote, TASKS, "    lane 6: task 301 is the first of 299 before it.\n"));
    node_admin_sql("explain", "INSERT INTO lane VALUES (6, 0, 598, '')");
    expect(explains(remote, TASKS, "    lane 6: task 599 is before it.\n"));
    expect(explains(remote, 599, "    lane 6: no task is before it.\n"));
    expect(explains(remote, 598, "    lane 6: the task is done here.\n"));
    expect(explains(remote, 598, "its home: all tasks up to 0 are done; no node has it."));
    lanepool_remote_close(remote);
    lanepool_pg_close(store);
}
