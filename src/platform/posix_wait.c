/* The platform on POSIX threads: semaphores, events and clocks. */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

/* ThreadSanitizer does not know sem_clockwait(), so posts and waits are announced to it. */
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define TSAN_POST(semaphore)   __tsan_release(semaphore)
#define TSAN_WAITED(semaphore) __tsan_acquire(semaphore)
#else
#define TSAN_POST(semaphore)   ((void)(semaphore))
#define TSAN_WAITED(semaphore) ((void)(semaphore))
#endif

/* --- clocks --- */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    lanepool_i_check_ok(clock_gettime(clock, &now) == 0);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t lanepool_i_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t lanepool_i_clock_coarse(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
    return read_clock(CLOCK_MONOTONIC_COARSE);
#else
    return read_clock(CLOCK_MONOTONIC);
#endif
}

/* --- waiting --- */

int lanepool_i_cancellation_off(void)
{
    int before;
    lanepool_i_check_ok(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before) == 0);
    return before;
}

void lanepool_i_cancellation_back(int before)
{
    lanepool_i_check_ok(pthread_setcancelstate(before, NULL) == 0);
}

/* A signal may end the nap early. */
void lanepool_i_nap(uint64_t ns)
{
    LANEPOOL_I_DOOR();
    struct timespec time = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
    int before = lanepool_i_cancellation_off();
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
    lanepool_i_cancellation_back(before);
}

/* --- semaphores --- */

#if defined(__GLIBC__)

bool lanepool_i_semaphore_init(lanepool_i_semaphore *semaphore)
{
    return sem_init(&semaphore->semaphore, 0, 0) == 0;
}

void lanepool_i_semaphore_fini(lanepool_i_semaphore *semaphore)
{
    lanepool_i_check_ok(sem_destroy(&semaphore->semaphore) == 0);
}

void lanepool_i_semaphore_post(lanepool_i_semaphore *semaphore)
{
    LANEPOOL_I_DOOR();
    TSAN_POST(semaphore);
    lanepool_i_check_ok(sem_post(&semaphore->semaphore) == 0);
}

void lanepool_i_semaphore_wait(lanepool_i_semaphore *semaphore)
{
    LANEPOOL_I_DOOR();
    int before = lanepool_i_cancellation_off();
    while (sem_wait(&semaphore->semaphore) != 0)
        lanepool_i_check_ok(errno == EINTR);
    lanepool_i_cancellation_back(before);
}

bool lanepool_i_semaphore_wait_until(lanepool_i_semaphore *semaphore, uint64_t deadline_ns)
{
    LANEPOOL_I_DOOR();
    if (deadline_ns == UINT64_MAX) {
        lanepool_i_semaphore_wait(semaphore);
        return true;
    }
    struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
                                 .tv_nsec = (long)(deadline_ns % NS_PER_S) };
    int before = lanepool_i_cancellation_off();
    bool posted = true;
    while (posted && sem_clockwait(&semaphore->semaphore, CLOCK_MONOTONIC, &deadline) != 0) {
        posted = errno != ETIMEDOUT;
        lanepool_i_check_ok(!posted || errno == EINTR);
    }
    lanepool_i_cancellation_back(before);
    if (posted)
        TSAN_WAITED(semaphore);
    return posted;
}

#else

bool lanepool_i_semaphore_init(lanepool_i_semaphore *semaphore)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    lanepool_i_check_ok(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    bool made = pthread_mutex_init(&semaphore->lock, NULL) == 0;
    if (made && pthread_cond_init(&semaphore->posted, &attributes) != 0) {
        lanepool_i_check_ok(pthread_mutex_destroy(&semaphore->lock) == 0);
        made = false;
    }
    lanepool_i_check_ok(pthread_condattr_destroy(&attributes) == 0);
    semaphore->count = 0;
    return made;
}

void lanepool_i_semaphore_fini(lanepool_i_semaphore *semaphore)
{
    lanepool_i_check_ok(pthread_cond_destroy(&semaphore->posted) == 0);
    lanepool_i_check_ok(pthread_mutex_destroy(&semaphore->lock) == 0);
}

/* Signals under the lock: the waiter may free the semaphore as soon as it has the lock. */
void lanepool_i_semaphore_post(lanepool_i_semaphore *semaphore)
{
    LANEPOOL_I_DOOR();
    lanepool_i_check_ok(pthread_mutex_lock(&semaphore->lock) == 0);
    semaphore->count++;
    lanepool_i_check_ok(pthread_cond_signal(&semaphore->posted) == 0);
    lanepool_i_check_ok(pthread_mutex_unlock(&semaphore->lock) == 0);
}

void lanepool_i_semaphore_wait(lanepool_i_semaphore *semaphore)
{
    (void)lanepool_i_semaphore_wait_until(semaphore, UINT64_MAX);
}

bool lanepool_i_semaphore_wait_until(lanepool_i_semaphore *semaphore, uint64_t deadline_ns)
{
    LANEPOOL_I_DOOR();
    struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
                                 .tv_nsec = (long)(deadline_ns % NS_PER_S) };
    int before = lanepool_i_cancellation_off();
    int error = 0;
    lanepool_i_check_ok(pthread_mutex_lock(&semaphore->lock) == 0);
    while (semaphore->count == 0 && error == 0) {
        if (deadline_ns == UINT64_MAX)
            error = pthread_cond_wait(&semaphore->posted, &semaphore->lock);
        else
            error = pthread_cond_timedwait(&semaphore->posted, &semaphore->lock, &deadline);
    }
    bool posted = semaphore->count > 0;
    lanepool_i_check_ok(posted || error == ETIMEDOUT);
    semaphore->count -= posted;
    lanepool_i_check_ok(pthread_mutex_unlock(&semaphore->lock) == 0);
    lanepool_i_cancellation_back(before);
    return posted;
}

#endif

/* --- events --- */

bool lanepool_i_event_init(lanepool_i_event *event)
{
    event->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return event->fd >= 0;
}

void lanepool_i_event_fini(lanepool_i_event *event)
{
    int before = lanepool_i_cancellation_off();
    lanepool_i_check_ok(close(event->fd) == 0);
    lanepool_i_cancellation_back(before);
}

/* The flag is never set twice in a row, so the counter cannot be full. */
void lanepool_i_event_set(lanepool_i_event *event)
{
    LANEPOOL_I_DOOR();
    int before = lanepool_i_cancellation_off();
    lanepool_i_check_ok(eventfd_write(event->fd, 1) == 0);
    lanepool_i_cancellation_back(before);
}

/* The program may have read the counter, although it should not. */
void lanepool_i_event_clear(lanepool_i_event *event)
{
    LANEPOOL_I_DOOR();
    eventfd_t count;
    int before = lanepool_i_cancellation_off();
    lanepool_i_check_ok(eventfd_read(event->fd, &count) == 0 || errno == EAGAIN);
    lanepool_i_cancellation_back(before);
}

int lanepool_i_event_fd(const lanepool_i_event *event)
{
    return event->fd;
}
