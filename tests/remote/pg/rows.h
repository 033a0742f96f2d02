/* What a store has visited, copied, for the tests of stores in PostgreSQL. */
#ifndef TESTS_REMOTE_PG_ROWS_H
#define TESTS_REMOTE_PG_ROWS_H

#include "lanepool/adapters/pg.h"

enum { ROWS_MOST = 64, ROW_BYTES_MOST = 32 };

struct rows {
    size_t shard_count;
    size_t lane_count;
    size_t entry_count;
    size_t letter_count;
    size_t node_count;
    size_t outcome_count;
    size_t letter_bytes; /* of all letters, also of those behind ROWS_MOST */
    lanepool_remote_shard_row shards[ROWS_MOST];
    lanepool_remote_lane_row lanes[ROWS_MOST]; /* their bytes, and those below, are in `text` */
    lanepool_remote_entry_row entries[ROWS_MOST];
    lanepool_remote_letter_row letters[ROWS_MOST];
    lanepool_remote_node_row nodes[ROWS_MOST];
    lanepool_remote_outcome_row outcomes[ROWS_MOST];
    char text[6 * ROWS_MOST][ROW_BYTES_MOST];
    size_t text_count;
};

/* Empties the rows, and returns a visitor that adds to them. */
lanepool_remote_visitor rows_begin(struct rows *rows);

/* Returns whether the bytes are those of the text. */
bool rows_equal(lanepool_remote_bytes bytes, const char *text);

/* Returns the bytes of a text, without its zero. */
lanepool_remote_bytes rows_bytes(const char *text);

#endif
