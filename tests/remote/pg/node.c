#include "remote/pg/node.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

void node_open(struct node *node, const char *role, const char *batch, uint32_t shard_count)
{
    char error[256];
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    server_begin();
    memset(node, 0, sizeof *node);
    options.shard_count = shard_count;
    options.error = error;
    options.error_size = sizeof error;
    node->functions = lanepool_pg_functions();
    lanepool_status status = lanepool_pg_open(server_conninfo(role), batch, &options, &node->store);
    if (status != LANEPOOL_OK)
        test_fail(__FILE__, __LINE__, "%s", error);
    node_hello(node, "node");
}

void node_hello(struct node *node, const char *name)
{
    node->step_number = 0;
    if (node->functions->hello(node->store, name, &node->welcome) != LANEPOOL_OK)
        test_fail(__FILE__, __LINE__, "%s", node->functions->error_text(node->store));
}

void node_close(struct node *node)
{
    lanepool_pg_close(node->store);
    node->store = NULL;
}

lanepool_status node_lease(struct node *node, uint64_t lease_ns, uint32_t shards_max)
{
    lanepool_remote_visitor visitor = rows_begin(&node->rows);
    lanepool_remote_lease lease = { .lease_ns = lease_ns, .shards_max = shards_max };
    return node->functions->lease(node->store, &node->welcome.node, &lease, &visitor, &node->share);
}

lanepool_status node_step(struct node *node, lanepool_remote_step *step)
{
    lanepool_remote_visitor visitor = rows_begin(&node->rows);
    step->number = ++node->step_number;
    return node->functions->step(node->store, &node->welcome.node, step, &visitor, &node->news);
}

lanepool_status node_poll(struct node *node, const lanepool_remote_look *look)
{
    lanepool_remote_visitor visitor = rows_begin(&node->rows);
    return node->functions->poll(node->store, &node->welcome.node, look, &visitor, &node->news);
}

uint64_t node_append(struct node *node, uint32_t shard, const char *body)
{
    uint64_t seq;
    lanepool_remote_entry_row entry = { .shard = shard, .home = shard, .body = rows_bytes(body) };
    lanepool_remote_append append = { .task_count = 1, .entries = &entry, .entry_count = 1 };
    expect_ok(node->functions->append(node->store, &append, &seq));
    return seq;
}

lanepool_status node_send(struct node *node, uint32_t shard, uint64_t upto, const char *body)
{
    lanepool_remote_letter_row letter = { .shard = shard, .upto = upto, .body = rows_bytes(body) };
    lanepool_remote_step step = { .letters = &letter, .letter_count = 1 };
    return node_step(node, &step);
}

lanepool_status node_read(struct node *node, uint32_t shard, uint64_t sender, uint64_t step)
{
    lanepool_remote_cursor cursor = { sender, step };
    lanepool_remote_look look = { &shard, 1, &cursor, 1 };
    return node_poll(node, &look);
}

void node_takes(struct node *node, uint64_t lease_ns, size_t shard_count)
{
    lanepool_status status = node_lease(node, lease_ns, UINT32_MAX);
    if (status != LANEPOOL_OK)
        test_fail(__FILE__, __LINE__, "%s", node->functions->error_text(node->store));
    expect_eq(node->rows.shard_count, shard_count);
}

long long node_admin_sql(const char *batch, const char *sql)
{
    char path[200];
    PGconn *admin = server_connect("admin");
    snprintf(path, sizeof path, "SET search_path = lanepool_%s", batch);
    server_sql(admin, path);
    long long value = server_sql(admin, sql);
    PQfinish(admin);
    return value;
}
