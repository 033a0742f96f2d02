/* Owns what the journal's thread does to explain a task, and to tell the state of the batch; see
 * node.h. */
#include "remote/node.h"

#include <stdarg.h>
#include <stdio.h>

enum { LANES_TOLD = 16 }; /* of each shard; the rest are counted */

struct story {
    lanepool_i_remote_buffer *text;
    uint64_t seq;
    lanepool_remote_shard_row *shards;
    size_t shard_count, shard_capacity;
    lanepool_remote_node_row *nodes;
    size_t node_count, node_capacity;
    lanepool_remote_entry_row *entries;
    size_t entry_count, entry_capacity;
    lanepool_remote_bytes home_body; /* its claims are all claims of the task */
    lanepool_i_remote_ahead *lanes;
    size_t lane_count;
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
    if (row->shard == row->home && !lanepool_i_remote_copy(&story->home_body, row->body))
        story->has_failed = true;
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

static void tell_lane(struct story *story, const lanepool_i_remote_ahead *lane)
{
    tell(story, "    lane %llu: ", (unsigned long long)lane->lane);
    if (lane->last_seq >= story->seq)
        tell(story, "the task is done here");
    else if (lane->count == 0 && lane->is_cut_short)
        tell(story, "more tasks of the shard are before it than were read");
    else if (lane->count == 0)
        tell(story, "no task is before it");
    else if (lane->count == 1 && !lane->is_cut_short)
        tell(story, "task %llu is before it", (unsigned long long)lane->first_seq);
    else
        tell(story, "task %llu is the first of %s%zu before it",
             (unsigned long long)lane->first_seq, lane->is_cut_short ? "at least " : "",
             lane->count);
    tell(story, ".\n");
}

static void tell_lanes_of(struct story *story, uint32_t shard)
{
    size_t told = 0;
    for (size_t i = 0; i < story->lane_count; i++)
        if (story->lanes[i].shard == shard && told++ < LANES_TOLD)
            tell_lane(story, &story->lanes[i]);
    if (told > LANES_TOLD)
        tell(story, "    and %zu more lanes.\n", told - LANES_TOLD);
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
    tell_lanes_of(story, entry->shard);
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
    lanepool_i_remote_free(story->lanes);
    lanepool_i_remote_drop(&story->home_body);
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

/* Reads what is before the task in its lanes, unless it is done. */
static lanepool_status read_ahead(lanepool_i_remote_node *node, struct story *story)
{
    lanepool_remote_progress *from = NULL;
    size_t count = 0;
    if (story->has_failed || story->entry_count == 0 || is_task_done(story))
        return LANEPOOL_OK;
    from = lanepool_i_remote_alloc(story->entry_count * sizeof *from);
    if (from == NULL)
        return LANEPOOL_NOMEM;
    for (size_t i = 0; i < story->entry_count; i++) {
        const lanepool_remote_shard_row *shard = shard_of(story, story->entries[i].shard);
        if (shard != NULL && shard->low < story->seq)
            from[count++] = (lanepool_remote_progress){ shard->shard, shard->low };
    }
    lanepool_status status = lanepool_i_remote_read_ahead(node, story->home_body, story->seq, from,
                                                          count, &story->lanes, &story->lane_count);
    lanepool_i_remote_free(from);
    return status;
}

/* One snapshot serves status and await, and the part of explain that is not about lanes. */
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
        status = read_ahead(node, &story);
    if (status == LANEPOOL_OK && request->text != NULL)
        tell_all(&story, &news);
    if (status == LANEPOOL_OK)
        status = answer_with(node, request, &story, &news);
    free_story(&story);
    return status;
}
