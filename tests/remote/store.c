/* The functions of the store in memory; see store.h. */
#include "remote/store.h"

#include <stdlib.h>
#include <string.h>

#include "remote/door.h"
#include "remote/tables.h"
#include "support/random.h"

/* A node that polls in vain lets others run for up to so many steps. */
enum { IDLE_NS = 4000 };

/* --- connections --- */

struct connection *connection_create(struct server *server)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        door_fail("no memory");
    connection->server = server;
    return connection;
}

static void break_connection(struct connection *connection)
{
    struct server *server = connection->server;
    connection->is_up = false;
    if (connection->node != 0 && server->at[connection->node - 1] == connection)
        server->at[connection->node - 1] = NULL;
}

void connection_destroy(struct connection *connection)
{
    break_connection(connection);
    free(connection);
}

bool connection_is_up(const struct connection *connection)
{
    return connection->is_up && connection->epoch == connection->server->epoch;
}

/* Returns true if the connection is still there. */
static bool stays_up(struct connection *connection, unsigned one_in)
{
    struct server *server = connection->server;
    if (server->faults.kills > 0 && connection_is_up(connection) && server_draws(server, one_in)) {
        server->faults.kills--;
        break_connection(connection);
    }
    return connection_is_up(connection);
}

/* Before and after each call the program may be stopped, and its connection may break. */
bool connection_pass(struct connection *connection)
{
    struct server *server = connection->server;
    server_pause(server);
    if (server->faults.stops > 0 && server_draws(server, 40)) {
        server->faults.stops--;
        door_sleep(random_below(&server->random, 60000));
    }
    return stays_up(connection, 60);
}

bool connection_is_alive(const struct connection *connection)
{
    const struct server *server = connection->server;
    return !server->now.nodes[connection->node - 1].is_dead;
}

static struct tables *copy_tables(const struct connection *connection)
{
    struct tables *copy = malloc(sizeof *copy);
    if (copy == NULL)
        door_fail("no memory");
    *copy = connection->server->now;
    return copy;
}

static uint64_t least_low(const struct server *server)
{
    uint64_t low = UINT64_MAX;
    for (uint32_t i = 0; i < server->shard_count; i++)
        if (server->now.shards[i].low < low)
            low = server->now.shards[i].low;
    return low;
}

void server_fill_news(const struct server *server, lanepool_remote_news *news)
{
    *news =
        (lanepool_remote_news){ server->now.appended, least_low(server), server->now.is_sealed };
}

/* --- hello --- */

static lanepool_status store_hello(void *store, const char *name, lanepool_remote_welcome *welcome)
{
    struct connection *connection = store;
    struct server *server = connection->server;
    (void)name;
    server_pause(server);
    break_connection(connection);
    if (server->now.node_count == NODES_MAX)
        door_fail("too many nodes");
    connection->epoch = server->epoch;
    connection->is_up = true;
    server_commit(server, true);
    struct node_row *row = &server->now.nodes[server->now.node_count++];
    *row = (struct node_row){ .key = random_next(&server->random), .takes_shards = true };
    connection->node = server->now.node_count;
    server->at[connection->node - 1] = connection;
    server->history_count = 0;
    *welcome =
        (lanepool_remote_welcome){ { connection->node, { row->key, 1 } }, server->shard_count, 0 };
    return connection_pass(connection) ? LANEPOOL_OK : LANEPOOL_UNAVAILABLE;
}

/* --- reads --- */

static bool is_asked(uint32_t shard, const lanepool_remote_progress *from, size_t count,
                     uint64_t *low)
{
    for (size_t i = 0; i < count; i++) {
        *low = from[i].low;
        if (from[i].shard == shard)
            return true;
    }
    return false;
}

static lanepool_status begin_read(struct connection *connection)
{
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    return connection_is_alive(connection) ? LANEPOOL_OK : LANEPOOL_FENCED;
}

static lanepool_status store_read_lanes(void *store, const lanepool_remote_node *node,
                                        const uint32_t *shards, size_t shard_count,
                                        const lanepool_remote_visitor *visitor)
{
    struct connection *connection = store;
    (void)node;
    lanepool_status status = begin_read(connection);
    if (status != LANEPOOL_OK)
        return status;
    struct tables *copy = copy_tables(connection);
    for (size_t i = 0; i < copy->lane_count; i++) {
        const struct lane_row *row = &copy->lanes[i];
        for (size_t s = 0; s < shard_count; s++)
            if (shards[s] == row->shard)
                visitor->lane(visitor->context,
                              &(lanepool_remote_lane_row){ row->lane, row->shard, row->last_seq,
                                                           row->state });
    }
    free(copy);
    return LANEPOOL_OK;
}

static void visit_entries(const struct tables *copy, const lanepool_remote_progress *from,
                          size_t each_max, const lanepool_remote_visitor *visitor)
{
    size_t count = 0;
    for (size_t i = 0; i < copy->entry_count && count < each_max; i++) {
        lanepool_remote_entry_row row = copy->entries[i];
        if (row.shard != from->shard || row.seq <= from->low)
            continue;
        for (size_t o = 0; o < copy->outcome_count; o++)
            row.has_outcome = row.has_outcome || copy->outcomes[o].seq == row.seq;
        visitor->entry(visitor->context, &row);
        count++;
    }
}

static lanepool_status store_read_entries(void *store, const lanepool_remote_node *node,
                                          const lanepool_remote_progress *from, size_t from_count,
                                          size_t each_max, const lanepool_remote_visitor *visitor,
                                          lanepool_remote_news *news)
{
    struct connection *connection = store;
    (void)node;
    lanepool_status status = begin_read(connection);
    if (status != LANEPOOL_OK)
        return status;
    struct tables *copy = copy_tables(connection);
    server_fill_news(connection->server, news);
    for (size_t i = 0; i < from_count; i++)
        visit_entries(copy, &from[i], each_max, visitor);
    free(copy);
    return LANEPOOL_OK;
}

static lanepool_status store_read_letters(void *store, const lanepool_remote_node *node,
                                          const lanepool_remote_progress *from, size_t from_count,
                                          const lanepool_remote_visitor *visitor)
{
    struct connection *connection = store;
    const struct server *server = connection->server;
    uint64_t low;
    (void)node;
    lanepool_status status = begin_read(connection);
    if (status != LANEPOOL_OK)
        return status;
    struct tables *copy = copy_tables(connection);
    for (size_t i = 0; i < copy->letter_count; i++) {
        const struct letter_row *letter = &copy->letters[i];
        bool is_visible =
            server->planted != STORE_OLD_LETTERS || letter->commit <= connection->looked_at;
        if (is_visible && is_asked(letter->row.shard, from, from_count, &low) &&
            letter->row.upto > low)
            visitor->letter(visitor->context, &letter->row);
    }
    free(copy);
    return LANEPOOL_OK;
}

/* --- steps --- */

static bool is_new(const lanepool_remote_look *look, const lanepool_remote_letter_row *row)
{
    bool is_own = false;
    for (size_t i = 0; i < look->shard_count; i++)
        is_own = is_own || look->shards[i] == row->shard;
    for (size_t i = 0; is_own && i < look->cursor_count; i++)
        if (look->cursors[i].sender == row->sender)
            return row->step > look->cursors[i].step;
    return is_own;
}

/* Letters are in the order of their commits. Returns how many; *letters is the caller's. */
static size_t collect_letters(const struct server *server, const lanepool_remote_look *look,
                              lanepool_remote_letter_row **letters)
{
    size_t count = 0;
    *letters = malloc((server->now.letter_count + 1) * sizeof **letters);
    if (*letters == NULL)
        door_fail("no memory");
    for (size_t i = 0; i < server->now.letter_count; i++)
        if (is_new(look, &server->now.letters[i].row))
            (*letters)[count++] = server->now.letters[i].row;
    return count;
}

static void visit_letters(const lanepool_remote_visitor *visitor,
                          const lanepool_remote_letter_row *letters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        visitor->letter(visitor->context, &letters[i]);
}

static void keep_late(struct server *server, uint64_t node, const lanepool_remote_step *step)
{
    struct late *late =
        server_keep_rows(server, &(struct late){ server->late, node, *step }, 1, sizeof *late);
    lanepool_remote_step *copy = &late->step;
    lanepool_remote_lane_row *lanes =
        server_keep_rows(server, step->lanes, step->lane_count, sizeof *step->lanes);
    lanepool_remote_effect_row *effects =
        server_keep_rows(server, step->effects, step->effect_count, sizeof *step->effects);
    lanepool_remote_letter_row *letters =
        server_keep_rows(server, step->letters, step->letter_count, sizeof *step->letters);
    for (size_t i = 0; i < step->lane_count; i++)
        lanes[i].state = server_keep(server, lanes[i].state);
    for (size_t i = 0; i < step->effect_count; i++)
        effects[i].data = server_keep(server, effects[i].data);
    for (size_t i = 0; i < step->letter_count; i++)
        letters[i].body = server_keep(server, letters[i].body);
    copy->lanes = lanes;
    copy->effects = effects;
    copy->letters = letters;
    copy->outcomes =
        server_keep_rows(server, step->outcomes, step->outcome_count, sizeof *step->outcomes);
    copy->progress =
        server_keep_rows(server, step->progress, step->progress_count, sizeof *step->progress);
    copy->unneeded =
        server_keep_rows(server, step->unneeded, step->unneeded_count, sizeof *step->unneeded);
    copy->given_up =
        server_keep_rows(server, step->given_up, step->given_up_count, sizeof *step->given_up);
    server->late = late;
}

/* The server ends the transaction although the program does not wait for it. */
static lanepool_status commit_step(struct connection *connection, const lanepool_remote_step *step,
                                   lanepool_remote_letter_row **letters, size_t *letter_count)
{
    struct server *server = connection->server;
    uint64_t node = connection->node;
    uint64_t epoch = server->epoch;
    server->is_locked[node - 1] = true;
    if (!stays_up(connection, 60)) {
        keep_late(server, node, step);
        return LANEPOOL_UNAVAILABLE;
    }
    server_pause(server);
    if (epoch == server->epoch)
        *letter_count = collect_letters(server, &step->look, letters);
    if (epoch == server->epoch)
        server_pause(server);
    if (epoch != server->epoch)
        return LANEPOOL_UNAVAILABLE;
    server->is_locked[node - 1] = false;
    server_commit(server, false);
    server_store_step(server, node, step);
    return LANEPOOL_OK;
}

static lanepool_status store_step(void *store, const lanepool_remote_node *node,
                                  const lanepool_remote_step *step,
                                  const lanepool_remote_visitor *visitor,
                                  lanepool_remote_news *news)
{
    struct connection *connection = store;
    struct server *server = connection->server;
    lanepool_remote_letter_row *letters = NULL;
    size_t letter_count = 0;
    (void)node;
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    if (!connection_is_alive(connection) && server->planted != STORE_NO_FENCE)
        return LANEPOOL_FENCED;
    connection->looked_at = server->commits;
    lanepool_status status = commit_step(connection, step, &letters, &letter_count);
    server_fill_news(server, news);
    if (status == LANEPOOL_OK && !connection_pass(connection))
        status = LANEPOOL_UNAVAILABLE;
    if (status == LANEPOOL_OK)
        visit_letters(visitor, letters, letter_count);
    free(letters);
    return status;
}

static lanepool_status store_poll(void *store, const lanepool_remote_node *node,
                                  const lanepool_remote_look *look,
                                  const lanepool_remote_visitor *visitor,
                                  lanepool_remote_news *news)
{
    struct connection *connection = store;
    struct server *server = connection->server;
    lanepool_remote_letter_row *letters;
    (void)node;
    connection->looked_at = server->commits;
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    if (!connection_is_alive(connection) && server->planted != STORE_POLL_UNFENCED &&
        server->planted != STORE_NO_FENCE)
        return LANEPOOL_FENCED;
    size_t letter_count = collect_letters(server, look, &letters);
    server_fill_news(server, news);
    if (letter_count == 0)
        door_sleep(random_below(&server->random, IDLE_NS));
    bool stays = connection_pass(connection);
    if (stays)
        visit_letters(visitor, letters, letter_count);
    free(letters);
    return stays ? LANEPOOL_OK : LANEPOOL_UNAVAILABLE;
}

/* --- the batch --- */

static lanepool_status store_flush(void *store)
{
    struct connection *connection = store;
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    connection->server->history_count = 0;
    return connection_pass(connection) ? LANEPOOL_OK : LANEPOOL_UNAVAILABLE;
}

static bool find_token(const struct tables *now, const uint64_t *token, uint64_t *first_seq)
{
    for (size_t i = 0; i < now->token_count; i++) {
        *first_seq = now->tokens[i][2];
        if (now->tokens[i][0] == token[0] && now->tokens[i][1] == token[1])
            return true;
    }
    return false;
}

static void add_tasks(struct server *server, const lanepool_remote_append *append)
{
    struct tables *now = &server->now;
    for (size_t i = 0; i < append->entry_count; i++) {
        lanepool_remote_entry_row *row = &now->entries[now->entry_count++];
        *row = append->entries[i];
        row->seq += now->appended + 1;
        row->body = server_keep(server, row->body);
    }
    uint64_t *token = now->tokens[now->token_count++];
    token[0] = append->token[0];
    token[1] = append->token[1];
    token[2] = now->appended + 1;
    now->appended += append->task_count;
}

static lanepool_status store_append(void *store, const lanepool_remote_append *append,
                                    uint64_t *first_seq)
{
    struct connection *connection = store;
    struct server *server = connection->server;
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    if (!find_token(&server->now, append->token, first_seq)) {
        if (server->now.is_sealed)
            return LANEPOOL_SHUT_DOWN;
        server_commit(server, true);
        *first_seq = server->now.appended + 1;
        add_tasks(server, append);
        server->history_count = 0;
    }
    return connection_pass(connection) ? LANEPOOL_OK : LANEPOOL_UNAVAILABLE;
}

static lanepool_status store_seal(void *store)
{
    struct connection *connection = store;
    struct server *server = connection->server;
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    server_commit(server, true);
    server->now.is_sealed = true;
    server->history_count = 0;
    return connection_pass(connection) ? LANEPOOL_OK : LANEPOOL_UNAVAILABLE;
}

static lanepool_status store_read_status(void *store, uint64_t seq,
                                         const lanepool_remote_visitor *visitor,
                                         lanepool_remote_news *news)
{
    struct connection *connection = store;
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    struct tables *copy = copy_tables(connection);
    server_fill_news(connection->server, news);
    for (uint64_t id = 1; id <= copy->node_count; id++)
        visitor->node(visitor->context,
                      &(lanepool_remote_node_row){ id, "node", 0, copy->nodes[id - 1].is_dead });
    for (uint32_t i = 0; i < connection->server->shard_count; i++)
        visitor->shard(visitor->context, &copy->shards[i]);
    for (size_t i = 0; i < copy->entry_count; i++)
        if (copy->entries[i].seq == seq)
            visitor->entry(visitor->context, &copy->entries[i]);
    for (size_t i = 0; i < copy->outcome_count; i++)
        if (copy->outcomes[i].seq == seq)
            visitor->outcome(visitor->context, &copy->outcomes[i]);
    free(copy);
    return LANEPOOL_OK;
}

static const char *store_error_text(void *store)
{
    (void)store;
    return "";
}

/* --- one call at a time --- */

static lanepool_status call_hello(void *store, const char *name, lanepool_remote_welcome *welcome)
{
    door_enter();
    lanepool_status status = store_hello(store, name, welcome);
    door_leave();
    return status;
}

static lanepool_status call_lease(void *store, const lanepool_remote_node *node,
                                  const lanepool_remote_lease *lease,
                                  const lanepool_remote_visitor *visitor,
                                  lanepool_remote_share *share)
{
    door_enter();
    lanepool_status status = store_lease(store, node, lease, visitor, share);
    door_leave();
    return status;
}

static lanepool_status call_read_lanes(void *store, const lanepool_remote_node *node,
                                       const uint32_t *shards, size_t shard_count,
                                       const lanepool_remote_visitor *visitor)
{
    door_enter();
    lanepool_status status = store_read_lanes(store, node, shards, shard_count, visitor);
    door_leave();
    return status;
}

static lanepool_status call_read_entries(void *store, const lanepool_remote_node *node,
                                         const lanepool_remote_progress *from, size_t from_count,
                                         size_t each_max, const lanepool_remote_visitor *visitor,
                                         lanepool_remote_news *news)
{
    door_enter();
    lanepool_status status =
        store_read_entries(store, node, from, from_count, each_max, visitor, news);
    door_leave();
    return status;
}

static lanepool_status call_read_letters(void *store, const lanepool_remote_node *node,
                                         const lanepool_remote_progress *from, size_t from_count,
                                         const lanepool_remote_visitor *visitor)
{
    door_enter();
    lanepool_status status = store_read_letters(store, node, from, from_count, visitor);
    door_leave();
    return status;
}

static lanepool_status call_step(void *store, const lanepool_remote_node *node,
                                 const lanepool_remote_step *step,
                                 const lanepool_remote_visitor *visitor, lanepool_remote_news *news)
{
    door_enter();
    lanepool_status status = store_step(store, node, step, visitor, news);
    door_leave();
    return status;
}

static lanepool_status call_poll(void *store, const lanepool_remote_node *node,
                                 const lanepool_remote_look *look,
                                 const lanepool_remote_visitor *visitor, lanepool_remote_news *news)
{
    door_enter();
    lanepool_status status = store_poll(store, node, look, visitor, news);
    door_leave();
    return status;
}

static lanepool_status call_flush(void *store)
{
    door_enter();
    lanepool_status status = store_flush(store);
    door_leave();
    return status;
}

static lanepool_status call_append(void *store, const lanepool_remote_append *append,
                                   uint64_t *first_seq)
{
    door_enter();
    lanepool_status status = store_append(store, append, first_seq);
    door_leave();
    return status;
}

static lanepool_status call_seal(void *store)
{
    door_enter();
    lanepool_status status = store_seal(store);
    door_leave();
    return status;
}

static lanepool_status call_read_status(void *store, uint64_t seq,
                                        const lanepool_remote_visitor *visitor,
                                        lanepool_remote_news *news)
{
    door_enter();
    lanepool_status status = store_read_status(store, seq, visitor, news);
    door_leave();
    return status;
}

static lanepool_status call_read_progress(void *store, const uint64_t *lanes, size_t lane_count,
                                          const lanepool_remote_visitor *visitor)
{
    struct connection *connection = store;
    door_enter();
    bool is_up = connection_pass(connection);
    if (is_up)
        server_visit_progress(connection->server, lanes, lane_count, visitor);
    door_leave();
    return is_up ? LANEPOOL_OK : LANEPOOL_UNAVAILABLE;
}

const lanepool_remote_store_functions *store_functions(void)
{
    static const lanepool_remote_store_functions functions = {
        .struct_size = sizeof functions,
        .hello = call_hello,
        .lease = call_lease,
        .read_lanes = call_read_lanes,
        .read_entries = call_read_entries,
        .read_letters = call_read_letters,
        .step = call_step,
        .poll = call_poll,
        .flush = call_flush,
        .append = call_append,
        .seal = call_seal,
        .read_status = call_read_status,
        .read_progress = call_read_progress,
        .error_text = store_error_text,
    };
    return &functions;
}
