/*
 * The rows of the failure table that a store alone can show: what fences a node, what a node reads
 * and takes when it is fenced, and what a server does to a node.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "remote/pg/node.h"
#include "support/test.h"

/* A lease that has ended when the next call begins. */
enum { LEASE_ENDED_NS = 1 };

static const lanepool_remote_look look_nowhere;

/* Two nodes of a batch of four shards, all of them the first one's. */
static void open_two(struct node *a, struct node *b, const char *batch)
{
    node_open(a, "app", batch, 4);
    node_takes(a, LEASE_FOREVER_NS, 4);
    node_open(b, "app", batch, 0);
}

static lanepool_status step_with_effect(struct node *node, uint64_t seq)
{
    lanepool_remote_effect_row effect = { .seq = seq, .data = rows_bytes("e") };
    lanepool_remote_step step = { .effects = &effect, .effect_count = 1 };
    return node_step(node, &step);
}

/* --- a node is declared dead --- */

Test(pg_failures, node_whose_lease_has_ended_is_terminated_and_its_shards_are_taken)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "lease");
    node_takes(&b, LEASE_ENDED_NS, 4);
    expect_eq(b.share.live_nodes, 1);
    expect_status(step_with_effect(&a, 1), LANEPOOL_UNAVAILABLE);
    expect(a.functions->error_text(a.store)[0] != '\0');
    expect_status(node_poll(&a, &look_nowhere), LANEPOOL_UNAVAILABLE);
    expect_eq(node_admin_sql("lease", "SELECT count(*) FROM effect"), 0);
    uint64_t dead = a.welcome.node.id;
    node_hello(&a, "again");
    expect(a.welcome.node.id > dead);
    expect_ok(step_with_effect(&a, 1));
    node_close(&a);
    node_close(&b);
}

/* The connection is as before, but the node's row says that it is dead. */
static void bury_wrongly(const char *batch)
{
    node_admin_sql(batch, "UPDATE node SET dead = true WHERE id = 1");
}

Test(pg_failures, fenced_step_is_refused_and_changes_nothing)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "fenced_step");
    bury_wrongly("fenced_step");
    lanepool_remote_progress progress = { 1, 5 };
    lanepool_remote_letter_row letter = { .shard = 1, .upto = 9, .body = rows_bytes("x") };
    lanepool_remote_step step = {
        .progress = &progress, .progress_count = 1, .letters = &letter, .letter_count = 1
    };
    expect_status(node_step(&a, &step), LANEPOOL_FENCED);
    expect(strstr(a.functions->error_text(a.store), "fenced") != NULL);
    expect_eq(node_admin_sql("fenced_step", "SELECT max(low) FROM shard"), 0);
    expect_eq(node_admin_sql("fenced_step", "SELECT count(*) FROM letter"), 0);
    node_close(&a);
    node_close(&b);
}

Test(pg_failures, fenced_poll_shows_no_letter)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "fenced_poll");
    expect_ok(node_send(&b, 1, 9, "for the successor"));
    bury_wrongly("fenced_poll");
    expect_status(node_read(&a, 1, 0, 0), LANEPOOL_FENCED);
    expect_eq(a.rows.letter_count, 0);
    node_close(&a);
    node_close(&b);
}

Test(pg_failures, fenced_node_reads_no_lane_entry_or_letter)
{
    static const uint32_t shard = 1;
    static const lanepool_remote_progress from = { 1, 0 };
    for (int read = 0; read < 3; read++) {
        struct node a;
        lanepool_remote_visitor visitor = rows_begin(&a.rows);
        lanepool_status status;
        node_open(&a, "app",
                  read == 0   ? "read_lanes"
                  : read == 1 ? "read_entries"
                              : "read_letters",
                  4);
        node_append(&a, 1, "entry");
        expect_ok(node_send(&a, 1, 9, "letter"));
        node_admin_sql(read == 0   ? "read_lanes"
                       : read == 1 ? "read_entries"
                                   : "read_letters",
                       "INSERT INTO lane VALUES (1, 1, 1, ''); UPDATE node SET dead = true");
        visitor = rows_begin(&a.rows);
        if (read == 0)
            status = a.functions->read_lanes(a.store, &a.welcome.node, &shard, 1, &visitor);
        else if (read == 1)
            status = a.functions->read_entries(a.store, &a.welcome.node, &from, 1, 10, &visitor,
                                               &a.news);
        else
            status = a.functions->read_letters(a.store, &a.welcome.node, &from, 1, &visitor);
        expect_status(status, LANEPOOL_FENCED);
        expect_eq(a.rows.lane_count + a.rows.entry_count + a.rows.letter_count, 0);
        node_close(&a);
    }
}

Test(pg_failures, dead_node_takes_no_shard_and_declares_nobody_dead)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "fenced_lease");
    bury_wrongly("fenced_lease");
    expect_status(node_lease(&a, LEASE_ENDED_NS, UINT32_MAX), LANEPOOL_FENCED);
    expect_eq(a.rows.shard_count, 0);
    expect_eq(node_admin_sql("fenced_lease", "SELECT count(*) FROM node WHERE NOT dead"), 1);
    expect_ok(step_with_effect(&b, 1));
    node_takes(&b, LEASE_FOREVER_NS, 4);
    node_close(&a);
    node_close(&b);
}

Test(pg_failures, node_of_another_key_is_fenced)
{
    struct node a;
    node_open(&a, "app", "keys", 4);
    a.welcome.node.key[1] ^= 1;
    expect_status(node_poll(&a, &look_nowhere), LANEPOOL_FENCED);
    node_hello(&a, "again");
    a.welcome.node.key[0] ^= 1;
    expect_status(step_with_effect(&a, 1), LANEPOOL_FENCED);
    node_close(&a);
}

Test(pg_failures, node_whose_connection_is_gone_is_dead_long_before_its_lease_ends)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "gone");
    node_close(&a);
    /* The server process ends shortly after its client has. */
    do {
        expect_ok(node_lease(&b, LEASE_FOREVER_NS, UINT32_MAX));
    } while (b.rows.shard_count == 0);
    expect_eq(b.rows.shard_count, 4);
    node_close(&b);
}

Test(pg_failures, hello_ends_the_earlier_node_of_the_store)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "hello");
    node_hello(&a, "again");
    node_takes(&b, LEASE_FOREVER_NS, 2);
    expect_eq(b.share.live_nodes, 2);
    node_close(&a);
    node_close(&b);
}

/* --- another process answers --- */

/* As behind a pooler that gives each transaction another server process, or a proxy kept over a
 * fail-over: the row has the number of the process that welcomed the node. */
Test(pg_failures, changed_server_process_ends_the_node)
{
    struct node a;
    node_open(&a, "app", "pooler", 4);
    node_admin_sql("pooler", "UPDATE node SET pid = pid + 1");
    expect_status(step_with_effect(&a, 1), LANEPOOL_FENCED);
    node_hello(&a, "again");
    node_admin_sql("pooler", "UPDATE node SET pid = pid + 1");
    expect_status(node_poll(&a, &look_nowhere), LANEPOOL_FENCED);
    node_hello(&a, "again");
    node_admin_sql("pooler", "UPDATE node SET pid = pid + 1");
    expect_status(node_lease(&a, LEASE_FOREVER_NS, 4), LANEPOOL_FENCED);
    node_close(&a);
}

/* The number of the dead process belongs to a new one. */
Test(pg_failures, process_of_the_same_number_that_began_later_is_another_one)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "reused");
    node_admin_sql("reused", "UPDATE node SET backend_start = backend_start - interval '1 s'"
                             " WHERE id = 1");
    node_takes(&b, LEASE_FOREVER_NS, 4);
    node_close(&a);
    node_close(&b);
}

/* --- a role without rights over the other one --- */

Test(pg_failures, role_without_the_right_to_terminate_uses_leases_only)
{
    struct node a;
    struct node b;
    node_open(&a, "app", "roles", 4);
    node_takes(&a, LEASE_FOREVER_NS, 4);
    PGconn *admin = server_connect("admin");
    server_sql(admin, "CREATE ROLE guest LOGIN");
    server_sql(admin, "GRANT USAGE ON SCHEMA lanepool_roles TO guest");
    server_sql(admin, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lanepool_roles"
                      " TO guest");
    server_sql(admin, "GRANT USAGE ON ALL SEQUENCES IN SCHEMA lanepool_roles TO guest");
    node_open(&b, "guest", "roles", 0);
    node_takes(&b, LEASE_FOREVER_NS, 0);
    node_takes(&b, LEASE_ENDED_NS, 4);
    /* The process was not ended, but the fence holds. */
    expect_status(step_with_effect(&a, 1), LANEPOOL_FENCED);
    node_close(&a);
    node_close(&b);
    PQfinish(admin);
}

/* A node that has stopped inside its step, whose row stays locked: the lease does not wait for
 * ever, and takes nothing. */
Test(pg_failures, step_that_does_not_end_is_waited_for_with_a_limit)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "stopped");
    PGconn *admin = server_connect("admin");
    server_sql(admin, "BEGIN");
    server_sql(admin, "UPDATE lanepool_stopped.node SET seen = seen WHERE id = 1");
    node_takes(&b, LEASE_ENDED_NS, 0);
    expect_eq(b.share.live_nodes, 2);
    server_sql(admin, "COMMIT");
    node_takes(&b, LEASE_ENDED_NS, 4);
    PQfinish(admin);
    node_close(&a);
    node_close(&b);
}

/* --- the server --- */

Test(pg_failures, restart_ends_the_node_and_keeps_what_was_flushed)
{
    struct node a;
    node_open(&a, "app", "restart", 4);
    node_takes(&a, LEASE_FOREVER_NS, 4);
    expect_ok(step_with_effect(&a, 1));
    server_command("stop");
    expect_status(step_with_effect(&a, 2), LANEPOOL_UNAVAILABLE);
    lanepool_remote_welcome welcome;
    expect_status(a.functions->hello(a.store, "too early", &welcome), LANEPOOL_UNAVAILABLE);
    server_command("start");
    expect_status(node_poll(&a, &look_nowhere), LANEPOOL_UNAVAILABLE);
    node_hello(&a, "again");
    node_takes(&a, LEASE_FOREVER_NS, 4);
    expect_eq(node_admin_sql("restart", "SELECT count(*) FROM effect"), 1);
    node_close(&a);
}

/* Makes steps, ends the server at once, and returns how many steps are left, without a gap. */
static long long crash_after_steps(struct node *node, const char *batch, uint64_t step_count,
                                   bool flushes)
{
    node_open(node, "app", batch, 4);
    for (uint64_t seq = 1; seq <= step_count; seq++)
        expect_ok(step_with_effect(node, seq));
    if (flushes)
        expect_ok(node->functions->flush(node->store));
    server_command("crash");
    server_command("start");
    long long count = node_admin_sql(batch, "SELECT count(*) FROM effect");
    expect_eq(node_admin_sql(batch, "SELECT coalesce(max(seq), 0) FROM effect"), count);
    return count;
}

Test(pg_failures, crash_takes_back_the_newest_steps_and_gives_no_id_twice)
{
    struct node a;
    expect(crash_after_steps(&a, "crash", 100, false) < 100);
    uint64_t dead = a.welcome.node.id;
    node_hello(&a, "again");
    expect(a.welcome.node.id > dead);
    node_close(&a);
}

Test(pg_failures, crash_takes_back_no_step_that_was_flushed)
{
    struct node a;
    expect_eq(crash_after_steps(&a, "flushed", 100, true), 100);
    node_close(&a);
}

Test(pg_failures, what_was_appended_or_sealed_survives_a_crash)
{
    struct node a;
    node_open(&a, "app", "durable", 4);
    expect_eq(node_append(&a, 1, "x"), 1);
    server_command("crash");
    server_command("start");
    /* These calls need no node, and connect again by themselves: the first may find it broken. */
    lanepool_status status = a.functions->seal(a.store);
    expect(status == LANEPOOL_OK || status == LANEPOOL_UNAVAILABLE);
    expect_ok(a.functions->seal(a.store));
    server_command("crash");
    server_command("start");
    expect_eq(node_admin_sql("durable", "SELECT appended FROM batch WHERE is_sealed"), 1);
    expect_status(node_poll(&a, &look_nowhere), LANEPOOL_UNAVAILABLE);
    node_close(&a);
}

/* --- others use the database --- */

/* Reads the letters of a look as a node does, and returns the bytes that it got. */
static size_t read_behind(struct node *node, uint64_t sender, uint64_t step)
{
    expect_ok(node_read(node, 1, sender, step));
    return node->rows.letter_bytes;
}

Test(pg_failures, foreign_long_transaction_lets_no_letter_be_read_twice)
{
    enum { STEPS = 100 };
    struct node a;
    struct node b;
    size_t bytes = 0;
    open_two(&a, &b, "foreign");
    PGconn *other = server_connect("app");
    server_sql(other, "CREATE TABLE foreign_table (n int)");
    server_sql(other, "BEGIN; INSERT INTO foreign_table VALUES (1)");
    for (uint64_t step = 1; step <= STEPS; step++) {
        expect_ok(node_send(&b, 1, step, "12345678"));
        bytes += read_behind(&a, b.welcome.node.id, step - 1);
    }
    expect_eq(bytes, 8 * STEPS);
    server_sql(other, "ROLLBACK");
    PQfinish(other);
    node_close(&a);
    node_close(&b);
}

Test(pg_failures, vacuum_full_and_reindex_between_steps_change_nothing)
{
    struct node a;
    struct node b;
    open_two(&a, &b, "vacuum");
    for (uint64_t step = 1; step <= 5; step++) {
        expect_ok(node_send(&b, 1, step, "12345678"));
        node_admin_sql("vacuum", "REINDEX SCHEMA lanepool_vacuum");
        for (size_t i = 0; i < 5; i++) {
            static const char *const tables[] = { "node", "shard", "lane", "letter", "batch" };
            char sql[60] = "VACUUM FULL ";
            node_admin_sql("vacuum", strcat(sql, tables[i]));
        }
        expect_eq(read_behind(&a, b.welcome.node.id, step - 1), 8);
    }
    node_close(&a);
    node_close(&b);
}

/*
 * Opens a node whose statements may take 500 ms, and wait 100 ms for a lock. A slow machine may
 * need several tries. Another node, without limits, makes the batch.
 */
static void open_impatient(struct node *node, struct node *patient, const char *batch)
{
    lanepool_status status;
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    options.statement_max_ns = 500000000;
    options.lock_max_ns = 100000000;
    node_open(patient, "app", batch, 4);
    memset(node, 0, sizeof *node);
    node->functions = lanepool_pg_functions();
    do
        status = lanepool_pg_open(server_conninfo("app"), batch, &options, &node->store);
    while (status == LANEPOOL_UNAVAILABLE);
    expect_ok(status);
    do
        status = node->functions->hello(node->store, "impatient", &node->welcome);
    while (status == LANEPOOL_UNAVAILABLE);
    expect_ok(status);
}

Test(pg_failures, locked_table_is_waited_for_with_a_limit)
{
    struct node a;
    struct node patient;
    open_impatient(&a, &patient, "locked");
    PGconn *admin = server_connect("admin");
    server_sql(admin, "BEGIN; LOCK TABLE lanepool_locked.effect IN ACCESS EXCLUSIVE MODE");
    expect_status(step_with_effect(&a, 1), LANEPOOL_UNAVAILABLE);
    expect(strstr(a.functions->error_text(a.store), "timeout") != NULL);
    server_sql(admin, "COMMIT");
    expect_ok(step_with_effect(&patient, 1));
    PQfinish(admin);
    node_close(&a);
    node_close(&patient);
}

Test(pg_failures, statement_that_takes_too_long_is_ended)
{
    struct node a;
    struct node patient;
    open_impatient(&a, &patient, "slow");
    node_admin_sql("slow", "CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS"
                           " 'BEGIN PERFORM pg_sleep(1000); RETURN NEW; END';"
                           "CREATE TRIGGER slow BEFORE INSERT ON effect EXECUTE FUNCTION sleep()");
    expect_status(step_with_effect(&a, 1), LANEPOOL_UNAVAILABLE);
    expect(strstr(a.functions->error_text(a.store), "statement timeout") != NULL);
    node_close(&a);
    node_close(&patient);
}

/* The process is stopped, so the server's own time-outs do not end the statement. */
Test(pg_failures, server_that_does_not_answer_is_given_up)
{
    struct node a;
    struct node patient;
    open_impatient(&a, &patient, "silent");
    pid_t process =
        (pid_t)node_admin_sql("silent", "SELECT pid FROM node ORDER BY id DESC LIMIT 1");
    expect_eq(kill(process, SIGSTOP), 0);
    expect_status(step_with_effect(&a, 1), LANEPOOL_UNAVAILABLE);
    expect(strstr(a.functions->error_text(a.store), "does not answer") != NULL);
    expect_eq(kill(process, SIGCONT), 0);
    expect_ok(step_with_effect(&patient, 2));
    node_close(&a);
    node_close(&patient);
}

/* Makes steps of 100 KB until one fails. Returns how many were stored. */
static uint64_t fill_disk(struct node *node)
{
    static unsigned char bytes[100000]; /* that cannot be compressed */
    uint64_t random = 1;
    for (uint64_t seq = 1;; seq++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[i] = (unsigned char)(random >> 56);
        }
        lanepool_remote_effect_row effect = { .seq = seq, .data = { bytes, sizeof bytes } };
        lanepool_remote_step step = { .effects = &effect, .effect_count = 1 };
        lanepool_status status = node_step(node, &step);
        if (status != LANEPOOL_OK) {
            expect_status(status, LANEPOOL_UNAVAILABLE);
            return seq - 1;
        }
    }
}

Test(pg_failures, full_disk_fails_the_step_and_loses_nothing)
{
    struct node a;
    char sql[400];
    node_open(&a, "app", "full", 4);
    if (server_command("disk")) {
        snprintf(sql, sizeof sql, "CREATE TABLESPACE small LOCATION '%s/small'", server_folder());
        node_admin_sql("full", sql);
        node_admin_sql("full", "ALTER TABLE effect SET TABLESPACE small");
        uint64_t stored = fill_disk(&a);
        expect(stored > 0);
        expect(strstr(a.functions->error_text(a.store), "No space left") != NULL);
        node_admin_sql("full", "ALTER TABLE effect SET TABLESPACE pg_default");
        node_hello(&a, "again");
        expect_ok(step_with_effect(&a, stored + 1));
        expect_eq(node_admin_sql("full", "SELECT count(*) FROM effect"), stored + 1);
        node_admin_sql("full", "DROP TABLESPACE small");
    }
    node_close(&a);
}
