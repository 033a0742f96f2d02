/* Owns the count of steps. It must not itself be counted. */
#include "steps.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__
#define NOT_COUNTED __attribute__((no_sanitize("coverage")))
#else
#define NOT_COUNTED __attribute__((no_sanitize_coverage))
#endif

/* Of the thread that began to count: the digest of a large input has a thread of its own. */
static _Thread_local uint64_t steps, steps_max = UINT64_MAX;
static _Thread_local size_t input_size;

/* The linker directs the compiler's calls here (--wrap): libFuzzer has a function of that name. */
void __wrap___sanitizer_cov_trace_pc(void);

NOT_COUNTED static void stop(void)
{
    steps_max = UINT64_MAX;
    fprintf(stderr, "an input of %zu bytes takes more than %llu steps\n", input_size,
            (unsigned long long)(steps - 1));
    abort();
}

NOT_COUNTED void __wrap___sanitizer_cov_trace_pc(void)
{
    if (++steps > steps_max) {
        stop();
    }
}

NOT_COUNTED void steps_begin(uint64_t max, size_t size)
{
    input_size = size;
    steps = 0;
    steps_max = max;
}

NOT_COUNTED void steps_allow(uint64_t more)
{
    steps_max += more;
}

NOT_COUNTED uint64_t steps_end(void)
{
    steps_max = UINT64_MAX;
    return steps;
}
