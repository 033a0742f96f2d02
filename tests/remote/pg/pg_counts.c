/*
 * Counts that cost time on a network: each call of a node is one round trip, and each row of a step
 * costs a bounded amount of WAL. The linker puts counting functions before libpq's.
 */
#include <stdio.h>

#include "remote/pg/node.h"
#include "support/test.h"

static unsigned sent;

int __real_PQsendQueryPrepared(PGconn *session, const char *name, int count,
                               const char *const *values, const int *lengths, const int *formats,
                               int result_format);
int __wrap_PQsendQueryPrepared(PGconn *session, const char *name, int count,
                               const char *const *values, const int *lengths, const int *formats,
                               int result_format);
int __real_PQsendQuery(PGconn *session, const char *sql);
int __wrap_PQsendQuery(PGconn *session, const char *sql);
int __real_PQsendPrepare(PGconn *session, const char *name, const char *sql, int count,
                         const Oid *types);
int __wrap_PQsendPrepare(PGconn *session, const char *name, const char *sql, int count,
                         const Oid *types);

int __wrap_PQsendQueryPrepared(PGconn *session, const char *name, int count,
                               const char *const *values, const int *lengths, const int *formats,
                               int result_format)
{
    sent++;
    return __real_PQsendQueryPrepared(session, name, count, values, lengths, formats,
                                      result_format);
}

int __wrap_PQsendQuery(PGconn *session, const char *sql)
{
    sent++;
    return __real_PQsendQuery(session, sql);
}

int __wrap_PQsendPrepare(PGconn *session, const char *name, const char *sql, int count,
                         const Oid *types)
{
    sent++;
    return __real_PQsendPrepare(session, name, sql, count, types);
}

enum { LANES = 100, SHARDS = 4 };

/* Makes a step of many rows of all sorts, and reads letters. */
static void make_large_step(struct node *node, uint64_t seq)
{
    static const uint32_t shards[SHARDS] = { 0, 1, 2, 3 };
    lanepool_remote_lane_row lanes[LANES];
    lanepool_remote_effect_row effects[LANES];
    lanepool_remote_letter_row letters[SHARDS];
    lanepool_remote_progress progress[SHARDS];
    for (uint32_t i = 0; i < LANES; i++) {
        lanes[i] = (lanepool_remote_lane_row){ i, i % SHARDS, seq, rows_bytes("12345678") };
        effects[i] = (lanepool_remote_effect_row){ seq, i, rows_bytes("12345678") };
    }
    for (uint32_t i = 0; i < SHARDS; i++) {
        letters[i] = (lanepool_remote_letter_row){ .shard = i, .upto = seq };
        progress[i] = (lanepool_remote_progress){ i, seq };
    }
    lanepool_remote_step step = { .lanes = lanes,
                                  .lane_count = LANES,
                                  .effects = effects,
                                  .effect_count = LANES,
                                  .letters = letters,
                                  .letter_count = SHARDS,
                                  .progress = progress,
                                  .progress_count = SHARDS,
                                  .unneeded = progress,
                                  .unneeded_count = SHARDS,
                                  .look = { .shards = shards, .shard_count = SHARDS } };
    expect_ok(node_step(node, &step));
}

Test(pg_counts, each_call_is_one_round_trip)
{
    static const lanepool_remote_look look_nowhere;
    struct node node;
    node_open(&node, "app", "round_trips", SHARDS);
    for (int round = 0; round < 2; round++) { /* the first prepares the statements */
        sent = 0;
        node_takes(&node, LEASE_FOREVER_NS, round == 0 ? SHARDS : 0);
        make_large_step(&node, (uint64_t)round + 1);
        expect_ok(node_poll(&node, &look_nowhere));
        node_append(&node, 1, "x");
        expect_ok(node.functions->flush(node.store));
        expect_ok(node.functions->seal(node.store));
        if (round == 0)
            node_admin_sql("round_trips", "UPDATE batch SET is_sealed = false");
    }
    expect_eq(sent, 6);
    node_close(&node);
}

Test(pg_counts, rows_of_a_step_cost_bounded_wal)
{
    enum { STEPS = 20, BYTES_PER_LANE_MOST = 280 };
    struct node node;
    node_open(&node, "app", "wal", SHARDS);
    node_takes(&node, LEASE_FOREVER_NS, SHARDS);
    make_large_step(&node, 1);
    PGconn *admin = server_connect("admin");
    server_sql(admin, "CHECKPOINT");
    make_large_step(&node, 2); /* writes whole pages, as each first change after a checkpoint */
    long long before = server_sql(admin, "SELECT pg_current_wal_insert_lsn() - '0/0'");
    for (uint64_t seq = 3; seq < 3 + STEPS; seq++)
        make_large_step(&node, seq);
    long long bytes = server_sql(admin, "SELECT pg_current_wal_insert_lsn() - '0/0'") - before;
    printf("%lld bytes of WAL for a lane and an effect\n", bytes / (STEPS * LANES));
    expect(bytes / (STEPS * LANES) < BYTES_PER_LANE_MOST);
    PQfinish(admin);
    node_close(&node);
}
