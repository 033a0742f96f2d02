#include "bench/timing.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

void timing_be_punctual(void)
{
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
}

void timing_sleep_until(double ns)
{
    struct timespec end = { .tv_sec = (time_t)(ns / 1e9) };
    end.tv_nsec = (long)(ns - (double)end.tv_sec * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        continue;
}

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

void timing_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
}

double timing_quantile(const double *sorted, size_t count, double part)
{
    size_t index = (size_t)(part * (double)count);
    return sorted[index < count ? index : count - 1];
}
