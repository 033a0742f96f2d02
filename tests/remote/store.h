/*
 * A store in memory, on the simulated platform. Each call of a node is a transaction that becomes
 * visible when it commits; other fibers run before, inside and after it. A connection may break at
 * any moment, also inside a step: then the step commits later, or never. A node may be declared
 * dead although it is well, but not while its step is being committed. The server may crash; then
 * it loses the newest transactions that were not flushed, as many as the schedule says.
 *
 * At each commit the store compares what it has with the serial run of the model.
 */
#ifndef TESTS_REMOTE_STORE_H
#define TESTS_REMOTE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "remote/model.h"

/* Errors of a store that are planted; see also src/remote/planted.h. */
enum store_planted {
    STORE_IS_RIGHT,
    STORE_NO_FENCE,      /* a step of a dead node commits */
    STORE_POLL_UNFENCED, /* a dead node reads letters */
    STORE_OLD_LETTERS,   /* the letters to a new shard are read before the fence */
    STORE_PLANTED_COUNT
};

/* How often each may still happen. */
struct store_faults {
    unsigned kills;   /* of connections */
    unsigned deaths;  /* of nodes that are well */
    unsigned stops;   /* of programs */
    unsigned crashes; /* of the server */
    unsigned moves;   /* shards are given up although no node is hungry */
};

struct server;
struct connection;

struct server *server_create(const struct model *model, uint32_t shard_count, uint64_t seed,
                             struct store_faults faults, enum store_planted planted);
/* Fails unless the store has what the serial run leaves. */
void server_judge(struct server *server);
void server_destroy(struct server *server);

struct connection *connection_create(struct server *server);
void connection_destroy(struct connection *connection);
const lanepool_remote_store_functions *store_functions(void);

#endif
