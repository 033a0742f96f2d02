/* Leases in the store in memory: who is dead, and who gets which shards. */
#include "remote/door.h"
#include "remote/tables.h"

/* Waits for a step of that node. */
static void wait_for_row(struct server *server, uint64_t node)
{
    uint64_t epoch = server->epoch;
    while (epoch == server->epoch && server->is_locked[node - 1])
        server_pause(server);
}

static void declare_dead(struct connection *connection, uint64_t node)
{
    struct server *server = connection->server;
    bool is_gone = server->at[node - 1] == NULL;
    if (!is_gone && (server->faults.deaths == 0 || !server_draws(server, 12)))
        return;
    server->faults.deaths -= !is_gone;
    wait_for_row(server, node);
    if (!connection_is_up(connection) || server->now.nodes[node - 1].is_dead)
        return;
    server_commit(server, false);
    server->now.nodes[node - 1].is_dead = true;
}

static uint32_t count_shards(const struct server *server, uint64_t node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < server->shard_count; i++)
        count += server->now.shards[i].owner == node;
    return count;
}

static bool is_free(const struct server *server, uint32_t shard)
{
    uint64_t owner = server->now.shards[shard].owner;
    return owner == 0 || server->now.nodes[owner - 1].is_dead;
}

static void fill_share(struct server *server, lanepool_remote_share *share)
{
    *share = (lanepool_remote_share){ 0 };
    for (uint64_t id = 1; id <= server->now.node_count; id++)
        share->live_nodes +=
            !server->now.nodes[id - 1].is_dead && server->now.nodes[id - 1].takes_shards;
    for (uint64_t id = 1; id <= server->now.node_count && share->live_nodes > 0; id++)
        share->hungry_nodes += !server->now.nodes[id - 1].is_dead &&
                               server->now.nodes[id - 1].takes_shards &&
                               count_shards(server, id) < server->shard_count / share->live_nodes;
    for (uint32_t i = 0; i < server->shard_count; i++)
        share->free_shards += is_free(server, i);
    server_fill_news(server, &share->news);
}

static uint32_t take_shards(struct server *server, uint64_t node, uint32_t most,
                            lanepool_remote_shard_row *taken)
{
    lanepool_remote_share share;
    uint32_t count = 0;
    fill_share(server, &share);
    uint32_t live = share.live_nodes > 0 ? share.live_nodes : 1;
    uint32_t fair = (server->shard_count + live - 1) / live;
    uint32_t own = count_shards(server, node);
    if (fair > most)
        fair = most;
    for (uint32_t i = 0; i < server->shard_count && own < fair; i++) {
        if (!is_free(server, i))
            continue;
        server->now.shards[i].owner = node;
        taken[count++] = server->now.shards[i];
        own++;
    }
    return count;
}

/* The schedule moves shards although no node needs them. */
static void lie_about_share(struct server *server, lanepool_remote_share *share)
{
    if (server->faults.moves == 0 || !server_draws(server, 8))
        return;
    server->faults.moves--;
    share->hungry_nodes++;
    share->live_nodes++;
}

lanepool_status store_lease(void *store, const lanepool_remote_node *node,
                            const lanepool_remote_lease *lease,
                            const lanepool_remote_visitor *visitor, lanepool_remote_share *share)
{
    struct connection *connection = store;
    struct server *server = connection->server;
    lanepool_remote_shard_row taken[SHARDS_MAX];
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    for (uint64_t id = 1; id <= server->now.node_count && connection_is_up(connection); id++)
        if (id != node->id && !server->now.nodes[id - 1].is_dead)
            declare_dead(connection, id);
    if (!connection_is_up(connection))
        return LANEPOOL_UNAVAILABLE;
    if (!connection_is_alive(connection))
        return LANEPOOL_FENCED;
    server_commit(server, false);
    server->now.nodes[node->id - 1].takes_shards = lease->shards_max > 0;
    uint32_t count = take_shards(server, node->id, lease->shards_max, taken);
    fill_share(server, share);
    lie_about_share(server, share);
    if (!connection_pass(connection))
        return LANEPOOL_UNAVAILABLE;
    for (uint32_t i = 0; i < count; i++)
        visitor->shard(visitor->context, &taken[i]);
    return LANEPOOL_OK;
}
