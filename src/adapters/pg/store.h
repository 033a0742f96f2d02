/* A batch in PostgreSQL: what the files of the adapter share. */
#ifndef LANEPOOL_ADAPTERS_PG_STORE_H
#define LANEPOOL_ADAPTERS_PG_STORE_H

#include "adapters/pg/connection.h"
#include "lanepool/adapters/pg.h"

#define PG_SCHEMA_VERSION 1

struct lanepool_pg_store {
    struct pg_connection connection;
    struct pg_parameters parameters; /* of the call that is being made */
    lanepool_remote_node node;       /* the newest; id 0: there was none */
    bool is_lost;                    /* a call of the node has failed: only a hello helps */
};

/* Makes or checks the batch's schema. */
lanepool_status lanepool_i_pg_open_schema(lanepool_pg_store *store, uint32_t shard_count,
                                          bool must_exist);

/* Begins a call: removes the last one's parameters. */
struct pg_parameters *lanepool_i_pg_begin(lanepool_pg_store *store);

/* Begins a call of a node, whose id and key are the first two parameters. */
struct pg_parameters *lanepool_i_pg_begin_node(lanepool_pg_store *store,
                                               const lanepool_remote_node *node);

/* Ends a call: executes the statement, after connecting if necessary. */
lanepool_status lanepool_i_pg_call(lanepool_pg_store *store, const struct pg_statement *statement,
                                   PGresult **result);

/* Ends a call of a node. A failure is the node's end. Without a row the node is fenced. */
lanepool_status lanepool_i_pg_call_node(lanepool_pg_store *store,
                                        const struct pg_statement *statement, PGresult **result);

/* Adds arrays of shards, and of the positions in them. */
void lanepool_i_pg_add_shards(struct pg_parameters *parameters, const uint32_t *shards,
                              size_t count);
void lanepool_i_pg_add_progress(struct pg_parameters *parameters,
                                const lanepool_remote_progress *progress, size_t count);

/* The values of a result's row. A number that is NULL is 0. */
uint32_t lanepool_i_pg_int4(const PGresult *result, int row, int column);
uint64_t lanepool_i_pg_int8(const PGresult *result, int row, int column);
lanepool_remote_bytes lanepool_i_pg_bytes(const PGresult *result, int row, int column);

/* Returns whether a row is the first one, which says that the node is alive. */
bool lanepool_i_pg_is_head(const PGresult *result, int row);

/* Visits all rows of letters: shard, upto, sender, step, body. */
void lanepool_i_pg_visit_letters(const PGresult *result, const lanepool_remote_visitor *visitor);

/* The functions of the table that are in other files than store.c. */
lanepool_status lanepool_i_pg_step(void *context, const lanepool_remote_node *node,
                                   const lanepool_remote_step *step,
                                   const lanepool_remote_visitor *visitor,
                                   lanepool_remote_news *news);
lanepool_status lanepool_i_pg_poll(void *context, const lanepool_remote_node *node,
                                   const lanepool_remote_look *look,
                                   const lanepool_remote_visitor *visitor,
                                   lanepool_remote_news *news);
lanepool_status lanepool_i_pg_read_lanes(void *context, const lanepool_remote_node *node,
                                         const uint32_t *shards, size_t shard_count,
                                         const lanepool_remote_visitor *visitor);
lanepool_status lanepool_i_pg_read_entries(void *context, const lanepool_remote_node *node,
                                           const lanepool_remote_progress *from, size_t from_count,
                                           size_t each_max, const lanepool_remote_visitor *visitor,
                                           lanepool_remote_news *news);
lanepool_status lanepool_i_pg_read_letters(void *context, const lanepool_remote_node *node,
                                           const lanepool_remote_progress *from, size_t from_count,
                                           const lanepool_remote_visitor *visitor);
lanepool_status lanepool_i_pg_read_status(void *context, uint64_t seq,
                                          const lanepool_remote_visitor *visitor,
                                          lanepool_remote_news *news);
lanepool_status lanepool_i_pg_read_progress(void *context, const uint64_t *lanes, size_t lane_count,
                                            const lanepool_remote_visitor *visitor);

#endif
