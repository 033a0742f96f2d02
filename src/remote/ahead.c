/*
 * Owns the search for the tasks that are before a task in its lanes and are not done.
 *
 * A lane's row says which task was the last one that is done there. So the entries behind it that
 * claim the lane are not done. Both are read from the store: the lanes of other nodes' shards are
 * not in this node's memory.
 */
#include "remote/node.h"

/* Entries of a shard that are read at once, and how often. */
enum { PAGE = 512, PAGES_MOST = 32 };

/* A lane in the table. */
struct found_lane {
    lanepool_i_remote_link link;
    lanepool_i_remote_ahead *ahead;
};

struct ahead_search {
    uint64_t seq;
    uint32_t shard_count;
    lanepool_i_remote_ahead *lanes;
    size_t lane_count;
    struct found_lane *items;
    lanepool_i_remote_map map;
    lanepool_remote_progress *from;
    size_t from_count;
    size_t read; /* entries of the last page */
};

/* Reads the next claim of a body. */
static lanepool_remote_claim next_claim(lanepool_i_remote_reader *reader)
{
    lanepool_remote_claim claim = { .mode = LANEPOOL_EXCLUSIVE };
    claim.lane = lanepool_i_remote_get_number(reader);
    claim.group = lanepool_i_remote_get_number(reader);
    return claim;
}

/* Begins to read a body: kind, parts, and the number of claims, which is returned. */
static uint64_t begin_body(lanepool_i_remote_reader *reader)
{
    (void)lanepool_i_remote_get_number(reader);
    (void)lanepool_i_remote_get_number(reader);
    uint64_t count = lanepool_i_remote_get_number(reader);
    return reader->is_wrong || count > reader->bytes.size / 16 ? 0 : count;
}

/* --- lanes --- */

static bool list_claimed_lanes(struct ahead_search *search, lanepool_remote_bytes body)
{
    lanepool_i_remote_reader reader = { body, false };
    size_t count = (size_t)begin_body(&reader);
    search->lanes = lanepool_i_remote_alloc((count + 1) * sizeof *search->lanes);
    search->items = lanepool_i_remote_alloc((count + 1) * sizeof *search->items);
    if (search->lanes == NULL || search->items == NULL)
        return false;
    for (; search->lane_count < count; search->lane_count++) {
        struct found_lane *item = &search->items[search->lane_count];
        lanepool_remote_claim claim = next_claim(&reader);
        item->ahead = &search->lanes[search->lane_count];
        item->link.number = claim.lane;
        *item->ahead = (lanepool_i_remote_ahead){
            .lane = claim.lane, .shard = lanepool_i_remote_shard_of(search->shard_count, &claim)
        };
        if (!lanepool_i_remote_map_add(&search->map, &item->link))
            return false;
    }
    return true;
}

static void note_lane(void *context, const lanepool_remote_lane_row *row)
{
    struct ahead_search *search = context;
    struct found_lane *item = lanepool_i_remote_map_get(&search->map, row->lane);
    if (item != NULL)
        item->ahead->last_seq = row->last_seq;
}

static lanepool_status read_progress(lanepool_i_remote_node *node, struct ahead_search *search)
{
    const lanepool_remote *remote = node->remote;
    const lanepool_remote_visitor visitor = { .context = search, .lane = note_lane };
    uint64_t *numbers = lanepool_i_remote_alloc((search->lane_count + 1) * sizeof *numbers);
    if (numbers == NULL)
        return LANEPOOL_NOMEM;
    for (size_t i = 0; i < search->lane_count; i++)
        numbers[i] = search->lanes[i].lane;
    lanepool_status status =
        remote->functions.read_progress(remote->store, numbers, search->lane_count, &visitor);
    lanepool_i_remote_free(numbers);
    return status;
}

/* --- entries --- */

static void note_claims(const struct ahead_search *search, const lanepool_remote_entry_row *row)
{
    lanepool_i_remote_reader reader = { row->body, false };
    for (uint64_t count = begin_body(&reader); count > 0; count--) {
        lanepool_remote_claim claim = next_claim(&reader);
        struct found_lane *item = lanepool_i_remote_map_get(&search->map, claim.lane);
        if (item == NULL || item->ahead->shard != row->shard || item->ahead->last_seq >= row->seq)
            continue;
        if (item->ahead->count++ == 0)
            item->ahead->first_seq = row->seq;
    }
}

static void note_entry_before(void *context, const lanepool_remote_entry_row *row)
{
    struct ahead_search *search = context;
    search->read++;
    if (row->seq < search->seq)
        note_claims(search, row);
    for (size_t i = 0; i < search->from_count; i++)
        if (search->from[i].shard == row->shard)
            search->from[i].low = row->seq;
}

/* Drops the shards that were read up to the task, which has an entry in each of them. */
static void drop_read_shards(struct ahead_search *search)
{
    size_t left = 0;
    for (size_t i = 0; i < search->from_count; i++)
        if (search->from[i].low < search->seq)
            search->from[left++] = search->from[i];
    search->from_count = left;
}

static void note_unread_shards(const struct ahead_search *search)
{
    for (size_t i = 0; i < search->lane_count; i++)
        for (size_t j = 0; j < search->from_count; j++)
            if (search->lanes[i].shard == search->from[j].shard)
                search->lanes[i].is_cut_short = true;
}

static lanepool_status read_entries_before(lanepool_i_remote_node *node,
                                           struct ahead_search *search)
{
    const lanepool_remote *remote = node->remote;
    const lanepool_remote_visitor visitor = { .context = search, .entry = note_entry_before };
    lanepool_status status = LANEPOOL_OK;
    search->read = 1;
    for (size_t page = 0;
         page < PAGES_MOST && search->from_count > 0 && search->read > 0 && status == LANEPOOL_OK;
         page++) {
        lanepool_remote_news news;
        lanepool_remote_progress *from = search->from;
        search->read = 0;
        status = remote->functions.read_entries(remote->store, &node->id, from, search->from_count,
                                                PAGE, &visitor, &news);
        drop_read_shards(search);
    }
    note_unread_shards(search);
    return status;
}

lanepool_status lanepool_i_remote_read_ahead(lanepool_i_remote_node *node,
                                             lanepool_remote_bytes body, uint64_t seq,
                                             lanepool_remote_progress *from, size_t from_count,
                                             lanepool_i_remote_ahead **lanes, size_t *lane_count)
{
    struct ahead_search search = {
        .seq = seq, .shard_count = node->shard_count, .from = from, .from_count = from_count
    };
    lanepool_status status = LANEPOOL_NOMEM;
    if (list_claimed_lanes(&search, body))
        status = read_progress(node, &search);
    if (status == LANEPOOL_OK)
        status = read_entries_before(node, &search);
    *lanes = search.lanes;
    *lane_count = search.lane_count;
    lanepool_i_remote_map_fini(&search.map);
    lanepool_i_remote_free(search.items);
    return status;
}
