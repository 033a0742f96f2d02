/* What probes share. A probe is a program that measures something of the library as any program
 * could, by the public header, and prints a line of JSON for each point of a curve. */
#ifndef BENCH_PROBE_H
#define BENCH_PROBE_H

#include <lanepool/lanepool.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where one core writes what others read, they shall not disturb one another. */
#define PROBE_LINE 128

/* From the command line. */
struct probe_options {
    double scale; /* of how many tasks and how long; 1: as published */
};

/* Understands `--scale FACTOR`. Ends the program when it does not understand. */
struct probe_options probe_options_read(int argc, char **argv);

/* So many for this scale, but at least `least`. */
size_t probe_scaled(const struct probe_options *options, size_t count, size_t least);

/* Ends the program when `happened` is false, saying what did not. */
void probe_require(bool happened, const char *what);

/* The monotonic clock, in nanoseconds. */
double probe_now_ns(void);

/* What a pair of looks at the clock takes by itself: the least of many. */
double probe_clock_ns(void);

/* The middle one; the values are put in order. */
double probe_median(double *values, size_t count);

/* Prints one point. */
void probe_point(const char *curve, const char *series, double x, double value, const char *unit);

/* A pool; its end. The options may be NULL. */
lanepool_pool *probe_pool_create(const lanepool_options *options);
void probe_pool_destroy(lanepool_pool *pool);

/* Random numbers that are the same each time; `state` is any number but 0. */
uint64_t probe_random(uint64_t *state);

/* Zeroed memory for `count` of `size`, written to, so that no page is missing later. */
void *probe_memory(size_t count, size_t size);

/* A gate holds one worker: what is submitted meanwhile stays pending. */
struct probe_gate;

/* Returns once a worker stands at the gate. Its task has no claims, and the kind given here; a rule
 * knows it by its function. A pool with several workers needs as many gates. */
struct probe_gate *probe_gate_shut(lanepool_pool *pool, uint64_t kind);
int probe_gate_run(lanepool_run *run, void *context, lanepool_call call);

/* Lets the worker go. */
void probe_gate_open(struct probe_gate *gate);

/* Frees a gate whose worker has gone on. Returns when that was. */
double probe_gate_gone(struct probe_gate *gate);

/* Tasks that count down, on one worker: their context is the countdown. */
struct probe_countdown;

struct probe_countdown *probe_countdown_create(void);
void probe_countdown_destroy(struct probe_countdown *countdown);
int probe_countdown_run(lanepool_run *run, void *context, lanepool_call call);

/* To be called while none of the tasks can run. */
void probe_countdown_set(struct probe_countdown *countdown, size_t count);

/* Waits until so many have run. Returns when the last one did. */
double probe_countdown_wait(struct probe_countdown *countdown);

#endif
