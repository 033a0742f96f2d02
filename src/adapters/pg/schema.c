/*
 * The schema of a batch: made once, by the first program that opens the batch, and then only
 * checked. Programs that open a new batch at the same time wait for one of them to make it.
 */
#include "adapters/pg/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARD_COUNT_DEFAULT = 64 };

/* The bytes of schema.sql, with a zero behind; the build makes them. */
extern const char lanepool_i_pg_schema_sql[];

/* Reads the catalog's tables. Functions such as to_regclass() would look into caches, which do not
 * show what another session has made while this one waited for the lock. */
static const struct pg_statement find_batch = {
    PG_FIND_BATCH, "lanepool_find_batch",
    "SELECT (EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE n.nspname = $1 AND c.relname = 'batch'))::int,"
    " (EXISTS (SELECT FROM pg_namespace WHERE nspname = $1))::int"
};

/* Ends with the transaction. */
static const struct pg_statement lock_batch = {
    PG_LOCK_BATCH, "lanepool_lock_batch", "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
};

static const struct pg_statement make_batch = {
    PG_MAKE_BATCH, "lanepool_make_batch",
    "WITH made AS (INSERT INTO batch (version, shard_count) VALUES ($1, $2) RETURNING shard_count)"
    " INSERT INTO shard (id) SELECT generate_series(0, shard_count - 1) FROM made"
};

static const struct pg_statement read_batch = { PG_READ_BATCH, "lanepool_read_batch",
                                                "SELECT version, shard_count FROM batch" };

/* Finds out whether the batch, and its schema, are there. */
static lanepool_status find_schema(lanepool_pg_store *store, bool *has_batch, bool *has_schema)
{
    PGresult *result;
    lanepool_i_pg_add_text(lanepool_i_pg_begin(store), store->connection.schema);
    lanepool_status status = lanepool_i_pg_call(store, &find_batch, &result);
    if (status == LANEPOOL_OK) {
        *has_batch = lanepool_i_pg_int4(result, 0, 0) != 0;
        *has_schema = lanepool_i_pg_int4(result, 0, 1) != 0;
    }
    PQclear(result);
    return status;
}

static lanepool_status lock_schema(lanepool_pg_store *store)
{
    PGresult *result;
    lanepool_i_pg_add_text(lanepool_i_pg_begin(store), store->connection.schema);
    lanepool_status status = lanepool_i_pg_call(store, &lock_batch, &result);
    PQclear(result);
    return status;
}

/* Makes the namespace. Its name is the only one that becomes part of SQL, quoted by libpq. */
static lanepool_status make_namespace(lanepool_pg_store *store)
{
    struct pg_connection *connection = &store->connection;
    char sql[256];
    char *quoted =
        PQescapeIdentifier(connection->session, connection->schema, strlen(connection->schema));
    if (quoted == NULL) {
        lanepool_i_pg_error(connection, "%s", PQerrorMessage(connection->session));
        return LANEPOOL_INVALID;
    }
    (void)snprintf(sql, sizeof sql, "CREATE SCHEMA %s", quoted);
    PQfreemem(quoted);
    return lanepool_i_pg_script(connection, sql);
}

static lanepool_status fill_schema(lanepool_pg_store *store, uint32_t shard_count)
{
    PGresult *result;
    lanepool_status status = lanepool_i_pg_script(&store->connection, lanepool_i_pg_schema_sql);
    if (status != LANEPOOL_OK)
        return status;
    struct pg_parameters *parameters = lanepool_i_pg_begin(store);
    lanepool_i_pg_add_int4(parameters, PG_SCHEMA_VERSION);
    lanepool_i_pg_add_int4(parameters, shard_count > 0 ? shard_count : SHARD_COUNT_DEFAULT);
    status = lanepool_i_pg_call(store, &make_batch, &result);
    PQclear(result);
    return status;
}

/* Inside a transaction: makes what is not there. */
static lanepool_status make_schema(lanepool_pg_store *store, uint32_t shard_count)
{
    bool has_batch;
    bool has_schema;
    lanepool_status status = lock_schema(store);
    if (status == LANEPOOL_OK)
        status = find_schema(store, &has_batch, &has_schema);
    if (status == LANEPOOL_OK && !has_schema)
        status = make_namespace(store);
    if (status == LANEPOOL_OK && !has_batch)
        status = fill_schema(store, shard_count);
    return status;
}

static lanepool_status make_durably(lanepool_pg_store *store, uint32_t shard_count)
{
    lanepool_status status = lanepool_i_pg_script(
        &store->connection,
        "BEGIN; SET LOCAL synchronous_commit = on; SET LOCAL client_min_messages = error");
    if (status == LANEPOOL_OK)
        status = make_schema(store, shard_count);
    if (status == LANEPOOL_OK)
        status = lanepool_i_pg_script(&store->connection, "COMMIT");
    return status;
}

static lanepool_status check_batch(lanepool_pg_store *store, uint32_t shard_count)
{
    PGresult *result;
    (void)lanepool_i_pg_begin(store);
    lanepool_status status = lanepool_i_pg_call(store, &read_batch, &result);
    if (status != LANEPOOL_OK)
        return status;
    uint32_t version = PQntuples(result) == 1 ? lanepool_i_pg_int4(result, 0, 0) : 0;
    uint32_t count = version != 0 ? lanepool_i_pg_int4(result, 0, 1) : 0;
    PQclear(result);
    if (version != PG_SCHEMA_VERSION) {
        lanepool_i_pg_error(&store->connection, "the batch's schema has version %u, not %u",
                            version, PG_SCHEMA_VERSION);
        return LANEPOOL_INVALID;
    }
    if (shard_count != 0 && shard_count != count) {
        lanepool_i_pg_error(&store->connection, "the batch has %u shards, not %u", count,
                            shard_count);
        return LANEPOOL_INVALID;
    }
    return LANEPOOL_OK;
}

lanepool_status lanepool_i_pg_open_schema(lanepool_pg_store *store, uint32_t shard_count,
                                          bool must_exist)
{
    bool has_batch;
    bool has_schema;
    lanepool_status status = find_schema(store, &has_batch, &has_schema);
    if (status == LANEPOOL_OK && !has_batch && must_exist) {
        lanepool_i_pg_error(&store->connection, "there is no such batch");
        return LANEPOOL_INVALID;
    }
    if (status == LANEPOOL_OK && !has_batch)
        status = make_durably(store, shard_count);
    return status == LANEPOOL_OK ? check_batch(store, shard_count) : status;
}
