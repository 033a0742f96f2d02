/* The tables of the store in memory; see store.h. */
#ifndef TESTS_REMOTE_TABLES_H
#define TESTS_REMOTE_TABLES_H

#include "remote/store.h"

enum {
    NODES_MAX = 160,
    SHARDS_MAX = 5,
    ENTRIES_MAX = MODEL_TASKS_MAX * MODEL_CLAIMS_MAX,
    LETTERS_MAX = 1000,
    HISTORY_MAX = 12
};

struct node_row {
    uint64_t key;
    bool is_dead;
    bool takes_shards;
};

struct lane_row {
    uint64_t lane;
    uint32_t shard;
    uint64_t last_seq;
    lanepool_remote_bytes state;
};

struct letter_row {
    lanepool_remote_letter_row row;
    uint64_t commit; /* the transaction's number */
};

/* Bytes of rows are in the server's arena, so that copies of the tables share them. */
struct tables {
    uint64_t appended;
    bool is_sealed;
    size_t node_count; /* the node with the id n is nodes[n - 1] */
    struct node_row nodes[NODES_MAX];
    lanepool_remote_shard_row shards[SHARDS_MAX];
    size_t lane_count;
    struct lane_row lanes[MODEL_LANES_MAX];
    size_t effect_count;
    struct {
        uint64_t seq;
        uint32_t part;
        uint64_t value;
    } effects[MODEL_TASKS_MAX * MODEL_CLAIMS_MAX];
    size_t outcome_count;
    lanepool_remote_outcome_row outcomes[MODEL_TASKS_MAX];
    size_t entry_count;
    lanepool_remote_entry_row entries[ENTRIES_MAX];
    size_t token_count;
    uint64_t tokens[MODEL_TASKS_MAX][3]; /* a token, and the first task */
    size_t letter_count;
    struct letter_row letters[LETTERS_MAX];
};

struct block {
    struct block *next;
    max_align_t data[];
};

/* A step whose connection has broken inside it. */
struct late {
    struct late *next;
    uint64_t node;
    lanepool_remote_step step;
};

struct server {
    const struct model *model;
    uint32_t shard_count;
    uint64_t random;
    struct store_faults faults;
    enum store_planted planted;
    struct tables now;
    struct tables *history; /* before each transaction that was not flushed */
    size_t history_count;
    uint64_t commits;
    uint64_t epoch; /* how often it has crashed */
    struct late *late;
    bool is_locked[NODES_MAX];              /* rows of nodes that make a step */
    const struct connection *at[NODES_MAX]; /* of each node; NULL once it has gone */
    struct block *arena;
};

struct connection {
    struct server *server;
    uint64_t epoch;
    uint64_t looked_at; /* the number of commits when the last look at letters began */
    bool is_up;
    uint64_t node;
};

bool server_draws(struct server *server, unsigned one_in);
lanepool_remote_bytes server_keep(struct server *server, lanepool_remote_bytes bytes);
void *server_keep_rows(struct server *server, const void *rows, size_t count, size_t size);
/* The transaction commits: call before the tables change. */
void server_commit(struct server *server, bool is_durable);
/* Checks and stores the rows of a step. */
void server_store_step(struct server *server, uint64_t node, const lanepool_remote_step *step);
/* Lets other fibers run; here the server crashes, and late steps end. */
void server_pause(struct server *server);
void server_fill_news(const struct server *server, lanepool_remote_news *news);
/* Visits the rows of these lanes, without their states. */
void server_visit_progress(const struct server *server, const uint64_t *lanes, size_t lane_count,
                           const lanepool_remote_visitor *visitor);

/* Before and after each call the program may be stopped, and its connection may break. Returns true
 * if the connection is still there. */
bool connection_pass(struct connection *connection);
bool connection_is_up(const struct connection *connection);
/* Returns true if the connection's node is not dead. */
bool connection_is_alive(const struct connection *connection);
lanepool_status store_lease(void *store, const lanepool_remote_node *node,
                            const lanepool_remote_lease *lease,
                            const lanepool_remote_visitor *visitor, lanepool_remote_share *share);

bool server_owns(const struct server *server, uint64_t node, uint32_t shard);

#endif
