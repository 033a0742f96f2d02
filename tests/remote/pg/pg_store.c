/* The contract of a store (remote_store.h), on a real server: what each function does. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "remote/pg/node.h"
#include "support/test.h"

static const lanepool_remote_look look_nowhere;

/* --- opening --- */

Test(pg_store, batch_is_made_once_and_then_opened)
{
    struct node first;
    struct node second;
    node_open(&first, "app", "made_once", 8);
    node_open(&second, "app", "made_once", 0);
    expect_eq(first.welcome.shard_count, 8);
    expect_eq(second.welcome.shard_count, 8);
    expect_eq(first.welcome.node.id, 1);
    expect_eq(second.welcome.node.id, 2);
    expect(first.welcome.node.key[0] != second.welcome.node.key[0]);
    node_close(&first);
    node_close(&second);
}

static lanepool_status open_with(const char *batch, uint32_t shard_count, bool must_exist,
                                 char *error, size_t error_size)
{
    lanepool_pg_store *store;
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    options.shard_count = shard_count;
    options.must_exist = must_exist;
    options.error = error;
    options.error_size = error_size;
    lanepool_status status = lanepool_pg_open(server_conninfo("app"), batch, &options, &store);
    lanepool_pg_close(store);
    return status;
}

Test(pg_store, batch_of_another_size_or_version_is_refused_with_a_text)
{
    char error[200];
    server_begin();
    expect_status(open_with("refused", 0, true, error, sizeof error), LANEPOOL_INVALID);
    expect(strcmp(error, "there is no such batch") == 0);
    expect_ok(open_with("refused", 8, false, error, sizeof error));
    expect(error[0] == '\0');
    expect_status(open_with("refused", 9, false, error, sizeof error), LANEPOOL_INVALID);
    expect(strcmp(error, "the batch has 8 shards, not 9") == 0);
    node_admin_sql("refused", "UPDATE batch SET version = 99");
    expect_status(open_with("refused", 8, false, error, sizeof error), LANEPOOL_INVALID);
    expect(strcmp(error, "the batch's schema has version 99, not 1") == 0);
}

Test(pg_store, arguments_are_checked_and_an_absent_server_is_unavailable)
{
    char error[200];
    char long_name[60];
    lanepool_pg_store *store;
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    server_begin();
    memset(long_name, 'x', sizeof long_name);
    long_name[55] = '\0';
    expect_status(lanepool_pg_open(NULL, "b", NULL, &store), LANEPOOL_INVALID);
    expect_status(lanepool_pg_open("", NULL, NULL, &store), LANEPOOL_INVALID);
    expect_status(lanepool_pg_open("", "", NULL, &store), LANEPOOL_INVALID);
    expect_status(lanepool_pg_open("", "b", NULL, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pg_open("", long_name, NULL, &store), LANEPOOL_INVALID);
    options.error = error;
    options.error_size = sizeof error;
    expect_status(lanepool_pg_open("host=/nowhere", "b", &options, &store), LANEPOOL_UNAVAILABLE);
    expect(store == NULL && strstr(error, "/nowhere") != NULL);
    lanepool_pg_close(NULL);
}

Test(pg_store, options_of_older_and_newer_programs_are_read)
{
    struct {
        lanepool_pg_options options;
        uint64_t newer;
    } long_options = { LANEPOOL_PG_OPTIONS_INIT, 0 };
    lanepool_pg_store *store;
    server_begin();
    long_options.options.struct_size = sizeof long_options;
    expect_ok(lanepool_pg_open(server_conninfo("app"), "sizes", &long_options.options, &store));
    lanepool_pg_close(store);
    long_options.newer = 1;
    expect_status(lanepool_pg_open(server_conninfo("app"), "sizes", &long_options.options, &store),
                  LANEPOOL_INVALID);
    long_options.options.struct_size = offsetof(lanepool_pg_options, must_exist);
    long_options.options.must_exist = true; /* this older program does not have it */
    expect_ok(lanepool_pg_open(server_conninfo("app"), "older", &long_options.options, &store));
    lanepool_pg_close(store);
    long_options.options.struct_size = 0;
    expect_status(lanepool_pg_open(server_conninfo("app"), "sizes", &long_options.options, &store),
                  LANEPOOL_INVALID);
}

Test(pg_store, names_and_bytes_are_never_sql)
{
    static const char name[] = "a'b\"c$$;DROP SCHEMA x; --\\ $1";
    char error[200];
    lanepool_remote_welcome welcome;
    const lanepool_remote_store_functions *functions = lanepool_pg_functions();
    lanepool_pg_store *store;
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    server_begin();
    options.error = error;
    options.error_size = sizeof error;
    if (lanepool_pg_open(server_conninfo("app"), name, &options, &store) != LANEPOOL_OK)
        test_fail(__FILE__, __LINE__, "%s", error);
    expect_ok(functions->hello(store, "'\"$$;\xff\\", &welcome));

    char bytes[256];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    lanepool_remote_effect_row effect = { 1, 0, { bytes, sizeof bytes } };
    lanepool_remote_step step = { .number = 1, .effects = &effect, .effect_count = 1 };
    lanepool_remote_news news;
    struct rows rows;
    lanepool_remote_visitor visitor = rows_begin(&rows);
    expect_ok(functions->step(store, &welcome.node, &step, &visitor, &news));
    lanepool_pg_close(store);

    PGconn *app = server_connect("app");
    char *quoted = PQescapeIdentifier(app, name, sizeof name - 1);
    char sql[300];
    snprintf(sql, sizeof sql,
             "SELECT sum(get_byte(data, i)) FROM \"lanepool_%s.effect, generate_series(0, 255) i",
             quoted + 1);
    expect_eq(server_sql(app, sql), 255 * 128);
    PQfreemem(quoted);
    PQfinish(app);
}

/* --- shards --- */

Test(pg_store, nodes_take_their_fair_share_of_shards)
{
    struct node a;
    struct node b;
    node_open(&a, "app", "fair", 7);
    node_takes(&a, LEASE_FOREVER_NS, 7);
    expect_eq(a.share.live_nodes, 1);
    expect_eq(a.share.hungry_nodes, 0);
    expect_eq(a.share.free_shards, 0);
    node_open(&b, "app", "fair", 0);
    node_takes(&b, LEASE_FOREVER_NS, 0);
    expect_eq(b.share.live_nodes, 2);
    expect_eq(b.share.hungry_nodes, 1);

    uint32_t given_up[] = { 1, 4, 5, 6 };
    lanepool_remote_step step = { .given_up = given_up, .given_up_count = 4 };
    expect_ok(node_step(&a, &step));
    node_takes(&b, LEASE_FOREVER_NS, 4);
    expect_eq(b.share.free_shards, 0);
    expect_eq(b.share.hungry_nodes, 0);
    for (size_t i = 0; i < 4; i++)
        expect_eq(b.rows.shards[i].shard, given_up[i]);
    node_close(&a);
    node_close(&b);
}

Test(pg_store, node_that_asks_for_no_shards_does_not_count)
{
    struct node a;
    struct node watcher;
    node_open(&a, "app", "watched", 4);
    node_open(&watcher, "app", "watched", 0);
    expect_ok(node_lease(&watcher, LEASE_FOREVER_NS, 0));
    expect_eq(watcher.rows.shard_count, 0);
    node_takes(&a, LEASE_FOREVER_NS, 4);
    expect_eq(a.share.live_nodes, 1);
    expect_ok(node_lease(&watcher, LEASE_FOREVER_NS, 0));
    expect_eq(watcher.share.live_nodes, 1);
    expect_eq(watcher.share.hungry_nodes, 0);
    node_close(&a);
    node_close(&watcher);
}

Test(pg_store, node_that_leaves_is_dead_and_its_shards_are_free)
{
    struct node a;
    struct node b;
    node_open(&a, "app", "left", 4);
    node_takes(&a, LEASE_FOREVER_NS, 4);
    lanepool_remote_step step = { .leaves = true };
    expect_ok(node_step(&a, &step));
    expect_status(node_poll(&a, &look_nowhere), LANEPOOL_FENCED);
    node_open(&b, "app", "left", 0);
    node_takes(&b, LEASE_FOREVER_NS, 4);
    node_close(&a);
    node_close(&b);
}

/* --- tasks --- */

Test(pg_store, tasks_get_numbers_without_gaps_and_a_token_appends_once)
{
    struct node node;
    uint64_t first;
    node_open(&node, "app", "tasks", 4);
    lanepool_remote_entry_row entries[] = {
        { .seq = 0, .shard = 1, .home = 1, .body = rows_bytes("a") },
        { .seq = 1, .shard = 1, .home = 3, .body = rows_bytes("b1") },
        { .seq = 1, .shard = 3, .home = 3, .body = rows_bytes("b3") },
    };
    lanepool_remote_append append = { { 5, 7 }, 2, entries, 3 };
    expect_ok(node.functions->append(node.store, &append, &first));
    expect_eq(first, 1);
    expect_ok(node.functions->append(node.store, &append, &first));
    expect_eq(first, 1);
    append.token[1] = 8;
    expect_ok(node.functions->append(node.store, &append, &first));
    expect_eq(first, 3);

    lanepool_remote_outcome_row outcome = { .seq = 2, .code = -5, .home = 3 };
    lanepool_remote_step step = { .outcomes = &outcome, .outcome_count = 1 };
    expect_ok(node_step(&node, &step));
    lanepool_remote_visitor visitor = rows_begin(&node.rows);
    lanepool_remote_progress from[] = { { 1, 1 }, { 3, 0 } };
    expect_ok(node.functions->read_entries(node.store, &node.welcome.node, from, 2, 2, &visitor,
                                           &node.news));
    expect_eq(node.news.appended, 4);
    expect(!node.news.is_sealed);
    expect_eq(node.rows.entry_count, 4);
    const lanepool_remote_entry_row *row = node.rows.entries;
    expect(row[0].shard == 1 && row[0].seq == 2 && row[0].home == 3 && row[0].has_outcome);
    expect(rows_equal(row[0].body, "b1"));
    expect(row[1].shard == 1 && row[1].seq == 3 && row[1].home == 1 && !row[1].has_outcome);
    expect(row[2].shard == 3 && row[2].seq == 2 && rows_equal(row[2].body, "b3"));
    expect(row[3].shard == 3 && row[3].seq == 4);
    node_close(&node);
}

Test(pg_store, sealed_batch_takes_no_task_but_answers_for_old_tokens)
{
    struct node node;
    uint64_t first;
    node_open(&node, "app", "sealed", 4);
    lanepool_remote_entry_row entry = { .shard = 1, .home = 1 };
    lanepool_remote_append append = { { 0, 1 }, 1, &entry, 1 };
    expect_ok(node.functions->append(node.store, &append, &first));
    expect_ok(node.functions->seal(node.store));
    expect_ok(node.functions->seal(node.store));
    expect_ok(node.functions->append(node.store, &append, &first));
    append.token[1] = 0;
    expect_status(node.functions->append(node.store, &append, &first), LANEPOOL_SHUT_DOWN);
    expect(strstr(node.functions->error_text(node.store), "sealed") != NULL);
    /* The refusal is no failure of the node. */
    expect_ok(node_poll(&node, &look_nowhere));
    expect(node.news.is_sealed);
    expect_eq(node.news.appended, 1);
    node_close(&node);
}

/* --- steps --- */

Test(pg_store, step_stores_lanes_effects_outcomes_and_progress_at_once)
{
    struct node node;
    node_open(&node, "app", "steps", 4);
    node_takes(&node, LEASE_FOREVER_NS, 4);
    lanepool_remote_lane_row lanes[] = {
        { UINT64_MAX, 1, 5, rows_bytes("old") },
        { 7, 2, 6, rows_bytes("") },
    };
    lanepool_remote_effect_row effects[] = { { 5, 0, rows_bytes("e") }, { 5, 1, rows_bytes("f") } };
    lanepool_remote_progress progress[] = { { 0, 9 }, { 1, 6 }, { 2, 7 }, { 3, 9 } };
    lanepool_remote_step step = { .lanes = lanes,
                                  .lane_count = 2,
                                  .effects = effects,
                                  .effect_count = 2,
                                  .progress = progress,
                                  .progress_count = 4 };
    expect_ok(node_step(&node, &step));
    lanes[0] = (lanepool_remote_lane_row){ UINT64_MAX, 1, 8, rows_bytes("new") };
    lanepool_remote_step second = { .lanes = lanes, .lane_count = 1 };
    expect_ok(node_step(&node, &second));

    uint32_t shards[] = { 1 };
    lanepool_remote_visitor visitor = rows_begin(&node.rows);
    expect_ok(node.functions->read_lanes(node.store, &node.welcome.node, shards, 1, &visitor));
    expect_eq(node.rows.lane_count, 1);
    expect(node.rows.lanes[0].lane == UINT64_MAX && node.rows.lanes[0].shard == 1);
    expect(node.rows.lanes[0].last_seq == 8 && rows_equal(node.rows.lanes[0].state, "new"));
    uint64_t wanted[] = { UINT64_MAX, 77 };
    visitor = rows_begin(&node.rows);
    expect_ok(node.functions->read_progress(node.store, wanted, 2, &visitor));
    expect_eq(node.rows.lane_count, 1); /* the other one has no row */
    expect(node.rows.lanes[0].lane == UINT64_MAX && node.rows.lanes[0].shard == 1);
    expect(node.rows.lanes[0].last_seq == 8 && node.rows.lanes[0].state.size == 0);
    visitor = rows_begin(&node.rows);
    expect_ok(node.functions->read_progress(node.store, wanted, 0, &visitor));
    expect_eq(node.rows.lane_count, 0);
    expect_ok(node_poll(&node, &look_nowhere));
    expect_eq(node.news.done, 6);
    expect_eq(node_admin_sql("steps", "SELECT count(*) FROM effect"), 2);
    node_close(&node);
}

Test(pg_store, second_effect_of_the_same_key_fails_the_whole_step)
{
    struct node node;
    node_open(&node, "app", "twice", 4);
    node_takes(&node, LEASE_FOREVER_NS, 4);
    lanepool_remote_effect_row effect = { 5, 0, rows_bytes("e") };
    lanepool_remote_progress progress = { 1, 5 };
    lanepool_remote_step step = { .effects = &effect, .effect_count = 1 };
    expect_ok(node_step(&node, &step));
    step.progress = &progress;
    step.progress_count = 1;
    expect_status(node_step(&node, &step), LANEPOOL_INVALID);
    expect(strstr(node.functions->error_text(node.store), "effect_pkey") != NULL);
    expect_eq(node_admin_sql("twice", "SELECT max(low) FROM shard"), 0);
    /* A call that failed is the node's end. */
    expect_status(node_poll(&node, &look_nowhere), LANEPOOL_UNAVAILABLE);
    node_close(&node);
}

/* --- letters --- */

Test(pg_store, letters_are_read_behind_the_senders_cursor_in_the_order_of_steps)
{
    struct node a;
    struct node b;
    node_open(&a, "app", "letters", 4);
    node_open(&b, "app", "letters", 0);
    expect_ok(node_send(&a, 1, 10, "a1"));
    expect_ok(node_send(&b, 1, 11, "b1"));
    expect_ok(node_send(&a, 2, 12, "a2"));
    expect_ok(node_send(&a, 1, 13, "a3"));
    expect_ok(node_read(&b, 1, 0, 0));
    expect_eq(b.rows.letter_count, 3);
    expect_ok(node_read(&b, 1, a.welcome.node.id, 1));
    expect_eq(b.rows.letter_count, 2);
    uint64_t last = 0;
    for (size_t i = 0; i < 2; i++) {
        const lanepool_remote_letter_row *row = &b.rows.letters[i];
        bool is_mine = row->sender == b.welcome.node.id;
        expect(rows_equal(row->body, is_mine ? "b1" : "a3"));
        expect_eq(row->step, is_mine ? 1 : 3);
        expect_eq(row->upto, is_mine ? 11 : 13);
        expect(row->step >= last);
        last = row->step;
    }
    node_close(&a);
    node_close(&b);
}

Test(pg_store, step_reads_letters_and_its_own_too)
{
    struct node a;
    node_open(&a, "app", "own_letters", 4);
    uint32_t shard = 3;
    lanepool_remote_letter_row letter = { .shard = 3, .upto = 4, .body = rows_bytes("x") };
    lanepool_remote_step step = { .letters = &letter,
                                  .letter_count = 1,
                                  .look = { &shard, 1, 0, 0 } };
    expect_ok(node_step(&a, &step));
    expect_eq(a.rows.letter_count, 1);
    expect_eq(a.rows.letters[0].step, 1);
    node_close(&a);
}

Test(pg_store, take_over_reads_all_letters_above_low_and_unneeded_ones_are_deleted)
{
    struct node a;
    node_open(&a, "app", "kept_letters", 4);
    for (uint64_t seq = 1; seq <= 6; seq++)
        expect_ok(node_send(&a, seq % 2, seq, "x"));
    lanepool_remote_progress from[] = { { 0, 3 }, { 1, 0 } };
    lanepool_remote_visitor visitor = rows_begin(&a.rows);
    expect_ok(a.functions->read_letters(a.store, &a.welcome.node, from, 2, &visitor));
    expect_eq(a.rows.letter_count, 5);
    lanepool_remote_step step = { .unneeded = from, .unneeded_count = 1 };
    expect_ok(node_step(&a, &step));
    expect_eq(node_admin_sql("kept_letters", "SELECT count(*) FROM letter"), 5);
    expect_eq(node_admin_sql("kept_letters", "SELECT min(upto) FROM letter WHERE shard = 0"), 4);
    node_close(&a);
}

/* --- status --- */

Test(pg_store, status_shows_nodes_shards_and_one_task)
{
    struct node a;
    node_open(&a, "app", "status", 3);
    node_takes(&a, LEASE_FOREVER_NS, 3);
    expect_eq(node_append(&a, 2, "body"), 1);
    expect_ok(node_send(&a, 2, 1, "about it"));
    lanepool_remote_outcome_row outcome = { .seq = 1, .code = 9, .home = 2 };
    lanepool_remote_progress progress = { 1, 1 };
    lanepool_remote_step step = {
        .outcomes = &outcome, .outcome_count = 1, .progress = &progress, .progress_count = 1
    };
    expect_ok(node_step(&a, &step));
    lanepool_remote_visitor visitor = rows_begin(&a.rows);
    expect_ok(a.functions->read_status(a.store, 1, &visitor, &a.news));
    expect(a.news.appended == 1 && a.news.done == 0 && !a.news.is_sealed);
    expect_eq(a.rows.node_count, 1);
    expect(a.rows.nodes[0].id == a.welcome.node.id && !a.rows.nodes[0].is_dead);
    expect(strcmp(a.rows.nodes[0].name, "node") == 0);
    expect(a.rows.nodes[0].seen_before_ns < LEASE_FOREVER_NS);
    expect_eq(a.rows.shard_count, 3);
    for (size_t i = 0; i < 3; i++) {
        expect_eq(a.rows.shards[i].owner, a.welcome.node.id);
        expect_eq(a.rows.shards[i].low, a.rows.shards[i].shard == 1);
    }
    expect(a.rows.entry_count == 1 && a.rows.entries[0].has_outcome);
    expect(a.rows.entries[0].shard == 2 && rows_equal(a.rows.entries[0].body, "body"));
    expect(a.rows.outcome_count == 1 && a.rows.outcomes[0].code == 9);
    expect(a.rows.letter_count == 1 && rows_equal(a.rows.letters[0].body, "about it"));

    visitor = rows_begin(&a.rows);
    expect_ok(a.functions->read_status(a.store, 0, &visitor, &a.news));
    expect_eq(a.rows.entry_count + a.rows.outcome_count + a.rows.letter_count, 0);
    expect_eq(a.rows.shard_count, 3);
    node_close(&a);
}
