/* Owns the shards of a node: leases, the reads of a new owner, giving up; see node.h. */
#include "remote/node.h"

#include <string.h>

#define LOOKS_IN_LEASE 40 /* the same, while shards may be had */
#define AHEAD_MIN      ((size_t)64)
#define READ_NS_MIN    ((uint64_t)10000000)
#define READ_NS_MAX    ((uint64_t)50000000)

/* --- the beginning --- */

static bool allocate_shards(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    size_t count = node->shard_count;
    node->shards = lanepool_i_remote_alloc(count * sizeof *node->shards);
    node->new_shards = lanepool_i_remote_alloc(count * sizeof *node->new_shards);
    node->from = lanepool_i_remote_alloc(count * sizeof *node->from);
    rows->progress = lanepool_i_remote_alloc(count * sizeof *rows->progress);
    rows->unneeded = lanepool_i_remote_alloc(count * sizeof *rows->unneeded);
    rows->given_up = lanepool_i_remote_alloc(count * sizeof *rows->given_up);
    rows->own = lanepool_i_remote_alloc(count * sizeof *rows->own);
    return node->shards != NULL && node->new_shards != NULL && node->from != NULL &&
           rows->progress != NULL && rows->unneeded != NULL && rows->given_up != NULL &&
           rows->own != NULL;
}

lanepool_status lanepool_i_remote_begin(lanepool_i_remote_node *node)
{
    lanepool_remote *remote = node->remote;
    lanepool_remote_welcome welcome = { 0 };
    lanepool_status status = remote->functions.hello(remote->store, remote->name, &welcome);
    if (status != LANEPOOL_OK)
        return status;
    if (welcome.shard_count == 0)
        return LANEPOOL_INVALID;
    node->id = welcome.node;
    node->shard_count = welcome.shard_count;
    node->ahead = AHEAD_MIN;
    node->is_welcome = true;
    remote->counts.incarnations++;
    remote->pause_ns = 0;
    return allocate_shards(node) ? LANEPOOL_OK : LANEPOOL_NOMEM;
}

void lanepool_i_remote_learn(lanepool_i_remote_node *node, const lanepool_remote_news *news)
{
    if (news->appended > node->news.appended)
        node->news.appended = news->appended;
    if (news->done > node->news.done)
        node->news.done = news->done;
    node->news.is_sealed = node->news.is_sealed || news->is_sealed;
}

/* --- leases --- */

static void take_shard(void *context, const lanepool_remote_shard_row *row)
{
    lanepool_i_remote_node *node = context;
    if (row->shard >= node->shard_count || node->shards[row->shard].is_own) {
        lanepool_i_remote_fail(node, LANEPOOL_INVALID);
        return;
    }
    lanepool_i_remote_shard *shard = &node->shards[row->shard];
    lanepool_i_remote_free(shard->window);
    *shard = (lanepool_i_remote_shard){
        .is_own = true, .low = row->low, .sent_low = row->low, .fetched = row->low
    };
    node->own_count++;
    node->new_shards[node->new_count++] = row->shard;
}

static void take_lane(void *context, const lanepool_remote_lane_row *row)
{
    lanepool_i_remote_node *node = context;
    lanepool_i_remote_lane *lane = lanepool_i_remote_lane_of(node, row->lane, row->shard);
    if (lane == NULL || !lanepool_i_remote_copy(&lane->stored, row->state) ||
        !lanepool_i_remote_copy(&lane->state, row->state)) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    lane->last_seq = row->last_seq;
}

static void read_old_letter(void *context, const lanepool_remote_letter_row *row)
{
    lanepool_i_remote_read(context, row);
}

/* Three snapshots, in any order: a rollup's home may store between them what it has left in the
 * lanes. Then the next look at the letters finds its DONE, which no cursor has passed. */
static void read_new_shards(lanepool_i_remote_node *node)
{
    lanepool_remote *remote = node->remote;
    const lanepool_remote_visitor visitor = { .context = node,
                                              .lane = take_lane,
                                              .letter = read_old_letter };
    lanepool_i_remote_fail(node,
                           remote->functions.read_lanes(remote->store, &node->id, node->new_shards,
                                                        node->new_count, &visitor));
    if (node->status == LANEPOOL_OK)
        lanepool_i_remote_refill(node);
    if (node->status != LANEPOOL_OK || REMOTE_PLANTED(CURSOR_KEPT))
        return;
    for (size_t i = 0; i < node->new_count; i++)
        node->from[i] = (lanepool_remote_progress){ node->new_shards[i],
                                                    node->shards[node->new_shards[i]].sent_low };
    lanepool_i_remote_fail(node,
                           remote->functions.read_letters(remote->store, &node->id, node->from,
                                                          node->new_count, &visitor));
}

/* Others have less than their share: the last shards are given up. */
static void share_out(lanepool_i_remote_node *node, const lanepool_remote_share *share)
{
    uint32_t live = share->live_nodes > 0 ? share->live_nodes : 1;
    uint32_t most = (node->shard_count + live - 1) / live;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < node->shard_count; i++) {
        lanepool_i_remote_shard *shard = &node->shards[i];
        if (!shard->is_own || lanepool_i_remote_is_leaving(shard))
            continue;
        kept++;
        if (share->hungry_nodes == 0 || kept <= most)
            continue;
        atomic_store_explicit(&shard->is_leaving, true, memory_order_relaxed);
        lanepool_i_remote_release_parts(node, i);
    }
}

void lanepool_i_remote_renew(lanepool_i_remote_node *node)
{
    lanepool_remote *remote = node->remote;
    uint64_t now_ns = lanepool_pool_time(node->pool);
    if (now_ns < node->lease_at_ns)
        return;
    const lanepool_remote_visitor visitor = { .context = node, .shard = take_shard };
    uint32_t most = remote->options.kind_count > 0 ? remote->options.shards_max : 0;
    lanepool_remote_lease lease = { remote->options.lease_ns, most, 0 };
    lanepool_remote_share share = { 0 };
    node->new_count = 0;
    lanepool_i_remote_fail(
        node, remote->functions.lease(remote->store, &node->id, &lease, &visitor, &share));
    if (node->status != LANEPOOL_OK)
        return;
    lanepool_i_remote_learn(node, &share.news);
    bool looks = share.free_shards > 0 || node->own_count == 0;
    node->lease_at_ns =
        now_ns + remote->options.lease_ns / (looks ? LOOKS_IN_LEASE : LANEPOOL_I_REMOTE_RENEWS);
    share_out(node, &share);
    if (node->new_count > 0)
        read_new_shards(node);
}

/* --- windows --- */

static void count_entry(void *context, const lanepool_remote_entry_row *row)
{
    lanepool_i_remote_node *node = context;
    if (row->shard >= node->shard_count || !node->shards[row->shard].is_own)
        return;
    node->shards[row->shard].read_count++;
    lanepool_i_remote_take_entry(node, row);
}

/*
 * Little is read ahead, so that a shard and a request never wait for many tasks: as much as runs in
 * some READ_NS. If fewer tasks are ready than there are workers, although more could be read, twice
 * as much is read: what was read may wait for a rollup.
 */
static void adapt_ahead(lanepool_i_remote_node *node)
{
    lanepool_stats stats;
    uint64_t now_ns = lanepool_pool_time(node->pool);
    uint64_t since_ns = now_ns - node->read_at_ns;
    if (lanepool_pool_stats(node->pool, &stats, NULL, 0) != LANEPOOL_OK)
        return;
    if (since_ns < READ_NS_MIN || stats.ready < lanepool_pool_worker_count(node->pool))
        node->ahead *= 2;
    else if (since_ns > READ_NS_MAX)
        node->ahead /= 2;
    size_t most = node->own_count * node->remote->options.window_tasks;
    if (node->ahead > most)
        node->ahead = most;
    if (node->ahead < AHEAD_MIN)
        node->ahead = AHEAD_MIN;
    node->read_at_ns = now_ns;
}

/* How many entries of a shard are read ahead. */
static size_t depth_of_windows(const lanepool_i_remote_node *node)
{
    size_t depth = node->own_count > 0 ? node->ahead / node->own_count : 0;
    size_t most = node->remote->options.window_tasks;
    depth = depth < most ? depth : most;
    return depth > 2 ? depth : 2;
}

static bool is_hungry(const lanepool_i_remote_node *node, const lanepool_i_remote_shard *shard,
                      size_t depth)
{
    return shard->is_own && !lanepool_i_remote_is_leaving(shard) &&
           shard->fetched < node->news.appended && shard->open_count <= depth / 2 &&
           shard->end - shard->first <= node->remote->options.window_tasks / 2;
}

static size_t list_hungry_windows(lanepool_i_remote_node *node, size_t depth)
{
    size_t count = 0;
    for (uint32_t i = 0; i < node->shard_count; i++) {
        lanepool_i_remote_shard *shard = &node->shards[i];
        if (!is_hungry(node, shard, depth))
            continue;
        shard->read_count = 0;
        node->from[count++] = (lanepool_remote_progress){ i, shard->fetched };
    }
    return count;
}

/* A shard of which less was read than asked for has no more entries up to `appended`. */
void lanepool_i_remote_refill(lanepool_i_remote_node *node)
{
    lanepool_remote *remote = node->remote;
    const lanepool_remote_visitor visitor = { .context = node, .entry = count_entry };
    size_t depth = depth_of_windows(node);
    size_t count = list_hungry_windows(node, depth);
    if (count > 0) {
        adapt_ahead(node);
        depth = depth_of_windows(node);
    }
    size_t each_max = (depth + 1) / 2;
    while (node->status == LANEPOOL_OK && (count = list_hungry_windows(node, depth)) > 0) {
        lanepool_remote_news news = { 0 };
        lanepool_i_remote_fail(node,
                               remote->functions.read_entries(remote->store, &node->id, node->from,
                                                              count, each_max, &visitor, &news));
        if (node->status != LANEPOOL_OK)
            return;
        lanepool_i_remote_learn(node, &news);
        for (size_t i = 0; i < count; i++) {
            lanepool_i_remote_shard *shard = &node->shards[node->from[i].shard];
            if (shard->read_count < each_max && shard->fetched < news.appended)
                shard->fetched = news.appended;
        }
    }
}

/* --- giving up --- */

/* Arrivals from other own shards are in memory only, so the next owner gets letters about them. */
void lanepool_i_remote_give_up(lanepool_i_remote_node *node)
{
    lanepool_i_remote_rows *rows = &node->rows;
    for (uint32_t i = 0; i < node->shard_count; i++) {
        lanepool_i_remote_shard *shard = &node->shards[i];
        if (!shard->is_own || !lanepool_i_remote_is_leaving(shard) || shard->use_count > 0)
            continue;
        rows->given_up[rows->given_up_count++] = i;
        lanepool_i_remote_send_again(node, i);
    }
}

void lanepool_i_remote_forget_given_up(lanepool_i_remote_node *node)
{
    const lanepool_i_remote_rows *rows = &node->rows;
    for (size_t i = 0; i < rows->given_up_count; i++) {
        lanepool_i_remote_shard *shard = &node->shards[rows->given_up[i]];
        for (size_t at = shard->first; at < shard->end; at++)
            lanepool_i_remote_leave_window(shard->window[at]);
        lanepool_i_remote_drop_lanes(node, rows->given_up[i]);
        lanepool_i_remote_free(shard->window);
        memset(shard, 0, sizeof *shard);
        node->own_count--;
    }
}
