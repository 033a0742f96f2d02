/* Owns what the journal's thread does for the program's calls: appending and explaining; see
 * node.h. */
#include "remote/node.h"

#include <stdarg.h>
#include <stdio.h>

/* --- append --- */

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

/* --- explain --- */

struct story {
    lanepool_i_remote_buffer *text;
    uint64_t seq;
    lanepool_remote_shard_row *shards;
    size_t shard_count, shard_capacity;
    lanepool_remote_node_row *nodes;
    size_t node_count, node_capacity;
    lanepool_remote_entry_row *entries;
    size_t entry_count, entry_capacity;
    lanepool_remote_outcome_row outcome;
    bool has_outcome;
    bool has_failed;
};

static void keep_shard(void *context, const lanepool_remote_shard_row *row)
{
    struct story *story = context;
    if (lanepool_i_remote_grow(&story->shards, &story->shard_capacity, story->shard_count + 1,
                               sizeof *row))
        story->shards[story->shard_count++] = *row;
    else
        story->has_failed = true;
}

static void keep_node(void *context, const lanepool_remote_node_row *row)
{
    struct story *story = context;
    if (!lanepool_i_remote_grow(&story->nodes, &story->node_capacity, story->node_count + 1,
                                sizeof *row)) {
        story->has_failed = true;
        return;
    }
    lanepool_remote_node_row *copy = &story->nodes[story->node_count++];
    lanepool_remote_bytes name = { NULL, 0 };
    size_t size = 0;
    while (row->name[size] != 0)
        size++;
    if (!lanepool_i_remote_copy(&name, (lanepool_remote_bytes){ row->name, size + 1 }))
        story->has_failed = true;
    *copy = *row;
    copy->name = name.data;
}

static void keep_entry_row(void *context, const lanepool_remote_entry_row *row)
{
    struct story *story = context;
    if (!lanepool_i_remote_grow(&story->entries, &story->entry_capacity, story->entry_count + 1,
                                sizeof *row)) {
        story->has_failed = true;
        return;
    }
    lanepool_remote_entry_row *copy = &story->entries[story->entry_count++];
    *copy = *row;
    copy->body = (lanepool_remote_bytes){ NULL, 0 };
}

static void keep_outcome(void *context, const lanepool_remote_outcome_row *row)
{
    struct story *story = context;
    story->outcome = *row;
    story->has_outcome = true;
}

static void ignore_letter(void *context, const lanepool_remote_letter_row *row)
{
    (void)context;
    (void)row;
}

static const lanepool_remote_shard_row *shard_of(const struct story *story, uint32_t shard)
{
    for (size_t i = 0; i < story->shard_count; i++)
        if (story->shards[i].shard == shard)
            return &story->shards[i];
    return NULL;
}

static const lanepool_remote_node_row *node_of(const struct story *story, uint64_t id)
{
    for (size_t i = 0; i < story->node_count; i++)
        if (story->nodes[i].id == id)
            return &story->nodes[i];
    return NULL;
}

static bool is_task_done(const struct story *story)
{
    for (size_t i = 0; i < story->entry_count; i++) {
        const lanepool_remote_shard_row *shard = shard_of(story, story->entries[i].shard);
        if (shard == NULL || shard->low < story->seq)
            return false;
    }
    return story->entry_count > 0;
}

__attribute__((format(printf, 2, 3))) static void tell(struct story *story, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t most = sizeof line - 1;
    if (size > 0)
        lanepool_i_remote_put_raw(
            story->text,
            (lanepool_remote_bytes){ line, (size_t)size < most ? (size_t)size : most });
}

static void tell_owner(struct story *story, const lanepool_remote_shard_row *shard)
{
    const lanepool_remote_node_row *node = node_of(story, shard->owner);
    if (shard->owner == 0)
        tell(story, "no node has it");
    else if (node == NULL || node->is_dead)
        tell(story, "its node %llu is dead", (unsigned long long)shard->owner);
    else
        tell(story, "node %llu (%.64s) has it, seen %.1f s ago", (unsigned long long)shard->owner,
             node->name, (double)node->seen_before_ns / 1e9);
}

static void tell_entry(struct story *story, const lanepool_remote_entry_row *entry)
{
    const lanepool_remote_shard_row *shard = shard_of(story, entry->shard);
    if (shard == NULL)
        return;
    tell(story, "  shard %u%s: ", entry->shard, entry->shard == entry->home ? ", its home" : "");
    if (shard->low >= story->seq)
        tell(story, "done");
    else
        tell(story, "all tasks up to %llu are done", (unsigned long long)shard->low);
    tell(story, "; ");
    tell_owner(story, shard);
    tell(story, ".\n");
}

static void tell_all(struct story *story, const lanepool_remote_news *news)
{
    unsigned long long seq = story->seq;
    if (story->seq > news->appended) {
        tell(story, "Task %llu does not exist: the batch has %llu tasks.\n", seq,
             (unsigned long long)news->appended);
        return;
    }
    if (is_task_done(story) && story->has_outcome && story->outcome.code != 0)
        tell(story, "Task %llu has failed with code %d.\n", seq, (int)story->outcome.code);
    else if (is_task_done(story))
        tell(story, "Task %llu is done.\n", seq);
    else
        tell(story, "Task %llu is not done. It needs %zu of %zu shards:\n", seq, story->entry_count,
             story->shard_count);
    for (size_t i = 0; i < story->entry_count; i++)
        tell_entry(story, &story->entries[i]);
}

static void fill_view(const lanepool_i_remote_node *node, const struct story *story,
                      const lanepool_remote_news *news, lanepool_remote_view *view)
{
    *view = (lanepool_remote_view){ .news = *news,
                                    .counts = node->remote->counts,
                                    .shards = (uint32_t)story->shard_count,
                                    .own_shards = node->own_count };
    for (size_t i = 0; i < story->node_count; i++)
        view->live_nodes += !story->nodes[i].is_dead;
    for (size_t i = 0; i < story->shard_count; i++) {
        const lanepool_remote_node_row *owner = node_of(story, story->shards[i].owner);
        view->free_shards += owner == NULL || owner->is_dead;
    }
}

static void free_story(struct story *story)
{
    for (size_t i = 0; i < story->node_count; i++)
        lanepool_i_remote_free((void *)story->nodes[i].name);
    lanepool_i_remote_free(story->nodes);
    lanepool_i_remote_free(story->shards);
    lanepool_i_remote_free(story->entries);
}

static lanepool_status answer_with(lanepool_i_remote_node *node, lanepool_i_remote_request *request,
                                   const struct story *story, const lanepool_remote_news *news)
{
    lanepool_remote *remote = node->remote;
    if (story->has_failed)
        return LANEPOOL_NOMEM;
    if (request->view != NULL)
        fill_view(node, story, news, request->view);
    if (request->outcome == NULL)
        return LANEPOOL_OK;
    if (!is_task_done(story))
        return LANEPOOL_TIMED_OUT;
    *request->outcome =
        (lanepool_remote_outcome){ story->has_outcome ? story->outcome.code : 0, 0 };
    return remote->functions.flush(remote->store);
}

/* One snapshot serves status, explain and await. */
lanepool_status lanepool_i_remote_answer_explain(lanepool_i_remote_node *node,
                                                 lanepool_i_remote_request *request)
{
    lanepool_remote *remote = node->remote;
    struct story story = { .text = request->text, .seq = request->seq };
    const lanepool_remote_visitor visitor = { .context = &story,
                                              .shard = keep_shard,
                                              .node = keep_node,
                                              .entry = keep_entry_row,
                                              .letter = ignore_letter,
                                              .outcome = keep_outcome };
    lanepool_remote_news news = { 0 };
    lanepool_status status =
        remote->functions.read_status(remote->store, request->seq, &visitor, &news);
    if (status == LANEPOOL_OK && request->text != NULL)
        tell_all(&story, &news);
    if (status == LANEPOOL_OK)
        status = answer_with(node, request, &story, &news);
    free_story(&story);
    return status;
}
