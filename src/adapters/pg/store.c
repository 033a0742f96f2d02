/*
 * Opening and closing a store, and the calls that make nodes and tasks. All SQL is in schema.sql;
 * each call here is one statement, hence one transaction and one round trip.
 *
 * A node belongs to one session. When a call of the node fails, `is_lost` is set, and all its calls
 * are refused until the next hello, which makes a new session. Calls that need no node connect
 * again by themselves.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "adapters/pg/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA_PREFIX "lanepool_"
#define NS_PER_MS     1000000u
#define NS_PER_US     1000u

enum {
    BATCH_NAME_MOST = 54, /* PostgreSQL's names have 63 bytes */
    SHARDS_MOST = 16384,
    NODE_NAME_MOST = 256
};

/* --- a call --- */

struct pg_parameters *lanepool_i_pg_begin(lanepool_pg_store *store)
{
    lanepool_i_pg_clear(&store->parameters);
    return &store->parameters;
}

static void add_bits(struct pg_parameters *parameters, const uint64_t key[2])
{
    unsigned char bytes[16];
    for (int i = 0; i < 16; i++)
        bytes[i] = (unsigned char)(key[i / 8] >> (56 - i % 8 * 8));
    lanepool_i_pg_add_bytes(parameters, bytes, sizeof bytes);
}

struct pg_parameters *lanepool_i_pg_begin_node(lanepool_pg_store *store,
                                               const lanepool_remote_node *node)
{
    struct pg_parameters *parameters = lanepool_i_pg_begin(store);
    lanepool_i_pg_add_int8(parameters, node->id);
    add_bits(parameters, node->key);
    return parameters;
}

lanepool_status lanepool_i_pg_call(lanepool_pg_store *store, const struct pg_statement *statement,
                                   PGresult **result)
{
    *result = NULL;
    lanepool_status status = LANEPOOL_OK;
    if (store->connection.session == NULL) {
        store->is_lost = true;
        status = lanepool_i_pg_connect(&store->connection);
    }
    if (status == LANEPOOL_OK)
        status = lanepool_i_pg_execute(&store->connection, statement, &store->parameters, result);
    if (status == LANEPOOL_NOMEM)
        lanepool_i_pg_error(&store->connection, "no memory for %s", statement->name);
    return status;
}

lanepool_status lanepool_i_pg_call_node(lanepool_pg_store *store,
                                        const struct pg_statement *statement, PGresult **result)
{
    *result = NULL;
    if (store->is_lost || store->connection.session == NULL)
        return LANEPOOL_UNAVAILABLE;
    lanepool_status status =
        lanepool_i_pg_execute(&store->connection, statement, &store->parameters, result);
    if (status == LANEPOOL_OK && PQntuples(*result) == 0) {
        lanepool_i_pg_error(&store->connection, "the node is fenced");
        PQclear(*result);
        *result = NULL;
        status = LANEPOOL_FENCED;
    }
    store->is_lost = status != LANEPOOL_OK;
    return status;
}

void lanepool_i_pg_add_shards(struct pg_parameters *parameters, const uint32_t *shards,
                              size_t count)
{
    lanepool_i_pg_begin_array(parameters, PG_TYPE_INT4);
    for (size_t i = 0; i < count; i++)
        lanepool_i_pg_put_int4(parameters, shards[i]);
    lanepool_i_pg_end_array(parameters);
}

void lanepool_i_pg_add_progress(struct pg_parameters *parameters,
                                const lanepool_remote_progress *progress, size_t count)
{
    lanepool_i_pg_begin_array(parameters, PG_TYPE_INT4);
    for (size_t i = 0; i < count; i++)
        lanepool_i_pg_put_int4(parameters, progress[i].shard);
    lanepool_i_pg_end_array(parameters);
    lanepool_i_pg_begin_array(parameters, PG_TYPE_INT8);
    for (size_t i = 0; i < count; i++)
        lanepool_i_pg_put_int8(parameters, progress[i].low);
    lanepool_i_pg_end_array(parameters);
}

uint32_t lanepool_i_pg_int4(const PGresult *result, int row, int column)
{
    bool has_size = PQgetlength(result, row, column) == 4;
    return has_size ? lanepool_i_pg_read_int4(PQgetvalue(result, row, column)) : 0;
}

uint64_t lanepool_i_pg_int8(const PGresult *result, int row, int column)
{
    bool has_size = PQgetlength(result, row, column) == 8;
    return has_size ? lanepool_i_pg_read_int8(PQgetvalue(result, row, column)) : 0;
}

lanepool_remote_bytes lanepool_i_pg_bytes(const PGresult *result, int row, int column)
{
    return (lanepool_remote_bytes){ PQgetvalue(result, row, column),
                                    (size_t)PQgetlength(result, row, column) };
}

bool lanepool_i_pg_is_head(const PGresult *result, int row)
{
    return lanepool_i_pg_int4(result, row, 0) == UINT32_MAX;
}

/* --- nodes --- */

static const struct pg_statement hello_statement = { PG_HELLO, "lanepool_hello",
                                                     "SELECT * FROM hello($1, $2, $3)" };

static lanepool_status read_welcome(lanepool_pg_store *store, const PGresult *result,
                                    lanepool_remote_welcome *welcome)
{
    if (PQntuples(result) != 1 || PQgetlength(result, 0, 1) != 16) {
        lanepool_i_pg_error(&store->connection, "the server has not made a node");
        return LANEPOOL_UNAVAILABLE;
    }
    const char *key = PQgetvalue(result, 0, 1);
    memset(welcome, 0, sizeof *welcome);
    welcome->node.id = lanepool_i_pg_int8(result, 0, 0);
    welcome->node.key[0] = lanepool_i_pg_read_int8(key);
    welcome->node.key[1] = lanepool_i_pg_read_int8(key + 8);
    welcome->shard_count = lanepool_i_pg_int4(result, 0, 2);
    store->node = welcome->node;
    store->is_lost = false;
    return LANEPOOL_OK;
}

static lanepool_status pg_hello(void *context, const char *name, lanepool_remote_welcome *welcome)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    if (store->node.id != 0)
        lanepool_i_pg_disconnect(&store->connection);
    struct pg_parameters *parameters = lanepool_i_pg_begin(store);
    size_t size = strlen(name);
    lanepool_i_pg_add_bytes(parameters, name, size < NODE_NAME_MOST ? size : NODE_NAME_MOST);
    lanepool_i_pg_add_int8(parameters, store->node.id);
    add_bits(parameters, store->node.key);
    lanepool_status status = lanepool_i_pg_call(store, &hello_statement, &result);
    if (status == LANEPOOL_OK)
        status = read_welcome(store, result, welcome);
    PQclear(result);
    return status;
}

static const struct pg_statement lease_statement = { PG_LEASE, "lanepool_lease",
                                                     "SELECT * FROM lease($1, $2, $3, $4)" };

static void read_share(const PGresult *result, int row, lanepool_remote_share *share)
{
    memset(share, 0, sizeof *share);
    share->live_nodes = (uint32_t)lanepool_i_pg_int8(result, row, 2);
    share->hungry_nodes = (uint32_t)lanepool_i_pg_int8(result, row, 3);
    share->free_shards = (uint32_t)lanepool_i_pg_int8(result, row, 4);
    share->news.appended = lanepool_i_pg_int8(result, row, 5);
    share->news.done = lanepool_i_pg_int8(result, row, 6);
    share->news.is_sealed = lanepool_i_pg_int4(result, row, 7) != 0;
}

static lanepool_status pg_lease(void *context, const lanepool_remote_node *node,
                                const lanepool_remote_lease *lease,
                                const lanepool_remote_visitor *visitor,
                                lanepool_remote_share *share)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    struct pg_parameters *parameters = lanepool_i_pg_begin_node(store, node);
    lanepool_i_pg_add_int8(parameters, lease->lease_ns / NS_PER_US);
    lanepool_i_pg_add_int8(parameters, lease->shards_max);
    lanepool_status status = lanepool_i_pg_call_node(store, &lease_statement, &result);
    for (int row = 0; row < PQntuples(result); row++) {
        if (lanepool_i_pg_is_head(result, row)) {
            read_share(result, row, share);
            continue;
        }
        lanepool_remote_shard_row shard = { .shard = lanepool_i_pg_int4(result, row, 0),
                                            .owner = node->id,
                                            .low = lanepool_i_pg_int8(result, row, 1) };
        visitor->shard(visitor->context, &shard);
    }
    PQclear(result);
    return status;
}

/* --- tasks --- */

static const struct pg_statement append_statement = { PG_APPEND, "lanepool_append",
                                                      "SELECT append($1, $2, $3, $4, $5, $6)" };

static void add_entry_arrays(struct pg_parameters *parameters,
                             const lanepool_remote_entry_row *entries, size_t count)
{
    lanepool_i_pg_begin_array(parameters, PG_TYPE_INT4);
    for (size_t i = 0; i < count; i++)
        lanepool_i_pg_put_int4(parameters, entries[i].shard);
    lanepool_i_pg_end_array(parameters);
    lanepool_i_pg_begin_array(parameters, PG_TYPE_INT8);
    for (size_t i = 0; i < count; i++)
        lanepool_i_pg_put_int8(parameters, entries[i].seq);
    lanepool_i_pg_end_array(parameters);
    lanepool_i_pg_begin_array(parameters, PG_TYPE_INT4);
    for (size_t i = 0; i < count; i++)
        lanepool_i_pg_put_int4(parameters, entries[i].home);
    lanepool_i_pg_end_array(parameters);
    lanepool_i_pg_begin_array(parameters, PG_TYPE_BYTEA);
    for (size_t i = 0; i < count; i++)
        lanepool_i_pg_put_bytes(parameters, entries[i].body.data, entries[i].body.size);
    lanepool_i_pg_end_array(parameters);
}

static lanepool_status pg_append(void *context, const lanepool_remote_append *append,
                                 uint64_t *first_seq)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    struct pg_parameters *parameters = lanepool_i_pg_begin(store);
    if ((append->token[0] | append->token[1]) != 0)
        add_bits(parameters, append->token);
    else
        lanepool_i_pg_add_bytes(parameters, "", 0);
    lanepool_i_pg_add_int8(parameters, append->task_count);
    add_entry_arrays(parameters, append->entries, append->entry_count);
    lanepool_status status = lanepool_i_pg_call(store, &append_statement, &result);
    if (status == LANEPOOL_OK)
        *first_seq = lanepool_i_pg_int8(result, 0, 0);
    PQclear(result);
    return status;
}

static lanepool_status call_without_answer(lanepool_pg_store *store,
                                           const struct pg_statement *statement)
{
    PGresult *result;
    (void)lanepool_i_pg_begin(store);
    lanepool_status status = lanepool_i_pg_call(store, statement, &result);
    PQclear(result);
    return status;
}

static lanepool_status pg_flush(void *context)
{
    static const struct pg_statement statement = { PG_FLUSH, "lanepool_flush", "SELECT flush()" };
    return call_without_answer(context, &statement);
}

static lanepool_status pg_seal(void *context)
{
    static const struct pg_statement statement = { PG_SEAL, "lanepool_seal", "SELECT seal()" };
    return call_without_answer(context, &statement);
}

static const char *pg_error_text(void *context)
{
    const lanepool_pg_store *store = context;
    return store->connection.error;
}

/* --- opening --- */

const lanepool_remote_store_functions *lanepool_pg_functions(void)
{
    static const lanepool_remote_store_functions functions = {
        .struct_size = sizeof functions,
        .hello = pg_hello,
        .lease = pg_lease,
        .read_lanes = lanepool_i_pg_read_lanes,
        .read_entries = lanepool_i_pg_read_entries,
        .read_letters = lanepool_i_pg_read_letters,
        .step = lanepool_i_pg_step,
        .poll = lanepool_i_pg_poll,
        .flush = pg_flush,
        .append = pg_append,
        .seal = pg_seal,
        .read_status = lanepool_i_pg_read_status,
        .read_progress = lanepool_i_pg_read_progress,
        .error_text = pg_error_text,
    };
    return &functions;
}

static unsigned to_ms(uint64_t time_ns, unsigned default_ms)
{
    uint64_t time_ms = (time_ns + NS_PER_MS - 1) / NS_PER_MS;
    if (time_ns == 0)
        return default_ms;
    return time_ms < INT32_MAX / 2 ? (unsigned)time_ms : INT32_MAX / 2;
}

static char *make_schema_name(const char *batch)
{
    size_t size = sizeof SCHEMA_PREFIX + strlen(batch);
    char *schema = malloc(size);
    if (schema != NULL)
        (void)snprintf(schema, size, "%s%s", SCHEMA_PREFIX, batch);
    return schema;
}

/* Copies the options of an older or newer program. Members that it does not have become 0. Returns
 * false if they are out of range, or have a part that is unknown here and not 0. */
static bool read_pg_options(lanepool_pg_options *options, const lanepool_pg_options *given)
{
    size_t size = given->struct_size;
    if (size < sizeof given->struct_size)
        return false;
    for (size_t i = sizeof *options; i < size; i++)
        if (((const char *)given)[i] != 0)
            return false;
    memset(options, 0, sizeof *options);
    memcpy(options, given, size < sizeof *options ? size : sizeof *options);
    return options->shard_count <= SHARDS_MOST &&
           (options->error == NULL || options->error_size > 0);
}

static lanepool_status open_store(lanepool_pg_store *store, const char *conninfo, const char *batch,
                                  const lanepool_pg_options *options)
{
    struct pg_connection *connection = &store->connection;
    connection->conninfo = strdup(conninfo);
    connection->schema = make_schema_name(batch);
    connection->statement_ms = to_ms(options->statement_max_ns, 30000);
    connection->lock_ms = to_ms(options->lock_max_ns, 10000);
    connection->idle_ms = to_ms(options->idle_max_ns, 10000);
    if (connection->conninfo == NULL || connection->schema == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status status = lanepool_i_pg_connect(connection);
    if (status != LANEPOOL_OK)
        return status;
    return lanepool_i_pg_open_schema(store, options->shard_count, options->must_exist);
}

lanepool_status lanepool_pg_open(const char *conninfo, const char *batch,
                                 const lanepool_pg_options *options, lanepool_pg_store **store)
{
    static const lanepool_pg_options defaults = LANEPOOL_PG_OPTIONS_INIT;
    lanepool_pg_options read;
    if (store != NULL)
        *store = NULL;
    if (conninfo == NULL || batch == NULL || store == NULL || batch[0] == '\0' ||
        strlen(batch) > BATCH_NAME_MOST ||
        !read_pg_options(&read, options != NULL ? options : &defaults))
        return LANEPOOL_INVALID;
    if (read.error != NULL)
        read.error[0] = '\0';
    lanepool_pg_store *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return LANEPOOL_NOMEM;
    lanepool_status status = open_store(opened, conninfo, batch, &read);
    if (status == LANEPOOL_OK) {
        *store = opened;
        return status;
    }
    if (read.error != NULL)
        (void)snprintf(read.error, read.error_size, "%s", opened->connection.error);
    lanepool_pg_close(opened);
    return status;
}

void lanepool_pg_close(lanepool_pg_store *store)
{
    if (store == NULL)
        return;
    lanepool_i_pg_disconnect(&store->connection);
    lanepool_i_pg_free(&store->parameters);
    free(store->connection.conninfo);
    free(store->connection.schema);
    free(store);
}
