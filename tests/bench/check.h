/* What a task does, and how it is seen whether the engine kept order and lost nothing. */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workload.h"

/* Beside bench_keys: each key's sequence number in its task. */
extern const uint32_t *bench_sequences;

/* What one run has shown. */
struct bench_verdict {
    bool order;   /* every task found of its key what its submitter had submitted before it */
    bool updates; /* nothing was lost by tasks that overlapped */
    bool count;   /* every task ran once */
};

/* `body` is how often a body goes around, 0 for an empty one. */
void bench_check_begin(const struct bench_workload *workload, bool is_ordered, uint64_t body);
struct bench_verdict bench_check_end(const struct bench_tasks *tasks);

/* How many tasks have run, as far as it can be seen. */
size_t bench_done(void);

/* Gates: how many are entered; opens as many. */
unsigned bench_gates_entered(void);
void bench_gates_open(unsigned count);

/* Goes around so often, each time waiting for the time before: some nanoseconds each. */
void bench_body(uint64_t rounds);

#endif
