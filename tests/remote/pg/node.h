/*
 * A node without a program: a store in PostgreSQL with the calls that tests make, in one line each.
 * All wanted statuses are parameters, since many tests want FENCED or UNAVAILABLE.
 */
#ifndef TESTS_REMOTE_PG_NODE_H
#define TESTS_REMOTE_PG_NODE_H

#include "remote/pg/rows.h"
#include "remote/pg/server.h"

#define LEASE_FOREVER_NS UINT64_C(3600000000000)

struct node {
    lanepool_pg_store *store;
    const lanepool_remote_store_functions *functions;
    lanepool_remote_welcome welcome;
    lanepool_remote_share share; /* of the last lease */
    lanepool_remote_news news;   /* of the last call that has news */
    uint64_t step_number;        /* of the last step */
    struct rows rows;            /* of the last call that visits */
};

/* Opens a batch as a role, and makes a node. `shard_count` 0: the batch's. */
void node_open(struct node *node, const char *role, const char *batch, uint32_t shard_count);
void node_hello(struct node *node, const char *name);
void node_close(struct node *node);

lanepool_status node_lease(struct node *node, uint64_t lease_ns, uint32_t shards_max);
lanepool_status node_step(struct node *node, lanepool_remote_step *step);
lanepool_status node_poll(struct node *node, const lanepool_remote_look *look);

/* Appends a task of one entry with that body, and returns its number. */
uint64_t node_append(struct node *node, uint32_t shard, const char *body);

/* Makes a step with one letter. */
lanepool_status node_send(struct node *node, uint32_t shard, uint64_t upto, const char *body);

/* Reads the letters of one shard behind one cursor. */
lanepool_status node_read(struct node *node, uint32_t shard, uint64_t sender, uint64_t step);

/* Fails unless the lease answers OK with so many new shards. */
void node_takes(struct node *node, uint64_t lease_ns, size_t shard_count);

/* Runs SQL as the superuser on a batch's schema; as server_sql(). */
long long node_admin_sql(const char *batch, const char *sql);

#endif
