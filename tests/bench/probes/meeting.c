#include "meeting.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LOOK_NS 100000

struct meeting_thread {
    pthread_t thread;
    sem_t work;
    struct meeting *meeting; /* NULL ends the thread */
};

void meeting_prepare(struct meeting *meeting, double busy_ns)
{
    meeting->busy_ns = busy_ns;
    meeting->started_ns = 0;
    atomic_store(&meeting->is_over, false);
}

void meeting_wait(const struct meeting *meeting)
{
    while (!atomic_load(&meeting->is_over))
        waits_sleep(LOOK_NS);
}

static void hold(struct meeting *meeting)
{
    meeting->started_ns = probe_now_ns();
    while (probe_now_ns() < meeting->started_ns + meeting->busy_ns)
        continue;
    atomic_store(&meeting->is_over, true);
}

static int hold_as_task(lanepool_run *run, void *context)
{
    (void)run;
    hold(context);
    return 0;
}

void meeting_submit(lanepool_pool *pool, struct meeting *meeting, uint64_t key)
{
    waits_submit(pool, hold_as_task, meeting, key);
}

static void *thread_main(void *argument)
{
    struct meeting_thread *thread = argument;
    for (;;) {
        while (sem_wait(&thread->work) != 0)
            continue; /* interrupted by a signal */
        if (thread->meeting == NULL)
            return NULL;
        hold(thread->meeting);
    }
}

struct meeting_thread *meeting_thread_start(void)
{
    struct meeting_thread *thread = probe_memory(1, sizeof *thread);
    sem_init(&thread->work, 0, 0);
    probe_require(pthread_create(&thread->thread, NULL, thread_main, thread) == 0, "a thread");
    return thread;
}

void meeting_thread_post(struct meeting_thread *thread, struct meeting *meeting)
{
    thread->meeting = meeting;
    sem_post(&thread->work);
}

void meeting_thread_end(struct meeting_thread *thread)
{
    meeting_thread_post(thread, NULL);
    pthread_join(thread->thread, NULL);
    sem_destroy(&thread->work);
    free(thread);
}
