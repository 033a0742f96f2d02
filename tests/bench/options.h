/* The command line of an engine's program. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct bench_options {
    const char *workload;
    size_t tasks;
    unsigned workers;     /* 0: as many as the workload says */
    size_t batch;         /* tasks submitted at once; 0: one by one, by `submit` */
    uint64_t body_rounds; /* of a body of one microsecond; 0: measured at the start */
};

/* Reads the options. Ends the program if one is wrong. */
struct bench_options bench_options_read(int argc, char **argv);

#endif
