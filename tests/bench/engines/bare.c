/* No engine at all: two threads, or as many as there are workers, run the bodies. This is what an
 * ideal pool would need on this machine, beside other programs that run on it. */
#include <pthread.h>

#include "engine.h"

#define THREADS_MAX 64

static unsigned thread_count;

struct share {
    const struct bench_task *tasks;
    size_t count;
};

static void *work(void *argument)
{
    const struct share *share = argument;
    for (size_t i = 0; i < share->count; i++)
        bench_task_run(&share->tasks[i]);
    return NULL;
}

static void start(const struct bench_setup *setup)
{
    bench_require(setup->workers <= THREADS_MAX, "so few workers");
    thread_count = setup->workers;
}

static void run_all(const struct bench_task *tasks, size_t count)
{
    pthread_t threads[THREADS_MAX];
    struct share shares[THREADS_MAX];
    size_t begin = 0;
    for (unsigned i = 0; i < thread_count; i++) {
        size_t end = count * (i + 1) / thread_count;
        shares[i] = (struct share){ .tasks = tasks + begin, .count = end - begin };
        bench_require(pthread_create(&threads[i], NULL, work, &shares[i]) == 0, "a thread");
        begin = end;
    }
    for (unsigned i = 0; i < thread_count; i++)
        pthread_join(threads[i], NULL);
}

static void stop(void)
{
}

const struct bench_hooks bench_engine = {
    .name = "bare",
    .features = BENCH_SHARED | BENCH_UNORDERED,
    .start = start,
    .stop = stop,
    .run_all = run_all,
};
