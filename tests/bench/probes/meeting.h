/* Two ways to run a piece of work on a sleeping thread, to be compared: a task of a pool, and the
 * bare semaphore of a thread that does nothing else. */
#ifndef BENCH_MEETING_H
#define BENCH_MEETING_H

#include "waits.h"

/* One piece of work, and when it began. */
struct meeting {
    double busy_ns;    /* how long it keeps its thread busy; 0: not at all */
    double started_ns; /* valid when it is over */
    _Atomic bool is_over;
};

void meeting_prepare(struct meeting *meeting, double busy_ns);
void meeting_wait(const struct meeting *meeting);

/* Runs the work in the pool. */
void meeting_submit(lanepool_pool *pool, struct meeting *meeting, uint64_t key);

/* A thread that sleeps on a semaphore, and runs works. */
struct meeting_thread;

struct meeting_thread *meeting_thread_start(void);
void meeting_thread_post(struct meeting_thread *thread, struct meeting *meeting);
void meeting_thread_end(struct meeting_thread *thread);

#endif
