/* The cost of a pool that has had work and has none now: CPU time of the whole process, and how
 * often its threads woke up. */
#include <sys/resource.h>
#include <time.h>

#include "support/process.h"
#include "waits.h"

#define TASKS   20000
#define KEYS    64
#define IDLE_NS 1e9

static int work(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

static double cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

/* Returns how often threads went to sleep, or were preempted. */
static double switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_nvcsw + (double)usage.ru_nivcsw;
}

static void measure(const struct probe_options *options, unsigned workers)
{
    lanepool_options pool_options = LANEPOOL_OPTIONS_INIT;
    pool_options.workers = workers;
    lanepool_pool *pool = probe_pool_create(&pool_options);
    for (size_t i = 0; i < TASKS; i++)
        waits_submit(pool, work, NULL, i % KEYS);
    probe_require(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK, "all have run");
    (void)process_other_threads_sleep(); /* if they do not sleep, the result shows it */
    double seconds = IDLE_NS * (options->scale < 1 ? options->scale : 1) / 1e9;
    double used_ns = cpu_ns(), woken = switches();
    waits_sleep(seconds * 1e9);
    used_ns = cpu_ns() - used_ns;
    woken = switches() - woken - 1; /* this thread slept once */
    probe_point("idle_cpu", "lanepool", workers, used_ns / 1e6 / seconds, "ms per second");
    probe_point("idle_switches", "lanepool", workers, woken / seconds, "per second");
    probe_pool_destroy(pool);
}

int main(int argc, char **argv)
{
    static const unsigned workers[] = { 1, 2, 4, 8, 16 };
    struct probe_options options = probe_options_read(argc, argv);
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++)
        measure(&options, workers[i]);
    return 0;
}
