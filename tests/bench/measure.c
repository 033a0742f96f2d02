#include "measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "check.h"

double bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double timeval_ns(struct timeval value)
{
    return (double)value.tv_sec * 1e9 + (double)value.tv_usec * 1e3;
}

struct bench_usage bench_usage_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (struct bench_usage){
        .wall_ns = bench_now_ns(),
        .cpu_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime),
        .voluntary_switches = usage.ru_nvcsw,
        .involuntary_switches = usage.ru_nivcsw,
    };
}

double bench_body_ns(uint64_t rounds)
{
    double best = 0;
    for (int attempt = 0; attempt < 20; attempt++) {
        double begin = bench_now_ns();
        for (int i = 0; i < 500; i++)
            bench_body(rounds);
        double each = (bench_now_ns() - begin) / 500;
        if (attempt == 0 || each < best)
            best = each;
    }
    return best;
}

uint64_t bench_body_rounds(double wanted_ns)
{
    return (uint64_t)(wanted_ns * 1000 / bench_body_ns(1000) + 0.5);
}

#define ROUND_TRIPS 2000 /* many short attempts, so that at least one of them is not disturbed */

/* Each thread waits for its number: even for one, odd for the other. */
static _Alignas(128) atomic_uint ball;

static void play(unsigned first)
{
    for (unsigned i = first; i < 2 * ROUND_TRIPS; i += 2) {
        unsigned looks = 0;
        while (atomic_load_explicit(&ball, memory_order_acquire) != i)
            if (++looks % 10000 == 0)
                sched_yield();
        atomic_store_explicit(&ball, i + 1, memory_order_release);
    }
}

static void *play_second(void *unused)
{
    (void)unused;
    play(1);
    return NULL;
}

double bench_line_round_trip_ns(void)
{
    double best = 0;
    for (int attempt = 0; attempt < 40; attempt++) {
        pthread_t second;
        atomic_store(&ball, 0);
        bench_require(pthread_create(&second, NULL, play_second, NULL) == 0, "a thread");
        double begin = bench_now_ns();
        play(0);
        pthread_join(second, NULL);
        double each = (bench_now_ns() - begin) / ROUND_TRIPS;
        if (attempt == 0 || each < best)
            best = each;
    }
    return best;
}
