/*
 * Nodes that do everything at the same time on a real server: make the batch, take and give up
 * shards, declare each other dead although they are healthy. Each node is a thread with a store of
 * its own.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "remote/pg/node.h"
#include "support/test.h"

enum { THREADS = 4, SHARDS = 16 };

/* server_conninfo() has one buffer: it is filled before the threads begin. */
static const char *conninfo;

struct racer {
    pthread_t thread;
    const char *batch;
    unsigned number;
    unsigned random;
    struct node node;
    lanepool_status status; /* that is unexpected, and its text */
    char error[200];
    unsigned steps;      /* that were committed */
    unsigned ends;       /* of nodes */
    unsigned lock_waits; /* that ended by a time-out or a deadlock */
};

static unsigned draw(struct racer *racer, unsigned limit)
{
    racer->random = racer->random * 1103515245 + 12345;
    return racer->random / 65536 % limit;
}

static void race(const char *batch, struct racer *racers, void *(*run)(void *))
{
    server_begin();
    conninfo = server_conninfo("app");
    for (unsigned i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){ .batch = batch, .number = i, .random = i };
        racers[i].node.functions = lanepool_pg_functions();
        expect_eq(pthread_create(&racers[i].thread, NULL, run, &racers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(racers[i].thread, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        if (racers[i].status != LANEPOOL_OK)
            test_fail(__FILE__, __LINE__, "%s: %s", lanepool_status_name(racers[i].status),
                      racers[i].error);
}

static lanepool_status open_store(struct racer *racer)
{
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    options.shard_count = SHARDS;
    options.error = racer->error;
    options.error_size = sizeof racer->error;
    return lanepool_pg_open(conninfo, racer->batch, &options, &racer->node.store);
}

static lanepool_status say_hello(struct node *node)
{
    node->step_number = 0;
    return node->functions->hello(node->store, "racer", &node->welcome);
}

/* --- the batch is made --- */

static void *open_and_close(void *context)
{
    struct racer *racer = context;
    racer->status = open_store(racer);
    node_close(&racer->node);
    return NULL;
}

Test(pg_races, batch_is_made_by_one_of_those_that_open_it_at_once)
{
    struct racer racers[THREADS];
    race("made_at_once", racers, open_and_close);
    expect_eq(node_admin_sql("made_at_once", "SELECT count(*) FROM batch"), 1);
    expect_eq(node_admin_sql("made_at_once", "SELECT count(*) FROM shard"), SHARDS);
}

/* --- shards are given up and taken --- */

static _Atomic unsigned owners[SHARDS]; /* the racer's number + 1; 0: none */
static _Atomic unsigned taken_twice;

static void own_taken_shards(struct racer *racer)
{
    for (size_t i = 0; i < racer->node.rows.shard_count; i++) {
        unsigned nobody = 0;
        uint32_t shard = racer->node.rows.shards[i].shard;
        if (!atomic_compare_exchange_strong(&owners[shard], &nobody, racer->number + 1))
            taken_twice++;
    }
}

static lanepool_status give_up_some(struct racer *racer)
{
    uint32_t given_up[SHARDS];
    lanepool_remote_step step = { .given_up = given_up };
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        if (owners[shard] != racer->number + 1 || draw(racer, 2) == 0)
            continue;
        owners[shard] = 0;
        given_up[step.given_up_count++] = shard;
    }
    return node_step(&racer->node, &step);
}

static void *take_and_give_up(void *context)
{
    struct racer *racer = context;
    racer->status = open_store(racer);
    if (racer->status == LANEPOOL_OK)
        racer->status = say_hello(&racer->node);
    for (int round = 0; round < 100 && racer->status == LANEPOOL_OK; round++) {
        racer->status = node_lease(&racer->node, LEASE_FOREVER_NS, SHARDS);
        own_taken_shards(racer);
        if (racer->status == LANEPOOL_OK)
            racer->status = give_up_some(racer);
    }
    for (uint32_t shard = 0; shard < SHARDS; shard++)
        if (owners[shard] == racer->number + 1)
            owners[shard] = 0;
    node_close(&racer->node);
    return NULL;
}

Test(pg_races, shard_has_one_owner_at_a_time)
{
    struct racer racers[THREADS];
    race("given_up", racers, take_and_give_up);
    expect_eq(taken_twice, 0);
}

/* --- nodes declare each other dead --- */

enum { STEPS_WANTED = 150 };

struct counters {
    lanepool_remote_lane_row lanes[SHARDS];
    uint64_t values[SHARDS];
    size_t count;
};

static void add_new_shard(void *context, const lanepool_remote_shard_row *row)
{
    struct counters *counters = context;
    size_t i = counters->count++;
    counters->values[i] = 0;
    counters->lanes[i] = (lanepool_remote_lane_row){ .lane = row->shard, .shard = row->shard };
}

static void set_counter(void *context, const lanepool_remote_lane_row *row)
{
    struct counters *counters = context;
    for (size_t i = 0; i < counters->count; i++)
        if (counters->lanes[i].lane == row->lane)
            memcpy(&counters->values[i], row->state.data, sizeof counters->values[i]);
}

/* Takes shards, and the lanes' states with them. */
static lanepool_status take_over(struct racer *racer, struct counters *counters, uint64_t lease_ns)
{
    struct node *node = &racer->node;
    uint32_t shards[SHARDS];
    lanepool_remote_visitor visitor = { .context = counters,
                                        .shard = add_new_shard,
                                        .lane = set_counter };
    lanepool_remote_lease lease = { .lease_ns = lease_ns, .shards_max = SHARDS };
    size_t before = counters->count;
    lanepool_status status =
        node->functions->lease(node->store, &node->welcome.node, &lease, &visitor, &node->share);
    for (size_t i = before; i < counters->count; i++)
        shards[i - before] = counters->lanes[i].shard;
    if (status != LANEPOOL_OK || counters->count == before)
        return status;
    return node->functions->read_lanes(node->store, &node->welcome.node, shards,
                                       counters->count - before, &visitor);
}

/* Adds one to all lanes of the node. The effect's key is the lane's new value: a step of a dead
 * node that was committed would make the successor's effect the second one of its key. */
static lanepool_status count_up(struct racer *racer, struct counters *counters)
{
    lanepool_remote_effect_row effects[SHARDS];
    for (size_t i = 0; i < counters->count; i++) {
        lanepool_remote_lane_row *lane = &counters->lanes[i];
        counters->values[i]++;
        lane->last_seq = counters->values[i];
        lane->state = (lanepool_remote_bytes){ &counters->values[i], sizeof(uint64_t) };
        effects[i] =
            (lanepool_remote_effect_row){ .seq = counters->values[i], .part = lane->shard };
    }
    lanepool_remote_step step = { .lanes = counters->lanes,
                                  .lane_count = counters->count,
                                  .effects = effects,
                                  .effect_count = counters->count };
    return node_step(&racer->node, &step);
}

/* One node's life: until it is declared dead, or the steps are done. */
static lanepool_status live_as_node(struct racer *racer)
{
    struct counters counters = { .count = 0 };
    lanepool_status status = say_hello(&racer->node);
    while (status == LANEPOOL_OK && racer->steps < STEPS_WANTED) {
        uint64_t lease_ns = draw(racer, 20) == 0 ? 1 : LEASE_FOREVER_NS;
        status = take_over(racer, &counters, lease_ns);
        if (status == LANEPOOL_OK)
            status = count_up(racer, &counters);
        racer->steps += status == LANEPOOL_OK;
    }
    return status;
}

static bool has_waited_in_vain(const struct racer *racer)
{
    const char *text = racer->node.functions->error_text(racer->node.store);
    return strstr(text, "lock timeout") != NULL || strstr(text, "deadlock") != NULL;
}

static void *live_and_die(void *context)
{
    struct racer *racer = context;
    lanepool_status status = open_store(racer);
    while (racer->steps < STEPS_WANTED) {
        status = live_as_node(racer);
        racer->ends++;
        racer->lock_waits += has_waited_in_vain(racer);
        if (status == LANEPOOL_INVALID || status == LANEPOOL_NOMEM)
            break;
    }
    if (status != LANEPOOL_FENCED && status != LANEPOOL_UNAVAILABLE)
        racer->status = status;
    node_close(&racer->node);
    return NULL;
}

Test(pg_races, nodes_that_declare_each_other_dead_lose_and_repeat_no_step)
{
    struct racer racers[THREADS];
    unsigned ends = 0;
    unsigned lock_waits = 0;
    race("wrong_deaths", racers, live_and_die);
    for (unsigned i = 0; i < THREADS; i++) {
        lock_waits += racers[i].lock_waits;
        ends += racers[i].ends;
    }
    expect(ends > THREADS);
    expect_eq(lock_waits, 0);
    expect_eq(node_admin_sql("wrong_deaths",
                             "SELECT count(*) FROM lane l WHERE last_seq <> "
                             "(SELECT count(*) FROM effect WHERE part = l.shard) OR last_seq <> "
                             "(SELECT max(seq) FROM effect WHERE part = l.shard)"),
              0);
    expect_eq(node_admin_sql("wrong_deaths", "SELECT count(*) FROM lane"), SHARDS);
    /* The rows of dead nodes are deleted now and then. */
    expect(node_admin_sql("wrong_deaths", "SELECT count(*) FROM node") < 40);
}
