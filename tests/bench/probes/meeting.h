/* Two ways to have something done by a thread that sleeps, to be compared: a task for a pool, and
 * the bare semaphore of a thread that does nothing else. */
#ifndef BENCH_MEETING_H
#define BENCH_MEETING_H

#include "waits.h"

/* One piece of work, and when it began. */
struct meeting {
    double busy_ns;    /* how long it keeps its thread busy; 0: not at all */
    double started_ns; /* valid once it is over */
    _Atomic bool is_over;
};

void meeting_prepare(struct meeting *meeting, double busy_ns);
void meeting_wait(const struct meeting *meeting);

/* By the pool. */
void meeting_submit(lanepool_pool *pool, struct meeting *meeting, uint64_t key);

/* By a thread of its own, which sleeps on a semaphore. */
struct meeting_thread;

struct meeting_thread *meeting_thread_start(void);
void meeting_thread_post(struct meeting_thread *thread, struct meeting *meeting);
void meeting_thread_end(struct meeting_thread *thread);

#endif
