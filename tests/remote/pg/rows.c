#include "remote/pg/rows.h"

#include <string.h>

#include "support/test.h"

static lanepool_remote_bytes copy_bytes(struct rows *rows, lanepool_remote_bytes bytes)
{
    char *text = rows->text[rows->text_count++];
    expect(bytes.size < ROW_BYTES_MOST);
    if (bytes.size > 0)
        memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    return (lanepool_remote_bytes){ text, bytes.size };
}

static void add_shard(void *context, const lanepool_remote_shard_row *row)
{
    struct rows *rows = context;
    if (rows->shard_count < ROWS_MOST)
        rows->shards[rows->shard_count] = *row;
    rows->shard_count++;
}

static void add_lane(void *context, const lanepool_remote_lane_row *row)
{
    struct rows *rows = context;
    if (rows->lane_count < ROWS_MOST) {
        rows->lanes[rows->lane_count] = *row;
        rows->lanes[rows->lane_count].state = copy_bytes(rows, row->state);
    }
    rows->lane_count++;
}

static void add_entry(void *context, const lanepool_remote_entry_row *row)
{
    struct rows *rows = context;
    if (rows->entry_count < ROWS_MOST) {
        rows->entries[rows->entry_count] = *row;
        rows->entries[rows->entry_count].body = copy_bytes(rows, row->body);
    }
    rows->entry_count++;
}

static void add_letter(void *context, const lanepool_remote_letter_row *row)
{
    struct rows *rows = context;
    if (rows->letter_count < ROWS_MOST) {
        rows->letters[rows->letter_count] = *row;
        rows->letters[rows->letter_count].body = copy_bytes(rows, row->body);
    }
    rows->letter_count++;
    rows->letter_bytes += row->body.size;
}

static void add_node(void *context, const lanepool_remote_node_row *row)
{
    struct rows *rows = context;
    if (rows->node_count < ROWS_MOST) {
        rows->nodes[rows->node_count] = *row;
        rows->nodes[rows->node_count].name = copy_bytes(rows, rows_bytes(row->name)).data;
    }
    rows->node_count++;
}

static void add_outcome(void *context, const lanepool_remote_outcome_row *row)
{
    struct rows *rows = context;
    if (rows->outcome_count < ROWS_MOST)
        rows->outcomes[rows->outcome_count] = *row;
    rows->outcome_count++;
}

lanepool_remote_visitor rows_begin(struct rows *rows)
{
    memset(rows, 0, sizeof *rows);
    return (lanepool_remote_visitor){ rows,       add_shard, add_lane,   add_entry,
                                      add_letter, add_node,  add_outcome };
}

bool rows_equal(lanepool_remote_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

lanepool_remote_bytes rows_bytes(const char *text)
{
    return (lanepool_remote_bytes){ text, strlen(text) };
}
