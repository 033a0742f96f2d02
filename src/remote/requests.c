/* Owns what the journal's thread does to append tasks; see node.h. */
#include "remote/node.h"

/* The rows of the tasks. */
struct rows {
    lanepool_remote_entry_row *entries;
    size_t count;
    size_t capacity;
    lanepool_i_remote_buffer bodies;
    size_t *ends; /* of the bodies */
    size_t end_capacity;
};

static size_t count_parts(const lanepool_i_remote_node *node, const lanepool_remote_task *task,
                          uint32_t *shards, bool *has)
{
    size_t count = 0;
    for (size_t i = 0; i < task->claim_count; i++) {
        uint32_t shard = lanepool_i_remote_shard_of(node->shard_count, &task->claims[i]);
        if (!has[shard])
            shards[count++] = shard;
        has[shard] = true;
    }
    for (size_t i = 0; i < count; i++)
        has[shards[i]] = false;
    return count;
}

/* The home's body has all claims, and the payload; that of another part only its own claims. */
static void write_body(const lanepool_i_remote_node *node, const lanepool_remote_task *task,
                       uint32_t shard, bool is_home, size_t part_count,
                       lanepool_i_remote_buffer *body)
{
    uint64_t count = 0;
    for (size_t i = 0; i < task->claim_count; i++)
        count +=
            is_home || lanepool_i_remote_shard_of(node->shard_count, &task->claims[i]) == shard;
    lanepool_i_remote_put_number(body, task->kind);
    lanepool_i_remote_put_number(body, part_count);
    lanepool_i_remote_put_number(body, count);
    for (size_t i = 0; i < task->claim_count; i++) {
        const lanepool_remote_claim *claim = &task->claims[i];
        if (!is_home && lanepool_i_remote_shard_of(node->shard_count, claim) != shard)
            continue;
        lanepool_i_remote_put_number(body, claim->lane);
        lanepool_i_remote_put_number(body, claim->group);
    }
    if (is_home)
        lanepool_i_remote_put_raw(body, task->payload);
}

static bool add_entry_row(struct rows *rows, uint64_t index, uint32_t shard, uint32_t home)
{
    size_t end_count = rows->count + 1;
    if (rows->bodies.has_failed ||
        !lanepool_i_remote_grow(&rows->entries, &rows->capacity, end_count,
                                sizeof *rows->entries) ||
        !lanepool_i_remote_grow(&rows->ends, &rows->end_capacity, end_count, sizeof *rows->ends))
        return false;
    rows->ends[rows->count] = rows->bodies.size;
    rows->entries[rows->count++] =
        (lanepool_remote_entry_row){ .seq = index, .shard = shard, .home = home };
    return true;
}

static bool add_entry_rows(const lanepool_i_remote_node *node, struct rows *rows,
                           const lanepool_remote_task *task, uint64_t index, uint32_t *shards,
                           bool *has)
{
    size_t count = count_parts(node, task, shards, has);
    for (size_t i = 0; i < count; i++) {
        write_body(node, task, shards[i], i == 0, count, &rows->bodies);
        if (!add_entry_row(rows, index, shards[i], shards[0]))
            return false;
    }
    return true;
}

static bool make_rows(const lanepool_i_remote_node *node, struct rows *rows,
                      const lanepool_remote_task *tasks, size_t count)
{
    uint32_t *shards = lanepool_i_remote_alloc(node->shard_count * sizeof *shards);
    bool *has = lanepool_i_remote_alloc(node->shard_count * sizeof *has);
    bool is_made = shards != NULL && has != NULL;
    for (size_t i = 0; is_made && i < count; i++)
        is_made = add_entry_rows(node, rows, &tasks[i], i, shards, has);
    lanepool_i_remote_free(shards);
    lanepool_i_remote_free(has);
    size_t begin = 0;
    for (size_t i = 0; is_made && i < rows->count; i++) {
        rows->entries[i].body =
            (lanepool_remote_bytes){ rows->bodies.data + begin, rows->ends[i] - begin };
        begin = rows->ends[i];
    }
    return is_made;
}

/* The token is drawn once: a later node may have to repeat the call. */
lanepool_status lanepool_i_remote_answer_append(lanepool_i_remote_node *node,
                                                lanepool_i_remote_request *request)
{
    lanepool_remote *remote = node->remote;
    struct rows rows = { 0 };
    if (request->token[0] == 0 && request->token[1] == 0) {
        request->token[0] = node->id.key[0] + ++node->drawn;
        request->token[1] = node->id.key[1];
    }
    lanepool_status status = LANEPOOL_NOMEM;
    if (make_rows(node, &rows, request->tasks, request->task_count)) {
        lanepool_remote_append append = {
            { request->token[0], request->token[1] }, request->task_count, rows.entries, rows.count
        };
        status = remote->functions.append(remote->store, &append, &request->seq);
    }
    lanepool_i_remote_buffer_fini(&rows.bodies);
    lanepool_i_remote_free(rows.entries);
    lanepool_i_remote_free(rows.ends);
    return status;
}
