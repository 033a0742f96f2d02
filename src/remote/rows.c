/* Owns the rows of the next step; see node.h. */
#include "remote/node.h"

void lanepool_i_remote_fail(lanepool_i_remote_node *node, lanepool_status status)
{
    if (node->status == LANEPOOL_OK)
        node->status = status;
}

void lanepool_i_remote_mark(lanepool_i_remote_node *node, lanepool_i_remote_lane *lane,
                            uint64_t seq)
{
    lanepool_i_remote_rows *rows = &node->rows;
    lane->last_seq = seq;
    if (lane->is_dirty)
        return;
    if (!lanepool_i_remote_grow(&rows->dirty, &rows->dirty_capacity, rows->dirty_count + 1,
                                sizeof(lanepool_i_remote_lane *))) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    lane->is_dirty = true;
    rows->dirty[rows->dirty_count++] = lane;
}

lanepool_i_remote_buffer *lanepool_i_remote_letters_to(lanepool_i_remote_node *node, uint32_t shard,
                                                       uint64_t seq)
{
    lanepool_i_remote_rows *rows = &node->rows;
    lanepool_i_remote_outgoing *outgoing = NULL;
    for (size_t i = 0; i < rows->outgoing_count && outgoing == NULL; i++)
        if (rows->outgoing[i].shard == shard)
            outgoing = &rows->outgoing[i];
    if (outgoing == NULL) {
        if (!lanepool_i_remote_grow(&rows->outgoing, &rows->outgoing_capacity,
                                    rows->outgoing_count + 1, sizeof *rows->outgoing)) {
            lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
            return NULL;
        }
        outgoing = &rows->outgoing[rows->outgoing_count++];
        *outgoing = (lanepool_i_remote_outgoing){ .shard = shard };
    }
    if (outgoing->upto < seq)
        outgoing->upto = seq;
    return &outgoing->body;
}

void lanepool_i_remote_list_lanes(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    if (!lanepool_i_remote_grow(&rows->lanes, &rows->lane_capacity,
                                rows->lane_count + rows->dirty_count, sizeof *rows->lanes)) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    for (size_t i = 0; i < rows->dirty_count; i++) {
        lanepool_i_remote_lane *lane = rows->dirty[i];
        lane->is_dirty = false;
        rows->lanes[rows->lane_count++] =
            (lanepool_remote_lane_row){ lane->link.number, lane->shard, lane->last_seq,
                                        lane->stored };
    }
    rows->dirty_count = 0;
}

void lanepool_i_remote_list_letters(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    if (!lanepool_i_remote_grow(&rows->letters, &rows->letter_capacity, rows->outgoing_count,
                                sizeof *rows->letters)) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    for (size_t i = 0; i < rows->outgoing_count; i++) {
        const lanepool_i_remote_outgoing *outgoing = &rows->outgoing[i];
        if (outgoing->body.has_failed)
            lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        rows->letters[i] =
            (lanepool_remote_letter_row){ outgoing->shard,
                                          outgoing->upto,
                                          node->id.id,
                                          node->step_number + 1,
                                          { outgoing->body.data, outgoing->body.size } };
    }
}

bool lanepool_i_remote_has_rows(const lanepool_i_remote_node *node)
{
    const lanepool_i_remote_rows *rows = &node->rows;
    return rows->dirty_count + rows->lane_count + rows->effect_count + rows->outcome_count +
               rows->outgoing_count + rows->progress_count + rows->given_up_count >
           0;
}

void lanepool_i_remote_clear_rows(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    for (size_t i = 0; i < rows->outgoing_count; i++)
        lanepool_i_remote_buffer_fini(&rows->outgoing[i].body);
    rows->lane_count = 0;
    rows->effect_count = 0;
    rows->outcome_count = 0;
    rows->outgoing_count = 0;
    rows->progress_count = 0;
    rows->unneeded_count = 0;
    rows->given_up_count = 0;
}

void lanepool_i_remote_free_rows(lanepool_i_remote_rows *rows)
{
    for (size_t i = 0; i < rows->outgoing_count; i++)
        lanepool_i_remote_buffer_fini(&rows->outgoing[i].body);
    lanepool_i_remote_free(rows->lanes);
    lanepool_i_remote_free(rows->dirty);
    lanepool_i_remote_free(rows->effects);
    lanepool_i_remote_free(rows->outcomes);
    lanepool_i_remote_free(rows->outgoing);
    lanepool_i_remote_free(rows->letters);
    lanepool_i_remote_free(rows->progress);
    lanepool_i_remote_free(rows->unneeded);
    lanepool_i_remote_free(rows->given_up);
    lanepool_i_remote_free(rows->own);
}
