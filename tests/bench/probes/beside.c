/* How long a short task waits when the only other worker has just begun a task of one millisecond.
 * Alternates with the same measurement on two threads that sleep on semaphores. */
#include <stdlib.h>

#include "meeting.h"

#define SAMPLES  800
#define LONG_NS  1e6
#define LEAD_NS  100000 /* the long task has begun by then */
#define SPAN_NS  400000 /* the short task is submitted at any time within this */
#define PAUSE_NS 1.6e6  /* from the submit of the long task until both threads sleep again */

struct sample {
    struct meeting of_long, of_short;
};

/* Starts the long task. Returns when the short one is due. */
static void lead(double begin_ns, uint64_t *state)
{
    timing_sleep_until(begin_ns + LEAD_NS + (double)(probe_random(state) % SPAN_NS));
}

static void end(struct sample *sample, double begin_ns)
{
    timing_sleep_until(begin_ns + PAUSE_NS);
    meeting_wait(&sample->of_long);
    meeting_wait(&sample->of_short);
}

static double measure_pool(lanepool_pool *pool, struct sample *sample, uint64_t *state)
{
    meeting_prepare(&sample->of_long, LONG_NS);
    meeting_prepare(&sample->of_short, 0);
    double begin_ns = probe_now_ns();
    meeting_submit(pool, &sample->of_long, 0);
    lead(begin_ns, state);
    double short_ns = probe_now_ns();
    meeting_submit(pool, &sample->of_short, 1);
    end(sample, begin_ns);
    return sample->of_short.started_ns - short_ns;
}

static double measure_threads(struct meeting_thread **threads, struct sample *sample,
                              uint64_t *state)
{
    meeting_prepare(&sample->of_long, LONG_NS);
    meeting_prepare(&sample->of_short, 0);
    double begin_ns = probe_now_ns();
    meeting_thread_post(threads[0], &sample->of_long);
    lead(begin_ns, state);
    double short_ns = probe_now_ns();
    meeting_thread_post(threads[1], &sample->of_short);
    end(sample, begin_ns);
    return sample->of_short.started_ns - short_ns;
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t count = probe_scaled(&options, SAMPLES, 50);
    double *pool_ns = probe_memory(count, sizeof *pool_ns);
    double *threads_ns = probe_memory(count, sizeof *threads_ns);
    struct sample *sample = probe_memory(1, sizeof *sample);
    lanepool_options pool_options = LANEPOOL_OPTIONS_INIT;
    pool_options.workers = 2;
    lanepool_pool *pool = probe_pool_create(&pool_options);
    struct meeting_thread *threads[2] = { meeting_thread_start(), meeting_thread_start() };
    uint64_t state = 1;
    timing_be_punctual();
    for (size_t i = 0; i < count; i++) {
        pool_ns[i] = measure_pool(pool, sample, &state);
        threads_ns[i] = measure_threads(threads, sample, &state);
    }
    waits_print_tail("beside_long", "lanepool", pool_ns, count);
    waits_print_tail("beside_long", "semaphores", threads_ns, count);
    meeting_thread_end(threads[1]);
    meeting_thread_end(threads[0]);
    probe_pool_destroy(pool);
    free(sample);
    free(threads_ns);
    free(pool_ns);
    return 0;
}
