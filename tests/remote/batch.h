/*
 * A batch: several programs, each with a node and a connection, run a model's tasks. The seed draws
 * the model, the programs and the faults.
 */
#ifndef TESTS_REMOTE_BATCH_H
#define TESTS_REMOTE_BATCH_H

#include "remote/store.h"

enum { PROGRAMS_MAX = 4 };

struct run;
struct door_thread;

/* A program: a thread with a node. */
struct program {
    struct run *run;
    struct door_thread *thread;
    struct connection *connection;
    lanepool_remote_options options;
    lanepool_options pool;
    uint64_t begin_ns;
    bool submits;
    bool leaves;
};

/* The first three are the caller's; the others are zeroed. */
struct run {
    uint64_t seed;
    bool has_threads; /* of pools */
    enum store_planted planted;
    uint64_t random;
    struct model model;
    struct server *server;
    unsigned program_count;
    struct program programs[PROGRAMS_MAX];
    lanepool_remote_counts counts;
};

/* Runs a batch to its end, and compares it with the serial run. Fails by door_fail(). */
void run_batch(struct run *run);

#endif
