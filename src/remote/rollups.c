/* Owns what follows when a task has ended or a part has arrived, and the letters about that; see
 * node.h. */
#include "remote/node.h"

/* Letters. ARRIVED: seq, shard, count, and so many states. DONE: seq, count, and so many lanes,
 * each with its state. */
enum { ARRIVED = 1, DONE = 2 };

/* --- rollups --- */

static void free_arrival(lanepool_i_remote_arrival *arrival)
{
    for (size_t i = 0; arrival->states != NULL && i < arrival->count; i++)
        lanepool_i_remote_drop(&arrival->states[i]);
    lanepool_i_remote_free(arrival->states);
}

static void free_rollup(lanepool_i_remote_rollup *rollup)
{
    for (size_t i = 0; i < rollup->arrival_count; i++)
        free_arrival(&rollup->arrivals[i]);
    lanepool_i_remote_free(rollup->arrivals);
    lanepool_i_remote_free(rollup);
}

static lanepool_i_remote_rollup *get_rollup(lanepool_i_remote_node *node, uint64_t seq,
                                            uint32_t home)
{
    lanepool_i_remote_rollup *rollup = lanepool_i_remote_map_get(&node->rollups, seq);
    if (rollup != NULL)
        return rollup;
    rollup = lanepool_i_remote_alloc(sizeof *rollup);
    if (rollup == NULL)
        return NULL;
    rollup->link.number = seq;
    rollup->home = home;
    if (lanepool_i_remote_map_add(&node->rollups, &rollup->link))
        return rollup;
    lanepool_i_remote_free(rollup);
    return NULL;
}

/* A part's states are in the order of the task's claims in its shard. */
static bool gather_inputs(const lanepool_i_remote_rollup *rollup)
{
    lanepool_i_remote_entry *entry = rollup->entry;
    entry->inputs = lanepool_i_remote_alloc(entry->claim_count * sizeof *entry->inputs);
    if (entry->inputs == NULL)
        return false;
    for (size_t i = 0; i < rollup->arrival_count; i++) {
        lanepool_i_remote_arrival *arrival = &rollup->arrivals[i];
        size_t at = 0;
        for (size_t claim = 0; claim < entry->claim_count; claim++) {
            if (entry->shards[claim] != arrival->shard || at == arrival->count)
                continue;
            entry->inputs[claim] = arrival->states[at];
            arrival->states[at++] = (lanepool_remote_bytes){ NULL, 0 };
        }
    }
    return true;
}

static void run_if_complete(lanepool_i_remote_node *node, lanepool_i_remote_rollup *rollup)
{
    lanepool_i_remote_entry *entry = rollup->entry;
    if (entry == NULL || entry->inputs != NULL ||
        lanepool_i_remote_is_leaving(&node->shards[rollup->home]))
        return;
    size_t needed = entry->part_count;
    if (REMOTE_PLANTED(ONE_EARLY) && needed > 2)
        needed--;
    if (rollup->arrival_count < needed || (!entry->is_cut && !entry->has_arrived))
        return;
    lanepool_status status = LANEPOOL_NOMEM;
    if (gather_inputs(rollup)) {
        lanepool_task run = LANEPOOL_TASK_INIT;
        run.function = lanepool_i_remote_run;
        run.context = entry;
        status = lanepool_pool_submit(node->pool, &run);
    }
    if (status == LANEPOOL_OK)
        lanepool_i_remote_use(entry);
    else
        lanepool_i_remote_fail(node, status);
}

static bool has_arrival_of(const lanepool_i_remote_rollup *rollup, uint32_t shard)
{
    for (size_t i = 0; i < rollup->arrival_count; i++)
        if (rollup->arrivals[i].shard == shard)
            return true;
    return false;
}

static bool add_arrival(lanepool_i_remote_rollup *rollup, const lanepool_i_remote_arrival *arrival)
{
    if (!lanepool_i_remote_grow(&rollup->arrivals, &rollup->arrival_capacity,
                                rollup->arrival_count + 1, sizeof *rollup->arrivals))
        return false;
    lanepool_i_remote_arrival copy = *arrival;
    copy.states = lanepool_i_remote_alloc(arrival->count * sizeof *copy.states);
    if (copy.states == NULL)
        return false;
    for (size_t i = 0; i < arrival->count; i++) {
        if (!lanepool_i_remote_copy(&copy.states[i], arrival->states[i])) {
            free_arrival(&copy);
            return false;
        }
    }
    rollup->arrivals[rollup->arrival_count++] = copy;
    return true;
}

/* Letters are read more than once, and parts arrive again when their shard has a new owner. */
void lanepool_i_remote_arrived(lanepool_i_remote_node *node, uint64_t seq, uint32_t home,
                               const lanepool_i_remote_arrival *arrival)
{
    const lanepool_i_remote_shard *shard = &node->shards[home];
    const lanepool_i_remote_entry *entry = lanepool_i_remote_find(shard, seq);
    if (!shard->is_own || (entry == NULL && seq <= shard->fetched) ||
        (entry != NULL && entry->is_done))
        return;
    lanepool_i_remote_rollup *rollup = get_rollup(node, seq, home);
    if (rollup == NULL) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    if (has_arrival_of(rollup, arrival->shard))
        return;
    if (!add_arrival(rollup, arrival))
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
    else
        run_if_complete(node, rollup);
}

void lanepool_i_remote_join(lanepool_i_remote_entry *entry)
{
    lanepool_i_remote_rollup *rollup = get_rollup(entry->node, entry->seq, entry->home);
    if (rollup == NULL) {
        lanepool_i_remote_fail(entry->node, LANEPOOL_NOMEM);
        return;
    }
    rollup->entry = entry;
    run_if_complete(entry->node, rollup);
}

/* --- letters out --- */

static void write_arrived(lanepool_i_remote_node *node, uint64_t seq, uint32_t home,
                          const lanepool_i_remote_arrival *arrival)
{
    lanepool_i_remote_buffer *buffer = lanepool_i_remote_letters_to(node, home, seq);
    if (buffer == NULL)
        return;
    lanepool_i_remote_put_number(buffer, ARRIVED);
    lanepool_i_remote_put_number(buffer, seq);
    lanepool_i_remote_put_number(buffer, arrival->shard);
    lanepool_i_remote_put_number(buffer, arrival->count);
    for (size_t i = 0; i < arrival->count; i++)
        lanepool_i_remote_put_bytes(buffer, arrival->states[i]);
}

struct again {
    lanepool_i_remote_node *node;
    uint32_t home;
};

/* The parts of cuts have sent letters, also to own shards. The home's own part arrives again. */
static bool send_and_drop(lanepool_i_remote_link *item, void *context)
{
    lanepool_i_remote_rollup *rollup = (lanepool_i_remote_rollup *)item;
    const struct again *again = context;
    if (rollup->home != again->home && again->home != UINT32_MAX)
        return false;
    for (size_t i = 0; i < rollup->arrival_count && again->home != UINT32_MAX; i++) {
        const lanepool_i_remote_arrival *arrival = &rollup->arrivals[i];
        bool is_needed = arrival->is_local && arrival->shard != rollup->home;
        if (is_needed && !REMOTE_PLANTED(NOT_SENT_AGAIN))
            write_arrived(again->node, rollup->link.number, rollup->home, arrival);
    }
    free_rollup(rollup);
    return true;
}

void lanepool_i_remote_send_again(lanepool_i_remote_node *node, uint32_t home)
{
    struct again again = { node, home };
    lanepool_i_remote_map_remove(&node->rollups, send_and_drop, &again);
}

void lanepool_i_remote_drop_rollups(lanepool_i_remote_node *node)
{
    lanepool_i_remote_send_again(node, UINT32_MAX);
}

/* --- a part ends --- */

bool lanepool_i_remote_complete(lanepool_i_remote_entry *entry)
{
    if (entry->handle != NULL && lanepool_task_complete(entry->handle, 0, NULL) == LANEPOOL_NOMEM) {
        lanepool_i_remote_fail(entry->node, LANEPOOL_NOMEM);
        return false;
    }
    entry->handle = NULL;
    return true;
}

/* The lanes are held by the part, or were passed by its task. */
static void complete_part(lanepool_i_remote_entry *entry)
{
    for (size_t i = 0; i < entry->lane_count; i++) {
        lanepool_i_remote_lane *lane = entry->lanes[i];
        if (!lanepool_i_remote_copy(&lane->state, lane->stored))
            lanepool_i_remote_fail(entry->node, LANEPOOL_NOMEM);
    }
    (void)lanepool_i_remote_complete(entry);
}

/* The task is done in an own shard. A part that has not arrived yet will find that out: an earlier
 * owner had its lanes. */
static void end_part(lanepool_i_remote_node *node, uint32_t shard, uint64_t seq)
{
    lanepool_i_remote_entry *entry = lanepool_i_remote_find(&node->shards[shard], seq);
    if (entry == NULL || entry->is_done)
        return;
    lanepool_i_remote_finish(entry);
    if (entry->has_arrived && entry->handle != NULL)
        complete_part(entry);
}

/* A rollup whose function was submitted keeps the part at its home until it has ended. */
void lanepool_i_remote_release_parts(lanepool_i_remote_node *node, uint32_t number)
{
    const lanepool_i_remote_shard *shard = &node->shards[number];
    for (size_t i = shard->first; i < shard->end; i++) {
        lanepool_i_remote_entry *entry = shard->window[i];
        if (entry->has_arrived && entry->handle != NULL && entry->inputs == NULL)
            complete_part(entry);
    }
}

/* Sets what the task has left in a lane of an own shard. Returns false if it was known. */
static bool set_lane(lanepool_i_remote_node *node, uint64_t id, uint32_t shard, uint64_t seq,
                     lanepool_remote_bytes state, bool is_new)
{
    lanepool_i_remote_lane *lane = lanepool_i_remote_lane_of(node, id, shard);
    if (lane == NULL) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return false;
    }
    if (lane->last_seq >= seq)
        return false;
    bool is_copied = lanepool_i_remote_copy(&lane->stored, state);
    if (lanepool_i_remote_find(&node->shards[shard], seq) == NULL)
        is_copied = is_copied && lanepool_i_remote_copy(&lane->state, state);
    if (!is_copied)
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
    lane->last_seq = seq;
    if (is_new)
        lanepool_i_remote_mark(node, lane, seq);
    return true;
}

/* --- letters in --- */

static void read_arrived(lanepool_i_remote_node *node, uint32_t home,
                         lanepool_i_remote_reader *reader)
{
    uint64_t seq = lanepool_i_remote_get_number(reader);
    lanepool_i_remote_arrival arrival = { .shard = (uint32_t)lanepool_i_remote_get_number(reader) };
    uint64_t count = lanepool_i_remote_get_number(reader);
    if (reader->is_wrong || count > reader->bytes.size / 8) {
        reader->is_wrong = true;
        return;
    }
    arrival.count = (size_t)count;
    arrival.states = lanepool_i_remote_alloc(arrival.count * sizeof *arrival.states);
    if (arrival.states == NULL) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    for (size_t i = 0; i < arrival.count; i++)
        arrival.states[i] = lanepool_i_remote_get_bytes(reader);
    if (!reader->is_wrong)
        lanepool_i_remote_arrived(node, seq, home, &arrival);
    lanepool_i_remote_free(arrival.states);
}

static void read_done(lanepool_i_remote_node *node, uint32_t shard,
                      lanepool_i_remote_reader *reader)
{
    uint64_t seq = lanepool_i_remote_get_number(reader);
    uint64_t count = lanepool_i_remote_get_number(reader);
    for (uint64_t i = 0; i < count && !reader->is_wrong; i++) {
        uint64_t lane = lanepool_i_remote_get_number(reader);
        lanepool_remote_bytes state = lanepool_i_remote_get_bytes(reader);
        if (!reader->is_wrong)
            (void)set_lane(node, lane, shard, seq, state, false);
    }
    if (!reader->is_wrong)
        end_part(node, shard, seq);
}

void lanepool_i_remote_read(lanepool_i_remote_node *node, const lanepool_remote_letter_row *row)
{
    lanepool_i_remote_reader reader = { row->body, false };
    if (row->shard >= node->shard_count || !node->shards[row->shard].is_own)
        return;
    while (reader.bytes.size > 0 && node->status == LANEPOOL_OK) {
        uint64_t type = lanepool_i_remote_get_number(&reader);
        if (type == ARRIVED)
            read_arrived(node, row->shard, &reader);
        else if (type == DONE)
            read_done(node, row->shard, &reader);
        else
            reader.is_wrong = true;
    }
    if (reader.is_wrong)
        lanepool_i_remote_fail(node, LANEPOOL_INVALID);
}

/* --- journal entries --- */

static void add_outcome(lanepool_i_remote_node *node, const lanepool_i_remote_entry *entry)
{
    lanepool_i_remote_rows *rows = &node->rows;
    if (entry->code == 0 && !entry->is_cut)
        return;
    if (!lanepool_i_remote_grow(&rows->outcomes, &rows->outcome_capacity, rows->outcome_count + 1,
                                sizeof *rows->outcomes)) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    rows->outcomes[rows->outcome_count++] =
        (lanepool_remote_outcome_row){ entry->seq, entry->code, entry->home };
}

static void add_effects(lanepool_i_remote_node *node, const lanepool_i_remote_entry *entry)
{
    lanepool_i_remote_rows *rows = &node->rows;
    if (!lanepool_i_remote_grow(&rows->effects, &rows->effect_capacity,
                                rows->effect_count + entry->effect_count, sizeof *rows->effects)) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    size_t begin = 0;
    for (size_t i = 0; i < entry->effect_count; i++) {
        lanepool_remote_bytes data = { entry->effects.data + begin, entry->effect_ends[i] - begin };
        rows->effects[rows->effect_count++] =
            (lanepool_remote_effect_row){ entry->seq, (uint32_t)i, data };
        begin = entry->effect_ends[i];
    }
}

static void end_call(lanepool_i_remote_node *node, const lanepool_i_remote_entry *entry)
{
    node->remote->counts.tasks++;
    add_effects(node, entry);
    add_outcome(node, entry);
}

static void alone_ended(lanepool_i_remote_node *node, lanepool_i_remote_entry *entry)
{
    end_call(node, entry);
    for (size_t i = 0; i < entry->claim_count; i++) {
        lanepool_i_remote_change *change = &entry->changes[i];
        lanepool_i_remote_lane *lane = entry->lanes[i];
        if (change->is_set) {
            lanepool_i_remote_drop(&lane->stored);
            lane->stored = change->stored;
            change->stored = (lanepool_remote_bytes){ NULL, 0 };
        }
        lanepool_i_remote_mark(node, lane, entry->seq);
    }
    lanepool_i_remote_finish(entry);
}

static void part_arrived(lanepool_i_remote_node *node, lanepool_i_remote_entry *entry)
{
    lanepool_i_remote_arrival arrival = { entry->shard, !entry->is_cut, entry->lane_count, NULL };
    arrival.states = lanepool_i_remote_alloc(entry->lane_count * sizeof *arrival.states);
    if (arrival.states == NULL) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    for (size_t i = 0; i < entry->lane_count; i++)
        arrival.states[i] = entry->lanes[i]->stored;
    bool is_at_home = node->shards[entry->home].is_own;
    if (entry->is_cut || !is_at_home)
        write_arrived(node, entry->seq, entry->home, &arrival);
    if (is_at_home)
        lanepool_i_remote_arrived(node, entry->seq, entry->home, &arrival);
    lanepool_i_remote_free(arrival.states);
}

static void hold_arrived(lanepool_i_remote_node *node, lanepool_i_remote_entry *entry)
{
    entry->has_arrived = true;
    if (entry->is_done || lanepool_i_remote_is_leaving(&node->shards[entry->shard]))
        complete_part(entry);
    else
        part_arrived(node, entry);
}

static void visit_ended(lanepool_i_remote_node *node, lanepool_i_remote_entry *entry)
{
    part_arrived(node, entry);
    for (size_t i = 0; i < entry->lane_count; i++)
        lanepool_i_remote_mark(node, entry->lanes[i], entry->seq);
    if (entry->home != entry->shard)
        lanepool_i_remote_finish(entry);
}

static void add_foreign_lane(lanepool_i_remote_node *node, uint64_t lane, uint32_t shard,
                             uint64_t seq, lanepool_remote_bytes state)
{
    lanepool_i_remote_rows *rows = &node->rows;
    if (!lanepool_i_remote_grow(&rows->lanes, &rows->lane_capacity, rows->lane_count + 1,
                                sizeof *rows->lanes)) {
        lanepool_i_remote_fail(node, LANEPOOL_NOMEM);
        return;
    }
    rows->lanes[rows->lane_count++] = (lanepool_remote_lane_row){ lane, shard, seq, state };
}

static lanepool_remote_bytes left_in(const lanepool_i_remote_entry *entry, size_t claim)
{
    return entry->changes[claim].is_set ? entry->changes[claim].stored : entry->inputs[claim];
}

/* Writes DONE, and the rows of the lanes: until the receiver has read it, the home owns them. */
static void tell_foreign(lanepool_i_remote_node *node, const lanepool_i_remote_entry *entry,
                         uint32_t shard)
{
    lanepool_i_remote_buffer *buffer = lanepool_i_remote_letters_to(node, shard, entry->seq);
    if (buffer == NULL)
        return;
    uint64_t count = 0;
    for (size_t i = 0; i < entry->claim_count; i++)
        count += entry->shards[i] == shard;
    lanepool_i_remote_put_number(buffer, DONE);
    lanepool_i_remote_put_number(buffer, entry->seq);
    lanepool_i_remote_put_number(buffer, count);
    for (size_t i = 0; i < entry->claim_count; i++) {
        if (entry->shards[i] != shard)
            continue;
        lanepool_remote_bytes state = left_in(entry, i);
        lanepool_i_remote_put_number(buffer, entry->claims[i].lane);
        lanepool_i_remote_put_bytes(buffer, state);
        add_foreign_lane(node, entry->claims[i].lane, shard, entry->seq, state);
    }
}

static void tell_own(lanepool_i_remote_node *node, const lanepool_i_remote_entry *entry,
                     uint32_t shard)
{
    for (size_t i = 0; i < entry->claim_count; i++)
        if (entry->shards[i] == shard)
            (void)set_lane(node, entry->claims[i].lane, shard, entry->seq, left_in(entry, i), true);
    end_part(node, shard, entry->seq);
}

static void rollup_ended(lanepool_i_remote_node *node, lanepool_i_remote_entry *entry)
{
    end_call(node, entry);
    lanepool_i_remote_rollup *rollup = lanepool_i_remote_map_take(&node->rollups, entry->seq);
    if (rollup != NULL)
        free_rollup(rollup);
    if (entry->is_cut) {
        lanepool_i_remote_finish(entry);
        return;
    }
    for (size_t i = 0; i < entry->claim_count; i++) {
        uint32_t shard = entry->shards[i];
        if (node->shards[shard].told == entry->seq)
            continue;
        node->shards[shard].told = entry->seq;
        if (node->shards[shard].is_own)
            tell_own(node, entry, shard);
        else
            tell_foreign(node, entry, shard);
    }
}

static void end_dropped(lanepool_i_remote_entry *entry)
{
    if (REMOTE_PLANTED(DROPPED_DONE))
        lanepool_i_remote_finish(entry);
}

static void task_ended(lanepool_i_remote_node *node, lanepool_i_remote_entry *entry,
                       lanepool_task_fn function)
{
    if (function == lanepool_i_remote_run)
        rollup_ended(node, entry);
    else if (entry->is_dropped)
        end_dropped(entry);
    else if (function == lanepool_i_remote_alone)
        alone_ended(node, entry);
    else if (function == lanepool_i_remote_visit)
        visit_ended(node, entry);
    else if (entry->trouble != LANEPOOL_OK)
        lanepool_i_remote_fail(node, entry->trouble);
}

/* HOLD and RUN of one entry both count as uses; ARRIVE comes before HOLD ends. */
void lanepool_i_remote_ended(lanepool_i_remote_node *node, const lanepool_journal_entry *ended)
{
    lanepool_i_remote_entry *entry = ended->context;
    if (ended->function == lanepool_i_remote_arrive) {
        hold_arrived(node, entry);
        return;
    }
    task_ended(node, entry, ended->function);
    lanepool_i_remote_unuse(entry);
}
