/* A node's step and poll: rows become arrays, one for each column, and letters come back. */
#include "adapters/pg/store.h"

#include <string.h>

static const struct pg_statement step_statement = {
    PG_STEP, "lanepool_step",
    "SELECT * FROM step($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,"
    " $18, $19, $20, $21, $22, $23, $24, $25)"
};

static const struct pg_statement poll_statement = { PG_POLL, "lanepool_poll",
                                                    "SELECT * FROM poll($1, $2, $3, $4, $5)" };

/* Adds an array of one column of all rows. */
#define ADD_NUMBERS(parameters, bits, rows, count, member)               \
    do {                                                                 \
        lanepool_i_pg_begin_array(parameters, PG_TYPE_INT##bits);        \
        for (size_t row = 0; row < (count); row++)                       \
            lanepool_i_pg_put_int##bits(parameters, (rows)[row].member); \
        lanepool_i_pg_end_array(parameters);                             \
    } while (0)

#define ADD_BYTES(parameters, rows, count, member)                                                 \
    do {                                                                                           \
        lanepool_i_pg_begin_array(parameters, PG_TYPE_BYTEA);                                      \
        for (size_t row = 0; row < (count); row++)                                                 \
            lanepool_i_pg_put_bytes(parameters, (rows)[row].member.data, (rows)[row].member.size); \
        lanepool_i_pg_end_array(parameters);                                                       \
    } while (0)

static void add_rows(struct pg_parameters *parameters, const lanepool_remote_step *step)
{
    ADD_NUMBERS(parameters, 8, step->lanes, step->lane_count, lane);
    ADD_NUMBERS(parameters, 4, step->lanes, step->lane_count, shard);
    ADD_NUMBERS(parameters, 8, step->lanes, step->lane_count, last_seq);
    ADD_BYTES(parameters, step->lanes, step->lane_count, state);
    ADD_NUMBERS(parameters, 8, step->effects, step->effect_count, seq);
    ADD_NUMBERS(parameters, 4, step->effects, step->effect_count, part);
    ADD_BYTES(parameters, step->effects, step->effect_count, data);
    ADD_NUMBERS(parameters, 8, step->outcomes, step->outcome_count, seq);
    lanepool_i_pg_begin_array(parameters, PG_TYPE_INT4);
    for (size_t i = 0; i < step->outcome_count; i++)
        lanepool_i_pg_put_int4(parameters, (uint32_t)step->outcomes[i].code);
    lanepool_i_pg_end_array(parameters);
    ADD_NUMBERS(parameters, 4, step->outcomes, step->outcome_count, home);
    ADD_NUMBERS(parameters, 4, step->letters, step->letter_count, shard);
    ADD_NUMBERS(parameters, 8, step->letters, step->letter_count, upto);
    ADD_BYTES(parameters, step->letters, step->letter_count, body);
}

static void add_look(struct pg_parameters *parameters, const lanepool_remote_look *look)
{
    lanepool_i_pg_add_shards(parameters, look->shards, look->shard_count);
    ADD_NUMBERS(parameters, 8, look->cursors, look->cursor_count, sender);
    ADD_NUMBERS(parameters, 8, look->cursors, look->cursor_count, step);
}

static void read_news(const PGresult *result, lanepool_remote_news *news)
{
    memset(news, 0, sizeof *news);
    for (int row = 0; row < PQntuples(result); row++) {
        if (!lanepool_i_pg_is_head(result, row))
            continue;
        news->appended = lanepool_i_pg_int8(result, row, 1);
        news->done = lanepool_i_pg_int8(result, row, 2);
        news->is_sealed = lanepool_i_pg_int8(result, row, 3) != 0;
    }
}

void lanepool_i_pg_visit_letters(const PGresult *result, const lanepool_remote_visitor *visitor)
{
    for (int row = 0; row < PQntuples(result); row++) {
        if (lanepool_i_pg_is_head(result, row))
            continue;
        lanepool_remote_letter_row letter = { .shard = lanepool_i_pg_int4(result, row, 0),
                                              .upto = lanepool_i_pg_int8(result, row, 1),
                                              .sender = lanepool_i_pg_int8(result, row, 2),
                                              .step = lanepool_i_pg_int8(result, row, 3),
                                              .body = lanepool_i_pg_bytes(result, row, 4) };
        visitor->letter(visitor->context, &letter);
    }
}

static lanepool_status take_letters(lanepool_status status, PGresult *result,
                                    const lanepool_remote_visitor *visitor,
                                    lanepool_remote_news *news)
{
    if (status == LANEPOOL_OK) {
        read_news(result, news);
        lanepool_i_pg_visit_letters(result, visitor);
    }
    PQclear(result);
    return status;
}

lanepool_status lanepool_i_pg_step(void *context, const lanepool_remote_node *node,
                                   const lanepool_remote_step *step,
                                   const lanepool_remote_visitor *visitor,
                                   lanepool_remote_news *news)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    struct pg_parameters *parameters = lanepool_i_pg_begin_node(store, node);
    lanepool_i_pg_add_int8(parameters, step->number);
    lanepool_i_pg_add_int4(parameters, step->leaves);
    add_rows(parameters, step);
    lanepool_i_pg_add_progress(parameters, step->progress, step->progress_count);
    lanepool_i_pg_add_progress(parameters, step->unneeded, step->unneeded_count);
    lanepool_i_pg_add_shards(parameters, step->given_up, step->given_up_count);
    add_look(parameters, &step->look);
    lanepool_status status = lanepool_i_pg_call_node(store, &step_statement, &result);
    return take_letters(status, result, visitor, news);
}

lanepool_status lanepool_i_pg_poll(void *context, const lanepool_remote_node *node,
                                   const lanepool_remote_look *look,
                                   const lanepool_remote_visitor *visitor,
                                   lanepool_remote_news *news)
{
    lanepool_pg_store *store = context;
    PGresult *result;
    struct pg_parameters *parameters = lanepool_i_pg_begin_node(store, node);
    add_look(parameters, look);
    lanepool_status status = lanepool_i_pg_call_node(store, &poll_statement, &result);
    return take_letters(status, result, visitor, news);
}
