/*
 * The time of day jumps back and forth by a day while calls wait with a limit, and while delayed
 * tasks wait until they are due. None may end early, and none whose event occurs in time may end as
 * timed out.
 *
 *     clock_jumps [--rounds N]
 *
 * The program defines its own clock_gettime(), which the library finds before the system's. Only
 * the time of day jumps in it; durations are measured on the monotonic clock. A wait that used the
 * time of day would end at once, or a day late; in the second case the alarm ends the program.
 */
#define _DEFAULT_SOURCE /* syscall */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lanepool/lanepool.h"
#include "stress/arguments.h"
#include "support/process.h"

enum { DAY_S = 86400, GUARD_SECONDS = 60 };

#define SHORT_NS UINT64_C(2000000)
#define LONG_NS  UINT64_C(3600000000000)

static _Atomic long jumped_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);

    if (result == 0 && clock == CLOCK_REALTIME) {
        now->tv_sec += jumped_s;
    }
    return result;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- a full pool of one worker: its task stops until `let_go` is posted --- */

static sem_t arrived;
static sem_t let_go;

static void take(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) {
    }
}

static int stop(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    sem_post(&arrived);
    take(&let_go);
    return 0;
}

struct full_pool {
    lanepool_pool *pool;
    lanepool_future *future;
    lanepool_task task;
};

static bool fill(struct full_pool *full)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.pending_max = 1;
    full->task = (lanepool_task)LANEPOOL_TASK_INIT;
    full->task.function = stop;
    full->task.future = &full->future;
    if (lanepool_pool_create(&options, &full->pool) ||
        lanepool_pool_submit(full->pool, &full->task)) {
        return false;
    }
    full->task.future = NULL;
    take(&arrived);
    return true;
}

/* --- each call that waits with a limit --- */

enum wait { WAIT_FOR_FUTURE, WAIT_FOR_ROOM, QUIESCE, AWAIT, WAITS };

static lanepool_status wait_with_limit(struct full_pool *full, enum wait wait, uint64_t limit_ns)
{
    switch (wait) {
    case WAIT_FOR_FUTURE:
        return lanepool_future_wait(full->future, limit_ns, NULL);
    case WAIT_FOR_ROOM:
        return lanepool_pool_submit_within(full->pool, &full->task, limit_ns);
    case QUIESCE:
        return lanepool_pool_quiesce(full->pool, limit_ns);
    default:
        return lanepool_pool_await(full->pool, limit_ns);
    }
}

/* Checks waits with a short limit: each must end as timed out, and not before its limit. */
static bool none_ends_early(struct full_pool *full, long jump_s)
{
    bool good = true;

    for (int wait = 0; wait < WAITS; wait++) {
        uint64_t begin = now_ns();

        jumped_s += jump_s;
        good = good && wait_with_limit(full, (enum wait)wait, SHORT_NS) == LANEPOOL_TIMED_OUT &&
               now_ns() - begin >= SHORT_NS;
    }
    return good;
}

struct waiter {
    struct full_pool *full;
    enum wait wait;
    sem_t started;
    long thread;
    lanepool_status status;
};

static void *wait_long(void *argument)
{
    struct waiter *waiter = argument;

    waiter->thread = process_thread_self();
    sem_post(&waiter->started);
    waiter->status = wait_with_limit(waiter->full, waiter->wait, LONG_NS);
    return NULL;
}

/* The time of day jumps while a thread waits; then the awaited event occurs. */
static bool ends_well(enum wait wait, long jump_s)
{
    struct full_pool full;
    struct waiter waiter = { .full = &full, .wait = wait };
    pthread_t thread;
    bool good = fill(&full);

    sem_init(&waiter.started, 0, 0);
    if (!good || pthread_create(&thread, NULL, wait_long, &waiter)) {
        return false;
    }
    take(&waiter.started);
    good = process_thread_sleeps(waiter.thread);
    jumped_s += jump_s;
    good = good && (wait != AWAIT || lanepool_pool_shutdown(full.pool) == LANEPOOL_OK);
    sem_post(&let_go);
    sem_post(&let_go); /* for the task that waited for room, if there is one */
    pthread_join(thread, NULL);
    good = good && waiter.status == LANEPOOL_OK;
    good = lanepool_pool_destroy(full.pool) == LANEPOOL_OK && good;
    while (sem_trywait(&let_go) == 0 || sem_trywait(&arrived) == 0) {
    }
    lanepool_future_release(full.future);
    sem_destroy(&waiter.started);
    return good;
}

/* --- delayed tasks --- */

static int note_start(lanepool_run *run, void *context)
{
    uint64_t *started_ns = context;

    (void)run;
    *started_ns = now_ns();
    sem_post(&arrived);
    return 0;
}

static lanepool_status submit_after(lanepool_pool *pool, uint64_t *started_ns, uint64_t delay_ns,
                                    lanepool_future **future)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = note_start;
    task.context = started_ns;
    task.future = future;
    return lanepool_pool_submit_after(pool, &task, (int64_t)delay_ns);
}

/* The time of day jumps while the clock thread sleeps until a near task is due. A distant task, for
 * which a jump of a day would be enough, must remain. */
static bool delays_are_kept(long jump_s)
{
    uint64_t started_ns[2];
    lanepool_pool *pool;
    lanepool_future *far;
    lanepool_future *near;

    if (lanepool_pool_create(NULL, &pool) ||
        submit_after(pool, &started_ns[0], LONG_NS, &far) != LANEPOOL_OK) {
        return false;
    }
    uint64_t begin = now_ns();
    bool good = submit_after(pool, &started_ns[1], SHORT_NS, &near) == LANEPOOL_OK;
    jumped_s += jump_s;
    take(&arrived);
    good = good && started_ns[1] - begin >= SHORT_NS;
    good = lanepool_future_cancel(far) == LANEPOOL_OK && good;
    good = lanepool_pool_destroy(pool) == LANEPOOL_OK && good;
    lanepool_future_release(far);
    lanepool_future_release(near);
    return good;
}

static bool jump(long jump_s)
{
    struct full_pool full;
    bool good = fill(&full) && none_ends_early(&full, jump_s);

    sem_post(&let_go);
    good = lanepool_pool_destroy(full.pool) == LANEPOOL_OK && good;
    lanepool_future_release(full.future);
    for (int wait = 0; wait < WAITS; wait++) {
        good = ends_well((enum wait)wait, jump_s) && good;
    }
    return delays_are_kept(jump_s) && good;
}

int main(int argc, char **argv)
{
    uint64_t rounds = argument_number(argc, argv, "--rounds", 10);
    uint64_t bad = 0;

    sem_init(&arrived, 0, 0);
    sem_init(&let_go, 0, 0);
    alarm(GUARD_SECONDS);
    for (uint64_t i = 0; i < rounds; i++) {
        bad += !jump(DAY_S);
        bad += !jump(-DAY_S);
    }
    printf("%llu jumps of the time of day, %llu with a wait or a delay that ended wrongly\n",
           (unsigned long long)(rounds * 2 * (2 * WAITS + 1)), (unsigned long long)bad);
    return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
