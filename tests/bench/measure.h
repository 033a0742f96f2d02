/* What the operating system says of this process. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>

/* The process so far. */
struct bench_usage {
    double wall_ns;
    double cpu_ns; /* user and system, all threads */
    long voluntary_switches;
    long involuntary_switches;
};

double bench_now_ns(void);
struct bench_usage bench_usage_now(void);

/* The shortest of several measurements of a body, in nanoseconds. */
double bench_body_ns(uint64_t rounds);

/* How often a body must go around to take so long. */
uint64_t bench_body_rounds(double wanted_ns);

/* How long a cache line takes from one thread to another and back. On a virtual machine it depends
 * on where the processors happen to be, and changes from one minute to the next. */
double bench_line_round_trip_ns(void);

#endif
