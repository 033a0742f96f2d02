/* The time from a submit until the task starts, when the pool's two workers sleep. Alternates with
 * the time from posting a bare semaphore until its thread runs. */
#include <stdlib.h>

#include "meeting.h"

#define SAMPLES  1500
#define PAUSE_NS 1e6 /* a worker searches for some microseconds before it sleeps */

static double wake_pool(lanepool_pool *pool, struct meeting *meeting, uint64_t key)
{
    meeting_prepare(meeting, 0);
    double begin = probe_now_ns();
    meeting_submit(pool, meeting, key);
    waits_sleep(PAUSE_NS);
    meeting_wait(meeting);
    return meeting->started_ns - begin;
}

static double wake_thread(struct meeting_thread *thread, struct meeting *meeting)
{
    meeting_prepare(meeting, 0);
    double begin = probe_now_ns();
    meeting_thread_post(thread, meeting);
    waits_sleep(PAUSE_NS);
    meeting_wait(meeting);
    return meeting->started_ns - begin;
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t count = probe_scaled(&options, SAMPLES, 50);
    double *pool_ns = probe_memory(count, sizeof *pool_ns);
    double *thread_ns = probe_memory(count, sizeof *thread_ns);
    struct meeting *meeting = probe_memory(1, sizeof *meeting);
    lanepool_options pool_options = LANEPOOL_OPTIONS_INIT;
    pool_options.workers = 2;
    lanepool_pool *pool = probe_pool_create(&pool_options);
    struct meeting_thread *thread = meeting_thread_start();
    timing_be_punctual();
    waits_sleep(PAUSE_NS);
    for (size_t i = 0; i < count; i++) {
        pool_ns[i] = wake_pool(pool, meeting, i % 64);
        thread_ns[i] = wake_thread(thread, meeting);
    }
    waits_print_tail("wake", "lanepool", pool_ns, count);
    waits_print_tail("wake", "semaphore", thread_ns, count);
    meeting_thread_end(thread);
    probe_pool_destroy(pool);
    free(meeting);
    free(thread_ns);
    free(pool_ns);
    return 0;
}
