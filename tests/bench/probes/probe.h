/* Shared by the probes. A probe is a program that measures the library by its public header, as any
 * program could. It prints a line of JSON for each point of a curve. */
#ifndef BENCH_PROBE_H
#define BENCH_PROBE_H

#include <lanepool/lanepool.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Separates data that one core writes from data that others read. */
#define PROBE_LINE 128

/* Options of the command line. */
struct probe_options {
    double scale; /* factor for numbers of tasks and for durations; 1: as published */
};

/* Reads `--scale FACTOR`. Ends the program if there is anything else. */
struct probe_options probe_options_read(int argc, char **argv);

/* Returns `count` scaled, but at least `least`. */
size_t probe_scaled(const struct probe_options *options, size_t count, size_t least);

/* Ends the program with a message about `what` if `happened` is false. */
void probe_require(bool happened, const char *what);

/* Returns the time of the monotonic clock in nanoseconds. */
double probe_now_ns(void);

/* Returns the time that two readings of the clock take: the least of many. */
double probe_clock_ns(void);

/* Returns the median. Sorts the values. */
double probe_median(double *values, size_t count);

/* Prints one point. */
void probe_point(const char *curve, const char *series, double x, double value, const char *unit);

/* Create and destroy a pool. The options may be NULL. */
lanepool_pool *probe_pool_create(const lanepool_options *options);
void probe_pool_destroy(lanepool_pool *pool);

/* Returns random numbers that are the same in each run. `state` starts with any number but 0. */
uint64_t probe_random(uint64_t *state);

/* Returns zeroed memory for `count` items of `size` bytes. It has been written to, so that no page
 * fault follows. */
void *probe_memory(size_t count, size_t size);

/* A gate blocks one worker, so that tasks submitted afterwards stay pending. */
struct probe_gate;

/* Returns when a worker waits at the gate. The gate's task has no claims, and the given kind; a
 * rule can identify it by its function. A pool with several workers needs as many gates. */
struct probe_gate *probe_gate_shut(lanepool_pool *pool, uint64_t kind);
int probe_gate_run(lanepool_run *run, void *context);

/* Lets the worker continue. */
void probe_gate_open(struct probe_gate *gate);

/* Frees a gate whose worker has continued. Returns when it continued. */
double probe_gate_gone(struct probe_gate *gate);

/* Tasks that count down on one worker; their context is the countdown. */
struct probe_countdown;

struct probe_countdown *probe_countdown_create(void);
void probe_countdown_destroy(struct probe_countdown *countdown);
int probe_countdown_run(lanepool_run *run, void *context);

/* Sets the countdown. To be called while none of the tasks can run. */
void probe_countdown_set(struct probe_countdown *countdown, size_t count);

/* Waits until `count` tasks have run. Returns when the last one did. */
double probe_countdown_wait(struct probe_countdown *countdown);

#endif
