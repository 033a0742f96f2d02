/*
 * Workloads whose tasks do not arrive all at once: how the submitter waits for their arrivals, and
 * how long each task waits until it starts.
 *
 * A wait is counted from just before the submit. A submitter that had no processor submits late;
 * late submits are counted apart.
 */
#ifndef BENCH_PACE_H
#define BENCH_PACE_H

#include <stddef.h>

#include "workload.h"

/* How the submitter waits until the next task arrives. */
enum bench_waiting {
    BENCH_SPINS,  /* reads the clock all the time */
    BENCH_SLEEPS, /* sleeps */
    BENCH_CLOSED  /* the next task arrives when the one before has run */
};

struct bench_pace {
    enum bench_waiting waiting;
    double mean_gap_ns; /* between two arrivals, which are random: a Poisson process */
};

/* The waits that half, nine tenths, and 99 % of the tasks do not exceed. */
struct bench_waits {
    double p50_ns, p90_ns, p99_ns;
    double late; /* the share of submits that came over 10 us after the arrival */
};

/* Prepares the measurement of tasks that lie one after the other. The workload has a pace. */
void bench_pace_begin(const struct bench_pace *pace, const struct bench_task *tasks, size_t count);
/* Submits each task when it arrives. */
void bench_pace_submit_all(void);
/* Records that the task starts now. Does nothing in workloads without a pace. */
void bench_pace_start(const struct bench_task *task);
/* Returns the results, once all tasks have run. */
struct bench_waits bench_pace_end(void);

#endif
