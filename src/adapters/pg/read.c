/* Reads: lanes, entries and letters for a new owner of shards, and the status of a batch. */
#include "adapters/pg/store.h"

#include <string.h>

#define NS_PER_US 1000u

static const struct pg_statement lanes_statement = { PG_READ_LANES, "lanepool_read_lanes",
                                                     "SELECT * FROM read_lanes($1, $2, $3)" };

lanepool_status lanepool_i_pg_read_lanes(void *context, const lanepool_remote_node *node,
                                         const uint32_t *shards, size_t shard_count,
                                         const lanepool_remote_visitor *visitor)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    struct pg_parameters *parameters = lanepool_i_pg_begin_node(store, node);
    lanepool_i_pg_add_shards(parameters, shards, shard_count);
    lanepool_status status = lanepool_i_pg_call_node(store, &lanes_statement, &result);
    for (int row = 0; row < PQntuples(result); row++) {
        if (lanepool_i_pg_is_head(result, row))
            continue;
        lanepool_remote_lane_row lane = { .lane = lanepool_i_pg_int8(result, row, 1),
                                          .shard = lanepool_i_pg_int4(result, row, 0),
                                          .last_seq = lanepool_i_pg_int8(result, row, 2),
                                          .state = lanepool_i_pg_bytes(result, row, 3) };
        visitor->lane(visitor->context, &lane);
    }
    PQclear(result);
    return status;
}

static const struct pg_statement entries_statement = {
    PG_READ_ENTRIES, "lanepool_read_entries", "SELECT * FROM read_entries($1, $2, $3, $4, $5)"
};

lanepool_status lanepool_i_pg_read_entries(void *context, const lanepool_remote_node *node,
                                           const lanepool_remote_progress *from, size_t from_count,
                                           size_t each_max, const lanepool_remote_visitor *visitor,
                                           lanepool_remote_news *news)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    struct pg_parameters *parameters = lanepool_i_pg_begin_node(store, node);
    lanepool_i_pg_add_progress(parameters, from, from_count);
    lanepool_i_pg_add_int8(parameters, each_max < INT32_MAX ? each_max : INT32_MAX);
    lanepool_status status = lanepool_i_pg_call_node(store, &entries_statement, &result);
    for (int row = 0; row < PQntuples(result); row++) {
        if (lanepool_i_pg_is_head(result, row)) {
            memset(news, 0, sizeof *news);
            news->appended = lanepool_i_pg_int8(result, row, 1);
            news->is_sealed = lanepool_i_pg_int4(result, row, 2) != 0;
            continue;
        }
        lanepool_remote_entry_row entry = { .seq = lanepool_i_pg_int8(result, row, 1),
                                            .shard = lanepool_i_pg_int4(result, row, 0),
                                            .home = lanepool_i_pg_int4(result, row, 2),
                                            .body = lanepool_i_pg_bytes(result, row, 4),
                                            .has_outcome =
                                                lanepool_i_pg_int4(result, row, 3) != 0 };
        visitor->entry(visitor->context, &entry);
    }
    PQclear(result);
    return status;
}

static const struct pg_statement letters_statement = {
    PG_READ_LETTERS, "lanepool_read_letters", "SELECT * FROM read_letters($1, $2, $3, $4)"
};

lanepool_status lanepool_i_pg_read_letters(void *context, const lanepool_remote_node *node,
                                           const lanepool_remote_progress *from, size_t from_count,
                                           const lanepool_remote_visitor *visitor)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    struct pg_parameters *parameters = lanepool_i_pg_begin_node(store, node);
    lanepool_i_pg_add_progress(parameters, from, from_count);
    lanepool_status status = lanepool_i_pg_call_node(store, &letters_statement, &result);
    if (status == LANEPOOL_OK)
        lanepool_i_pg_visit_letters(result, visitor);
    PQclear(result);
    return status;
}

/* --- the status of the batch --- */

/* The kinds of rows that read_status() of schema.sql returns. */
enum status_kind { KIND_NEWS, KIND_NODE, KIND_SHARD, KIND_ENTRY, KIND_OUTCOME, KIND_LETTER };

enum { COLUMN_A = 1, COLUMN_B, COLUMN_C, COLUMN_D, COLUMN_BYTES, NODE_NAME_SIZE = 257 };

static const struct pg_statement status_statement = { PG_READ_STATUS, "lanepool_read_status",
                                                      "SELECT * FROM read_status($1)" };

static void visit_node(const PGresult *result, int row, const lanepool_remote_visitor *visitor)
{
    char name[NODE_NAME_SIZE];
    lanepool_remote_bytes bytes = lanepool_i_pg_bytes(result, row, COLUMN_BYTES);
    size_t size = bytes.size < sizeof name ? bytes.size : sizeof name - 1;
    memcpy(name, bytes.data, size);
    name[size] = '\0';
    lanepool_remote_node_row node = { .id = lanepool_i_pg_int8(result, row, COLUMN_A),
                                      .name = name,
                                      .seen_before_ns =
                                          lanepool_i_pg_int8(result, row, COLUMN_B) * NS_PER_US,
                                      .is_dead = lanepool_i_pg_int8(result, row, COLUMN_C) != 0 };
    visitor->node(visitor->context, &node);
}

static void visit_shard(const PGresult *result, int row, const lanepool_remote_visitor *visitor)
{
    lanepool_remote_shard_row shard = { .shard =
                                            (uint32_t)lanepool_i_pg_int8(result, row, COLUMN_A),
                                        .owner = lanepool_i_pg_int8(result, row, COLUMN_B),
                                        .low = lanepool_i_pg_int8(result, row, COLUMN_C) };
    visitor->shard(visitor->context, &shard);
}

static void visit_entry(const PGresult *result, int row, const lanepool_remote_visitor *visitor)
{
    lanepool_remote_entry_row entry = { .shard =
                                            (uint32_t)lanepool_i_pg_int8(result, row, COLUMN_A),
                                        .seq = lanepool_i_pg_int8(result, row, COLUMN_B),
                                        .home = (uint32_t)lanepool_i_pg_int8(result, row, COLUMN_C),
                                        .has_outcome =
                                            lanepool_i_pg_int8(result, row, COLUMN_D) != 0,
                                        .body = lanepool_i_pg_bytes(result, row, COLUMN_BYTES) };
    visitor->entry(visitor->context, &entry);
}

static void visit_outcome(const PGresult *result, int row, const lanepool_remote_visitor *visitor)
{
    lanepool_remote_outcome_row outcome = {
        .seq = lanepool_i_pg_int8(result, row, COLUMN_A),
        .code = (int32_t)lanepool_i_pg_int8(result, row, COLUMN_B),
        .home = (uint32_t)lanepool_i_pg_int8(result, row, COLUMN_C)
    };
    visitor->outcome(visitor->context, &outcome);
}

static void visit_letter(const PGresult *result, int row, const lanepool_remote_visitor *visitor)
{
    lanepool_remote_letter_row letter = { .shard =
                                              (uint32_t)lanepool_i_pg_int8(result, row, COLUMN_A),
                                          .upto = lanepool_i_pg_int8(result, row, COLUMN_B),
                                          .sender = lanepool_i_pg_int8(result, row, COLUMN_C),
                                          .step = lanepool_i_pg_int8(result, row, COLUMN_D),
                                          .body = lanepool_i_pg_bytes(result, row, COLUMN_BYTES) };
    visitor->letter(visitor->context, &letter);
}

static void visit_status_row(const PGresult *result, int row,
                             const lanepool_remote_visitor *visitor, lanepool_remote_news *news)
{
    switch ((enum status_kind)lanepool_i_pg_int4(result, row, 0)) {
    case KIND_NEWS:
        news->appended = lanepool_i_pg_int8(result, row, COLUMN_A);
        news->done = lanepool_i_pg_int8(result, row, COLUMN_B);
        news->is_sealed = lanepool_i_pg_int8(result, row, COLUMN_C) != 0;
        break;
    case KIND_NODE:
        visit_node(result, row, visitor);
        break;
    case KIND_SHARD:
        visit_shard(result, row, visitor);
        break;
    case KIND_ENTRY:
        visit_entry(result, row, visitor);
        break;
    case KIND_OUTCOME:
        visit_outcome(result, row, visitor);
        break;
    case KIND_LETTER:
        visit_letter(result, row, visitor);
        break;
    }
}

lanepool_status lanepool_i_pg_read_status(void *context, uint64_t seq,
                                          const lanepool_remote_visitor *visitor,
                                          lanepool_remote_news *news)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    memset(news, 0, sizeof *news);
    lanepool_i_pg_add_int8(lanepool_i_pg_begin(store), seq);
    lanepool_status status = lanepool_i_pg_call(store, &status_statement, &result);
    for (int row = 0; row < PQntuples(result); row++)
        visit_status_row(result, row, visitor, news);
    PQclear(result);
    return status;
}

static const struct pg_statement progress_statement = {
    PG_READ_PROGRESS, "lanepool_read_progress",
    "SELECT id, shard, last_seq FROM lane WHERE id = ANY ($1)"
};

lanepool_status lanepool_i_pg_read_progress(void *context, const uint64_t *lanes, size_t lane_count,
                                            const lanepool_remote_visitor *visitor)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    struct pg_parameters *parameters = lanepool_i_pg_begin(store);
    lanepool_i_pg_begin_array(parameters, PG_TYPE_INT8);
    for (size_t i = 0; i < lane_count; i++)
        lanepool_i_pg_put_int8(parameters, lanes[i]);
    lanepool_i_pg_end_array(parameters);
    lanepool_status status = lanepool_i_pg_call(store, &progress_statement, &result);
    for (int row = 0; row < PQntuples(result); row++) {
        lanepool_remote_lane_row lane = { .lane = lanepool_i_pg_int8(result, row, 0),
                                          .shard = lanepool_i_pg_int4(result, row, 1),
                                          .last_seq = lanepool_i_pg_int8(result, row, 2) };
        visitor->lane(visitor->context, &lane);
    }
    PQclear(result);
    return status;
}
