/*
 * Runs random workloads until each value of each option of a pool has been judged together with
 * each value of each other option.
 *
 *     PROGRAM [--times N]
 *
 * Draws workloads by seed and runs those that bring a pair that was judged less than N times, 3 by
 * default. A pair that no sort of pool offers is left out; tests/contract/option_pairs.c checks
 * what the creation of such a pool answers. The program fails if a workload fails, or if a pair
 * that is offered is never drawn.
 */
#ifndef TESTS_SIMULATOR_PAIRS_H
#define TESTS_SIMULATOR_PAIRS_H

#include "property/workload.h"

enum { PAIRS_WHY_SIZE = 256 };

/* Where the workloads run. */
struct pairs_subject {
    const char *program; /* that repeats a seed */
    bool has_threads;    /* false: the pools have a step_seed, and fewer options */
    void (*draw)(struct workload *workload, uint64_t seed);
    /* Runs the workload and has the run judged. If it fails, stores why. */
    bool (*holds)(const struct workload *workload, uint64_t seed, char why[PAIRS_WHY_SIZE]);
};

/* Does all of it. Returns the exit status. */
int pairs_main(const struct pairs_subject *subject, int argc, char **argv);

#endif
