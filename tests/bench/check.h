/* The bodies of tasks, and the check that the engine preserved the order and lost nothing. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload.h"

/* Parallel to bench_keys: each key's sequence number in its task. */
extern const uint32_t *bench_sequences;

/* The result of the checks of one run. */
struct bench_verdict {
    bool order;   /* every task found that all earlier tasks of its submitter on its keys had run */
    bool updates; /* no change was lost by overlapping tasks */
    bool count;   /* every task ran once */
};

/* `body` is the number of rounds of a body; 0: empty bodies. */
void bench_check_begin(const struct bench_workload *workload, bool is_ordered, uint64_t body);
struct bench_verdict bench_check_end(const struct bench_tasks *tasks);

/* Returns how many tasks have run, as far as it can be seen. */
size_t bench_done(void);

/* Return how many gates are entered, and open `count` gates. */
unsigned bench_gates_entered(void);
void bench_gates_open(unsigned count);

/* Spins `rounds` times; each round waits for the one before, and takes some nanoseconds. */
void bench_body(uint64_t rounds);

#endif
