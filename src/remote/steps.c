/* Owns the journal's write, which makes steps of ended tasks; see node.h. */
#include "remote/node.h"

#define POLL_NS_MIN   ((uint64_t)500000)
#define POLL_NS_MAX   ((uint64_t)8000000)
#define POLL_NS_IDLE  ((uint64_t)50000000) /* without a shard */
#define DELETE_EVERY  16                   /* steps between two deletions of letters */
#define DELETE_BEHIND ((uint64_t)64)       /* or so many tasks that are done */

/* --- progress --- */

/* Letters cost little until they are deleted, so that is done for many at once. */
static bool deletes_letters(const lanepool_i_remote_node *node,
                            const lanepool_i_remote_shard *shard)
{
    return (node->step_number % DELETE_EVERY == 0 && shard->low > shard->deleted_upto) ||
           shard->low > shard->deleted_upto + DELETE_BEHIND ||
           (shard->low > shard->deleted_upto && node->news.is_sealed &&
            shard->low >= node->news.appended);
}

static void list_progress(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    rows->own_count = 0;
    for (uint32_t i = 0; i < node->shard_count; i++) {
        lanepool_i_remote_shard *shard = &node->shards[i];
        if (!shard->is_own)
            continue;
        rows->own[rows->own_count++] = i;
        lanepool_i_remote_advance(node, i);
        if (shard->low > shard->sent_low)
            rows->progress[rows->progress_count++] = (lanepool_remote_progress){ i, shard->low };
    }
}

static void list_unneeded(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    for (size_t i = 0; i < rows->own_count; i++) {
        const lanepool_i_remote_shard *shard = &node->shards[rows->own[i]];
        uint64_t upto = REMOTE_PLANTED(LETTER_DELETED) ? shard->fetched : shard->low;
        if (deletes_letters(node, shard))
            rows->unneeded[rows->unneeded_count++] =
                (lanepool_remote_progress){ rows->own[i], upto };
    }
}

/* --- letters --- */

static void advance_cursor(lanepool_i_remote_node *node, uint64_t sender, uint64_t step)
{
    for (size_t i = 0; i < node->cursor_count; i++) {
        if (node->cursors[i].sender != sender)
            continue;
        if (node->cursors[i].step < step)
            node->cursors[i].step = step;
        return;
    }
    if (!lanepool_i_remote_grow(&node->cursors, &node->cursor_capacity, node->cursor_count + 1,
                                sizeof *node->cursors)) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    node->cursors[node->cursor_count++] = (lanepool_remote_cursor){ sender, step };
}

static void read_letter(void *context, const lanepool_remote_letter_row *row)
{
    lanepool_i_remote_node *node = context;
    advance_cursor(node, row->sender, row->step);
    lanepool_i_remote_read(node, row);
    node->poll_ns = POLL_NS_MIN;
}

/* Without shards that are given up. */
static lanepool_remote_look make_look(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    size_t count = 0;
    for (size_t i = 0; i < rows->own_count; i++) {
        bool is_given_up = false;
        for (size_t j = 0; j < rows->given_up_count; j++)
            is_given_up = is_given_up || rows->given_up[j] == rows->own[i];
        if (!is_given_up)
            rows->own[count++] = rows->own[i];
    }
    rows->own_count = count;
    return (lanepool_remote_look){ rows->own, count, node->cursors, node->cursor_count };
}

/* --- steps --- */

static void note_step(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    node->remote->counts.steps++;
    node->remote->counts.letters += rows->outgoing_count;
    node->remote->counts.given_up += rows->given_up_count;
    for (size_t i = 0; i < rows->progress_count; i++)
        node->shards[rows->progress[i].shard].sent_low = rows->progress[i].low;
    for (size_t i = 0; i < rows->unneeded_count; i++)
        node->shards[rows->unneeded[i].shard].deleted_upto = rows->unneeded[i].low;
    lanepool_i_remote_forget_given_up(node);
}

/* Planted: the rows of effects wait for the next step. */
static size_t count_effects(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    return REMOTE_PLANTED(EFFECTS_LATE) ? rows->late_count : rows->effect_count;
}

static void clear_effects_but_late(lanepool_i_remote_node *node, size_t sent)
{
    lanepool_i_remote_rows *rows = &node->rows;
    size_t left = rows->effect_count - sent;
    for (size_t i = 0; i < left; i++)
        rows->effects[i] = rows->effects[sent + i];
    lanepool_i_remote_clear_rows(node);
    rows->effect_count = rows->late_count = left;
}

/* Its own letters were delivered when they were written: the node does not read them again. */
static void make_node_step(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    lanepool_remote *remote = node->remote;
    lanepool_remote_news news = { 0 };
    const lanepool_remote_visitor visitor = { .context = node, .letter = read_letter };
    lanepool_i_remote_list_lanes(node);
    lanepool_i_remote_list_letters(node);
    list_unneeded(node);
    advance_cursor(node, node->id.id, node->step_number + 1);
    if (node->status != LANEPOOL_OK)
        return;
    size_t effect_count = count_effects(node);
    lanepool_remote_step step = {
        .number = ++node->step_number,
        .lanes = rows->lanes,
        .lane_count = rows->lane_count,
        .effects = rows->effects,
        .effect_count = effect_count,
        .outcomes = rows->outcomes,
        .outcome_count = rows->outcome_count,
        .letters = rows->letters,
        .letter_count = rows->outgoing_count,
        .progress = rows->progress,
        .progress_count = rows->progress_count,
        .unneeded = rows->unneeded,
        .unneeded_count = rows->unneeded_count,
        .given_up = rows->given_up,
        .given_up_count = rows->given_up_count,
        .leaves = node->leaves,
        .look = make_look(node),
    };
    lanepool_i_remote_fail(
        node, remote->functions.step(remote->store, &node->id, &step, &visitor, &news));
    if (node->status != LANEPOOL_OK)
        return;
    lanepool_i_remote_learn(node, &news);
    note_step(node);
    node->has_left = step.leaves;
    clear_effects_but_late(node, effect_count);
}

static void make_poll(lanepool_i_remote_node *node)
{
    lanepool_remote *remote = node->remote;
    lanepool_remote_news news = { 0 };
    const lanepool_remote_visitor visitor = { .context = node, .letter = read_letter };
    lanepool_remote_look look = make_look(node);
    remote->counts.polls++;
    lanepool_i_remote_fail(
        node, remote->functions.poll(remote->store, &node->id, &look, &visitor, &news));
    if (node->status == LANEPOOL_OK)
        lanepool_i_remote_learn(node, &news);
}

/* --- the journal's write --- */

static void take_request(lanepool_i_remote_node *node, lanepool_i_remote_request *request)
{
    if (!lanepool_i_remote_grow(&node->requests, &node->request_capacity, node->request_count + 1,
                                sizeof(lanepool_i_remote_request *))) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    node->requests[node->request_count++] = request;
}

/* Returns true if an own task has ended. */
static bool take_ended(lanepool_i_remote_node *node, const lanepool_journal_entry *ended)
{
    if (ended->function == lanepool_i_remote_tick) {
        node->has_tick = false;
        return false;
    }
    if (ended->function == lanepool_i_remote_request_fn) {
        take_request(node, ended->context);
        return false;
    }
    lanepool_i_remote_ended(node, ended);
    return true;
}

static void answer_requests(lanepool_i_remote_node *node)
{
    for (size_t i = 0; i < node->request_count && node->status == LANEPOOL_OK; i++) {
        lanepool_i_remote_request *request = node->requests[i];
        request->status = request->answer(node, request);
        if (request->status == LANEPOOL_UNAVAILABLE || request->status == LANEPOOL_FENCED)
            lanepool_i_remote_fail(node, request->status);
    }
    node->request_count = 0;
}

static void free_spent(lanepool_i_remote_node *node)
{
    if (!REMOTE_PLANTED(EFFECTS_LATE))
        for (size_t i = 0; i < node->spent_count; i++)
            lanepool_i_remote_free_entry(node->spent[i]);
    node->spent_count = 0;
}

static void schedule_tick(lanepool_i_remote_node *node, bool is_busy)
{
    uint64_t most_ns = node->own_count > 0 ? POLL_NS_MAX : POLL_NS_IDLE;
    node->poll_ns = is_busy ? POLL_NS_MIN : node->poll_ns + node->poll_ns / 2;
    if (node->poll_ns < POLL_NS_MIN)
        node->poll_ns = POLL_NS_MIN;
    if (node->poll_ns > most_ns)
        node->poll_ns = most_ns;
    if (node->has_tick)
        return;
    lanepool_task tick = LANEPOOL_TASK_INIT;
    tick.function = lanepool_i_remote_tick;
    lanepool_status status = lanepool_pool_submit_after(node->pool, &tick, (int64_t)node->poll_ns);
    node->has_tick = status == LANEPOOL_OK;
    lanepool_i_remote_fail(node, status);
}

static void work_once(lanepool_i_remote_node *node)
{
    lanepool_i_remote_give_up(node);
    list_progress(node);
    if (lanepool_i_remote_has_rows(node) || node->leaves)
        make_node_step(node);
    else
        make_poll(node);
    if (node->status == LANEPOOL_OK && !node->has_left)
        lanepool_i_remote_renew(node);
    if (node->status == LANEPOOL_OK)
        lanepool_i_remote_refill(node);
}

int lanepool_i_remote_write(void *user, const lanepool_journal_entry *entries, size_t count,
                            uint64_t watermark)
{
    lanepool_i_remote_node *node = user;
    bool is_busy = false;
    (void)watermark;
    if (!node->is_welcome && count == 0)
        return 0;
    if (!node->is_welcome)
        lanepool_i_remote_fail(node, lanepool_i_remote_begin(node));
    for (size_t i = 0; i < count && node->status == LANEPOOL_OK; i++)
        is_busy = take_ended(node, &entries[i]) || is_busy;
    if (node->status == LANEPOOL_OK && !node->has_left)
        work_once(node);
    answer_requests(node);
    free_spent(node);
    if (node->status == LANEPOOL_OK)
        schedule_tick(node, is_busy);
    return node->status == LANEPOOL_OK ? 0 : 1;
}
