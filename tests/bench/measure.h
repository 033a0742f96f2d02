/* Measures this process by means of the operating system. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>

/* The resources that the process has used so far. */
struct bench_usage {
    double wall_ns;
    double cpu_ns; /* user and system time of all threads */
    long voluntary_switches;
    long involuntary_switches;
};

double bench_now_ns(void);
struct bench_usage bench_usage_now(void);

/* Returns the shortest of several measurements of a body, in nanoseconds. */
double bench_body_ns(uint64_t rounds);

/* Returns how many rounds a body needs to take `wanted_ns`. */
uint64_t bench_body_rounds(double wanted_ns);

/* Returns how long a cache line takes from one thread to another and back. On a virtual machine
 * this depends on the positions of the processors, and changes from one minute to the next. */
double bench_line_round_trip_ns(void);

#endif
