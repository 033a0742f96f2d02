/* Owns lanes and entries of own shards, and the windows of entries; see node.h. */
#include "remote/node.h"

/* --- lanes --- */

uint32_t lanepool_i_remote_shard_of(uint32_t shard_count, const lanepool_remote_claim *claim)
{
    uint64_t number = claim->group != 0 ? claim->group : claim->lane;
    return (uint32_t)(lanepool_i_remote_mix(number) % shard_count);
}

lanepool_i_remote_lane *lanepool_i_remote_lane_of(lanepool_i_remote_node *node, uint64_t id,
                                                  uint32_t shard)
{
    lanepool_i_remote_lane *lane = lanepool_i_remote_map_get(&node->lanes, id);
    if (lane != NULL)
        return lane;
    lane = lanepool_i_remote_alloc(sizeof *lane);
    if (lane == NULL)
        return NULL;
    lane->link.number = id;
    lane->shard = shard;
    if (lanepool_i_remote_map_add(&node->lanes, &lane->link))
        return lane;
    lanepool_i_remote_free(lane);
    return NULL;
}

static bool drop_lane_of(lanepool_i_remote_link *item, void *context)
{
    lanepool_i_remote_lane *lane = (lanepool_i_remote_lane *)item;
    const uint32_t *shard = context;
    if (lane->shard != *shard && *shard != UINT32_MAX)
        return false;
    lanepool_i_remote_drop(&lane->stored);
    lanepool_i_remote_drop(&lane->state);
    lanepool_i_remote_free(lane);
    return true;
}

void lanepool_i_remote_drop_lanes(lanepool_i_remote_node *node, uint32_t shard)
{
    lanepool_i_remote_map_remove(&node->lanes, drop_lane_of, &shard);
}

/* --- entries --- */

void lanepool_i_remote_free_entry(lanepool_i_remote_entry *entry)
{
    lanepool_i_remote_node *node = entry->node;
    if (entry->next != NULL)
        entry->next->previous = entry->previous;
    if (entry->previous != NULL)
        entry->previous->next = entry->next;
    else if (node->entries == entry)
        node->entries = entry->next;
    for (size_t i = 0; i < entry->claim_count; i++) {
        if (entry->changes != NULL) {
            lanepool_i_remote_drop(&entry->changes[i].stored);
            lanepool_i_remote_drop(&entry->changes[i].state);
        }
        if (entry->inputs != NULL)
            lanepool_i_remote_drop(&entry->inputs[i]);
    }
    lanepool_i_remote_free(entry->changes);
    lanepool_i_remote_free(entry->inputs);
    lanepool_i_remote_free(entry->effect_ends);
    lanepool_i_remote_buffer_fini(&entry->effects);
    lanepool_i_remote_drop(&entry->body);
    lanepool_i_remote_free(entry);
}

/* A pool that is shut down ends a part that has not arrived, but its handle must be completed. */
void lanepool_i_remote_let_go(lanepool_i_remote_entry *entry)
{
    lanepool_i_remote_node *node = entry->node;
    if (entry->is_in_window || entry->uses > 0 || !lanepool_i_remote_complete(entry))
        return;
    if (!lanepool_i_remote_grow(&node->spent, &node->spent_capacity, node->spent_count + 1,
                                sizeof(lanepool_i_remote_entry *))) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return; /* freed at the end of the node */
    }
    node->spent[node->spent_count++] = entry;
}

/* The arrays are one block; those with wider members come first. */
static bool allocate_claims(lanepool_i_remote_entry *entry, size_t count)
{
    size_t size = sizeof *entry->changes + sizeof *entry->claims +
                  sizeof(lanepool_i_remote_lane *) + sizeof *entry->shards;
    entry->changes = lanepool_i_remote_alloc(count * size);
    if (entry->changes == NULL)
        return false;
    entry->claims = (lanepool_remote_claim *)&entry->changes[count];
    entry->lanes = (lanepool_i_remote_lane **)&entry->claims[count];
    entry->shards = (uint32_t *)&entry->lanes[count];
    entry->claim_count = count;
    return true;
}

/* A body: kind, parts, claims (lane, group); at home the payload follows. A claim of another shard
 * is only in the home's. */
static bool read_body(lanepool_i_remote_entry *entry)
{
    lanepool_i_remote_node *node = entry->node;
    lanepool_i_remote_reader reader = { entry->body, false };
    entry->kind = (uint32_t)lanepool_i_remote_get_number(&reader);
    entry->part_count = (size_t)lanepool_i_remote_get_number(&reader);
    uint64_t count = lanepool_i_remote_get_number(&reader);
    if (reader.is_wrong || count == 0 || count > reader.bytes.size / 16) {
        lanepool_i_remote_fail(node, LANEPOOL_INVALID);
        return false;
    }
    if (!allocate_claims(entry, (size_t)count))
        return false;
    for (size_t i = 0; i < count; i++) {
        lanepool_remote_claim *claim = &entry->claims[i];
        claim->lane = lanepool_i_remote_get_number(&reader);
        claim->group = lanepool_i_remote_get_number(&reader);
        entry->shards[i] = lanepool_i_remote_shard_of(node->shard_count, claim);
        if (entry->shards[i] != entry->shard)
            continue;
        lanepool_i_remote_lane *lane = lanepool_i_remote_lane_of(node, claim->lane, entry->shard);
        if (lane == NULL)
            return false;
        entry->lanes[entry->lane_count++] = lane;
    }
    entry->payload = reader.bytes;
    return !reader.is_wrong && entry->lane_count > 0;
}

/* Returns false if memory cannot be allocated. An entry that makes no sense, or that the program
 * has no function for, is an error of the batch: the node ends for good. */
static bool fill_entry(lanepool_i_remote_entry *entry, lanepool_remote_bytes body)
{
    const lanepool_remote *remote = entry->node->remote;
    if (!lanepool_i_remote_copy(&entry->body, body))
        return false;
    lanepool_i_remote_reader reader = { entry->body, false };
    if (lanepool_i_remote_get_number(&reader) >= remote->options.kind_count || reader.is_wrong) {
        lanepool_i_remote_fail(entry->node, LANEPOOL_INVALID);
        return false;
    }
    return read_body(entry);
}

static lanepool_i_remote_entry *make_entry(lanepool_i_remote_node *node,
                                           const lanepool_remote_entry_row *row)
{
    lanepool_i_remote_entry *entry = lanepool_i_remote_alloc(sizeof *entry);
    if (entry == NULL)
        return NULL;
    entry->node = node;
    entry->seq = row->seq;
    entry->shard = row->shard;
    entry->home = row->home;
    entry->next = node->entries;
    if (node->entries != NULL)
        node->entries->previous = entry;
    node->entries = entry;
    if (fill_entry(entry, row->body)) {
        entry->is_cut = entry->part_count > 1 && node->remote->kinds[entry->kind].is_cut;
        return entry;
    }
    lanepool_i_remote_free_entry(entry);
    return NULL;
}

/* --- windows --- */

static bool add_to_window(lanepool_i_remote_shard *shard, lanepool_i_remote_entry *entry)
{
    if (shard->first > 0 && shard->end == shard->capacity) {
        for (size_t i = shard->first; i < shard->end; i++)
            shard->window[i - shard->first] = shard->window[i];
        shard->end -= shard->first;
        shard->first = 0;
    }
    if (!lanepool_i_remote_grow(&shard->window, &shard->capacity, shard->end + 1,
                                sizeof(lanepool_i_remote_entry *)))
        return false;
    shard->window[shard->end++] = entry;
    shard->open_count++;
    entry->is_in_window = true;
    return true;
}

/* A lane's row is stored with the tasks in it, so all lanes of an entry say the same. */
static bool has_passed(const lanepool_i_remote_entry *entry)
{
    return entry->lanes[0]->last_seq >= entry->seq;
}

void lanepool_i_remote_take_entry(lanepool_i_remote_node *node,
                                  const lanepool_remote_entry_row *row)
{
    if (node->status != LANEPOOL_OK)
        return;
    lanepool_i_remote_shard *shard = &node->shards[row->shard];
    lanepool_i_remote_entry *entry = make_entry(node, row);
    if (entry == NULL) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    shard->fetched = row->seq;
    bool is_at_home = entry->part_count > 1 && entry->home == entry->shard;
    bool is_done = entry->is_cut && is_at_home ? row->has_outcome : has_passed(entry);
    if (is_done) {
        lanepool_i_remote_free_entry(entry);
        return;
    }
    if (!add_to_window(shard, entry)) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    if (!has_passed(entry))
        lanepool_i_remote_submit(entry);
    if (is_at_home)
        lanepool_i_remote_join(entry);
}

lanepool_i_remote_entry *lanepool_i_remote_find(const lanepool_i_remote_shard *shard, uint64_t seq)
{
    size_t first = shard->first;
    size_t end = shard->end;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (shard->window[middle]->seq < seq)
            first = middle + 1;
        else
            end = middle;
    }
    return first < shard->end && shard->window[first]->seq == seq ? shard->window[first] : NULL;
}

void lanepool_i_remote_finish(lanepool_i_remote_entry *entry)
{
    if (!entry->is_done)
        entry->node->shards[entry->shard].open_count--;
    entry->is_done = true;
}

void lanepool_i_remote_leave_window(lanepool_i_remote_entry *entry)
{
    entry->is_in_window = false;
    lanepool_i_remote_let_go(entry);
}

void lanepool_i_remote_advance(lanepool_i_remote_node *node, uint32_t number)
{
    lanepool_i_remote_shard *shard = &node->shards[number];
    while (shard->first < shard->end && shard->window[shard->first]->is_done) {
        lanepool_i_remote_leave_window(shard->window[shard->first++]);
    }
    shard->low = shard->first < shard->end ? shard->window[shard->first]->seq - 1 : shard->fetched;
}
